"""Calibrated parents against scikit-learn's curves fitted by hand, and where they stay confident."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from inspect_core.classify.calibrated_parents import calibrate_isotonic, calibrate_sigmoid
from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.classify.posterior import calibration_error

BOTH = pytest.mark.parametrize("calibrate", [calibrate_isotonic, calibrate_sigmoid])


def overlapping(n, seed, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return np.eye(classes, 3)[y] + 0.6 * rng.standard_normal((n, 3)), np.array(["scratch", "dent", "stain"])[y]


def classifier(classes=3):
    return fit_kdf(*overlapping(300, 0, classes), held_out=overlapping(100, 1, classes), trees=10)


def numbered(model, y):
    return np.searchsorted(model.classes, y)


def test_isotonic_is_one_step_curve_a_class_against_the_rest():
    model, (x, y), (new, _) = classifier(), overlapping(150, 1), overlapping(50, 2)
    parent, given = model.parent_proba(new), model.parent_proba(x)
    curves = [
        IsotonicRegression(out_of_bounds="clip").fit(given[:, c], y == label).predict(parent[:, c])
        for c, label in enumerate(model.classes)
    ]
    expected = np.stack(curves, axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(calibrate_isotonic(model, x, y).predict_proba(new), expected, rtol=1e-12)


@BOTH
@pytest.mark.parametrize("classes", [2, 3])
def test_calibration_lowers_the_error_and_keeps_the_columns(calibrate, classes):
    model, (new, truth) = classifier(classes), overlapping(2000, 3, classes)
    calibrated = calibrate(model, *overlapping(1000, 2, classes))
    proba = calibrated.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    assert calibration_error(proba, numbered(model, truth)) < calibration_error(
        model.parent_proba(new), numbered(model, truth)
    )
    assert (calibrated.predict(new) == truth).mean() > (model.predict(new) == truth).mean() - 0.05
    np.testing.assert_array_equal(calibrated.classes, model.classes)


@BOTH
def test_far_away_it_is_as_sure_as_its_parent_where_kdf_is_not(calibrate):
    model = classifier()
    calibrated = calibrate(model, *overlapping(300, 2))
    far = 1e4 * np.eye(3)
    assert calibrated.predict_proba(far).max(axis=1).mean() > 0.6
    np.testing.assert_allclose(model.predict_proba(far), np.tile(model.prior, (3, 1)), rtol=0, atol=1e-6)


@BOTH
def test_examples_are_checked(calibrate):
    model = classifier()
    x, y = overlapping(30, 2)
    with pytest.raises(ValueError, match="y has no example of 'stain'"):
        calibrate(model, x[y != "stain"], y[y != "stain"])
    with pytest.raises(ValueError, match="y holds 'crack'"):
        calibrate(model, x[:1], ["crack"])
    with pytest.raises(ValueError, match="y has 2 labels for 30 examples"):
        calibrate(model, x, ["dent", "stain"])
    with pytest.raises(ValueError, match="x is not finite in row 0"):
        calibrate(model, np.full((1, 3), np.nan), ["dent"])
    with pytest.raises(ValueError, match="x is 2 wide"):
        calibrate(model, x[:, :2], y)


@BOTH
@pytest.mark.filterwarnings("ignore:all 20 examples")
def test_one_kind_leaves_nothing_to_calibrate(calibrate):
    x = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(ValueError, match="knows one kind only"):
        calibrate(fit_kdf(x, [0] * 20, trees=3), x, [0] * 20)
