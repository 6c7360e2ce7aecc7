import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.studies.exact_kernel import cosine_gaussian_kernel_error, cosine_kernel_error, proposition_2_as_printed
from inspect_core.detectors.cop_corp import fit_cop, fit_corp


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    deviations = 1.0 / np.arange(1, 9)
    return rng.standard_normal((60, 8)) * deviations + 0.2, rng.standard_normal((40, 8)) * deviations


@pytest.mark.parametrize("q", [1, 3, 6])
def test_cosine_kernel_gives_the_error_of_cop(data, q):
    x, z = data
    np.testing.assert_allclose(cosine_kernel_error(x, z, q=q).numpy(), fit_cop(x).score(z, q=q).numpy(), rtol=1e-9)


def test_corp_approaches_the_gaussian_kernel_error_as_m_grows(data):
    x, z = data
    exact = cosine_gaussian_kernel_error(x, z, gamma=1.0, q=10).numpy()
    differences, correlations = [], []
    for M in (128, 2048):
        result = fit_corp(x, gamma=1.0, M=M, seed=0).score(z, q=10).numpy()
        differences.append(np.abs(result / exact - 1).mean())
        correlations.append(spearmanr(result, exact).statistic)
    assert differences[1] < 0.5 * differences[0]
    assert differences[1] < 0.06
    assert correlations[0] < correlations[1]
    assert correlations[1] > 0.97


def test_printed_form_is_its_sum_and_not_the_error(data):
    x, z = data
    unit_x, unit_z = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in data)
    printed = proposition_2_as_printed(x, z, q=4).numpy()
    _, singular, rows = np.linalg.svd(unit_x, full_matrices=False)
    projections = unit_z @ rows.T
    np.testing.assert_allclose(printed, np.sqrt((singular[4:] ** 2 * projections[:, 4:] ** 2).sum(1)), rtol=1e-7)
    error = cosine_kernel_error(x, z, q=4).numpy()
    assert np.abs(printed / error - 1).min() > 1e-3


def test_errors(data):
    x, z = data
    with pytest.raises(ValueError, match="gamma is 0"):
        cosine_gaussian_kernel_error(x, z, gamma=0.0, q=3)
    with pytest.raises(ValueError, match="q is 61"):
        proposition_2_as_printed(x, z, q=61)
    with pytest.raises(ValueError, match="expects 8"):
        cosine_kernel_error(x, z[:, :5], q=2)
