"""Fields, lines and boundaries in the plane, from points and parameters alone."""

import numpy as np
import pytest

from inspect_core.playgrounds.boundaries import FITS, LEAST_POINTS, STARTS, PlaygroundSettings, fit_boundary
from inspect_core.playgrounds.fields import beyond, grid, isoline

BOX = (-2.0, -1.5, 2.0, 1.5)


def test_a_line_of_equal_values_is_the_circle_that_it_should_be() -> None:
    places = grid(BOX)
    pieces = isoline(np.square(places).sum(axis=-1), BOX, level=1.0)
    assert np.abs(np.linalg.norm(pieces, axis=-1) - 1).max() < 1e-3
    lengths = np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=-1)
    assert lengths.sum() == pytest.approx(2 * np.pi, rel=2e-3)
    saddle = isoline(np.array([[0.0, 1.0], [1.0, 0.0]]), (0, 0, 1, 1), 0.5)
    assert saddle.shape == (2, 2, 2), "two pieces that do not meet"
    assert len(isoline(np.full((4, 5), np.inf), BOX)) == 0


def test_shares_are_counted_on_each_side_of_the_limit() -> None:
    assert beyond(np.array([0.0, 1.0, 2.0, 12.0]), 2.0).tolist() == [-1.0, -0.5, 0.0, 1.0]
    assert beyond(np.array([3.0, 3.0]), 3.0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("title", FITS)
def test_boundaries_leave_about_the_asked_share_outside(title: str) -> None:
    start = STARTS["Square"]
    x, places = start.draw(), grid(start.box)
    narrow, wide = (fit_boundary(x, title, PlaygroundSettings(nu=nu), places) for nu in (0.05, 0.3))
    assert narrow.scores.shape == places.shape[:2]
    assert narrow.outside.mean() < wide.outside.mean() < 0.5
    assert narrow.outside.mean() <= 0.05 + 1 / len(x)
    if title != "One-class SVM":  # has a boundary of its own
        assert wide.outside.mean() == pytest.approx(0.3, abs=0.02)
    same = fit_boundary(np.repeat(x[:1], LEAST_POINTS, axis=0), title, PlaygroundSettings(), places)
    assert np.isfinite(same.scores).all()
    with pytest.raises(ValueError, match="give at least"):
        fit_boundary(x[: LEAST_POINTS - 1], title, PlaygroundSettings(), places)


def test_middle_of_the_square_is_strange_to_shape_methods() -> None:
    start = STARTS["Square"]
    middle, bar = np.array([[1.5, 1.5]]), np.array([[0.5, 1.5]])
    for title, sees in {"Kernel PCA": True, "Nearest neighbour": True, "Quadrics": True, "PCA": False}.items():
        sight = fit_boundary(start.draw(), title, PlaygroundSettings(), np.concatenate([middle, bar]))
        assert (sight.scores[0] > sight.limit) == sees, title
