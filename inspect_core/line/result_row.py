"""The row of one photo of a batch or a watched folder: judged, or not judged with the reason."""

import hashlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from inspect_core.line.common_cause import Remark
from inspect_core.line.inspector import Inspector
from inspect_core.verdict import NOT_JUDGED, OTHER_PRODUCT, Limits


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
    never_accepted: str = ""
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


def uninspected_row(inspector: Inspector, name: str, *, reason: str = "") -> ResultRow:
    """The row of a photo that is not judged, by the recipe in force."""
    limits: dict[str, Any] = {**vars(inspector.limits), "area": inspector.area}
    return ResultRow(name=name, **limits, recipe=inspector.digest, release=inspector.release, reason=reason)


def apply_strict_mode(row: ResultRow) -> ResultRow:
    """The row where no score accepts a photo that differs from those taught."""
    if not row.photo_deviation or row.never_accepted or row.score is None:
        return row
    stopped, against = row.reason == OTHER_PRODUCT, row.photo_deviation
    word, reason = Limits(row.review, row.reject).decide(row.score, stopped=stopped, never_accepted=against)
    return replace(row, verdict=word, reason=reason, never_accepted=against)


def is_strict_review(row: ResultRow) -> bool:
    """Whether `apply_strict_mode` decided about the photo."""
    return bool(row.photo_deviation) and row.never_accepted == row.photo_deviation


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, "" if it is not an ordinary file. Raises OSError when it cannot be read."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
