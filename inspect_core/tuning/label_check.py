"""A second look at labels, from the photos themselves: whether known defects differ from what was learned, and which
good photos score as they do.

The limits below were chosen on ten sets, 40 good photos and 20 to 24 defects each: rightly labelled, the AUROC of
scores is .79 to 1; with good and defective exchanged, .10 to .54 in nine of them. Cracked biscuits, each as much like
the others as whole ones are, cannot be told to be exchanged (.997).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inspect_core.runtime.wording import join_first_names, pluralise
from inspect_core.scoring.metrics import auroc
from inspect_core.study.scored_photos import ScoredPhotos

LEAST_AUROC, LEAST_AUROC_OF_FEW = 0.65, 0.5
"""Below, labels are in doubt; the second with fewer than ENOUGH_DEFECTS."""
ENOUGH_DEFECTS = 10
FEWEST_DEFECTS = 3
FEWEST_SUSPECTS = 3
"""Good photos that look like known defects; fewer are what limits are for."""


@dataclass(frozen=True)
class LabelCheck:
    """auroc: of known defects against good photos, each scored by a detector fitted without it; is_doubtful: whether
    labels may be the wrong way round; suspects: names of the good photos that score nearer to the known defects than to
    the others, highest first.
    """

    auroc: float
    is_doubtful: bool
    suspects: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to say of it, with the remedy; nothing where labels and scores agree."""
        if self.is_doubtful:
            subject = (
                "Known defects look more like what was learned than good parts do"
                if self.auroc < 1 / 2
                else "Known defects cannot be told from good parts"
            )
            return (f"{subject}: are the labels the wrong way round?",)
        if len(self.suspects) < FEWEST_SUSPECTS:
            return ()
        few = join_first_names(list(self.suspects))
        return (
            f"{pluralise(len(self.suspects), 'good photo')} score nearer to the known defects than to the other good "
            f"ones ({few}): look whether they show defects.",
        )


def check_labels(scored: ScoredPhotos) -> LabelCheck:
    """What the scores of photos at their initial live values say of their labels."""
    good, defect = scored.good_and_defect()
    scores = scored.scores() if good.any() and defect.any() else np.zeros(len(good), np.float32)
    return check_scores([photo.name for photo in scored.photos], scores, good, defect)


def check_scores(names: Sequence[str], scores: np.ndarray, good: np.ndarray, defect: np.ndarray) -> LabelCheck:
    """What scores (n,) of named photos say of the labels good and defect, each (n,) bool; NaN and no doubt with fewer
    than FEWEST_DEFECTS of either.
    """
    if good.sum() < FEWEST_DEFECTS or defect.sum() < FEWEST_DEFECTS:
        return LabelCheck(float("nan"), False, ())
    known = good | defect
    area = float(auroc(scores[known], defect[known]))
    least = LEAST_AUROC if defect.sum() >= ENOUGH_DEFECTS else LEAST_AUROC_OF_FEW
    between = float(np.median(scores[good]) + np.median(scores[defect])) / 2
    order = np.argsort(-scores, kind="stable")
    suspects = tuple(names[i] for i in order if good[i] and scores[i] > between)
    return LabelCheck(area, area < least, suspects)
