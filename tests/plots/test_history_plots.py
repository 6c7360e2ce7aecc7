import numpy as np
import pytest

from inspect_core.plots import history_plots
from inspect_core.plots.chart_theme import LIGHT
from inspect_core.plots.svg import svg


def drawn(scores, limits, words=None, name: str = "n"):
    """Parts one hour apart; limits: (review, reject) of each, or one limit for all."""
    count = len(scores)
    limits = np.broadcast_to(np.atleast_2d(limits), (count, 2)).astype(float)
    return history_plots.scores_over_time(
        np.arange(float(count)), np.asarray(scores), words or ["accept"] * count, limits, [name] * count, LIGHT
    )


def test_every_part_that_was_not_accepted_is_drawn():
    count = history_plots.MOST_POINTS + 2000
    scores, words = np.linspace(1, 6, count), ["accept", "reject"] * (count // 2)
    assert [len(trace.x) for trace in drawn(scores, (3, 4), words).data[:3]] == [count // 2, 0, count // 2]
    assert len(drawn(scores, (3, 4)).data[0].x) == history_plots.MOST_POINTS


def test_limits_are_steps_and_a_single_limit_is_one_line():
    review, reject = drawn(np.linspace(1, 6, 6), [(3, 4)] * 4 + [(5, 5)] * 2).data[3:]
    assert list(zip(reject.x, reject.y, strict=True)) == [(0, 4.0), (4, 4.0), (4, 5.0), (5, 5.0)]
    assert list(review.y) == [3.0, 3.0, 5.0, 5.0]
    assert [trace.name for trace in drawn([1, 1], (4, 4)).data if trace.mode == "lines"] == ["reject above"]


def test_a_score_far_off_stays_in_the_picture_with_its_figure():
    figure = drawn(np.r_[np.ones(99), 1e6], (4, 4), ["accept"] * 99 + ["reject"])
    rejected = figure.data[2]
    assert rejected.y[0] <= figure.layout.yaxis.range[1] < 100
    assert rejected.customdata[0][1] == "1e+06"


@pytest.mark.parametrize("count", [1, 2])
def test_few_parts_can_be_drawn_still_and_live(count):
    figure = drawn(np.linspace(1, 6, count), (3, 4), name="<b>")
    figure.update_xaxes(title="hours", range=[-0.1, 2])
    assert svg(figure, LIGHT, width=600, height=300, legend=120).count('opacity="0.45"') == count


def test_names_stay_text():
    figure = history_plots.frequencies([("<img src=x>", 2), ("dent", 1)], LIGHT)
    assert figure.data[0].y[0] == "&lt;img src=x&gt;"
    assert figure.data[0].text[0] == "2 · 67% cumulative"


@pytest.mark.parametrize(("score", "limit"), [(0.0, 0.0), (-5.0, -7.0), (1e-200, 1e100), (-1e100, 1e100)])
def test_any_scores_and_limits_lie_in_the_picture(score, limit):
    figure = drawn([score, score], (limit, limit))
    low, high = figure.layout.yaxis.range
    assert low <= min(score, limit) <= max(score, limit) <= high
    assert low < high
    figure.update_xaxes(title="hours", range=[-0.1, 1.1])
    assert "nan" not in svg(figure, LIGHT, width=300, height=300, legend=100)
