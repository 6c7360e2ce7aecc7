from xml.etree import ElementTree

import numpy as np
import pytest

from inspect_core.plots import comparison_plots
from inspect_core.plots.chart_theme import DARK, LIGHT
from inspect_core.plots.svg import svg

NAME = "</svg><b> & co"


@pytest.fixture
def rates():
    line = np.array([0.0, 0.1, 0.3]), np.array([0.0, 0.8, 1.0])
    return comparison_plots.rates(
        {NAME: line, **{f"other {i}": line for i in range(9)}}, LIGHT, x="across", y="up", most=0.3
    )


def test_no_two_detectors_share_colour_and_dash(rates):
    assert len({(trace.line.color, trace.line.dash) for trace in rates.data}) == 10


def test_every_part_is_counted_and_both_limits_marked():
    good, defects = np.array([1.0, 2.0, 2.0]), np.array([2.0, 9.0])
    figure = comparison_plots.scores(good, defects, (3.0, 12.0), DARK)
    assert [int(np.sum(trace.y)) for trace in figure.data] == [3, 2]
    assert [mark.x0 for mark in figure.layout.shapes] == [3.0, 12.0]
    assert figure.layout.xaxis.range == (1.0, 12.0), "a limit beyond all scores is shown too"


def test_a_still_picture_holds_the_lines_and_names_as_text(rates):
    drawn = ElementTree.fromstring(svg(rates, LIGHT, width=600, height=300, legend=200))
    tags = [element.tag.split("}")[1] for element in drawn]
    assert tags.count("polyline") == 10
    words = [element.text for element in drawn if element.tag.endswith("text")]
    assert NAME in words
    assert "0%" in words
