"""What the bench draws: one record from the model to the browser."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial

import numpy as np

from inspect_core.datasets.dataset import CALIBRATION, TEST, TRAIN, VALIDATION
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.limits import format_upper_bound
from inspect_core.study.scored_photo import ADDED, RELABELLED, UNKNOWN, ScoredPhoto, UnscoredPhoto
from inspect_core.verdict import Limits

_FOR_ALL = (
    "position", "area", "typical_score", "sentence", "preview", "check", "is_foreign", "note", "patch", "defect_type",
            "mm_per_pixel")  # fmt: skip
"""Fields that the browser gets as they are."""

_no_scores, _no_picture = partial(np.zeros, 0), partial(np.zeros, (0, 0, 3), np.uint8)


@dataclass(frozen=True, eq=False)
class BenchState:
    """All parts of the gallery under one model or preview, and the one shown.

    photos: in the order of the gallery; evidence: of them, then of counted parts that are not shown, with scores in
    the detector's unit; unscored: photos without a score; position: of the photo shown; anomaly_map: its (h, w) map,
    finite. limits: in force; suggested: the default ones; setting_scores: of the good photos that set limits; ceiling:
    of the scores, None where they do not end; typical_score: the score at which colour begins; sentence: the limits in
    parts; area: the smallest that counts, in pixels of the map; preview: maps and scores only: limits only set colours,
    nothing is counted or judged. image: (H, W, 3) uint8, the original; mask, uninspected: (h, w) bool, the true defect,
    what is not inspected, or None; check: result of the product check in words, or None; is_foreign: whether it finds
    another product; defect_type: in words, or None; note: what the engineer must know of this view, or None; patch:
    (left, top, right, bottom) in pixels of the original, framed on the picture, or None; mm_per_pixel: of the original,
    or None.
    """

    photos: Sequence[ScoredPhoto]
    evidence: Evidence
    position: int
    anomaly_map: np.ndarray
    limits: Limits
    suggested: Limits
    typical_score: float = 0.0
    sentence: str = ""
    setting_scores: np.ndarray = field(default_factory=_no_scores)
    area: int = 1
    unscored: Sequence[UnscoredPhoto] = ()
    ceiling: float | None = None
    image: np.ndarray = field(default_factory=_no_picture)
    mask: np.ndarray | None = None
    uninspected: np.ndarray | None = None
    check: str | None = None
    is_foreign: bool = False
    defect_type: str | None = None
    note: str | None = None
    patch: tuple[int, int, int, int] | None = None
    mm_per_pixel: float | None = None
    preview: bool = False

    @property
    def scores(self) -> np.ndarray:
        """(photos,) float64."""
        return self.evidence.scores[: len(self.photos)]

    def validate(self) -> None:
        """Raise ValueError for fewer scores than photos, a map that is not finite, another shape, no such part, an area
        off the map.
        """
        if len(self.scores) != len(self.photos):
            raise ValueError(f"there are {len(self.scores)} scores for {len(self.photos)} photos; give one for each")
        if not np.isfinite(self.setting_scores).all():
            raise ValueError("setting_scores are not all finite; give the scores that set the limits")
        if not 0 <= self.position < len(self.photos):
            raise ValueError(f"position is {self.position}, outside a gallery of {len(self.photos)} parts")
        image, shape = self.image, self.anomaly_map.shape
        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
            raise ValueError(f"image is {image.shape} {image.dtype}; give (H, W, 3) uint8")
        if len(shape) != 2 or not np.isfinite(self.anomaly_map).all():
            raise ValueError(f"anomaly_map is {shape}; give one finite map, (h, w)")
        if self.area != int(self.area) or not 1 <= self.area <= self.anomaly_map.size:
            raise ValueError(f"area is {self.area}, outside 1..{self.anomaly_map.size}; give pixels of the map")
        for name, plane in (("mask", self.mask), ("uninspected", self.uninspected)):
            if plane is not None and plane.shape != shape:
                raise ValueError(f"{name} is {plane.shape}, the map {shape}; bring it to the map's size")

    def payload(self) -> dict:
        """All but the pixels as JSON-able data; scores keep every bit.

        parts: for each photo its own figures; `counted` is "good" or "defect" where the sentence counts it, else "".
        unscored_counts: for either, how many counted parts have no score, by word; hidden: counted good parts that are
        not shown; own: whether the limit was set on the good parts that are counted; bounds: for every number of good
        parts rejected, the most in the long run, as the sentence prints it.
        """
        known, count = self.evidence, len(self.photos)
        counted = np.where(known.good, "good", np.where(known.defect, "defect", ""))
        columns = known.scores, counted, known.hit_limits, known.stopped, known.never_accepted
        rows = zip(self.photos, *(column[:count] for column in columns), strict=True)
        return {
            "parts": [
                {"name": photo.name, "label": photo.label, "ground_truth": _truth(photo.label), "group": photo.group,
                 "score": float(score), "counted": str(counts), "stopped": bool(stopped), "never_accepted": bool(out),
                 "relabelled": photo.subset == RELABELLED, "set": SETS.get(photo.subset, photo.subset),
                 "found_up_to": None if math.isnan(up_to) else float(up_to)}
                for photo, score, counts, up_to, stopped, out in rows
            ],
            "unscored": [
                {"name": photo.sample.name, "label": photo.label, "ground_truth": _truth(photo.label),
                 "group": photo.sample.group, "verdict": photo.verdict, "reason": photo.reason,
                 "set": SETS.get(photo.subset, photo.subset)}
                for photo in self.unscored
            ],
            "hidden": [{"score": float(score), "counted": "good"} for score in known.scores[count:]],
            "unscored_counts": {"good": asdict(known.good_unscored), "defect": asdict(known.defects_unscored)},
            "own": known.limits_set_here,
            "relabelled": known.relabelled,
            "bounds": list(_bounds(int(known.good.sum()))),
            "setting_scores": [float(score) for score in self.setting_scores],
            "limits": asdict(self.limits),
            "suggested": asdict(self.suggested),
            "image_size": list(self.image.shape[:2]),
            "map_size": list(self.anomaly_map.shape),
            **{name: getattr(self, name) for name in _FOR_ALL},
        }  # fmt: skip


SETS = {
    TRAIN: "training photos",
    CALIBRATION: "calibration photos",
    VALIDATION: "validation defects",
    TEST: "test photos",
    ADDED: "photos added",
    RELABELLED: "photos labelled since",
}
"""What the sets of photos are called, by the subset of a photo."""


def _truth(label: str) -> str:
    return label if label in ("good", UNKNOWN) else "defect"


@lru_cache(maxsize=32)
def _bounds(total: int) -> tuple[str, ...]:
    return tuple(format_upper_bound(k, total) for k in range(total + 1))
