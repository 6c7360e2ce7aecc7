import numpy as np
import pytest

from inspect_core.plots.chart_theme import DARK, LIGHT
from inspect_core.plots.defect_type_plots import FEW_IN_BIN, confidence_decay, confusion, reliability
from inspect_core.scoring.metrics import reliability_curve


@pytest.fixture
def curve():
    proba = np.array([[0.9, 0.1]] * 8 + [[0.6, 0.4]] * 2)
    return reliability_curve(proba, np.array([0] * 7 + [1] * 3), bins=5)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_names_right_wrong_and_refused_differ_in_colour(theme):
    counts = np.array([[8, 1, 1], [0, 5, 5]])
    right, wrong, refused = confusion(counts, ["dent", "scratch"], theme).data
    assert right.z[0, 0] == pytest.approx(0.8)
    assert np.isnan(right.z[0, 1])
    assert wrong.z[0, 1] == pytest.approx(0.1)
    assert np.isnan(wrong.z[:, 2]).all()
    assert refused.z[:, 2] == pytest.approx([0.1, 0.5])
    assert len({trace.colorscale[1][1] for trace in (right, wrong, refused)}) == 3


def test_every_count_but_nought_is_written_in_its_cell():
    figure = confusion(np.array([[8, 0, 1], [0, 0, 0]]), ["dent", "scratch"], LIGHT)
    assert {(note.y, note.x, note.text) for note in figure.layout.annotations} == {
        ("dent", "dent", "8"),
        ("dent", "unknown", "1"),
    }


def test_reliability_line_joins_firm_bins_only(curve):
    _, line, marks = reliability({"forest": curve}, LIGHT).data
    assert curve.count[curve.count > 0].tolist() == [2, 8]
    assert FEW_IN_BIN > 2
    assert list(line.x) == pytest.approx([0.9])
    assert list(line.y) == pytest.approx([7 / 8])
    assert list(marks.x) == pytest.approx([0.6, 0.9])
    assert marks.marker.size[1] > marks.marker.size[0]


def test_the_fall_is_drawn_with_its_prior_and_its_limit():
    figure = confidence_decay([0.5, 1, 2], {"forest": [0.7, 0.9, 0.5], "alone": [0.7, 0.9, 0.8]}, 0.25, 0.6, LIGHT)
    assert [trace.name for trace in figure.data] == ["forest", "alone"]
    assert [shape.y0 for shape in figure.layout.shapes[:2]] == [0.25, 0.6]
    assert figure.layout.xaxis.range == pytest.approx(np.log10([0.5, 2]))
