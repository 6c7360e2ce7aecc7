import numpy as np
import pytest

from inspect_core.detectors.cop_corp import fit_corp
from inspect_core.tuning.product_check_training import fit
from inspect_core.whole_part.product_check import ProductCheck, ProductSubspace

RNG = np.random.default_rng(5)
BASIS = RNG.normal(size=(6, 40))


def product(n: int, seed: int) -> np.ndarray:
    """(n, 40) features of one product: near a 6-dimensional plane."""
    rng = np.random.default_rng(seed)
    return (4 + rng.normal(size=(n, 6)) @ BASIS + 0.1 * rng.normal(size=(n, 40))).astype(np.float32)


def foreign(n: int) -> np.ndarray:
    return (4 * np.random.default_rng(9).normal(size=(n, 40))).astype(np.float32)


def logits(n: int, level: float) -> np.ndarray:
    return (level + np.random.default_rng(n).normal(size=(n, 10))).astype(np.float32)


@pytest.mark.parametrize("fused", [False, True])
def test_another_product_trips_and_new_good_parts_do_not(fused):
    class_scores = (logits(60, 8), logits(20, 8)) if fused else (None, None)
    product_check = fit(
        product(60, 1), product(20, 2), good_logits=class_scores[0], held_out_logits=class_scores[1], mode="stop"
    )
    fresh = product_check.score(product(50, 3), logits(50, 8) if fused else None)
    strange = product_check.score(foreign(50), logits(50, 5) if fused else None)
    known, stopped = ([product_check.judge(score) for score in scores] for scores in (fresh, strange))
    assert not any(check.is_foreign or check.rejects for check in known)
    assert all(check.is_foreign and check.rejects for check in stopped)
    assert all("does not look like" in check.sentence for check in stopped)
    assert all("Right product." in check.sentence for check in known)
    warned = product_check.with_mode("warn").judge(strange[0])
    assert (warned.is_foreign, warned.rejects) == (True, False)


def test_fused_score_is_minus_the_papers():
    product_check = fit(product(30, 1), product(10, 2), good_logits=logits(30, 8), held_out_logits=logits(10, 8))
    z, head = product(5, 4), logits(5, 8)
    error = product_check.detector.score(z)
    energy = np.log(np.exp(head.astype(np.float64)).sum(axis=1))
    np.testing.assert_allclose(product_check.score(z, head), -(1 - error) * energy, rtol=1e-5)


def test_energies_that_fall_below_nothing_are_shifted():
    product_check = fit(product(30, 1), product(10, 2), good_logits=logits(30, -20), held_out_logits=logits(10, -20))
    assert product_check.min_energy < 0
    assert np.isfinite(product_check.score(foreign(4), logits(4, -40))).all()


def test_off_says_nothing():
    product_check = fit(product(30, 1), product(10, 2)).with_mode("off")
    assert product_check.judge(1e9) is None
    with pytest.raises(ValueError, match="mode is 'maybe'"):
        product_check.with_mode("maybe")


def test_missing_logits_are_named():
    product_check = fit(product(30, 1), product(10, 2), good_logits=logits(30, 8), held_out_logits=logits(10, 8))
    with pytest.raises(ValueError, match="logits are missing"):
        product_check.score(product(2, 3))


def test_random_feature_check_restores_to_the_bit():
    detector = fit_corp(product(30, 1), gamma=0.5, M=64)
    arrays = {name: values.numpy() for name, values in detector.arrays().items()}
    product_check = ProductCheck(ProductSubspace.from_arrays(arrays, detector.params()), False, 0.0, 1.0, "stop")
    np.testing.assert_allclose(product_check.score(foreign(3)), detector.score(foreign(3)), rtol=1e-5)
    restored = ProductCheck.from_arrays(product_check.arrays(), product_check.params())
    assert np.array_equal(restored.score(foreign(3)), product_check.score(foreign(3)))
    assert (restored.limit, restored.mode, restored.fused) == (
        product_check.limit,
        product_check.mode,
        product_check.fused,
    )


def test_without_held_out_photos_the_good_ones_have_to_do():
    product_check = fit(product(30, 1), product(0, 2))
    assert np.isfinite(product_check.limit)
