"""Scores and limits of any size: the report is written, and says what it does not draw."""

import pytest

from inspect_core.line.histogram import histogram
from inspect_core.line.report import html_of
from inspect_core.line.row import Row

HUGE = 10**400


def row(**values) -> Row:
    return Row(**{"name": "part", "verdict": "accept", "score": 1.0, "review": 3.0, "reject": 4.0, "area": 1,
                  "recipe": "r", "time": "2026-11-21T06:00"} | values)  # fmt: skip


@pytest.mark.parametrize("value", [1e308, -1e308, float("inf"), float("nan"), HUGE, -HUGE])
def test_a_score_that_cannot_be_drawn_is_left_out_and_counted(inspector, value):
    rows = [row(), row(score=value)]
    assert histogram(rows).count("<rect") == 1
    page = html_of(inspector(), rows, {})
    assert "Not drawn: 1 part with a score or limit beyond" in page


@pytest.mark.parametrize("limits", [(1e308, 1e308), (-1e308, 1e308), (3.0, float("inf"))])
def test_limits_that_cannot_be_drawn_leave_a_report_without_bars(inspector, limits):
    page = html_of(inspector(), [row(review=limits[0], reject=limits[1])] * 2, {})
    assert "Not drawn: 2 parts" in page
    assert "<rect" not in page
    assert "part</td>" in page


def test_a_report_names_the_release_that_judged(inspector):
    assert "recipe dddddddddddd, release eeeeeeeeeeee, nothing" in html_of(inspector(release="e" * 64), [row()], {})
    assert "recipe dddddddddddd, nothing" in html_of(inspector(), [row()], {})


def test_a_report_lets_a_browser_load_nothing(inspector):
    assert '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';' in html_of(
        inspector(), [row()], {}
    )
