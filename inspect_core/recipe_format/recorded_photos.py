"""Parts that a recipe knows by name: what it was taught from, set and judged its limits on, and its challenge parts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np

from inspect_core.datasets.dataset import CALIBRATION, GOOD, SUBSETS, TEST
from inspect_core.images.areas import Outline
from inspect_core.runtime.json_record import (
    ANY,
    FINITE,
    MANY,
    TEXT,
    Least,
    from_table,
    list_of,
    number,
    one_of,
    or_null,
    table_of,
)
from inspect_core.scoring.counts import UnscoredCounts, select_counted_parts
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.verdict_rule import WORDS
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED, Limits, Reason, VerdictWord

UNKNOWN = "unknown"
"""The label of a part of which nothing is known."""


@dataclass(frozen=True)
class CalibrationPhoto:
    """One photo that the limits were set or judged on: its name, content digest, score and what it is.

    The score of a good part that set the limits is under local scales learned without its group. label: "good" or the
    defect type; "" where the recipe does not say; reason: what decided about it whatever its score, as a value of
    `verdict.Reason`, "" where that decided.
    """

    name: str
    digest: str
    score: float
    label: str = ""
    reason: str = ""

    @property
    def is_foreign(self) -> bool:
        """Whether the product check found another product."""
        return self.reason == Reason.OTHER_PRODUCT

    @property
    def never_accepted(self) -> Reason | None:
        """What other than the score and the product check speaks against it."""
        return Reason(self.reason) if self.reason and not self.is_foreign else None

    def decide(self, limits: Limits, *, stops: bool) -> tuple[VerdictWord, Reason]:
        """Its verdict, and what decides; stops: whether the product check does. Otherwise as `Limits.decide`."""
        stopped = stops and self.is_foreign
        return limits.decide(self.score, stopped=stopped, never_accepted=self.never_accepted)


@dataclass(frozen=True)
class TeachingPhoto:
    """A photo of one of SUBSETS; group: its own in the split, "" when alone; drawn: outlines of its defect, as of a
    `ScoredPhoto`.
    """

    name: str
    digest: str
    label: str
    subset: Annotated[str, one_of(*SUBSETS)]
    group: str = ""
    drawn: Annotated[tuple[Outline, ...], list_of(list_of(list_of(number(0, 1), least=2), least=3))] = ()


@dataclass(frozen=True)
class TeachingRecord:
    """Every photo that a recipe was taught from, and the choices of the fit that it records nowhere else: fields of a
    `TeachingConfig`; tolerances: theirs by name.
    """

    photos: Annotated[tuple[TeachingPhoto, ...], Least(1)]
    taps: Annotated[tuple[str, ...] | None, or_null(list_of(TEXT, least=1), "null or a list of layers")]
    parameters: Annotated[Mapping[str, float | None], table_of(or_null(ANY))]
    align: Annotated[str, one_of("none", "rigid", "similarity")]
    align_turn: Annotated[float, number(0, 180)]
    align_shift: Annotated[float, number(0, 1)]
    tolerances: Annotated[Mapping[str, float] | None, or_null(table_of(number(0, MANY)), "null or a table of numbers")]


@dataclass(frozen=True)
class UnscoredPart:
    """A part of its teaching without a score; verdict: "not located" or "not judged"; else as a `TeachingPhoto`."""

    name: str
    label: str
    subset: Annotated[str, one_of(*SUBSETS)]
    verdict: Annotated[str, one_of(NOT_LOCATED, NOT_JUDGED)]
    reason: str


def evidence_of(
    set_on: Sequence[CalibrationPhoto],
    recorded: Sequence[CalibrationPhoto],
    unscored: Sequence[UnscoredPart] = (),
    *,
    stops: bool = False,
) -> Evidence:
    """That of the parts which limits were tested on, then of the good ones that they were set on.

    The latter are counted when no good part was kept to test. A part whose label is not known is not counted. stops:
    whether the product check stops parts.
    """
    parts = [*((part, TEST) for part in recorded), *((replace(part, label=GOOD), CALIBRATION) for part in set_on)]
    labels = [*(part.label for part, _ in parts), *(part.label for part in unscored)]
    is_good = np.array([label == GOOD for label in labels], bool)
    is_defect = np.array([label not in ("", UNKNOWN, GOOD) for label in labels], bool)
    subsets = [*(subset for _, subset in parts), *(part.subset for part in unscored)]
    good, defect, is_own = select_counted_parts(is_good, is_defect, subsets)
    count = len(parts)
    good_words, defect_words = (
        [part.verdict for part, belongs in zip(unscored, counted[count:], strict=True) if belongs]
        for counted in (good, defect)
    )
    return Evidence(
        scores=np.array([part.score for part, _ in parts], np.float64),
        good=good[:count],
        defect=defect[:count],
        stopped=np.array([stops and part.is_foreign for part, _ in parts], bool),
        never_accepted=np.array([part.never_accepted is not None for part, _ in parts], bool),
        good_unscored=UnscoredCounts.of_words(good_words),
        defects_unscored=UnscoredCounts.of_words(defect_words),
        limits_set_here=is_own,
    )


def margin(limits: Limits, verdict: str, score: float) -> float:
    """How far a score may move before the verdict changes, in the unit of the score."""
    if verdict == "accept":
        return limits.review - score
    return score - limits.reject if verdict == "reject" else min(score - limits.review, limits.reject - score)


@dataclass(frozen=True)
class ChallengePart:
    """A part that is kept beside the line, to prove lamp, lens and fixture: its name, whether it is good, and the
    verdict, score and reason that it had when it was named.

    digest: of the photo that named it, which proves nothing of the lamp today; reason: Reason.OTHER_PRODUCT when the
    product check stopped it, whatever its score; "" when its score decided.
    """

    name: str
    good: bool
    verdict: Annotated[VerdictWord, one_of(*WORDS)]
    score: Annotated[float, FINITE]
    reason: Annotated[str, one_of("", Reason.OTHER_PRODUCT.value)] = ""
    digest: Annotated[str, TEXT] = ""

    def margin(self, limits: Limits) -> float | None:
        """Its distance from the nearest limit; None when its score does not decide."""
        return None if self.reason == Reason.OTHER_PRODUCT else margin(limits, self.verdict, self.score)

    def with_limits(self, limits: Limits) -> Self | None:
        """The same part under other limits; None where it proves nothing: on the wrong side or at a limit."""
        if self.reason == Reason.OTHER_PRODUCT:
            return self if self.verdict == "reject" and not self.good else None
        verdict, _ = limits.decide(self.score)
        proves = (verdict == "accept") == self.good and margin(limits, verdict, self.score) > 0
        return replace(self, verdict=verdict) if proves else None


def read_challenge(document: Mapping) -> tuple[ChallengePart, ...]:
    """The challenge parts of recipe.json. Raises ValueError for a name twice or one its limits contradict."""
    parts = tuple(from_table(ChallengePart, part) for part in document["challenge_parts"])
    limits = from_table(Limits, document["limits"])
    names = Counter(part.name for part in parts)
    for part in parts:
        if names[part.name] > 1:
            raise ValueError(f"two challenge parts are called {part.name!r:.80}")
        if part.with_limits(limits) != part:
            raise ValueError(f"challenge part {part.name!r:.80} cannot be used: its score is too close to a limit")
    return parts
