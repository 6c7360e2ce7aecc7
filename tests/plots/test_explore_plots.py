import numpy as np
import pytest

from inspect_core.plots import explore_plots
from inspect_core.plots.chart_theme import DARK, LIGHT


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_figure_has_the_one_template(theme):
    fractions = np.geomspace(1, 1e-4, 30) / np.geomspace(1, 1e-4, 30).sum()
    drawn = [
        explore_plots.eigenvalues(fractions, 4, 0.8, theme),
        explore_plots.local_spectra({"mixed": np.tile(fractions, (3, 1))}, theme, level=("ridge 0.01", 0.01), k=20),
        explore_plots.location_map(np.ones((4, 3), int), 5, theme),
        explore_plots.curves((1, 10), {"AUPRO": (0.2, 0.9)}, theme, parameter="k", in_force=1, title="share"),
    ]
    for figure in drawn:
        layout = figure.layout.template.layout
        assert layout.font.color == theme.ink
        assert layout.paper_bgcolor == "rgba(0,0,0,0)"
        assert not layout.xaxis.showgrid
        assert figure.to_json()


def share(values, lines, in_force=None):
    return explore_plots.curves(values, lines, LIGHT, parameter="k", in_force=in_force, title="share")


def test_the_value_in_force_stands_at_its_place_on_a_log_axis():
    layout = share((1, 10, 100), {"AUPRO": (0.2, 0.5, 0.9)}, 10).layout
    line, label = layout.shapes[0], layout.annotations[0]
    assert line.x0 == line.x1 == 10, "a shape takes data"
    assert label.x == pytest.approx(1.0), "an annotation on a log axis takes the exponent"
    assert label.text == "current: 10"


def test_a_curve_without_a_number_is_left_out_and_gaps_stay():
    figure = share((1, 10), {"image AUROC": (np.nan, np.nan), "AUPRO": (np.nan, 0.5)})
    assert [trace.name for trace in figure.data] == ["AUPRO"]
    assert np.isnan(figure.data[0].y[0])
    assert not figure.layout.shapes


def test_labels_of_close_lines_do_not_meet():
    figure = share((1, 10), {"a": (0, 0.90), "b": (0, 0.91), "c": (0, 0.10)})
    heights = sorted(240 * note.y + note.yshift for note in figure.layout.annotations)
    assert len(heights) == 3
    assert (np.diff(heights) >= 15 - 1e-9).all()
    assert heights[0] == pytest.approx(24), "one that is far from the others stays at its line"


def test_a_spectrum_ends_where_nothing_varies():
    band = np.tile(np.r_[np.geomspace(1, 1e-3, 7), np.zeros(13)], (3, 1))
    figure = explore_plots.local_spectra({"typical location": band}, LIGHT, level=("ridge 0.01", 0.01), k=20)
    assert len(figure.data[1].x) == 7
    empty = explore_plots.local_spectra({"typical location": np.zeros((3, 5))}, LIGHT)
    assert len(empty.data[1].x) == 0


def test_the_cut_of_the_eigenvalues_is_marked_with_what_it_keeps():
    fractions = np.full(20, 0.05)
    figure = explore_plots.eigenvalues(fractions, 16, 0.8, LIGHT)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert "q = 16 explains 80.0%" in figure.layout.annotations[-1].text
    scored = next(shape for shape in figure.layout.shapes if shape.type == "rect")
    assert (scored.x0, scored.x1) == (16, 20)


@pytest.mark.parametrize(("q", "anchor"), [(1, "left"), (5, "center"), (19, "right")])
def test_the_words_at_the_cut_stay_inside_the_figure(q, anchor):
    assert explore_plots.eigenvalues(np.full(20, 0.05), q, 0.5, LIGHT).layout.annotations[-1].xanchor == anchor


def test_variance_curve_runs_from_zero_to_the_rounding_error():
    (line,) = explore_plots.variance_decay(np.array([np.e**2, np.e, 1.0, 1e-12, 0.0]), LIGHT).data
    assert line.y == pytest.approx([0, 1, 2])
    assert len(explore_plots.variance_decay(np.zeros(3), LIGHT).data[0].x) == 0
