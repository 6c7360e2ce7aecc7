"""calibration.csv: the photos that the limits of a recipe were set and tested on."""

from collections.abc import Mapping
from dataclasses import astuple

from inspect_core.datasets.dataset import CALIBRATION, TEST
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.csv_text import csv_text
from inspect_core.recipe_format.recipe_package import Package, recipe_errors
from inspect_core.recipe_format.recorded_photos import CalibrationPhoto
from inspect_core.scoring.input_checks import as_finite_number
from inspect_core.verdict import Reason


def table_of(calibration: tuple[CalibrationPhoto, ...], test_photos: tuple[CalibrationPhoto, ...]) -> bytes:
    """calibration.csv."""
    sets = ((calibration, CALIBRATION), (test_photos, TEST))
    rows = [[*astuple(row), part] for photos, part in sets for row in photos]
    return csv_text([["name", "digest", "score", "label", "reason", "subset"], *rows]).encode()


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
            reason = row["reason"] and Reason(row["reason"]).value
            sets[row["subset"]].append(CalibrationPhoto(row["name"], row["digest"], score, row["label"], reason))
        if len(sets[CALIBRATION]) != document["calibration"]["good"]:
            raise ValueError("its length does not match recipe.json")
    return tuple(sets[CALIBRATION]), tuple(sets[TEST])
