import numpy as np
import pytest

from inspect_core.detectors import cop_corp, kernel_pca
from inspect_core.methods.spectrum import LocalSpectrum, variance_fractions


def test_rank_share_and_band():
    values = np.array([[[4.0, 1.0, 0.5]], [[2.0, 1.0, 0.0]]], np.float32)
    spectrum = LocalSpectrum(values, photos=10)
    assert spectrum.rank_map(0.6).tolist() == [[2], [2]]
    assert spectrum.rank_map(1e-4).tolist() == [[3], [2]]
    assert spectrum.fraction() == pytest.approx(5 / 6)
    np.testing.assert_allclose(spectrum.band[:, 0], [2.2, 3.0, 3.8], rtol=1e-6)


def test_shares_of_variance_sum_to_one_in_falling_order():
    x = np.random.default_rng(0).normal(size=(100, 6)).astype(np.float32) * [4, 3, 2, 1, 1, 1]
    for detector in (cop_corp.fit_cop(x), kernel_pca.fit(x, sigma=3.0)):
        fractions = variance_fractions(detector.eigenvalues)
        assert fractions.sum() == pytest.approx(1.0)
        assert (np.diff(fractions) <= 1e-15).all()
        np.testing.assert_allclose(fractions, detector.eigenvalues / detector.eigenvalues.sum())


def test_nothing_varies_nothing_is_shared():
    with pytest.warns(UserWarning, match="fitted on 1 sample"):
        detector = cop_corp.fit_cop(np.ones((1, 6), np.float32))
    assert variance_fractions(detector.eigenvalues).shape == (0,)
