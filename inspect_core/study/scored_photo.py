"""Photos on the bench: what is known of each, and how it is looked at."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from inspect_core.datasets.dataset import TEST, VALIDATION, PhotoFile
from inspect_core.images.areas import Outline, filled
from inspect_core.images.depth import Depth
from inspect_core.images.photo_reader import ImageError, read_mask
from inspect_core.images.placement import Placement
from inspect_core.scoring.defect_hits import dilate_mask
from inspect_core.scoring.masks import mask_at

UNKNOWN = "unknown"
ADDED, RELABELLED = "added", "relabelled"


@dataclass(frozen=True)
class ScoredPhoto:
    """One photo: its name, content digest, size (height, width) as placed, and what is known about it.

    label: "good", a defect type, or "unknown"; subset: "calibration", "validation", "test", "added" or "relabelled";
    path: where its pixels are; mask: where its true mask is, if it has one; group: its lot, if known; split_group: its
    group in the split, None when it stands alone; depth: bit depth at which it is read; placement: how it is looked at,
    None: as taken; original_label: label and subset before the engineer said otherwise, None: as it was taught; drawn:
    outlines of its defect that the engineer drew on the photo as taken, in place of any other mask; drawn_in_test:
    whether it was a test photo before.
    """

    name: str
    digest: str
    size: tuple[int, int]
    label: str
    subset: str
    path: Path
    mask: Path | None = None
    group: str | None = None
    split_group: str | None = None
    depth: Depth | None = None
    placement: Placement | None = None
    original_label: tuple[str, str] | None = None
    drawn: tuple[Outline, ...] = ()
    drawn_in_test: bool = False

    def labelled(self, label: str) -> "ScoredPhoto":
        """The same photo as another label. It sets, chooses and judges nothing any more, unless only its defect
        type changes or it was added; with the label that it was taught with it is as before.
        """
        label_was, part_was = was = self.original_label or (self.label, self.subset)
        if label == label_was:
            return replace(self, label=label, subset=part_was, original_label=None)
        stays = part_was == ADDED or "good" not in (label, label_was)
        return replace(self, label=label, subset=part_was if stays else RELABELLED, original_label=was)

    def with_drawing(self, outlines: tuple[Outline, ...]) -> "ScoredPhoto":
        """The same photo with its defect drawn, none to take the drawing away. A test photo is one to choose by as long
        as it has one: who drew it has seen its score.
        """
        part = TEST if self.drawn_in_test and self.subset == VALIDATION else self.subset
        moves = bool(outlines) and part == TEST
        return replace(self, drawn=outlines, subset=VALIDATION if moves else part, drawn_in_test=moves)

    @property
    def teaches(self) -> bool:
        """Whether it is a known defect to learn from: kept to choose by, or drawn, and its place is known."""
        return self.is_defect and bool(self.drawn or (self.mask is not None and self.subset == VALIDATION))

    @property
    def placed(self) -> Placement:
        return self.placement or Placement(self.size)

    def true_mask(self) -> np.ndarray | None:
        """(H, W) bool on its picture; None without one. Raises ImageError for one that cannot be read."""
        size = self.placed.photo_size
        if self.drawn:
            return self.placed.mask(np.any([filled(outline, size) for outline in self.drawn], axis=0))
        return None if self.mask is None else self.placed.mask(read_mask(self.mask, size))

    def known_mask(self, size: tuple[int, int]) -> np.ndarray | None:
        """(height, width) bool, its true mask at the size of a map; None without one that can be read."""
        try:
            known = self.true_mask()
        except ImageError:
            return None
        return None if known is None else mask_at(known, size)

    def dilated_mask(self, size: tuple[int, int]) -> np.ndarray | None:
        """(height, width) bool, a defect's mask as `defect_hits.dilate_mask`, made once; None if not known."""
        if size not in self._near:
            known = self.known_mask(size) if self.is_defect else None
            self._near[size] = np.packbits(dilate_mask(known)) if known is not None and known.any() else None
        packed = self._near[size]
        return None if packed is None else np.unpackbits(packed, count=size[0] * size[1]).reshape(size).astype(bool)

    @cached_property
    def _near(self) -> dict[tuple[int, int], np.ndarray | None]:
        return {}

    @property
    def sample(self) -> PhotoFile:
        """The photo as it was found."""
        return PhotoFile(
            self.path, self.name, self.label, self.placed.photo_size, self.mask, group=self.group, depth=self.depth
        )

    @property
    def is_defect(self) -> bool:
        return self.label not in ("good", UNKNOWN)


@dataclass(frozen=True)
class UnscoredPhoto:
    """A photo of the study without a score; verdict: "not located" or "not judged", and reason: why.

    subset: as of a ScoredPhoto, or "train" for one that only could not be learned from; sample: as it was found.
    """

    sample: PhotoFile
    subset: str
    verdict: str
    reason: str

    @property
    def label(self) -> str:
        return self.sample.label
