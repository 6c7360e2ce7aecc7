import math

import numpy as np
import pytest

from inspect_core.detectors import cop_corp, kernel_pca, mahalanobis
from inspect_core.methods.spectrum import LocalSpectrum
from inspect_core.tuning import spectra


def features(n: int, k: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 3, 2, k)).astype(np.float32)


@pytest.mark.parametrize(("n", "k"), [(4, 9), (9, 9), (30, 5)])
def test_eigenvalues_at_every_place_against_numpy(n, k):
    x = features(n, k)
    found = spectra.local_spectrum(x)
    assert found.values.shape == (3, 2, k)
    for row in range(3):
        for column in range(2):
            expected = np.linalg.eigvalsh(np.cov(x[:, row, column].T.astype(float), bias=True))[::-1]
            np.testing.assert_allclose(found.values[row, column], expected, atol=1e-6)


def test_it_agrees_with_the_spectrum_of_a_fitted_detector():
    x = features(40, 6)
    fitted = mahalanobis.fit(x, projection=np.eye(6, dtype=np.float32)).spectrum().numpy()
    np.testing.assert_allclose(spectra.local_spectrum(x).values, fitted, atol=2e-6)


def test_rank_share_and_band():
    values = np.array([[[4.0, 1.0, 0.5]], [[2.0, 1.0, 0.0]]], np.float32)
    spectrum = LocalSpectrum(values, photos=10)
    assert spectrum.rank_map(0.6).tolist() == [[2], [2]]
    assert spectrum.rank_map(1e-4).tolist() == [[3], [2]]
    assert spectrum.fraction() == pytest.approx(5 / 6)
    np.testing.assert_allclose(spectrum.band[:, 0], [2.2, 3.0, 3.8], rtol=1e-6)


def test_few_photos_bound_the_rank_and_none_are_refused():
    spectrum = spectra.local_spectrum(features(4, 9))
    assert spectrum.possible == 3
    assert spectrum.fraction() == 1.0
    assert math.isnan(spectra.local_spectrum(features(1, 3)).fraction())
    with pytest.raises(ValueError, match="no photo"):
        spectra.local_spectrum(np.zeros((0, 3, 2, 4), np.float32))


def test_sampled_channels_collapse_where_half_of_them_are_duplicates():
    """120 features of which 60 are distinct, k = 40: mixing loses no rank, sampling about a quarter (Kim et al.)."""
    rng = np.random.default_rng(0)
    x = np.tile(rng.normal(size=(80, 1, 1, 60)), 2).astype(np.float32)
    fractions = {
        draw.__name__: np.mean(
            [spectra.local_spectrum(x @ draw(120, 40, seed=seed).numpy()).fraction() for seed in range(20)]
        )
        for draw in (mahalanobis.semi_orthogonal, mahalanobis.sampled)
    }
    assert fractions["semi_orthogonal"] == 1.0
    assert 0.70 < fractions["sampled"] < 0.90


def test_shares_of_variance_sum_to_one_in_falling_order():
    x = np.random.default_rng(0).normal(size=(100, 6)).astype(np.float32) * [4, 3, 2, 1, 1, 1]
    for detector in (cop_corp.fit_cop(x), kernel_pca.fit(x, sigma=3.0)):
        fractions = spectra.variance_fractions(detector.eigenvalues)
        assert fractions.sum() == pytest.approx(1.0)
        assert (np.diff(fractions) <= 1e-15).all()
        np.testing.assert_allclose(fractions, detector.eigenvalues / detector.eigenvalues.sum())


def test_nothing_varies_nothing_is_shared():
    with pytest.warns(UserWarning, match="fitted on 1 sample"):
        detector = cop_corp.fit_cop(np.ones((1, 6), np.float32))
    assert spectra.variance_fractions(detector.eigenvalues).shape == (0,)
