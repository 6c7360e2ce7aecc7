"""The loss of the robust fit and its hand-written gradient."""

import numpy as np
import pytest
import torch

from inspect_core.detectors.quadrics.distances import distance_2
from inspect_core.detectors.quadrics.refinement import (
    loss_and_gradient,
    orthonormality_error,
    random_start,
    refine_lbfgs,
    refine_sgd,
)

PENALTY = 0.7


def plain_loss(A, b, c, x):
    gram = torch.einsum("kij,lij->kl", A, A)
    return distance_2(A, b, c, x).sum(dim=1).mean() + PENALTY * (gram - torch.eye(len(A))).square().sum()


def problem(seed=0, *, n=40, d=4, m=3):
    rng = np.random.default_rng(seed)
    A, b, c = (torch.from_numpy(part).clone() for part in random_start(rng, d, m))
    return (1.3 * A, b, c), torch.from_numpy(rng.standard_normal((n, d)))


def test_loss_is_mean_distance_plus_orthonormality_penalty():
    coefficients, x = problem()
    loss, _ = loss_and_gradient(coefficients, x, penalty=PENALTY)
    assert loss.item() == pytest.approx(plain_loss(*coefficients, x).item(), rel=1e-12)


def test_gradient_agrees_with_central_differences():
    coefficients, x = problem()
    _, gradient = loss_and_gradient(coefficients, x, penalty=PENALTY)
    rng, step = np.random.default_rng(1), 1e-5
    for _ in range(20):
        way = [torch.from_numpy(rng.standard_normal(part.shape)) for part in coefficients]
        way[0] = (way[0] + way[0].mT) / 2
        up = plain_loss(*(part + step * w for part, w in zip(coefficients, way, strict=True)), x)
        down = plain_loss(*(part - step * w for part, w in zip(coefficients, way, strict=True)), x)
        slope = sum((g * w).sum() for g, w in zip(gradient, way, strict=True))
        assert slope.item() == pytest.approx(((up - down) / (2 * step)).item(), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-4)])
def test_gradient_agrees_with_automatic_differentiation(dtype, tolerance):
    coefficients, x = problem(2, n=200, d=12, m=5)
    leaves = [part.clone().requires_grad_() for part in coefficients]
    expected = list(torch.autograd.grad(plain_loss(*leaves, x), leaves))
    expected[0] = (expected[0] + expected[0].mT) / 2
    _, actual = loss_and_gradient(tuple(part.to(dtype) for part in coefficients), x.to(dtype), penalty=PENALTY)
    for name, ours, theirs in zip("Abc", actual, expected, strict=True):
        assert (ours.double() - theirs).abs().max() < tolerance * theirs.abs().max(), name


def test_gradient_is_zero_for_points_on_the_quadrics():
    cone = torch.tensor([[[1.0, 0.0], [0.0, -1.0]]]).double() / np.sqrt(2)
    coefficients = cone, torch.zeros(1, 2).double(), torch.zeros(1).double()
    loss, gradient = loss_and_gradient(coefficients, torch.tensor([[0.0, 0.0], [2.0, 2.0]]).double(), penalty=1.0)
    assert loss.item() == pytest.approx(0, abs=1e-15)
    for part in gradient:
        torch.testing.assert_close(part, torch.zeros_like(part), atol=1e-14, rtol=0)


def test_random_start_is_symmetric_and_orthonormal():
    A, b, c = random_start(np.random.default_rng(0), 6, 21)
    np.testing.assert_allclose(A, A.transpose(0, 2, 1), atol=1e-14)
    assert orthonormality_error(torch.from_numpy(A)) < 1e-20
    assert max(np.abs(b).max(), np.abs(c).max()) < 1


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_both_refinements_lower_the_loss_and_keep_the_start():
    coefficients, x = problem(3, n=300)
    start = [part.clone() for part in coefficients]
    before = loss_and_gradient(coefficients, x, penalty=1.0)[0]
    fractions = []
    exact = refine_lbfgs(coefficients, x, penalty=1.0, report=fractions.append)
    batches = refine_sgd(
        coefficients, x, penalty=1.0, rng=np.random.default_rng(0), report=fractions.append, steps=1000
    )
    after = [loss_and_gradient(tuple(p.double() for p in refined), x, penalty=1.0)[0] for refined in (exact, batches)]
    assert after[0] < 0.5 * before
    assert after[1] < 0.5 * before
    assert all(torch.equal(a, b) for a, b in zip(coefficients, start, strict=True))
    assert all(0 <= fraction <= 1 for fraction in fractions)


def test_a_strong_penalty_does_not_throw_the_mini_batches_off():
    coefficients, x = problem(4, n=300)
    A, _, _ = refine_sgd(coefficients, x, penalty=300.0, rng=np.random.default_rng(0), report=lambda _: None, steps=500)
    assert orthonormality_error(A) < 1e-3
