import numpy as np
import pytest

from inspect_core.plots import history
from inspect_core.plots.svg import svg
from inspect_core.plots.theme import LIGHT


def drawn(count: int, *, words: list[str] | None = None, changed_at: int | None = None):
    limits = np.tile([3.0, 4.0], (count, 1))
    if changed_at is not None:
        limits[changed_at:] = 5.0
    scores = np.linspace(1, 6, count)
    return history.scores_over_time(
        np.arange(count, dtype=float), scores, words or ["accept"] * count, limits, ["<b>"] * count, LIGHT
    )


def test_every_part_that_was_not_accepted_is_drawn():
    count = history.MOST_POINTS + 2000
    words = ["accept" if i % 2 else "reject" for i in range(count)]
    figure = drawn(count, words=words)
    assert [len(trace.x) for trace in figure.data[:3]] == [count // 2, 0, count // 2]
    assert len(drawn(count).data[0].x) == history.MOST_POINTS


def test_limits_are_steps_at_the_part_from_which_they_hold():
    review, reject = drawn(6, changed_at=4).data[3:]
    assert list(zip(reject.x, reject.y, strict=True)) == [(0, 4.0), (4, 4.0), (4, 5.0), (5, 5.0)]
    assert list(review.y) == [3.0, 3.0, 5.0, 5.0]


def test_one_limit_is_one_line():
    figure = history.scores_over_time(
        np.arange(2.0), np.ones(2), ["accept"] * 2, np.full((2, 2), 4.0), ["a", "b"], LIGHT
    )
    assert [trace.name for trace in figure.data if trace.mode == "lines"] == ["reject above"]


def test_a_score_far_off_stays_in_the_picture_with_its_figure():
    scores = np.r_[np.ones(99), 1e6]
    figure = history.scores_over_time(
        np.arange(100.0), scores, ["accept"] * 99 + ["reject"], np.full((100, 2), 4.0), ["n"] * 100, LIGHT
    )
    rejected = figure.data[2]
    assert rejected.y[0] <= figure.layout.yaxis.range[1] < 100
    assert rejected.customdata[0][1] == "1e+06"


@pytest.mark.parametrize("count", [1, 2])
def test_few_parts_can_be_drawn_still_and_live(count):
    figure = drawn(count)
    figure.update_xaxes(title="hours", range=[-0.1, 2])
    assert svg(figure, LIGHT, width=600, height=300, legend=120).count('opacity="0.45"') == count


def test_names_stay_text():
    figure = history.frequencies([("<img src=x>", 2), ("dent", 1)], LIGHT)
    assert figure.data[0].y[0] == "&lt;img src=x&gt;"
    assert figure.data[0].text[0] == "2 · 67% cumulative"


@pytest.mark.parametrize(("score", "limit"), [(0.0, 0.0), (-5.0, -7.0), (1e-200, 1e100), (-1e100, 1e100)])
def test_any_scores_and_limits_lie_in_the_picture(score, limit):
    figure = history.scores_over_time(
        np.arange(2.0), np.full(2, score), ["accept"] * 2, np.full((2, 2), limit), ["a", "b"], LIGHT
    )
    low, high = figure.layout.yaxis.range
    assert low <= min(score, limit) <= max(score, limit) <= high
    assert low < high
    figure.update_xaxes(title="hours", range=[-0.1, 1.1])
    assert "nan" not in svg(figure, LIGHT, width=300, height=300, legend=100)
