"""Quadrics, embeddings, posteriors and CoRP as the playgrounds show them: each claim on the page holds."""

import numpy as np
import pytest

from inspect_core.playgrounds import embeddings, mapped_digits, posteriors, quadric_clouds
from inspect_core.playgrounds.shifted_shapes import SHIFTS, centres, shifted
from inspect_core.playgrounds.simulated_classes import SIMULATIONS
from inspect_core.scoring.metrics import auroc

pytestmark = pytest.mark.slow

T = np.linspace(0, 2 * np.pi, 60)
ELLIPSE = np.stack([np.cos(T), 0.6 * np.sin(T)], axis=1)


def test_a_shift_of_the_cloud_breaks_eq_7_and_no_other_fit() -> None:
    cloud, far = quadric_clouds.noisy_ellipse(0, 0.05), np.array([2.5, 1.5])
    off = {}
    for title, model in quadric_clouds.fits(cloud, 1).items():
        moved = quadric_clouds.fits(cloud + far, 1)[title]
        off[title] = float((moved.score(ELLIPSE + far) - model.score(ELLIPSE)).abs().max())
    printed, *others = off.values()
    assert printed > 0.05
    assert max(others) < 0.01


def test_outlier_pulls_the_algebraic_fits_and_hardly_the_robust() -> None:
    *algebraic, robust = quadric_clouds.fits(quadric_clouds.noisy_ellipse(0, 0.05), 1).values()
    assert float(robust.score(ELLIPSE).mean()) < 0.05
    assert min(float(model.score(ELLIPSE).mean()) for model in algebraic) > 0.08


def test_slices_and_curve_lie_on_the_surfaces() -> None:
    model = quadric_clouds.fits(quadric_clouds.noisy_curve(3, 0.02, n=60)[:-1], 2)["Algebraic, Hilbert-Schmidt norm"]
    for k, pieces in enumerate(quadric_clouds.slices(model, np.zeros(3), 1.2)):
        assert len(pieces)
        assert np.abs(quadric_clouds.values(model, pieces)[..., k]).max() < 0.02
    assert np.abs(quadric_clouds.values(model, quadric_clouds.onto(model, quadric_clouds.curve(T)))).max() < 1e-6
    turned = quadric_clouds.view(30, 25)
    assert np.allclose(turned @ turned.T, np.eye(3))
    assert np.linalg.det(turned) == pytest.approx(1)
    assert np.allclose(quadric_clouds.view(0, 90), np.eye(3)), "from above, x to the right and y upwards"


def test_mixing_keeps_the_rank_that_sampling_loses() -> None:
    ranks = embeddings.ranks(embeddings.redundant_features(200, 60, 0), (20, 40))
    assert ranks["semi-orthogonal"] == [1, 1]
    assert ranks["Gaussian"] == [1, 1]
    assert ranks["sampled"][1] < 0.85


def test_spectrum_of_all_features_is_that_of_their_covariance() -> None:
    features = embeddings.redundant_features(50, 60, 0)
    actual = embeddings.spectra(features, 20)["all features"]
    expected = np.linalg.svd(features - features.mean(axis=0), compute_uv=False) ** 2 / 50
    assert np.allclose(actual.values[0, 0, :49], expected[:49], atol=1e-6)
    assert actual.possible == 49


def test_kernel_densities_are_unsure_where_parents_are_sure() -> None:
    points, classes = SIMULATIONS["gaussian_xor"](120, np.random.default_rng(0))
    models = posteriors.fitted(points, classes)
    forest, kdf, net, kdn = (proba(8 * np.sign(points)).max(axis=1).mean() for proba in models.values())
    assert min(forest, net) > 0.7
    assert max(kdf, kdn) < 0.65
    curves = posteriors.calibration(models, "gaussian_xor")
    assert {int(curve.count.sum()) for curve in curves.values()} == {posteriors.TESTED}
    with pytest.raises(ValueError, match="give each at least"):
        posteriors.fitted(points, np.zeros(len(points), int))


def test_unseen_grey_level_lowers_the_probability_of_kdn() -> None:
    shapes, middle = posteriors.taught_shapes(), centres(40, np.random.default_rng(1))
    bright = shifted("intensity", float(SHIFTS["intensity"][-1]), middle)
    net, kdn = (shapes[name](bright).max(axis=1).mean() for name in ("Net", "KDN"))
    assert kdn < net - 0.1


def test_digits_are_told_apart_before_and_after_the_maps() -> None:
    data = mapped_digits.digits()
    for side in (mapped_digits.before(data, 0.9), mapped_digits.after(data, 0.9, gamma=5, M=256)):
        assert len(side.features) == len(side.errors) == len(data.foreign)
        assert auroc(side.errors, data.foreign) > 0.9
