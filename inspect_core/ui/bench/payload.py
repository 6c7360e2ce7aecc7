"""The figures from which the bench is drawn, sent to the browser as JSON."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np

from inspect_core.judge.limits import most_in_percent
from inspect_core.study.evaluation import counted, unscored_counts
from inspect_core.study.scored_photo import UnscoredPhoto
from inspect_core.verdict import Limits


@dataclass(frozen=True)
class Part:
    """One part of the gallery, in order.

    kind: "good", a defect type, or "unknown"; part: "calibrate", "choose", "judge" or "added"; group: its lot, if
    known; score: finite, in the detector's unit; stopped: rejected whatever its score, as it shows another product;
    partly_out: never accepted, as the photo does not show all of it; found_up_to: of `judge.found`, NaN where the place
    of a defect is not known.
    """

    name: str
    kind: str
    part: str
    group: str | None
    score: float
    stopped: bool = False
    partly_out: bool = False
    found_up_to: float = math.nan

    @property
    def truth(self) -> str:
        """ "good", "defect" or "unknown"."""
        return self.kind if self.kind in ("good", "unknown") else "defect"


@dataclass(frozen=True, eq=False)
class Shown:
    """The part on the bench.

    position: its place in the gallery; image: (H, W, 3) uint8, the original; anomaly_map: (h, w) float32, finite; mask:
    (h, w) bool, the true defect, or None; guard and note: plain sentences, or None; patch: (left, top, right, bottom)
    in pixels of the original, framed on the picture, or None; kind: the defect type in words, or None; foreign: whether
    the guard finds another product; area: the smallest that counts, in pixels of the map, for which the scores of all
    parts were computed; left_out: (h, w) bool, what is not inspected, or None; mm_per_pixel: of the original, or None;
    preview: maps and scores only, without any verdict or count.
    """

    position: int
    image: np.ndarray
    anomaly_map: np.ndarray
    mask: np.ndarray | None = None
    guard: str | None = None
    note: str | None = None
    patch: tuple[int, int, int, int] | None = None
    kind: str | None = None
    foreign: bool = False
    area: int = 1
    left_out: np.ndarray | None = None
    mm_per_pixel: float | None = None
    preview: bool = False


def check(parts: Sequence[Part], shown: Shown, setting_scores: Sequence[float] | np.ndarray) -> None:
    """Raise ValueError when these cannot be drawn.

    That is: a score or map that is not finite, another shape, no such part, an area outside the map.
    """
    for part in parts:
        if not np.isfinite(part.score):
            raise ValueError(f"{part.name} has the score {part.score}; leave parts without a score off the bench")
    if not np.isfinite(setting_scores).all():
        raise ValueError("setting_scores are not all finite; give the scores that set the limits")
    if not 0 <= shown.position < len(parts):
        raise ValueError(f"position is {shown.position}, outside a gallery of {len(parts)} parts")
    if shown.image.ndim != 3 or shown.image.shape[2] != 3 or shown.image.dtype != np.uint8:
        raise ValueError(f"image is {shown.image.shape} {shown.image.dtype}; give (H, W, 3) uint8")
    if shown.anomaly_map.ndim != 2 or not np.isfinite(shown.anomaly_map).all():
        raise ValueError(f"anomaly_map is {shown.anomaly_map.shape}; give one finite map, (h, w)")
    if shown.area != int(shown.area) or not 1 <= shown.area <= shown.anomaly_map.size:
        raise ValueError(f"area is {shown.area}, outside 1..{shown.anomaly_map.size}; give pixels of the map")
    if shown.mask is not None and shown.mask.shape != shown.anomaly_map.shape:
        raise ValueError(f"mask is {shown.mask.shape}, the map {shown.anomaly_map.shape}; bring it to the map's size")
    if shown.left_out is not None and shown.left_out.shape != shown.anomaly_map.shape:
        raise ValueError(
            f"left_out is {shown.left_out.shape}, the map {shown.anomaly_map.shape}; give one of its shape"
        )


def payload(
    parts: Sequence[Part],
    shown: Shown,
    limits: Limits,
    *,
    calm: float,
    suggested: Limits,
    sentence: str,
    setting_scores: Sequence[float] | np.ndarray,
    unscored: Sequence[UnscoredPhoto] = (),
) -> dict:
    """The figures of the bench as JSON-able data; scores keep every bit.

    counted: per part "good" or "defect" where the sentence counts it, else ""; without_score: for either, how many
    counted parts have no score, by word; own: whether the limit was set on the
    good parts it counts; setting_scores: the scores on which a requested overkill is met; bounds: for every number of
    good parts rejected, the largest share of overkill in percent, as the sentence prints it.
    """
    good, defect, without, own = counted(parts, unscored)
    of_good, of_defects = unscored_counts(without).values()
    return {
        "names": [part.name for part in parts],
        "kinds": [part.kind for part in parts],
        "truths": [part.truth for part in parts],
        "groups": [part.group for part in parts],
        "scores": [float(part.score) for part in parts],
        "counted": np.where(good, "good", np.where(defect, "defect", "")).tolist(),
        "without_score": {"good": asdict(of_good), "defect": asdict(of_defects)},
        "found_up_to": [None if math.isnan(part.found_up_to) else float(part.found_up_to) for part in parts],
        "unscored": [
            {"name": p.sample.name, "kind": p.kind, "group": p.sample.group, "word": p.word, "reason": p.reason}
            for p in unscored
        ],
        "own": own,
        "setting_scores": [float(score) for score in setting_scores],
        "bounds": list(_bounds(int(good.sum()) + of_good.total)),
        "position": shown.position,
        "image_size": list(shown.image.shape[:2]),
        "map_size": list(shown.anomaly_map.shape),
        "area": int(shown.area),
        "mm_per_pixel": shown.mm_per_pixel,
        "preview": shown.preview,
        "guard": shown.guard,
        "foreign": shown.foreign,
        "stopped": [part.stopped for part in parts],
        "partly_out": [part.partly_out for part in parts],
        "note": shown.note,
        "patch": shown.patch,
        "named": shown.kind,
        "limits": asdict(limits),
        "suggested": asdict(suggested),
        "calm": float(calm),
        "sentence": sentence,
    }


@lru_cache(maxsize=32)
def _bounds(total: int) -> tuple[str, ...]:
    return tuple(most_in_percent(k, total) for k in range(total + 1))
