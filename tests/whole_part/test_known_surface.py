"""How far an embedding lies from everything known: against plain NumPy, and what vouching for a part does."""

import numpy as np
import pytest

from inspect_core.tuning.known_cases_training import fit_surface
from inspect_core.whole_part.known_surface import KnownSurface, to_unit


@pytest.fixture(scope="module")
def rows():
    """60 points of a cone of three directions in 12."""
    rng = np.random.default_rng(0)
    return rng.uniform(1, 2, (60, 3)) @ rng.standard_normal((3, 12)) + 0.05 * rng.standard_normal((60, 12))


@pytest.fixture(scope="module")
def surface(rows):
    return fit_surface(rows)


def test_score_is_quadric_distance_plus_what_lies_outside(surface, rows):
    x = np.random.default_rng(1).standard_normal((20, 12))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    model = surface
    basis, scale = model.basis, float(model.scale)
    z = (unit - model.shift) @ basis / scale
    expected = []
    for point, row in zip(z, unit, strict=True):
        total = 0.0
        for A, b, c in zip(model.A, model.b, model.c, strict=True):
            f, h, n = point @ A @ point + b @ point + c, np.linalg.norm(2 * A @ point + b) / 2, np.linalg.norm(A)
            total += abs(f) / (np.sqrt(h * h + abs(f) * n) + h)
        outside = (row - model.shift) - basis @ (basis.T @ (row - model.shift))
        expected.append(np.hypot(scale * total / len(model.c), np.linalg.norm(outside)))
    np.testing.assert_allclose(surface.score(x), expected, rtol=1e-5)


def test_strangers_lie_further_off_than_the_known(surface, rows):
    strangers = np.random.default_rng(2).standard_normal((40, 12))
    assert surface.score(rows).max() < np.quantile(surface.score(strangers), 0.1)


def test_length_does_not_matter(surface, rows):
    np.testing.assert_allclose(surface.score(7 * rows), surface.score(rows), atol=1e-9)


def test_a_part_vouched_for_is_known_and_so_are_its_like(surface):
    stranger = np.random.default_rng(3).standard_normal(12)
    like, other = stranger + 0.05, np.random.default_rng(4).standard_normal(12)
    vouched = surface.mark_as_known(stranger[None])
    assert vouched.score(stranger[None])[0] == pytest.approx(0, abs=1e-7)
    unit = to_unit(np.stack([like, stranger]))
    assert vouched.score(like[None])[0] == pytest.approx(np.linalg.norm(unit[0] - unit[1]))
    assert vouched.score(other[None])[0] <= surface.score(other[None])[0]
    assert len(surface.accepted) == 0, "the surface before is as set"


def test_zero_rows_stay_zero_and_others_get_length_one():
    unit = to_unit(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(unit, [[0, 0], [0.6, 0.8]])


def test_round_trip_is_equal_to_the_bit_and_so_is_a_refit(surface, rows):
    vouched = surface.mark_as_known(rows[:2])
    restored = KnownSurface.from_arrays(vouched.arrays(), vouched.params())
    np.testing.assert_array_equal(restored.score(rows), vouched.score(rows))
    np.testing.assert_array_equal(fit_surface(rows).score(rows), surface.score(rows))


@pytest.mark.parametrize("n", [5, 9, 40])
def test_few_parts_get_as_many_components_as_they_determine(n, rows):
    r = fit_surface(rows[:n]).A.shape[1]
    assert r * (r + 3) // 2 + 1 <= n < (r + 1) * (r + 4) // 2 + 1 or r == 12


def test_too_few_and_non_finite_are_refused(rows):
    with pytest.raises(ValueError, match="4 known parts; a gallery needs at least 5"):
        fit_surface(rows[:4])
    broken = rows.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="finite"):
        fit_surface(broken)
