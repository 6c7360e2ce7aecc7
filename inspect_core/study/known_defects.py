"""A view learned from the known defects of which the place is known, and whether it helps to find them.

Every good photo that sets limits is scored by what its fold did not teach, every defect by what the others teach.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import cv2
import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors import defect_direction
from inspect_core.detectors.defect_direction import DefectDirection
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.registry import LEARNED_FROM_DEFECTS
from inspect_core.runtime.progress import ignore_progress
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.limits import DEFAULT_REVIEW, limits_from_good
from inspect_core.scoring.ranking import auroc
from inspect_core.scoring.verdict_rule import ACCEPTED
from inspect_core.study.fitting import StudyFitter
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.statistics_gathering import FitPlan, Gathered
from inspect_core.verdict import Limits

FEWEST = 5
"""Known defects from which on a view is learned."""
_MOSTLY = 0.5
"""Share of a cell that is marked, from which on its patch is one of the defect."""


@dataclass(frozen=True, eq=False)
class KnownDefects:
    """What was learned from known defects, and what it is worth.

    view: fitted on all of them; learned: how many; with_view, without_view: what each of them scores, without itself,
    beside the good photos that set the limits.
    """

    view: FittedMethod
    learned: int
    with_view: "Separation"
    without_view: "Separation"

    @property
    def helps(self) -> bool:
        """Whether defects left out one by one stand out more, none of them is lost, and no more good photos are above
        the review limit than before, or than it states.
        """
        after, before = self.with_view, self.without_view
        allowed = max(before.stopped, int(DEFAULT_REVIEW * after.good))
        return after.above > before.above and after.detected >= before.detected and after.stopped <= allowed

    def sentence(self) -> str:
        """What it is worth, in parts."""
        after, before = self.with_view, self.without_view
        counts = f"finds {after.detected} of {self.learned} left out one by one, {before.detected} without"
        ranked = f"ranks them above {after.above:.1%} of the good photos, {before.above:.1%} without"
        used = "" if self.helps else ", but not used, since it does not help"
        return f"Learned from {self.learned} known defects{used}: {counts}; {ranked}."


class Separation(NamedTuple):
    """detected: known defects above the suggested review limit; above: share of pairs of one of them and a good photo
    in which the defect scores more; stopped: good photos above the limit, of so many good ones.
    """

    detected: int
    above: float
    stopped: int
    good: int


def teaching(scored: ScoredPhotos) -> list[tuple[ScoredPhoto, np.ndarray]]:
    """The photos to learn from, each with its (H, W) bool mask on the map, which marks something."""
    masks = [(photo, photo.known_mask(scored.size)) for photo in scored.photos if photo.teaches]
    return [(photo, mask) for photo, mask in masks if mask is not None and mask.any()]


class DefectLearner:
    """The good patches of a fitting, as its widest view sees them, ready to be told from those of defects.

    features_of: (1, h, w, k) features of a photo by view.
    """

    def __init__(self, fitting: StudyFitter, features_of: Callable[[ScoredPhoto], Sequence[Tensor]]) -> None:
        self._fitting = fitting
        self._features_of = features_of
        self.position = int(np.argmax([shape[-1] for shape in fitting.features.extractor.shapes]))
        """Of the view whose features it sees too."""

    def learn(self, scored: ScoredPhotos) -> tuple[KnownDefects, ScoredPhotos]:
        """What the photos that teach give, and these photos under that view too, with it last.

        scored: under the methods of the fitting, with FEWEST that teach.
        """
        fitting, known = self._fitting, teaching(scored)
        patches = {photo.digest: self._of_defect(photo, mask) for photo, mask in known}
        detector = self._detector(self._all, patches)
        by_name = {
            sample.name: self._detector(rest, patches)
            for fold, rest in zip(fitting.order.photos.folds(fitting.order.seed), self._folds, strict=True)
            for sample in fold
        }
        by_digest = {
            digest: self._detector(self._all, {other: rows for other, rows in patches.items() if other != digest})
            for digest in patches
        }
        spec = fitting.features.extractor.looks[self.position]
        view = FittedMethod(LEARNED_FROM_DEFECTS, detector, spec)
        errors = []
        for photo in scored.photos:
            of_others = by_digest.get(photo.digest, by_name.get(photo.name) if photo.subset == "calibration" else None)
            features = self._features_of(photo)[self.position]
            errors.append((of_others or detector).score(features)[0].cpu().numpy())
        joined = scored.with_view(view, errors)
        return KnownDefects(view, len(known), _separation(joined, patches), _separation(scored, patches)), joined

    def _of_defect(self, photo: ScoredPhoto, mask: np.ndarray) -> Tensor:
        """(n, k) patches of a defect: the cells that it mostly fills, else the one that it fills most."""
        features = self._features_of(photo)[self.position][0]
        grid = tuple(features.shape[:2])
        share = cv2.resize(mask.astype(np.float32), grid[::-1], interpolation=cv2.INTER_AREA)
        return features[torch.from_numpy(share >= min(_MOSTLY, float(share.max())))]

    @staticmethod
    def _detector(good: Gathered, patches: Mapping[str, Tensor]) -> DefectDirection:
        return defect_direction.fit(good[0], list(patches.values()))

    @cached_property
    def _all(self) -> Gathered:
        """The statistics of all good photos, without their copies."""
        return self._gathered[0]

    @cached_property
    def _folds(self) -> list[Gathered]:
        """Those of all good photos but one fold, by fold."""
        return self._gathered[1]

    @cached_property
    def _gathered(self) -> tuple[Gathered, list[Gathered]]:
        fitting = self._fitting
        photos = fitting.order.photos
        folds = photos.folds(fitting.order.seed) or [list(photos.train)]
        patches = fitting.patches(len(photos.train), self.position)
        plan = FitPlan((LEARNED_FROM_DEFECTS,), (self.position,), (patches,), (None,), ({},), fitting.order.seed)
        by_fold = [fitting.gather(plan, fold, ignore_progress) for fold in folds]
        total = plan.begin()
        for fold in by_fold:
            total[0].merge(fold[0])
        return total, [[total[0].without(fold[0])] for fold in by_fold] if len(by_fold) > 1 else []


def _separation(scored: ScoredPhotos, digests: Collection[str]) -> Separation:
    """Of the photos that teach, by content digest, at the limits that the good photos alone suggest."""
    scores, setters = scored.scores(), scored.setters()
    teaches = np.array([photo.digest in digests for photo in scored.photos], bool)
    evidence = Evidence(scores=scores, good=setters, defect=teaches)
    above = evidence.ranks(Limits(*limits_from_good(scores[setters], ceiling=scored.ceiling()))) > ACCEPTED
    both = setters | teaches
    above_good = auroc(scores[both], teaches[both])
    return Separation(int((above & teaches).sum()), above_good, int((above & setters).sum()), int(setters.sum()))
