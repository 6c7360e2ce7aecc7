"""What may differ between the app and an exported recipe, and what may not."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from inspect_core.recipe_format.golden_images import (
    GoldenImage,
    difference,
    read_table,
    table_of,
    tolerance,
    verdict_key,
)
from inspect_core.recipe_format.recipe_package import EXPECTED, MODEL, RecipeError
from inspect_core.verdict import NOT_LOCATED, UNKNOWN_TYPE, Limits


@pytest.mark.parametrize(
    ("score", "other", "apart"),
    [(1.0, 3.5, 2.5), (3.5, 1.0, 2.5), (None, None, 0.0), (None, 1.0, math.inf), (1.0, None, math.inf)],
)
def test_scores_differ_by_their_distance(score, other, apart):
    assert difference(score, other) == apart


def test_tolerance_is_a_share_of_the_way_to_the_limit():
    limits = Limits(5.0, 6.0)
    assert tolerance(np.array([1.0, 2.0, 9.0]), limits) == pytest.approx(1e-4 * 4.0)
    assert tolerance(np.array([8.0]), limits) == pytest.approx(1e-4 * 2.0)
    assert tolerance(np.array([]), limits) == pytest.approx(1e-4 * 6.0)


@pytest.mark.parametrize(
    ("defect_type", "of_unknown_type", "named"),
    [(("dent", 0.9), False, "dent"), (None, True, UNKNOWN_TYPE), (None, False, "")],
)
def test_key_is_verdict_reason_and_defect_type(defect_type, of_unknown_type, named):
    facts = {"verdict": "reject", "reason": "", "defect_type": defect_type, "of_unknown_type": of_unknown_type}
    assert verdict_key(SimpleNamespace(**facts)) == ("reject", "", named)


def test_why_a_part_was_not_located_may_differ():
    assert verdict_key(SimpleNamespace(verdict=NOT_LOCATED, reason="too dark: 3.99 grey levels")) == (
        NOT_LOCATED,
        "",
        "",
    )


class Exported:
    """A package of these rows, with these golden images."""

    def __init__(self, files: list[str], rows: list[dict[str, str]]) -> None:
        self.where = SimpleNamespace(name="line.zip")
        self.sizes = dict.fromkeys([MODEL, EXPECTED, *files], 1)
        self.rows = lambda name: rows


def row(file: str, score: str = "1.5") -> dict[str, str]:
    return {"file": file, "name": "a.png", "score": score, "verdict": "accept", "reason": "", "defect_type": ""}


def test_table_is_read_as_it_was_written():
    images = [
        GoldenImage("golden/0.png", "a.png", 1.5, "accept", "", ""),
        GoldenImage("1", "b", None, NOT_LOCATED, "", ""),
    ]
    lines = [line.split(",") for line in table_of(images).decode().splitlines()]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    assert read_table(Exported(["golden/0.png", "1", "2"], rows)) == images


@pytest.mark.parametrize(
    ("files", "rows"),
    [([], []), ([], [row("golden/0.png")]), (["golden/0.png"], [row("golden/0.png"), row("golden/1.png")])],
)
def test_table_without_images_is_refused(files, rows):
    with pytest.raises(RecipeError, match=r"line\.zip: .*lists no image, or a missing one"):
        read_table(Exported(files, rows))


@pytest.mark.parametrize("score", ["nan", "inf", "much"])
def test_score_that_is_no_number_is_refused(score):
    with pytest.raises(RecipeError, match="is damaged"):
        read_table(Exported(["golden/0.png"], [row("golden/0.png", score)]))
