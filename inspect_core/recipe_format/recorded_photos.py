"""Parts that a recipe knows by name: what it was taught from, set and judged its limits on, and its challenge parts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any, Self

import numpy as np

from inspect_core.images.samples import GOOD
from inspect_core.judge.counts import Counts, Unscored, count_parts, counted_parts
from inspect_core.judge.input_checks import as_finite_number
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.csv_text import csv_text
from inspect_core.recipe_format.recipe_package import Package, refusing
from inspect_core.verdict import OTHER_PRODUCT, Limits, Word

CALIBRATE, JUDGE = "calibrate", "judge"
UNKNOWN = "unknown"
"""The kind of a part of which nothing is known."""


@dataclass(frozen=True)
class Calibrated:
    """One photo that the limits were set or judged on: its name, content digest, score and what it is.

    The score of a good part that set the limits is under local scales learned without its group. kind: "good" or the
    defect type; "" where the recipe does not say.
    """

    name: str
    digest: str
    score: float
    kind: str = ""


@dataclass(frozen=True)
class TaughtPhoto:
    """A photo of the set "fit", "calibrate", "choose" or "judge"; group: its own in the split, "" when alone."""

    name: str
    digest: str
    kind: str
    set: str
    group: str = ""


@dataclass(frozen=True)
class TaughtFrom:
    """Every photo that a recipe was taught from, and the choices of the fit that it records nowhere else: fields of a
    `TeachingConfig`; tolerances: theirs by name.
    """

    photos: tuple[TaughtPhoto, ...]
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
        """Of checked fields of recipe.json."""
        said: dict[str, Any] = dict(params)
        said["photos"] = tuple(TaughtPhoto(**photo) for photo in params["photos"])
        said["taps"] = None if params["taps"] is None else tuple(params["taps"])
        return cls(**said)


@dataclass(frozen=True)
class UnscoredPart:
    """A part of its teaching that has no score; word: "not located" or "not judged"; reason: why.

    set: as of a `TaughtPhoto`; kind: what it is known to be.
    """

    name: str
    kind: str
    set: str
    word: str
    reason: str


def counts_of(
    limits: Limits,
    set_on: Sequence[Calibrated],
    judged: Sequence[Calibrated],
    unscored: Sequence[UnscoredPart] = (),
) -> tuple[Counts, bool]:
    """Return what the limits do to the parts they were tested on, and whether the good ones set the limits.

    The latter are counted when no good part was kept to test. A part whose kind is not known is not counted.
    """
    rows = [(row.kind, JUDGE) for row in judged] + [(GOOD, CALIBRATE)] * len(set_on)
    rows += [(part.kind, part.set) for part in unscored]
    kinds = [kind for kind, _ in rows]
    is_good = np.array([kind == GOOD for kind in kinds], bool)
    is_defect = np.array([kind not in ("", UNKNOWN, GOOD) for kind in kinds], bool)
    good, defect, is_own = counted_parts(is_good, is_defect, [part for _, part in rows])
    scores = np.array([row.score for row in (*judged, *set_on)], float)
    count = len(scores)
    return (
        count_parts(
            scores[good[:count]],
            scores[defect[:count]],
            review=limits.review,
            reject=limits.reject,
            good_unscored=Unscored.of_words(
                [part.word for part, own in zip(unscored, good[count:], strict=True) if own]
            ),
            defects_unscored=Unscored.of_words(
                [part.word for part, own in zip(unscored, defect[count:], strict=True) if own]
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
    verdict: Word
    score: float
    reason: str = ""

    def margin(self, limits: Limits) -> float | None:
        """Its distance from the nearest limit; None when its score does not decide."""
        return None if self.reason == OTHER_PRODUCT else margin(limits, self.verdict, self.score)

    def under(self, limits: Limits) -> Self | None:
        """The same part under other limits; None when it would prove nothing: good and not accepted, defective and
        accepted, or right at a limit.
        """
        if self.reason == OTHER_PRODUCT:
            return self if self.verdict == "reject" and not self.good else None
        verdict = limits.verdict(self.score)
        proves = (verdict == "accept") == self.good and margin(limits, verdict, self.score) > 0
        return replace(self, verdict=verdict) if proves else None


def read_challenge(document: Mapping) -> tuple[ChallengePart, ...]:
    """The challenge parts of recipe.json. Raises ValueError for a name twice and for one that its limits contradict or
    that lies right at a limit.
    """
    parts, limits = tuple(ChallengePart(**part) for part in document["challenge"]), Limits(**document["limits"])
    names = Counter(part.name for part in parts)
    for part in parts:
        if names[part.name] > 1:
            raise ValueError(f"two challenge parts are called {part.name!r:.80}")
        if part.under(limits) != part:
            raise ValueError(f"challenge part {part.name!r:.80} cannot be used: its score is too close to a limit")
    return parts


def table_of(calibration: tuple[Calibrated, ...], judged: tuple[Calibrated, ...]) -> bytes:
    """calibration.csv."""
    sets = ((calibration, CALIBRATE), (judged, JUDGE))
    rows = [[*astuple(row), part] for photos, part in sets for row in photos]
    return csv_text([["name", "digest", "score", "kind", "set"], *rows]).encode()


def read_table(package: Package, document: Mapping) -> tuple[tuple[Calibrated, ...], tuple[Calibrated, ...]]:
    """The photos that limits were set on, and those that they were judged on.

    Raises RecipeError for a table that is damaged or not as long as recipe.json states.
    """
    sets: dict[str, list[Calibrated]] = {CALIBRATE: [], JUDGE: []}
    with refusing(package.where, f"{recipe_package.CALIBRATION} is damaged"):
        for number, row in enumerate(package.rows(recipe_package.CALIBRATION), start=1):
            score = as_finite_number(float(row["score"]), name=f"score of row {number}")
            sets[row["set"]].append(Calibrated(row["name"], row["digest"], score, row.get("kind", "")))
        if len(sets[CALIBRATE]) != document["calibration"]["good"]:
            raise ValueError("its length does not match recipe.json")
    return tuple(sets[CALIBRATE]), tuple(sets[JUDGE])
