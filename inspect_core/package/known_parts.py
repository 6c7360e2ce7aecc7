"""Parts that a recipe knows by name: photos that its limits were set or judged on, and its challenge parts."""

import csv
import io
from dataclasses import dataclass, replace
from typing import Self

from inspect_core.judge.checks import as_finite_number
from inspect_core.package import manifest
from inspect_core.package.csv_text import csv_text
from inspect_core.package.manifest import Package, refusing
from inspect_core.verdict import Limits, Word

CALIBRATE, JUDGE = "calibrate", "judge"


@dataclass(frozen=True)
class Calibrated:
    """One photo that the limits were set or judged on: its name, content digest and score.

    The score of a good part that set the limits is under local scales learned without its group.
    """

    name: str
    digest: str
    score: float


@dataclass(frozen=True)
class ChallengePart:
    """A part that is kept beside the line, to prove lamp, lens and fixture: its name, whether it is good, and the
    verdict and score that it had when it was named.
    """

    name: str
    good: bool
    verdict: Word
    score: float

    def under(self, limits: Limits) -> Self | None:
        """The same part under other limits; None when it would prove nothing: good and not accepted, or defective and
        accepted.
        """
        verdict = limits.verdict(self.score)
        return replace(self, verdict=verdict) if (verdict == "accept") == self.good else None


def table_of(calibration: tuple[Calibrated, ...], judged: tuple[Calibrated, ...]) -> bytes:
    """calibration.csv."""
    sets = ((calibration, CALIBRATE), (judged, JUDGE))
    rows = [[row.name, row.digest, repr(row.score), part] for photos, part in sets for row in photos]
    return csv_text([["name", "digest", "score", "set"], *rows]).encode()


def read_table(package: Package, document: dict) -> tuple[tuple[Calibrated, ...], tuple[Calibrated, ...]]:
    """The photos that limits were set on, and those that they were judged on.

    Raises RecipeError for a table that is damaged or not as long as recipe.json states.
    """
    sets: dict[str, list[Calibrated]] = {CALIBRATE: [], JUDGE: []}
    with refusing(package.where, f"{manifest.CALIBRATION} is damaged"):
        rows = csv.DictReader(io.StringIO(package.read(manifest.CALIBRATION).decode("utf-8")))
        for number, row in enumerate(rows, start=1):
            score = as_finite_number(float(row["score"]), name=f"score of row {number}")
            sets[row.get("set", CALIBRATE)].append(Calibrated(row["name"], row["digest"], score))
        if len(sets[CALIBRATE]) != document["calibration"]["good"]:
            raise ValueError("it is not as long as recipe.json says")
    return tuple(sets[CALIBRATE]), tuple(sets[JUDGE])
