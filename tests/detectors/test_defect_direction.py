"""The direction of known defects, against a derivation in float64."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.feature_maps import identity_map
from inspect_core.detectors.defect_direction import SHRINKAGE, DefectDirection, fit

WIDTH = 7
MIXING = np.random.default_rng(0).normal(size=(WIDTH, WIDTH))


def good(count: int, seed: int = 1) -> torch.Tensor:
    rows = np.random.default_rng(seed).normal(size=(count, WIDTH)) @ MIXING + np.arange(WIDTH)
    return torch.from_numpy(rows.astype(np.float32))


def statistics(rows: torch.Tensor) -> MappedCovariance:
    return MappedCovariance(identity_map(WIDTH)).update(rows)


def defects() -> list[torch.Tensor]:
    apart = torch.linspace(-1, 2, WIDTH)
    return [good(count, seed=count) + apart for count in (1, 4, 40)]


def test_the_direction_is_fishers_with_every_defect_counted_once():
    rows = good(500)
    known = rows.double().numpy()
    covariance = np.cov(known.T, bias=True)
    shrunk = (1 - SHRINKAGE) * covariance + SHRINKAGE * np.trace(covariance) / WIDTH * np.eye(WIDTH)
    apart = np.mean([patches.double().numpy().mean(0) for patches in defects()], axis=0) - known.mean(0)
    direction = np.linalg.inv(shrunk) @ apart
    direction /= np.sqrt(direction @ shrunk @ direction)
    expected = (good(9, seed=5).double().numpy() - known.mean(0)) @ direction
    detector = fit(statistics(rows), defects())
    np.testing.assert_allclose(detector.score(good(9, seed=5)).numpy(), expected, rtol=1e-4, atol=1e-4)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 10.0))
def test_known_defects_score_above_good_patches(seed, distance):
    rows = good(400, seed)
    apart = torch.from_numpy(np.random.default_rng(seed + 1).normal(size=WIDTH).astype(np.float32)) * distance
    detector = fit(statistics(rows), [rows[:5] + apart])
    assert detector.score(rows[:5] + apart).mean() > 0
    assert abs(float(detector.score(rows).mean())) < 1e-2
    assert float(detector.score(rows).std()) <= 1.01


def test_without_a_known_defect_it_finds_nothing():
    detector = fit(statistics(good(50)), [])
    assert not detector.score(good(20, seed=2)).any()


def test_a_photo_scores_the_same_alone_and_in_a_batch():
    photos = good(4 * 600).reshape(4, 20, 30, WIDTH)
    detector = fit(statistics(good(300)), defects())
    assert torch.equal(detector.score(photos), torch.cat([detector.score(photo[None]) for photo in photos]))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="at least one good photo"):
        fit(MappedCovariance(identity_map(WIDTH)), defects())
    with pytest.raises(ValueError, match=r"give \(k,\) each"):
        DefectDirection(torch.zeros(3), torch.zeros(4))
