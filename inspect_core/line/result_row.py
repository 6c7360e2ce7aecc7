"""One photo of a batch or a watched folder: judged, or not judged with the reason; always one row."""

import hashlib
import time
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.images.photo_reader import DecodedPhoto, ImageError, read
from inspect_core.line.common_cause import Remark
from inspect_core.line.inspector import Inspector
from inspect_core.verdict import NOT_JUDGED, UNKNOWN_TYPE, Verdict


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """The row of one photo, in the order of the table's columns; None or "" for what does not apply.

    digest: of the pixels; verdict: one of `verdict.ALL_VERDICTS`; percentile_among_good: how many in 100 of the good
    parts that set the limits score no higher; photo_deviation: how it differs from those taught; defect_type: none for
    an accepted or a stopped part (see `assemble`); review, reject, area: limits and smallest area in force, the area in
    pixels of the map; region_x, region_y: middle of the most anomalous region, as shares of the photo; recipe: its
    digest; release: digest of the export; time: ISO 8601, UTC; brightness and on: `verdict.DriftInputs`; truth: what
    the photo shows, where its folder or list says so (`line.confusion`).
    """

    name: str
    digest: str = ""
    score: float | None = None
    verdict: str = NOT_JUDGED
    percentile_among_good: float | None = None
    product_check: str = ""
    photo_deviation: str = ""
    defect_type: str = ""
    defect_type_probability: float | None = None
    regions: int | None = None
    largest_region_pixels: int | None = None
    review: float
    reject: float
    area: int
    recipe: str
    release: str = ""
    reason: str = ""
    time: str = ""
    milliseconds: float = 0.0
    brightness: float | None = None
    sharpness: float | None = None
    noise: float | None = None
    product_distance: float | None = None
    shift_x: float | None = None
    shift_y: float | None = None
    angle: float | None = None
    region_x: float | None = None
    region_y: float | None = None
    truth: str = ""

    @property
    def remark(self) -> Remark:
        """What may have a cause in common with other photos."""
        return Remark(self.photo_deviation, self.region_x, self.region_y)


COLUMNS = tuple(field.name for field in fields(ResultRow))


@dataclass(frozen=True, eq=False)
class InspectedPhoto:
    """A row with what it was made of: file_sha256 is that of the photo's file, "" when it could not be read."""

    row: ResultRow
    file_sha256: str
    picture: DecodedPhoto | None = None
    verdict: Verdict | None = None


def uninspected_row(inspector: Inspector, name: str, *, reason: str = "") -> ResultRow:
    """Return the row of a photo that is not judged, by the recipe in force."""
    limits: dict[str, Any] = {**vars(inspector.limits), "area": inspector.area}
    return ResultRow(name=name, **limits, recipe=inspector.digest, release=inspector.release, reason=reason)


def inspect_photo(inspector: Inspector, name: str, path: Path, *, file: str = "") -> InspectedPhoto:
    """Read and inspect one photo. Any problem with it becomes the reason of a row that is not judged.

    file: SHA-256 of the file, if already known.
    """
    row = uninspected_row(inspector, name)
    began = time.perf_counter()
    picture = None
    verdict = None
    try:
        file = file or file_digest(path)
        picture = read(path, inspector.depth)
        verdict = inspector.inspect(picture.pixels)
        row = _with_verdict(row, verdict, picture.digest, inspector.good_scores)
    except ImageError as error:
        row = replace(row, reason=f"{error.reason}; {error.remedy}")
    except Exception as error:  # whatever a graph raises: ONNX Runtime's errors derive from Exception alone
        row = replace(row, digest=picture.digest if picture else "", reason=str(error) or type(error).__name__)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    took = 1000 * (time.perf_counter() - began)
    return InspectedPhoto(replace(row, time=now, milliseconds=round(took, 1)), file, picture, verdict)


def apply_strict_mode(row: ResultRow) -> ResultRow:
    """Return the row where photos that differ from those taught are not accepted but go to review."""
    if not row.photo_deviation or row.verdict != "accept":
        return row
    return replace(row, verdict="review", reason=row.photo_deviation)


def is_strict_review(row: ResultRow) -> bool:
    """Return whether `apply_strict_mode` sent the photo to review."""
    return bool(row.photo_deviation) and row.reason == row.photo_deviation


def file_digest(path: Path) -> str:
    """Return SHA-256 of a file's bytes, "" if it is not an ordinary file. Raises OSError when it cannot be read."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _with_verdict(row: ResultRow, verdict: Verdict, digest: str, good: np.ndarray) -> ResultRow:
    kind, probability = verdict.defect_type or (UNKNOWN_TYPE if verdict.of_unknown_type else "", None)
    row = replace(
        row,
        digest=digest,
        verdict=verdict.verdict,
        product_check=verdict.product_check or "",
        photo_deviation=verdict.photo_deviation,
        defect_type=kind,
        defect_type_probability=probability,
        reason=verdict.reason or "",
        **asdict(verdict.inputs),
    )
    if (score := verdict.score) is None:
        return row
    share = round(100 * float(np.searchsorted(good, score, side="right")) / len(good), 1) if len(good) else None
    region_x, region_y = verdict.region_place
    areas = [region.area for region in verdict.regions]
    largest = max(areas, default=0)
    row = replace(row, score=score, percentile_among_good=share, region_x=region_x, region_y=region_y)
    return replace(row, regions=len(areas), largest_region_pixels=largest)
