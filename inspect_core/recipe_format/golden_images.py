"""Golden images of an exported recipe: original photos and their results at the time of the export.

They prove that the software on another PC gives the same results: the runner inspects them at every start.
"""

import math
from dataclasses import astuple, dataclass, fields

import numpy as np

from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.csv_text import csv_text
from inspect_core.recipe_format.recipe_package import Package, RecipeError, recipe_errors
from inspect_core.scoring.input_checks import as_finite_number
from inspect_core.verdict import NOT_LOCATED, UNKNOWN_TYPE, Limits, Verdict

MOST = 12
TOLERANCE = 1e-4
"""Largest difference of a score, as a share of the distance from the median good score to the limit."""


@dataclass(frozen=True)
class GoldenImage:
    """A golden image: its file in the package, its original name, and its result."""

    file: str
    name: str
    score: float | None
    verdict: str
    reason: str
    defect_type: str


def verdict_key(verdict: Verdict) -> tuple[str, str, str]:
    """What must not differ: the verdict, the reason and the defect type, the last two "" for none.

    The reason why a part was not located is left out: its figures may differ in the last digit.
    """
    if verdict.verdict == NOT_LOCATED:
        return NOT_LOCATED, "", ""
    of_type = verdict.defect_type[0] if verdict.defect_type else UNKNOWN_TYPE if verdict.of_unknown_type else ""
    return verdict.verdict, verdict.reason, of_type


def tolerance(good_scores: np.ndarray, limits: Limits) -> float:
    """The largest permitted difference of a score between two programs.

    good_scores: (n,) of the parts that set the limits; with none, the distance is that of the limit from 0.
    """
    median = float(np.median(good_scores)) if len(good_scores) else 0.0
    return TOLERANCE * abs(limits.reject - median)


def difference(score: float | None, other: float | None) -> float:
    """That of two scores; 0 when neither part was located, infinite when one was."""
    if score is None or other is None:
        return 0.0 if score is other else math.inf
    return abs(score - other)


def table_of(rows: list[GoldenImage]) -> bytes:
    """golden/expected.csv."""
    return csv_text([[field.name for field in fields(GoldenImage)], *map(astuple, rows)]).encode()


def read_table(package: Package) -> list[GoldenImage]:
    """The golden images of an exported recipe.

    Raises RecipeError for a recipe that was not exported, and for a table that is damaged.
    """
    for name in (recipe_package.MODEL, recipe_package.EXPECTED):
        if name not in package.sizes:
            raise RecipeError(f"{package.where.name}: it has no {name}; export it first: python -m inspect_core export")
    with recipe_errors(package.where, f"{recipe_package.EXPECTED} is damaged"):
        images = []
        for row in package.rows(recipe_package.EXPECTED):
            score = as_finite_number(float(row["score"]), name="score") if row["score"] else None
            images.append(
                GoldenImage(row["file"], row["name"], score, row["verdict"], row["reason"], row["defect_type"])
            )
        if not images or not {row.file for row in images} <= set(package.sizes):
            raise ValueError("it lists no image, or a missing one")
    return images
