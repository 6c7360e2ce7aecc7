"""Calibrated parents against scikit-learn's curves fitted by hand, and where they stay confident."""

from functools import partial

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from benchmarks.studies.calibrated_parents import calibrated, of_unseen, with_parents
from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.classify.posterior import calibration_error
from inspect_core.scoring.metrics import expected_calibration_error
from inspect_core.whole_part.cross_validation import cross_validate

pytestmark = pytest.mark.slow

BOTH = pytest.mark.parametrize("method", ["isotonic", "sigmoid"])


def overlapping(n, seed, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return np.eye(classes, 3)[y] + 0.6 * rng.standard_normal((n, 3)), y


def classifier(classes=3):
    return fit_kdf(*overlapping(300, 0, classes), held_out=overlapping(100, 1, classes), trees=10)


def test_isotonic_is_one_step_curve_a_class_against_the_rest():
    model, (x, y), (new, _) = classifier(), overlapping(150, 1), overlapping(50, 2)
    parent, taught_proba = model.parent_proba(new), model.parent_proba(x)
    curves = [
        IsotonicRegression(out_of_bounds="clip").fit(taught_proba[:, c], y == c).predict(parent[:, c])
        for c in model.classes
    ]
    expected = np.stack(curves, axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        calibrated(taught_proba, y, method="isotonic").predict_proba(parent), expected, rtol=1e-12
    )


def test_model_comes_with_its_parent_and_held_out_curves():
    model, (x, y), (new, _) = classifier(), overlapping(150, 1), overlapping(50, 2)
    ways = with_parents(model, ("KDF", "forest"), x, y)
    assert list(ways) == ["KDF", "forest", "forest, isotonic", "forest, sigmoid"]
    np.testing.assert_array_equal(ways["KDF"](new), model.predict_proba(new))
    for method in ("isotonic", "sigmoid"):
        curves = calibrated(model.parent_proba(x), y, method=method)
        np.testing.assert_array_equal(ways[f"forest, {method}"](new), curves.predict_proba(model.parent_proba(new)))


@BOTH
@pytest.mark.parametrize("classes", [2, 3])
def test_calibration_lowers_the_error_and_keeps_the_columns(method, classes):
    model, (x, y), (new, truth) = classifier(classes), overlapping(1000, 2, classes), overlapping(2000, 3, classes)
    parent = model.parent_proba(new)
    proba = calibrated(model.parent_proba(x), y, method=method).predict_proba(parent)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
    assert calibration_error(proba, truth) < calibration_error(parent, truth)
    assert (proba.argmax(axis=1) == truth).mean() > (model.predict(new) == truth).mean() - 0.05


@BOTH
def test_far_away_it_is_as_sure_as_its_parent_where_kdf_is_not(method):
    model, (x, y) = classifier(), overlapping(300, 2)
    far = 1e4 * np.eye(3)
    curves = calibrated(model.parent_proba(x), y, method=method)
    assert curves.predict_proba(model.parent_proba(far)).max(axis=1).mean() > 0.6
    np.testing.assert_allclose(model.predict_proba(far), np.tile(model.prior, (3, 1)), rtol=0, atol=1e-6)


@BOTH
def test_a_class_without_an_example_is_refused(method):
    with pytest.raises(ValueError, match="class 2 has no example"):
        calibrated(np.full((4, 3), 1 / 3), np.array([0, 1, 0, 1]), method=method)


def test_calibrations_are_learned_on_the_other_folds():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 15)
    points = (3.0 * y[:, None] + 0.5 * rng.normal(size=(45, 6))).astype(np.float32)
    classes = np.array(["dent", "scratch", "stain"], dtype=object)
    unseen = cross_validate(points, y, classes, np.arange(45), partial(fit_kdf, trees=40), seed=0)
    for proba in (of_unseen(unseen, "isotonic"), of_unseen(unseen, "sigmoid")):
        assert proba.sum(axis=1) == pytest.approx(1.0)
        assert expected_calibration_error(proba, unseen.y) < 0.2
