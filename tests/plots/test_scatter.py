import numpy as np
import plotly.graph_objects as go
import pytest

from inspect_core.plots import scatter
from inspect_core.plots.chart_theme import DARK, LIGHT
from inspect_core.plots.scatter import PointMarkers

N = 40


@pytest.fixture
def positions() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, 2)).astype(np.float32)


@pytest.fixture
def marks() -> PointMarkers:
    return PointMarkers(np.arange(N) % 5 == 0, np.arange(N) % 7 == 0)


HOVER = [f"part {i}" for i in range(N)]
WORDS = ["dent" if i % 5 == 0 else "good" for i in range(N)]


def words_figure(positions, marks, theme=LIGHT) -> go.Figure:
    return scatter.scatter_by_category(positions, WORDS, scatter.type_colours(WORDS, theme), marks, HOVER, theme)


def values_figure(positions, marks, values, theme=LIGHT, limit=None) -> go.Figure:
    return scatter.scatter_by_value(positions, values, marks, HOVER, theme, title="score", limit=limit)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_a_map_has_the_template_of_all_figures_and_no_axes(positions, marks, theme):
    for figure in (words_figure(positions, marks, theme), values_figure(positions, marks, positions[:, 0], theme)):
        assert figure.layout.template.layout.font.color == theme.ink
        assert figure.layout.xaxis.visible is figure.layout.yaxis.visible is False
        assert figure.to_json()


def test_a_point_leads_back_to_its_row_whatever_its_trace(positions, marks):
    figure = words_figure(positions, marks)
    visited = []
    for trace in figure.data:
        for i, x, text in zip(trace.customdata, trace.x, trace.text, strict=True):
            assert x == positions[i, 0]
            assert text == HOVER[i]
            assert trace.name.startswith(WORDS[i])
            visited.append(int(i))
    assert sorted(visited) == list(range(N))


def test_marks_survive_the_sorting_by_value(positions, marks):
    (trace,) = values_figure(positions, marks, positions[:, 1]).data
    order = np.asarray(trace.customdata)
    assert (np.diff(positions[order, 1]) >= 0).all(), "the highest are drawn last, on top"
    assert [symbol == "diamond" for symbol in trace.marker.symbol] == marks.diamonds[order].tolist()
    assert [width > 0 for width in trace.marker.line.width] == marks.rings[order].tolist()


def test_good_and_a_lone_defect_keep_their_colours():
    colours = scatter.type_colours(["good", "dent", "good"], LIGHT)
    assert colours["good"] == LIGHT.good
    assert colours["dent"] == LIGHT.defect
    several = scatter.type_colours(["good", "dent", "stain", "unknown"], LIGHT)
    assert len(set(several.values())) == 4
    assert LIGHT.good not in (several["dent"], several["stain"])


def test_many_groups_repeat_colours_without_failing():
    groups = [f"lot {i}" for i in range(30)]
    colours = scatter.colours_of_groups(groups, DARK)
    assert list(colours) == sorted(groups)
    assert set(colours.values()) == set(DARK.defect_types)


@pytest.mark.parametrize("limit", [-0.5, 0.0, 0.7])
def test_colours_turn_hot_exactly_at_the_limit(positions, marks, limit):
    marker = values_figure(positions, marks, np.linspace(-1, 1, N), limit=limit).data[0].marker
    places = [place for place, _ in marker.colorscale]
    at = (limit - marker.cmin) / (marker.cmax - marker.cmin)
    assert (places[0], places[-1]) == (0, 1)
    assert [colour for place, colour in marker.colorscale if place == pytest.approx(at)] == ["#2563eb", "#fab005"]


@pytest.mark.parametrize("limit", [-9.0, 9.0])
def test_a_limit_beyond_all_values_still_gives_a_scale(positions, marks, limit):
    figure = values_figure(positions, marks, np.full(N, 2.0), limit=limit)
    places = [place for place, _ in figure.data[0].marker.colorscale]
    assert places == sorted(places)


def test_a_picked_point_is_ringed(positions, marks):
    figure = words_figure(positions, marks)
    scatter.ring_point(figure, positions[3], LIGHT)
    ring = figure.data[-1]
    assert (ring.x[0], ring.y[0]) == tuple(positions[3])
