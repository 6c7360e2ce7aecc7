"""Scores and limits of any size: the report is written, and says what it does not draw."""

import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from inspect_core.inspection import Inspection
from inspect_core.line.batch_report import batch_sentence, html_of
from inspect_core.line.histogram import histogram, stacked, ticks
from inspect_core.runtime.fonts import SANS
from inspect_core.verdict import Reason

HUGE = 10**400


def row(**values) -> Inspection:
    defaults = {
        "name": "part",
        "verdict": "accept",
        "score": 1.0,
        "review": 3.0,
        "reject": 4.0,
        "area": 1,
        "recipe": "r",
    }
    return Inspection(**defaults | {"time": "2026-11-21T06:00"} | values)


@pytest.mark.parametrize("value", [1e308, -1e308, float("inf"), float("nan"), HUGE, -HUGE])
def test_a_score_that_cannot_be_drawn_is_left_out_and_counted(inspector, value):
    rows = [row(), row(score=value)]
    assert histogram(rows).count("<rect") == 1
    page = html_of(inspector(), rows, {})
    assert "Not plotted: 1 part" in page


@pytest.mark.parametrize("limits", [(1e308, 1e308), (-1e308, 1e308), (3.0, float("inf"))])
def test_limits_that_cannot_be_drawn_leave_a_report_without_bars(inspector, limits):
    page = html_of(inspector(), [row(review=limits[0], reject=limits[1])] * 2, {})
    assert "Not plotted: 2 parts" in page
    assert "<rect" not in page
    assert "part</td>" in page


def test_a_report_shows_names_as_text_on_one_line(inspector):
    rows = [row(name='<script>"\n', verdict="reject", defect_type="<b>\x1b", reason="{{ 7 * 7 }}")]
    text = html_of(inspector(), rows, {rows[0].name: b"picture"})
    assert "<script" not in text
    assert text.count("&lt;script&gt;&#34;\\n") == 2, "below the picture and in the table"
    assert "&lt;b&gt;\\x1b" in text
    assert "{{ 7 * 7 }}" in text
    assert not re.findall(r'(?:src|href)="(?!data:)', text)


def test_bars_of_any_groups_are_stacked_with_their_limits():
    groups = [("good", "green", np.array([1.0, 2.0])), ("defect", "red", np.array([2.0, 4.0]))]
    drawn = ElementTree.fromstring(stacked(groups, (3.0, 3.0), width=380, height=220))
    bars = [element for element in drawn if element.tag.endswith("rect")]
    assert [bar.get("fill") for bar in bars] == ["green"] * 2 + ["red"] * 2
    assert bars[1].get("x") == bars[2].get("x")
    assert float(bars[2].get("y")) == pytest.approx(float(bars[1].get("y")) - float(bars[1].get("height")))
    assert [text.text for text in drawn if "above" in (text.text or "")] == ["reject above 3"]


def test_report_names_its_release_and_loads_nothing(inspector):
    page = html_of(inspector(), [row()], {})
    assert "<tr><th>Recipe</th><td>dddddddddddd</td></tr>" in page
    assert "Export" not in page
    exported = html_of(inspector(release="e" * 64), [row()], {}, "approved by <Ana> on 2026-01-01: tested")
    assert "<tr><th>Export</th><td>release eeeeeeeeeeee</td></tr>" in exported
    assert "<td>approved by &lt;Ana&gt; on 2026-01-01: tested</td>" in exported
    assert all(f"{sign} by, date" in page for sign in ("Prepared", "Checked", "Approved")), "lines to sign"
    assert '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';' in page


def test_parts_to_review_below_the_limit_are_explained():
    reasons = (Reason.SHADED, Reason.SHADED, Reason.PARTLY_OUT)
    parts = [row(verdict="review", reason=why.text(), decided_by=why, never_accepted=why) for why in reasons]
    strict = row(verdict="review", reason="darker than taught")
    sentence = batch_sentence([row(), *parts, strict, row(verdict="review", score=3.5)])
    assert sentence == (
        "Accepted 1 of 6; 5 to review. 2 to review whatever the score: an area is paler or darker. "
        "1 to review whatever the score: partly out of view."
    )


@pytest.mark.parametrize("low", [-3.7, 0.0, 0.94, 12.3])
@pytest.mark.parametrize("width", [0.003, 0.9, 1.0, 7.0, 2500.0])
def test_ticks_are_round_and_few(low, width):
    marks = ticks(low, low + width)
    steps = np.diff(marks)
    assert 4 <= len(marks) <= 11
    assert low - 1e-9 <= marks[0] <= marks[-1] <= low + width + 1e-9
    assert np.allclose(steps, steps[0])
    assert float(f"{steps[0]:.0e}") == pytest.approx(steps[0], rel=1e-6)
    assert f"{steps[0]:.0e}"[0] in "125"


def test_one_typeface_is_that_of_the_app(inspector):
    """Without one an image in the browser takes another than the page beside it."""
    settings = tomllib.loads((Path(__file__).parents[2] / ".streamlit/config.toml").read_text(encoding="utf-8"))
    assert settings["theme"]["font"] == SANS
    assert f'font-family="{SANS}"' in histogram([row(), row(score=2.0)])
    assert SANS in html_of(inspector(), [row()], {})
