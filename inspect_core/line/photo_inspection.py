"""Photos read and inspected, one or many: each judged, or not judged with the reason; always one row."""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from inspect_core.images.photo_reader import DecodedPhoto, ImageError, read
from inspect_core.inspection import Inspection
from inspect_core.line.inspector import Inspector
from inspect_core.runtime.ordered_pool import in_batches
from inspect_core.runtime.program_log import log_unexpected
from inspect_core.runtime.workspace import file_digest
from inspect_core.verdict import Verdict

Result = TypeVar("Result")

KEPT_BYTES = 1 << 24
"""Pixels of a photo that wait for the others of its batch; a larger one is read again where they are needed."""


@dataclass(frozen=True, eq=False)
class InspectedPhoto:
    """A row with what it was made of.

    file_sha256: of the photo's file, "" when it could not be read; picture: None also for one of many that is too large
    to be kept.
    """

    row: Inspection
    path: Path
    file_sha256: str
    picture: DecodedPhoto | None = None
    verdict: Verdict | None = None


@dataclass(eq=False)
class PhotoInspection:
    """A photo on its way: photo is what the inspector made of it so far, error why it cannot be judged.

    seconds: of work on it, with its share of that on a batch.
    """

    name: str
    path: Path
    file_sha256: str = ""
    digest: str = ""
    picture: DecodedPhoto | None = None
    photo: Any = None
    error: Exception | None = None
    seconds: float = 0.0


def uninspected_row(inspector: Inspector, name: str, *, reason: str = "") -> Inspection:
    """The row of a photo that is not judged, by the recipe in force."""
    limits: dict[str, Any] = {**vars(inspector.limits), "area": inspector.area}
    return Inspection(name=name, **limits, recipe=inspector.digest, release=inspector.release, reason=reason)


def inspect_photo(inspector: Inspector, name: str, path: Path) -> InspectedPhoto:
    """Read and inspect one photo. Any problem with it becomes the reason of a row that is not judged."""
    return finish(inspector, *compute(inspector, [prepare(inspector, name, path)]))


def inspect_photos(
    inspector: Inspector,
    photos: Iterable[tuple[str, Path]],
    work: Callable[[InspectedPhoto], Result] = lambda inspected: inspected,
    *,
    threads: int | None = None,
) -> Generator[Result]:
    """Yield work(...) of photos, (name, path), inspected as by `inspect_photo`, several at a time, in their order.

    threads: as of `in_batches`.
    """
    keep = inspector.at_once == 1
    return in_batches(
        lambda photo: prepare(inspector, *photo, keep=keep),
        partial(compute, inspector),
        lambda inspection: work(finish(inspector, inspection)),
        photos,
        at_once=inspector.at_once,
        threads=threads,
    )


def prepare(inspector: Inspector, name: str, path: Path, *, file: str = "", keep: bool = True) -> PhotoInspection:
    """A photo, read and with everything that is done before the network runs.

    file: SHA-256 of it, if known; keep: also the pixels of a large one.
    """
    inspection = PhotoInspection(name, path, file)
    began = time.perf_counter()
    try:
        inspection.file_sha256 = file or file_digest(path)
        picture = read(path, inspector.depth)
        inspection.digest = picture.digest
        if keep or picture.pixels.nbytes <= KEPT_BYTES:
            inspection.picture = picture
        inspection.photo = inspector.prepare(picture.pixels)
    except Exception as error:  # whatever a part of the inspector raises
        inspection.error = error
    inspection.seconds = time.perf_counter() - began
    return inspection


def compute(inspector: Inspector, inspections: Sequence[PhotoInspection]) -> Sequence[PhotoInspection]:
    """The same with what the network says of them; a photo that fails does not take the others with it."""
    ready = [inspection for inspection in inspections if inspection.error is None]
    began = time.perf_counter()
    try:
        photos = inspector.compute([inspection.photo for inspection in ready]) if ready else []
    except Exception as error:  # whatever a graph raises: ONNX Runtime's errors derive from Exception alone
        if len(ready) > 1:
            for inspection in ready:
                compute(inspector, [inspection])
            return inspections
        ready[0].error = error
        return inspections
    share = (time.perf_counter() - began) / max(len(ready), 1)
    for inspection, photo in zip(ready, photos, strict=True):
        inspection.photo, inspection.seconds = photo, inspection.seconds + share
    return inspections


def finish(inspector: Inspector, inspection: PhotoInspection) -> InspectedPhoto:
    """The photo with its verdict, or with the reason why it has none."""
    row, verdict = uninspected_row(inspector, inspection.name), None
    began = time.perf_counter()
    try:
        if inspection.error is not None:
            raise inspection.error
        verdict = inspector.judge(inspection.photo)
        row = row.with_verdict(verdict, inspection.digest, inspector.good_scores)
    except ImageError as error:
        row = replace(row, reason=f"{error.reason}; {error.remedy}")
    except (ValueError, OSError, MemoryError) as error:
        row = replace(row, digest=inspection.digest, reason=str(error) or type(error).__name__)
    except Exception as error:
        known = log_unexpected(error, f"inspecting {inspection.name}")
        reason = f"{str(error) or type(error).__name__} ({known})"
        row = replace(row, digest=inspection.digest, reason=reason)
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    took = 1000 * (inspection.seconds + time.perf_counter() - began)
    row = replace(row, time=now, milliseconds=round(took, 1))
    return InspectedPhoto(row, inspection.path, inspection.file_sha256, inspection.picture, verdict)
