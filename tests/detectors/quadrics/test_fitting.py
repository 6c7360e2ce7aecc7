"""Quadrics against closed forms and plain NumPy: fit, order, score, equivariance, degenerate and wrong input."""

import warnings
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree

from inspect_core.detectors import quadrics
from inspect_core.detectors.quadrics import fitting
from inspect_core.detectors.quadrics import model as quadric_model
from inspect_core.detectors.quadrics.forecast import fit_operations, forecast_seconds, step_operations
from inspect_core.detectors.quadrics.refinement import refine_sgd


def true_curve(t):
    a, b = 0.8, 0.2
    x = a * np.cos(t) + b * np.cos(3 * t)
    return np.stack([x, a * np.sin(t) - b * np.sin(3 * t), 2 * np.sqrt(a * b) * np.sin(2 * t)], axis=1)


def noisy_curve(seed, *, sd=0.12):
    """100 points about the curve and, last, one outlier of norm 2."""
    rng = np.random.default_rng(seed)
    points = true_curve(rng.uniform(0, 2 * np.pi, 100)) + sd * rng.standard_normal((100, 3))
    outlier = rng.standard_normal(3)
    return np.vstack([points, 2 * outlier / np.linalg.norm(outlier)])


def largest_deviation(model):
    """Largest distance to the true curve of the fitted one, reached from the true one by Gauss-Newton steps."""
    truth = true_curve(np.linspace(0, 2 * np.pi, 2000, endpoint=False))
    A, b, c = (model.arrays()[name].double().numpy() for name in ("A", "b", "c"))
    x = start = (truth - model.shift.numpy()) / model.scale.item()
    for _ in range(20):
        value = np.einsum("ni,kij,nj->nk", x, A, x) + x @ b.T + c
        gradient = 2 * np.einsum("kij,nj->nki", A, x) + b
        x = x - np.einsum("nij,nj->ni", np.linalg.pinv(gradient), value)
    return model.scale.item() * cKDTree(start).query(x)[0].max()


def plain_score(model, x, m):
    """Eq. 16 in float64, with the textbook form of the distance, from arrays() alone."""
    arrays = {name: value.double().numpy() for name, value in model.arrays().items()}
    z = (x - arrays["shift"]) @ arrays.get("basis", np.eye(x.shape[1])) / arrays["scale"]
    A, b, c = arrays["A"][:m], arrays["b"][:m], arrays["c"][:m]
    f = np.abs(np.einsum("ni,kij,nj->nk", z, A, z) + z @ b.T + c)
    h = np.linalg.norm(2 * np.einsum("kij,nj->nki", A, z) + b, axis=2) / 2
    n = np.sqrt(np.square(A).sum(axis=(1, 2)))
    return ((np.sqrt(h**2 + f * n) - h) / n).mean(axis=1) * arrays["scale"]


def surface(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    bent = np.column_stack([z, z[:, 0] ** 2, z[:, 0] * z[:, 1], z[:, 1] ** 2])
    return bent @ rng.standard_normal((5, d)) + 0.05 * rng.standard_normal((n, d))


@pytest.fixture(scope="module")
def model():
    return quadrics.fit(surface(), m=3)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_robust_toy_fit_deviates_half_as_far_as_the_algebraic():
    models = [quadrics.fit(noisy_curve(seed), m=2) for seed in range(6)]
    robust = np.median([largest_deviation(model) for model in models])
    for baseline in (quadrics.fit_algebraic, quadrics.fit_algebraic_quadratic, quadrics.fit_algebraic_hs):
        algebraic = np.median([largest_deviation(baseline(noisy_curve(seed), m=2)) for seed in range(6)])
        assert robust < 0.5 * algebraic
    for seed, model in enumerate(models):
        scores = model.score(noisy_curve(seed))
        assert scores[100] > scores[:100].max()
        assert model.penalty_value < 1e-2


def test_score_is_the_mean_second_order_distance_in_input_units(model):
    x = 3 * surface(50, seed=1)
    for m in (1, 2, 3):
        expected = plain_score(model, x, m)
        np.testing.assert_allclose(model.score(x, m=m).numpy(), expected, atol=2e-6 * expected.max())


def test_quadrics_are_ordered_by_mean_training_distance():
    x = surface()
    for fitted in (quadrics.fit(x, m=4), quadrics.fit_algebraic(x, m=4)):
        z = (torch.from_numpy(x) - fitted.shift) / fitted.scale
        means = quadrics.distance_2(fitted.A, fitted.b, fitted.c, z).mean(dim=0)
        assert (means.diff() >= -1e-9).all()


def test_sweep_holds_the_scores_of_every_smaller_model(model):
    x = surface(64, seed=2).reshape(4, 16, 5)
    swept = model.sweep(x, [3, 1, 2])
    assert swept.shape == (3, 4, 16)
    for m in (1, 2, 3):
        assert torch.equal(model.sweep(x, [m])[0], model.score(x, m=m))
    torch.testing.assert_close(swept, torch.stack([model.score(x, m=m) for m in (3, 1, 2)]), rtol=1e-5, atol=0)
    assert torch.equal(model.score(x), model.score(x, m=3))


def test_rows_score_alike_alone_in_a_batch_and_across_blocks(model, monkeypatch):
    x = surface(40, seed=3)
    together = model.score(x)
    single = torch.cat([model.score(row[None]) for row in x])
    monkeypatch.setattr(quadric_model, "NUMBERS_PER_BLOCK", 7 * 15)
    torch.testing.assert_close(together, single, rtol=1e-5, atol=0)
    torch.testing.assert_close(together, model.score(x), rtol=1e-5, atol=0)


def test_arrays_and_params_restore_scores_to_the_bit(model):
    x = surface(20, seed=4)
    reduced = quadrics.fit(surface(), m=2, components=4)
    for fitted in (model, reduced):
        restored = quadrics.Quadrics.from_arrays(fitted.arrays(), fitted.params())
        assert torch.equal(restored.score(x), fitted.score(x))
    assert reduced.arrays()["basis"].shape == (5, 4)
    assert "basis" not in model.arrays()


def test_array_shapes_symmetry_and_types(model):
    arrays = model.arrays()
    assert arrays["A"].shape == (3, 5, 5)
    assert arrays["b"].shape == (3, 5)
    assert arrays["c"].shape == (3,)
    assert arrays["shift"].shape == (5,)
    assert arrays["scale"].shape == ()
    assert torch.equal(arrays["A"], arrays["A"].mT)
    assert model.score(surface(3)).dtype == torch.float32
    assert not model.score(torch.from_numpy(surface(3)).requires_grad_()).requires_grad


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
@pytest.mark.parametrize("fit", [quadrics.fit, quadrics.fit_algebraic_hs])
@settings(deadline=None, max_examples=3)
@given(seed=st.integers(0, 2**16), log_scale=st.floats(-2, 2))
def test_fit_follows_rotation_translation_and_scale(fit, seed, log_scale):
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    scale, shift = 10**log_scale, 10 * rng.standard_normal(5)
    x, test = surface(150), surface(30, seed=1)
    # The robust fit stops within its tolerance of a minimum, not at the same float in every frame.
    tolerance = 2e-2 if fit is quadrics.fit else 1e-4
    before = fit(x, m=2).score(test).numpy()
    after = fit(scale * x @ rotation.T + shift, m=2).score(scale * test @ rotation.T + shift).numpy()
    np.testing.assert_allclose(after, scale * before, atol=tolerance * scale * before.max())


def test_closed_form_recovers_a_sphere_far_from_the_origin():
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((100, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    centre = np.array([100.0, -50.0, 20.0])
    for fit in (quadrics.fit, quadrics.fit_algebraic, quadrics.fit_algebraic_quadratic, quadrics.fit_algebraic_hs):
        fitted = fit(centre + 2 * directions, m=1)
        assert fitted.score(centre + 2 * directions).max() < 1e-5
        # n = sqrt(3) for the unit sphere, so d2 at radius 1.5 of 2 is (sqrt(.75^2 + .4375 sqrt 3) - .75) / sqrt 3.
        expected = 2 * (np.sqrt(0.75**2 + (1 - 0.75**2) * np.sqrt(3)) - 0.75) / np.sqrt(3)
        np.testing.assert_allclose(fitted.score(centre + 1.5 * directions).numpy(), expected, rtol=1e-4)


def test_algebraic_coefficients_are_the_smallest_eigenvectors():
    x = surface(200, d=3)
    z = (x - x.mean(axis=0)) / np.sqrt(np.square(x - x.mean(axis=0)).sum(axis=1).mean() / 3)
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    features = np.column_stack([*(z[:, i] * z[:, j] for i, j in pairs), z, np.ones(len(z))])
    vector = np.linalg.svd(features)[2][-1]
    fitted = quadrics.fit_algebraic(x, m=1)
    A, b, c = fitted.A[0].double().numpy(), fitted.b[0].double().numpy(), fitted.c[0].item()
    coefficients = np.array([*(A[i, j] * (1 if i == j else 2) for i, j in pairs), *b, c])
    assert abs(coefficients @ vector) == pytest.approx(1, abs=1e-6)
    assert np.linalg.norm(coefficients) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("fit", "cross"), [("fit_algebraic_hs", 1.0), ("fit_algebraic_quadratic", np.sqrt(2))])
def test_free_linear_part_leaves_orthogonal_residuals(fit, cross):
    x = surface(200, d=4)
    fitted = getattr(quadrics, fit)(x, m=3)
    A, b, c = (part.double().numpy() for part in (fitted.A, fitted.b, fitted.c))
    z = (x - fitted.shift.numpy()) / fitted.scale.item()
    f = np.einsum("ni,kij,nj->nk", z, A, z) + z @ b.T + c
    np.testing.assert_allclose(np.column_stack([z, np.ones(len(z))]).T @ f / len(z), 0, atol=1e-6)
    weight = np.where(np.eye(4, dtype=bool), 1, cross)
    np.testing.assert_allclose(np.einsum("kij,lij->kl", A * weight, A * weight), np.eye(3), atol=1e-6)


def test_default_m_omits_directions_that_hold_95_percent():
    rng = np.random.default_rng(0)
    strong = rng.standard_normal((300, 2)) * 10
    x = np.column_stack([strong, 0.1 * rng.standard_normal((300, 3))])
    assert quadrics.fit_algebraic_hs(x).c.shape == (3,)
    assert quadrics.fit_algebraic_hs(rng.standard_normal((300, 3))).c.shape == (1,)


def test_reduction_keeps_the_stated_variance():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 4)) * [3, 2, 1, 0.1]
    fitted = quadrics.fit_algebraic_hs(x, m=2, components=3)
    variance = np.linalg.eigvalsh(np.cov(x.T))
    assert fitted.kept_variance == pytest.approx(variance[1:].sum() / variance.sum(), abs=1e-9)
    out_of_span = np.linalg.svd(fitted.basis.numpy().T)[2][-1]
    test = x[:20]
    np.testing.assert_allclose(fitted.score(test + 5 * out_of_span).numpy(), fitted.score(test).numpy(), rtol=1e-4)
    np.testing.assert_allclose(fitted.score(test).numpy(), plain_score(fitted, test, 2), rtol=1e-4)


@pytest.mark.filterwarnings("ignore:.*not orthonormal")
def test_refit_is_equal_to_the_bit_and_the_random_start_is_said(monkeypatch):
    monkeypatch.setattr(fitting, "LARGEST_MONOMIALS", 10)
    monkeypatch.setattr(fitting, "LBFGS_LIMIT", 0)
    monkeypatch.setattr(fitting, "refine_sgd", partial(refine_sgd, steps=40))
    with pytest.warns(UserWarning, match="starts at random"):
        first = quadrics.fit(surface(), m=3, seed=4)
    with pytest.warns(UserWarning, match="starts at random"):
        refit, other = quadrics.fit(surface(), m=3, seed=4), quadrics.fit(surface(), m=3, seed=5)
    assert first.start == "random"
    assert torch.equal(first.A, refit.A)
    assert torch.equal(first.score(surface(9)), refit.score(surface(9)))
    assert not torch.equal(first.A, other.A)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_mini_batches_come_close_to_all_points_at_once(monkeypatch):
    x = np.vstack([noisy_curve(seed) for seed in range(10)])
    everything = quadrics.fit(x, m=2)
    monkeypatch.setattr(fitting, "LBFGS_LIMIT", 0)
    monkeypatch.setattr(fitting, "refine_sgd", partial(refine_sgd, steps=1500))
    batches = quadrics.fit(x.astype(np.float32), m=2)
    assert everything.start == batches.start == "closed form"
    assert not torch.equal(everything.A, batches.A)
    assert batches.score(x).mean() < 1.02 * everything.score(x).mean()
    assert largest_deviation(batches) < 0.5 * largest_deviation(quadrics.fit_algebraic_hs(x, m=2))


def test_worse_mini_batches_give_way_to_the_closed_form(monkeypatch):
    monkeypatch.setattr(fitting, "LBFGS_LIMIT", 0)
    monkeypatch.setattr(fitting, "refine_sgd", lambda start, x, **_: (start[0], start[1] + 1, start[2]))
    x = surface()
    model, closed_form = quadrics.fit(x, m=2), quadrics.fit_algebraic_hs(x, m=2)
    assert model.A.dtype == torch.float32
    torch.testing.assert_close(
        model.score(x), closed_form.score(x), rtol=0, atol=1e-3 * float(closed_form.score(x).max())
    )


def test_penalty_is_reported_and_a_large_one_warned_about():
    with pytest.warns(UserWarning, match="not orthonormal"):
        weak = quadrics.fit(noisy_curve(0), m=3, penalty=1e-4)
    rows = weak.A.double().flatten(1)
    assert weak.penalty_value == pytest.approx(float((rows @ rows.T - torch.eye(3)).square().sum()), rel=1e-6)
    assert quadrics.fit_algebraic_hs(surface(), m=4).penalty_value < 1e-10


def test_progress_rises_to_one():
    fractions = []
    quadrics.fit(surface(), m=2, progress=fractions.append)
    assert fractions == sorted(fractions)
    assert fractions[0] >= 0
    assert fractions[-1] == 1


def test_a_report_that_raises_ends_the_fit():
    reports = []

    def stop(fraction: float) -> None:
        reports.append(fraction)
        if len(reports) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quadrics.fit(surface(), m=2, progress=stop)


def test_few_points_warn_and_are_interpolated():
    x = surface(20)
    with pytest.warns(UserWarning, match=r"20 points are fewer than the 21 coefficients") as caught:
        fitted = quadrics.fit(x, m=1)
    assert caught[0].filename == __file__
    assert fitted.score(x).max() < 1e-4 * fitted.scale.item()
    with pytest.warns(UserWarning, match="fewer than") as caught:
        quadrics.fit_algebraic(x, m=1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quadrics.fit_algebraic(surface(21), m=1)


@pytest.mark.filterwarnings("ignore:.*fewer than")
@pytest.mark.parametrize(
    "x",
    [
        np.ones((1, 3)),
        np.full((30, 3), 7.5),
        np.repeat(surface(12, d=3), 4, axis=0),
        np.column_stack([surface(60, d=2), np.full(60, 1e3)]),
    ],
    ids=["one point", "all constant", "duplicated points", "a constant feature"],
)
def test_degenerate_points_fit_and_score_finite(x):
    for fit in (quadrics.fit, quadrics.fit_algebraic, quadrics.fit_algebraic_hs):
        fitted = fit(x, m=1)
        assert torch.isfinite(fitted.score(x)).all()
        assert torch.isfinite(fitted.score(x + 1)).all()


def test_empty_batch_scores_empty(model):
    assert model.score(np.empty((0, 5))).shape == (0,)


def test_wrong_input_is_named():
    x = surface(60, d=3)
    with pytest.raises(ValueError, match="x is not finite in row 4"):
        quadrics.fit(np.where(np.arange(60)[:, None] == 4, np.nan, x))
    with pytest.raises(ValueError, match="empty"):
        quadrics.fit(np.empty((0, 3)))
    for m in (0, 7, 1.5):
        with pytest.raises(ValueError, match=f"m is {m}"):
            quadrics.fit(x, m=m)
    for penalty in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="penalty is"):
            quadrics.fit(x, penalty=penalty)
    for components in (0, 4):
        with pytest.raises(ValueError, match=f"components is {components}"):
            quadrics.fit(x, components=components)
    with pytest.raises(ValueError, match="89 wide"):
        quadrics.fit_algebraic(np.random.default_rng(0).standard_normal((4100, 89)))


def test_wrong_scoring_input_is_named(model):
    with pytest.raises(ValueError, match="x is 4 wide, the fitted model expects 5"):
        model.score(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="not finite in row 1"):
        model.score(np.array([[0.0] * 5, [np.inf] * 5]))
    for m in (0, 4):
        with pytest.raises(ValueError, match=f"m is {m}, outside 1 to 3"):
            model.score(np.zeros((2, 5)), m=m)
    with pytest.raises(ValueError, match="ms is empty"):
        model.sweep(np.zeros((2, 5)), [])


def test_forecast_counts_the_work_at_a_measured_rate():
    assert step_operations(128, 8, 3) == 4 * 128 * 3 * 64 + 4 * 9 * 64
    assert forecast_seconds(20_000, 128, 100, operations_per_second=2e9) == fit_operations(20_000, 128, 100) / 2e9
    # No closed form at 128 features: 4,000 steps and three passes to compare and order.
    steps = 4000 * (4 * 128 * 100 * 128**2 + 4 * 100**2 * 128**2)
    assert fit_operations(20_000, 128, 100) == steps + 3 * 2 * 20_000 * 100 * 128**2
    assert fit_operations(20_000, 64, 100) > fit_operations(10_000, 64, 100)
