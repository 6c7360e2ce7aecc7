"""KDF and KDN against a slow derivation from their definition, and what they promise far from the data."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.classify import kernel_density, net_training, polytope_gaussians
from inspect_core.classify.kernel_density import (
    FOREST_POWERS,
    NETWORK_POWERS,
    PAPER_LOG_B,
    KernelDensityClassifier,
    fit_kdf,
    fit_kdn,
)
from inspect_core.classify.posterior import calibration_error

pytestmark = pytest.mark.slow


def clouds(n, seed, *, classes=2, d=2):
    """n examples of `classes` kinds around the corners of a simplex, overlapping a little."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return np.eye(classes, d)[y] + 0.35 * rng.standard_normal((n, d)), y


def small_kdf(x, y, **options):
    return fit_kdf(x, y, **{"trees": 15} | options)


def small_kdn(x, y, **options):
    return fit_kdn(x, y, **{"hidden": (8, 6)} | options)


@pytest.fixture(autouse=True)
def short_training(monkeypatch):
    monkeypatch.setattr(net_training, "LARGEST_EPOCHS", 25)


FITS = pytest.mark.parametrize("fit", [small_kdf, small_kdn])


def slow_posterior(model, x, y, new, *, lam, log_b, power, kernel, euclidean=False, lam_undivided=False):
    """Sample by sample from the definition: codes from the parent, everything else written out in float64."""
    scale = max(np.sqrt(sum(v * v for v in row)) for row in x)
    x, new = x / scale, new / scale
    codes, polytopes = [tuple(code) for code in model.parent.codes(x)], []
    for code in codes:
        if code not in polytopes:
            polytopes.append(code)
    labels = sorted(set(y))
    mu, var, around = [], [], np.zeros((len(polytopes), len(labels)))
    for r, polytope in enumerate(polytopes):
        members = x[[code == polytope for code in codes]]
        mean = members.sum(axis=0) / len(members)
        squares = ((members - mean) ** 2).sum(axis=0)
        mu.append(mean)
        var.append(squares / len(members) + lam if lam_undivided else (squares + lam) / len(members))
        for i, label in enumerate(y):
            around[r, labels.index(label)] += kernel(codes[i], polytope) ** power
    prior = np.array([sum(label == other for other in y) / len(y) for label in labels])
    constant = log_b - np.log(np.log(len(x)))
    posteriors = []
    for point, code in zip(new, model.parent.codes(new), strict=True):
        kernels = [kernel(tuple(code), polytope) for polytope in polytopes]
        distances = [np.linalg.norm(point - mean) for mean in mu]
        r = int(np.argmin(distances)) if euclidean or max(kernels) == 0 else int(np.argmax(kernels))
        log_normal = sum(
            -((p - m) ** 2) / (2 * v) - np.log(2 * np.pi * v) / 2 for p, m, v in zip(point, mu[r], var[r], strict=True)
        )
        with np.errstate(divide="ignore"):
            log_f = np.log(around[r]) - np.log(around.sum(axis=0)) + log_normal
        log_g = np.logaddexp(log_f, constant) + np.log(prior)
        shares = np.exp(log_g - log_g.max())
        posteriors.append(shares / shares.sum())
    return np.array(posteriors)


def shares_of_trees(a, b):
    return sum(p == q for p, q in zip(a, b, strict=True)) / len(a)


def shares_of_paths(a, b):
    return shares_of_trees(a[:8], b[:8]) * shares_of_trees(a[8:], b[8:])


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("options", [{}, {"euclidean": True}, {"lam_undivided": True}])
@pytest.mark.parametrize(
    ("fit", "kernel", "power"), [(small_kdf, shares_of_trees, 1.5), (small_kdn, shares_of_paths, 8.0)]
)
def test_posterior_is_the_definition(fit, kernel, power, options):
    x, y = clouds(60, 0, classes=3, d=3)
    new = np.concatenate([x[:20], 3 * np.random.default_rng(1).standard_normal((20, 3))])
    for log_b in (PAPER_LOG_B, -200.0):
        model = fit(x, y, power=power, lam=1e-3, log_b=log_b, **options)
        slow = slow_posterior(model, x, list(y), new, lam=1e-3, log_b=log_b, power=power, kernel=kernel, **options)
        np.testing.assert_allclose(model.predict_proba(new), slow, rtol=0, atol=1e-10)
        assert slow.max(axis=1).min() < 0.9 < slow.max()


def test_points_without_kernel_take_the_nearest_mean():
    # In a forest every leaf holds training samples, so codes that nothing can share are put in by hand.
    x, y = clouds(40, 0)
    model = small_kdf(x, y, power=1.0, log_b=PAPER_LOG_B)
    nowhere = polytope_gaussians.PolytopeGaussians(
        model.gaussians.mu, model.gaussians.var, model.gaussians.codes - 1000
    )
    nearest, _ = nowhere.log_density(model.parent, x / model.scale, euclidean=False)
    expected, _ = model.gaussians.log_density(model.parent, x / model.scale, euclidean=True)
    np.testing.assert_array_equal(nearest, expected)


@pytest.mark.usefixtures("unhurried")
@FITS
@pytest.mark.parametrize("lam", [1e-6, 1e-3])
def test_far_away_the_posterior_is_the_prior(fit, lam):
    rng = np.random.default_rng(3)
    x, y = clouds(200, 3)
    y[:40] = 0
    model = fit(x, y, lam=lam)
    directions = rng.standard_normal((100, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for radius in (100, 1e6, 1e150):
        far = model.predict_proba(radius * model.scale * directions)
        np.testing.assert_allclose(far, np.tile([120 / 200, 80 / 200], (100, 1)), rtol=0, atol=1e-6)
    assert model.parent_proba(100 * model.scale * directions).max(axis=1).mean() > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(("fit", "options"), [(fit_kdf, {"trees": 30}), (fit_kdn, {"hidden": (40,) * 3})])
def test_the_constant_costs_neither_accuracy_nor_calibration(fit, options):
    x, y = clouds(600, 5)
    new, truth = clouds(2000, 6)
    options |= {"held_out": (x[450:], y[450:])}
    model = fit(x[:450], y[:450], **options)
    without = fit(x[:450], y[:450], **options, log_b=-np.inf, power=model.power)

    def error(proba):
        return (proba.argmax(axis=1) != truth).mean()

    fallen, plain, parent = model.predict_proba(new), without.predict_proba(new), model.parent_proba(new)
    assert abs(calibration_error(fallen, truth) - calibration_error(plain, truth)) <= 0.005
    # What is sparser than every held-out sample is left to the prior: a few in a thousand.
    assert abs(error(fallen) - error(plain)) <= 0.01
    assert error(fallen) <= error(parent) + 0.02


def test_wide_embedding_keeps_its_accuracy_with_the_output_layer():
    rng = np.random.default_rng(0)
    kinds = np.abs(rng.standard_normal((4, 300)))
    y, truth = np.arange(160) % 4, np.arange(400) % 4
    x, new = (np.abs(0.5 * kinds[c] + 0.6 * rng.standard_normal((len(c), 300))) for c in (y, truth))
    model = fit_kdn(x, y, hidden=(50,), include_output=True)
    assert (model.predict(new) == truth).mean() > 0.9


@FITS
def test_the_constant_is_a_tenth_of_the_least_held_out_density(fit):
    x, y = clouds(120, 1)
    held_out, held_y = clouds(40, 2)
    model = fit(x, y, held_out=(held_out, held_y))
    nearest, log_normal = model.gaussians.log_density(model.parent, held_out / model.scale, euclidean=False)
    least = (model.log_ratio[nearest] + log_normal[:, None]).max(axis=1).min()
    assert model.constant == pytest.approx(least - np.log(10), rel=1e-12)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
@pytest.mark.parametrize(("fit", "powers"), [(small_kdf, FOREST_POWERS), (small_kdn, NETWORK_POWERS)])
def test_the_power_has_the_least_held_out_calibration_error(fit, powers):
    x, y = clouds(150, 1)
    held_out = clouds(60, 2)
    errors = [
        calibration_error(fit(x, y, held_out=held_out, power=power).predict_proba(held_out[0]), held_out[1])
        for power in powers
    ]
    assert fit(x, y, held_out=held_out).power == powers[int(np.argmin(errors))]


@FITS
def test_power_and_constant_that_are_given_are_not_looked_for(fit, monkeypatch):
    x, y = clouds(60, 1)
    monkeypatch.setattr(kernel_density, "calibrated_constant", lambda _: pytest.fail("looked for"))
    model = fit(x, y, power=2, log_b=-np.inf)
    assert (model.power, model.constant) == (2.0, -np.inf)


@FITS
def test_without_a_held_out_part_the_fit_is_on_all(fit):
    x, y = clouds(100, 4)
    model = fit(x, y)
    sizes = [(model.parent.codes(x / model.scale) == code).all(axis=1).sum() for code in model.gaussians.codes]
    assert sum(sizes) == 100
    assert model.scale == np.linalg.norm(x, axis=1).max()


@FITS
def test_the_seed_decides_to_the_bit(fit):
    x, y = clouds(80, 0)
    first, second = fit(x, y, seed=4), fit(x, y, seed=4)
    for name, array in first.arrays().items():
        np.testing.assert_array_equal(array, second.arrays()[name])
    assert not np.array_equal(first.predict_proba(x), fit(x, y, seed=5).predict_proba(x))


@pytest.mark.parametrize("options", [{}, {"include_output": True}, {"euclidean": True}])
def test_a_network_comes_back_from_its_arrays(options):
    comes_back(small_kdn, **options)


@pytest.mark.parametrize("labels", [["a", "b", "c"], [3, 5, 40], [False, True], [0.5, 1.5, 2.5]])
def test_a_forest_comes_back_from_its_arrays(labels):
    comes_back(small_kdf, labels=labels)


def comes_back(fit, *, labels=("a", "b", "c"), **options):
    x, y = clouds(60, 0, classes=len(labels), d=3)
    model = fit(x, [labels[i] for i in y], **options)
    arrays = {name: array.copy() for name, array in model.arrays().items()}
    restored = KernelDensityClassifier.from_arrays(arrays, json.loads(json.dumps(model.params())))
    np.testing.assert_array_equal(restored.predict_proba(x), model.predict_proba(x))
    np.testing.assert_array_equal(restored.parent_proba(x), model.parent_proba(x))
    np.testing.assert_array_equal(restored.predict(x), model.predict(x))
    assert restored.params() == model.params()
    assert all(array.dtype.kind in "fiub" for array in arrays.values())
    assert {"mu", "var", "log_ratio", "prior", "codes", "constant"} <= set(arrays)


@FITS
def test_a_batch_scores_as_its_rows(fit, monkeypatch):
    x, y = clouds(80, 0)
    model = fit(x, y)
    new = clouds(60, 9)[0] * 2
    whole = model.predict_proba(new)
    np.testing.assert_allclose(
        np.concatenate([model.predict_proba(row[None]) for row in new]), whole, rtol=1e-5, atol=1e-12
    )
    np.testing.assert_allclose(model.predict_proba(new[::-1])[::-1], whole, rtol=1e-5, atol=1e-12)
    monkeypatch.setattr(polytope_gaussians, "_ENTRIES_AT_ONCE", 1)
    np.testing.assert_allclose(model.predict_proba(new), whole, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(fit(x, y).log_ratio, model.log_ratio, rtol=1e-12)
    assert model.predict_proba(new[:0]).shape == (0, 2)


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(2, 4), st.floats(-6, 6))
def test_posteriors_are_probabilities_whatever_the_unit(seed, d, classes, exponent):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((40, d)), np.arange(40) % classes
    new = np.concatenate([x, 10.0 ** rng.uniform(-3, 3, (30, 1)) * rng.standard_normal((30, d))])
    proba = small_kdf(x, y).predict_proba(new)
    assert proba.min() >= 0
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    # A power of two changes no digit, so thresholds, leaves and densities stay where they are.
    unit = 2.0 ** round(exponent)
    np.testing.assert_allclose(small_kdf(unit * x, y).predict_proba(unit * new), proba, rtol=0, atol=1e-9)


@FITS
def test_columns_follow_sorted_labels_whatever_their_order(fit):
    x, y = clouds(90, 0, classes=3, d=3)
    names = np.array(["scratch", "dent", "stain"])
    model = fit(x, names[y])
    assert model.classes.tolist() == ["dent", "scratch", "stain"]
    assert (model.predict(x) == names[y]).mean() > 0.8
    assert model.predict_proba(x).shape == (90, 3)
    np.testing.assert_array_equal(model.predict(x), model.classes[model.predict_proba(x).argmax(axis=1)])


@FITS
def test_constant_feature_is_legal_and_outside_it_is_the_prior(fit):
    x, y = clouds(100, 0)
    x = np.column_stack([x, np.full(100, 0.3)])
    model = fit(x, y)
    off = x + np.array([0, 0, 1.0])
    np.testing.assert_allclose(model.predict_proba(off), 0.5, rtol=0, atol=1e-6)
    assert model.predict_proba(x).max(axis=1).mean() > 0.7


@FITS
@pytest.mark.parametrize("value", [0.0, 2.5])
def test_identical_examples_give_the_prior(fit, value):
    x, y = np.full((30, 2), value), np.arange(30) % 3 // 2
    proba = fit(x, y).predict_proba(x)
    np.testing.assert_allclose(proba, np.tile([2 / 3, 1 / 3], (30, 1)), rtol=0, atol=1e-12)


@FITS
def test_one_class_has_posterior_one_and_a_warning(fit):
    x, _ = clouds(20, 0)
    with pytest.warns(UserWarning, match="all 20 examples belong to one class, 'dent'"):
        model = fit(x, ["dent"] * 20)
    np.testing.assert_array_equal(model.predict_proba(np.concatenate([x, 1e6 * x])), 1)
    assert model.predict(x).tolist() == ["dent"] * 20


@FITS
def test_one_example_of_a_class_stays_in_the_fit_and_warns(fit):
    x, y = clouds(40, 0)
    y[1:] = 0
    y[7] = 1
    with pytest.warns(UserWarning, match=r"fewer than 5 examples: 1 \(1\)"):
        model = fit(x, y)
    assert model.prior[1] == 1 / 40
    assert np.isfinite(model.predict_proba(x)).all()


def test_as_many_classes_as_examples_need_a_held_out_part():
    x = np.arange(4.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="y has 4 examples of 4 classes, so none can be held out"):
            small_kdf(x, [0, 1, 2, 3])
        model = small_kdf(x, [0, 1, 2, 3], power=1.0, log_b=PAPER_LOG_B)
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trees": 0}, "trees is 0"),
        ({"power": 0.0}, "power is 0.0"),
        ({"power": float("nan")}, "power is nan"),
        ({"lam": 0.0}, "lam is 0.0"),
        ({"lam": float("inf")}, "lam is inf"),
        ({"log_b": float("nan")}, "log_b is nan"),
        ({"log_b": float("inf")}, "log_b is inf"),
        ({"held_out": (np.zeros((2, 3)), [0, 1])}, "held_out is 3 wide, .* 2"),
        ({"held_out": (np.zeros((2, 2)), [0, 7])}, "held_out contains 7"),
        ({"held_out": (np.zeros((2, 2)), [0])}, "held_out has 1 labels for 2 examples"),
        ({"held_out": (np.zeros((0, 2)), [])}, "held_out is empty"),
    ],
)
def test_values_out_of_range_are_refused_by_name(options, message):
    x, y = clouds(20, 0)
    with pytest.raises(ValueError, match=message):
        fit_kdf(x, y, **options)


@pytest.mark.parametrize("hidden", [(), (5, 0)])
def test_a_net_without_units_is_refused(hidden):
    x, y = clouds(20, 0)
    with pytest.raises(ValueError, match="hidden is"):
        fit_kdn(x, y, hidden=hidden)


@FITS
def test_new_features_are_checked(fit):
    x, y = clouds(40, 0)
    model = fit(x, y)
    for use in (model.predict_proba, model.predict, model.parent_proba):
        with pytest.raises(ValueError, match="x is 3 wide, the classifier expects 2"):
            use(np.zeros((4, 3)))
        with pytest.raises(ValueError, match="x is not finite in row 2"):
            use(np.array([[0, 0], [1, 1], [np.nan, 0]]))
        with pytest.raises(ValueError, match=r"x has shape \(2,\)"):
            use(np.zeros(2))
