"""Parts that a recipe knows by name: what it was taught from, set and judged its limits on, and its challenge parts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any, Self

import numpy as np

from inspect_core.datasets.dataset import CALIBRATION, GOOD, TEST
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.csv_text import csv_text
from inspect_core.recipe_format.recipe_package import Package, recipe_errors
from inspect_core.scoring.counts import UnscoredCounts, VerdictCounts, count_parts, select_counted_parts
from inspect_core.scoring.input_checks import as_finite_number
from inspect_core.verdict import OTHER_PRODUCT, Limits, VerdictWord

UNKNOWN = "unknown"
"""The label of a part of which nothing is known."""


@dataclass(frozen=True)
class CalibrationPhoto:
    """One photo that the limits were set or judged on: its name, content digest, score and what it is.

    The score of a good part that set the limits is under local scales learned without its group. label: "good" or the
    defect type; "" where the recipe does not say.
    """

    name: str
    digest: str
    score: float
    label: str = ""


@dataclass(frozen=True)
class TeachingPhoto:
    """A photo of one of SUBSETS; group: its own in the split, "" when alone."""

    name: str
    digest: str
    label: str
    subset: str
    group: str = ""


@dataclass(frozen=True)
class TeachingRecord:
    """Every photo that a recipe was taught from, and the choices of the fit that it records nowhere else: fields of a
    `TeachingConfig`; tolerances: theirs by name.
    """

    photos: tuple[TeachingPhoto, ...]
    taps: tuple[str, ...] | None
    parameters: Mapping[str, float | None]
    align: str
    align_turn: float
    align_shift: float
    tolerances: Mapping[str, float] | None

    def params(self) -> dict[str, Any]:
        """As recipe.json holds it."""
        return asdict(self)

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Create it from checked fields of recipe.json."""
        values: dict[str, Any] = dict(params)
        values["photos"] = tuple(TeachingPhoto(**photo) for photo in params["photos"])
        values["taps"] = None if params["taps"] is None else tuple(params["taps"])
        return cls(**values)


@dataclass(frozen=True)
class UnscoredPart:
    """A part of its teaching without a score; verdict: "not located" or "not judged"; else as a `TeachingPhoto`."""

    name: str
    label: str
    subset: str
    verdict: str
    reason: str


def counts_of(
    limits: Limits,
    set_on: Sequence[CalibrationPhoto],
    recorded: Sequence[CalibrationPhoto],
    unscored: Sequence[UnscoredPart] = (),
) -> tuple[VerdictCounts, bool]:
    """What the limits do to the parts they were tested on, and whether the good ones set the limits.

    The latter are counted when no good part was kept to test. A part whose label is not known is not counted.
    """
    rows = [(row.label, TEST) for row in recorded] + [(GOOD, CALIBRATION)] * len(set_on)
    rows += [(part.label, part.subset) for part in unscored]
    labels = [label for label, _ in rows]
    is_good = np.array([label == GOOD for label in labels], bool)
    is_defect = np.array([label not in ("", UNKNOWN, GOOD) for label in labels], bool)
    good, defect, is_own = select_counted_parts(is_good, is_defect, [part for _, part in rows])
    scores = np.array([row.score for row in (*recorded, *set_on)], float)
    count = len(scores)
    return (
        count_parts(
            scores[good[:count]],
            scores[defect[:count]],
            review=limits.review,
            reject=limits.reject,
            good_unscored=UnscoredCounts.of_words(
                [part.verdict for part, belongs in zip(unscored, good[count:], strict=True) if belongs]
            ),
            defects_unscored=UnscoredCounts.of_words(
                [part.verdict for part, belongs in zip(unscored, defect[count:], strict=True) if belongs]
            ),
        ),
        is_own,
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

    reason: OTHER_PRODUCT when the product check stopped it, whatever its score; "" when its score decided.
    """

    name: str
    good: bool
    verdict: VerdictWord
    score: float
    reason: str = ""

    def margin(self, limits: Limits) -> float | None:
        """Its distance from the nearest limit; None when its score does not decide."""
        return None if self.reason == OTHER_PRODUCT else margin(limits, self.verdict, self.score)

    def with_limits(self, limits: Limits) -> Self | None:
        """The same part under other limits; None where it proves nothing: on the wrong side or at a limit."""
        if self.reason == OTHER_PRODUCT:
            return self if self.verdict == "reject" and not self.good else None
        verdict = limits.verdict(self.score)
        proves = (verdict == "accept") == self.good and margin(limits, verdict, self.score) > 0
        return replace(self, verdict=verdict) if proves else None


def read_challenge(document: Mapping) -> tuple[ChallengePart, ...]:
    """The challenge parts of recipe.json. Raises ValueError for a name twice or one its limits contradict."""
    parts = tuple(ChallengePart(**part) for part in document["challenge_parts"])
    limits = Limits(**document["limits"])
    names = Counter(part.name for part in parts)
    for part in parts:
        if names[part.name] > 1:
            raise ValueError(f"two challenge parts are called {part.name!r:.80}")
        if part.with_limits(limits) != part:
            raise ValueError(f"challenge part {part.name!r:.80} cannot be used: its score is too close to a limit")
    return parts


def table_of(calibration: tuple[CalibrationPhoto, ...], test_photos: tuple[CalibrationPhoto, ...]) -> bytes:
    """calibration.csv."""
    sets = ((calibration, CALIBRATION), (test_photos, TEST))
    rows = [[*astuple(row), part] for photos, part in sets for row in photos]
    return csv_text([["name", "digest", "score", "label", "subset"], *rows]).encode()


def read_table(
    package: Package, document: Mapping
) -> tuple[tuple[CalibrationPhoto, ...], tuple[CalibrationPhoto, ...]]:
    """The photos that limits were set on, and those that they were judged on.

    Raises RecipeError for a table that is damaged or not as long as recipe.json states.
    """
    sets: dict[str, list[CalibrationPhoto]] = {CALIBRATION: [], TEST: []}
    with recipe_errors(package.where, f"{recipe_package.CALIBRATION} is damaged"):
        for number, row in enumerate(package.rows(recipe_package.CALIBRATION), start=1):
            score = as_finite_number(float(row["score"]), name=f"score of row {number}")
            sets[row["subset"]].append(CalibrationPhoto(row["name"], row["digest"], score, row["label"]))
        if len(sets[CALIBRATION]) != document["calibration"]["good"]:
            raise ValueError("its length does not match recipe.json")
    return tuple(sets[CALIBRATION]), tuple(sets[TEST])
