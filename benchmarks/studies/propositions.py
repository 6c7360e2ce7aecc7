"""The papers' theorems and propositions, checked by numbers: how often they hold, and by how much they do not.

python -m benchmarks.studies.propositions

Random cases in float64, a derivation in NumPy beside our own code where that has one.
"""

import argparse
import itertools
import time

import numpy as np
import torch
from scipy.spatial import cKDTree
from scipy.stats import spearmanr
from sklearn.datasets import load_digits

from benchmarks.studies.common import run
from inspect_core.classify.forest import grow_forest
from inspect_core.classify.kernel_density import PAPER_LOG_B, fit_kdf, fit_kdn
from inspect_core.classify.polytopes import network_kernel
from inspect_core.detectors import baselines, cop_corp, kernel_pca, quadrics
from inspect_core.playgrounds.simulated_classes import SIMULATIONS, ring

CASES = 200
CHANNELS, PHOTOS = 24, 60
ROUNDING = 1e-9
"""Relative difference below which two float64 figures are equal."""


def _semi_orthogonal(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(rows, columns)))
    return q * np.sign(np.diag(r))


def _low_rank_precision(covariance: np.ndarray, w: np.ndarray) -> np.ndarray:
    """W (Wᵀ C W)⁻¹ Wᵀ."""
    return w @ np.linalg.inv(w.T @ covariance @ w) @ w.T


def kim(_: argparse.Namespace) -> dict:
    """Of CASES random covariances with spectra of up to five decades: in how many each statement holds."""
    counts = dict.fromkeys(("proposition_1", "proposition_2", "theorem_1", "theorem_2", "as_printed", "corrected"), 0)
    apart = 0.0
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        scales = 10 ** rng.uniform(-rng.uniform(0, 2.5), 0, CHANNELS)
        x = _semi_orthogonal(rng, CHANNELS, CHANNELS) @ (scales[:, None] * rng.normal(size=(CHANNELS, PHOTOS)))
        covariance = x @ x.T / PHOTOS
        precision = np.linalg.inv(covariance)
        _, vectors = np.linalg.eigh(covariance)
        k = int(rng.integers(1, CHANNELS))
        smallest, largest = vectors[:, :k], vectors[:, -k:]
        whole, drawn = (_semi_orthogonal(rng, CHANNELS, columns) for columns in (CHANNELS, k))
        others = [_semi_orthogonal(rng, CHANNELS, k) for _ in range(20)]
        same = np.allclose(_low_rank_precision(covariance, whole), precision, rtol=1e-6)
        squares = np.einsum("in,ij,jn->n", x, _low_rank_precision(covariance, drawn), x)
        counts["proposition_1"] += bool(same)
        counts["proposition_2"] += bool(abs(squares.mean() - k) < 1e-8 * k)
        both_norms = [
            [np.linalg.norm(precision - _low_rank_precision(covariance, w), norm) ** 2
             for w in (smallest, largest, drawn, *others)]
            for norm in ("fro", 2)
        ]  # fmt: skip
        least, most = ([errors[i] for errors in both_norms] for i in (0, 1))
        rest = [errors[2:] for errors in both_norms]
        counts["theorem_1"] += all(low <= min(errors) * (1 + ROUNDING) for low, errors in zip(least, rest, strict=True))
        counts["theorem_2"] += all(
            max(errors) <= high * (1 + ROUNDING) for high, errors in zip(most, rest, strict=True)
        )
        gaussian = rng.normal(size=(CHANNELS, k))
        span, _ = np.linalg.qr(gaussian)
        by_both = [np.einsum("in,ij,jn->n", x, _low_rank_precision(covariance, w), x) for w in (gaussian, span)]
        apart = max(apart, float((np.abs(by_both[0] - by_both[1]) / by_both[1]).max()))
        alpha = float(rng.uniform(0.1, 10))
        flat = alpha * np.eye(CHANNELS)
        error = np.linalg.norm(flat / alpha**2 - _low_rank_precision(flat, drawn), "fro") ** 2
        counts["as_printed"] += bool(abs(error - (CHANNELS - k) / alpha) < 1e-8 * error)
        counts["corrected"] += bool(abs(error - (CHANNELS - k) / alpha**2) < 1e-8 * error)
    return {"cases": CASES, **counts, "gaussian_against_its_span": apart, "distillation": distillation()}


def distillation() -> dict[str, float]:
    """Appendix B: a linear student after n steps of gradient descent against eq. 34's filtered precision, and eq. 35.

    The largest relative differences over CASES, with the teacher as (X Xᵀ)⁻¹ X t, which is C⁻¹ X t / N.
    """
    student, identity, teacher = 0.0, 0.0, 0.0
    for seed in range(CASES):
        rng = np.random.default_rng(seed)
        x, target = rng.normal(size=(CHANNELS, PHOTOS)), rng.normal(size=(PHOTOS, 1))
        covariance = x @ x.T / PHOTOS
        values, vectors = np.linalg.eigh(covariance)
        rate, steps = 0.5 / values.max(), int(rng.integers(1, 100))
        star = np.linalg.solve(x @ x.T, x @ target)
        w = np.zeros_like(star)
        for _ in range(steps):
            w -= rate * covariance @ (w - star)
        filtered = vectors @ np.diag((1 - rate * values) ** steps / values) @ vectors.T
        y, z = x @ target, x[:, :1]
        student = max(student, _relative(star - w, filtered @ y / PHOTOS))
        teacher = max(teacher, _relative(star, np.linalg.solve(covariance, y) / PHOTOS))
        squares = [float((v.T @ filtered @ v).item()) / 2 for v in (z, z - y, y)]
        identity = max(identity, _relative(z.T @ filtered @ y, squares[0] - squares[1] + squares[2]))
    return {"student": student, "identity": identity, "teacher": teacher}


def _relative(value: np.ndarray, expected: np.ndarray | float) -> float:
    return float(np.abs(value - expected).max() / np.abs(expected).max())


def fang(_: argparse.Namespace) -> dict:
    """Proposition 1: the error is the norm of the projections on what is left out; the largest relative difference."""
    worst = 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, z = rng.normal(size=(200, 16)), rng.normal(size=(100, 16))
        drawn = cop_corp.cosine_fourier_map(16, gamma=1.0, M=64, seed=seed)
        mapped, of_test = (drawn(torch.from_numpy(rows)).numpy() for rows in (x, z))
        mean = mapped.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(mapped.T, bias=True))
        order = vectors[:, np.argsort(-values)]
        for q in (1, 8, 30):
            leading, left = order[:, :q], order[:, q:]
            centred = of_test - mean
            reconstructed = np.linalg.norm(centred - centred @ leading @ leading.T, axis=1)
            residual = np.linalg.norm(centred @ left, axis=1)
            worst = max(worst, float((np.abs(reconstructed - residual) / residual).max()))
    return {"largest_relative_difference": worst}


def pavutnitskiy(_: argparse.Namespace) -> dict:
    """d2 against the true distance to an ellipse, and of moved points to the moved quadric."""
    points, above = 0, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        a, b = rng.uniform(0.5, 3, 2)
        angles = rng.uniform(0, 2 * np.pi, 400)
        on_curve = np.column_stack([a * np.cos(angles), b * np.sin(angles)])
        model = quadrics.fit_algebraic(on_curve, m=1)
        asked = rng.uniform(-4, 4, (1_000, 2))
        d2 = model.score(asked.astype(np.float64)).double().numpy()
        above += int((d2 > _distance_to_ellipse(asked, a, b) * (1 + 1e-4) + 1e-4).sum())
        points += len(asked)
    worst = 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = np.column_stack([np.cos(t := rng.uniform(0, 6.28, 200)), 0.5 * np.sin(t), 0.1 * rng.normal(size=200)])
        turn, shift = _semi_orthogonal(rng, 3, 3), rng.normal(size=3)
        asked = rng.normal(size=(100, 3))
        first = quadrics.fit_algebraic_hs(x, m=2).score(asked)
        moved = quadrics.fit_algebraic_hs(x @ turn.T + shift, m=2).score(asked @ turn.T + shift)
        worst = max(worst, float(((first - moved).abs() / first.abs().clamp(min=1e-3)).max()))
    return {"points": points, "above_the_distance": above, "largest_relative_change_by_a_move": worst}


def _distance_to_ellipse(points: np.ndarray, a: float, b: float) -> np.ndarray:
    """The distance of each point to the nearest of 100,000 points of the curve."""
    angles = np.linspace(0, 2 * np.pi, 100_000, endpoint=False)
    return cKDTree(np.column_stack([a * np.cos(angles), b * np.sin(angles)])).query(points)[0]


def hoffmann(_: argparse.Namespace) -> dict:
    """Small σ ranks as Parzen, large σ as PCA: rank correlations; seconds to fit and to answer beside the SVM."""
    x, y = load_digits(return_X_y=True)
    x = x / 16
    zeros, others = x[y == 0], x[y != 0]
    learned, asked = zeros[:100], np.concatenate([zeros[100:], others[:300]])
    small, large = 0.6, 1_000.0
    parzen = baselines.fit_parzen(learned, sigma=small).score(asked)
    of_small = kernel_pca.fit(learned, sigma=small, q=20).score(asked)
    of_large = kernel_pca.fit(learned, sigma=large, q=20).score(asked)
    pca = kernel_pca.fit_linear(learned, q=20).score(asked)
    seconds = {}
    for name, fit in (
        ("kernel PCA", lambda: kernel_pca.fit(x[:1_000], sigma=4.0, q=100)),
        ("one-class SVM", lambda: baselines.fit_one_class_svm(x[:1_000], sigma=2.0, nu=0.1)),
    ):
        began = time.perf_counter()
        model = fit()
        fitted = time.perf_counter()
        model.score(x)
        seconds[name] = {"fit": fitted - began, "answer": time.perf_counter() - fitted}
    return {
        "small_sigma_against_parzen": float(spearmanr(of_small, parzen).statistic),
        "large_sigma_against_pca": float(spearmanr(of_large, pca).statistic),
        "seconds": seconds,
    }


def dey(_: argparse.Namespace) -> dict:
    """The kernel by enumerating paths; Proposition 1, that 1 - K is a metric of polytopes; Proposition 2, the prior;
    the error of KDF with the constant as the paper prints it."""
    rng = np.random.default_rng(0)
    widths = (3, 4, 2)
    codes = [rng.integers(0, 2, (40, width)).astype(bool) for width in widths]
    product = network_kernel(codes, codes)
    paths = list(itertools.product(*(range(width) for width in widths)))
    enumerated = np.zeros_like(product)
    for path in paths:
        agree = [code[:, None, unit] == code[None, :, unit] for code, unit in zip(codes, path, strict=True)]
        enumerated += np.logical_and.reduce(agree) / len(paths)
    x, y = SIMULATIONS["gaussian_xor"](500, rng)
    forest = grow_forest(x.astype(np.float64), y, classes=2, trees=50, seed=0)
    net = fit_kdn(x, y, hidden=(20,) * 3, include_output=True, seed=0)
    broken, triples = 0, 0
    for parent, codes_of in ((forest, forest.codes(x)), (net.parent, net.parent.codes(x / net.scale))):
        distance = 1 - parent.kernel(codes_of, codes_of)
        i, j, k = rng.integers(0, len(x), (3, 50_000))
        broken += int((distance[i, k] > distance[i, j] + distance[j, k] + 1e-12).sum())
        triples += len(i)
    far = {}
    for name, model in (
        ("KDF", fit_kdf(x, y, trees=50, log_b=PAPER_LOG_B, seed=0)),
        ("KDN", fit_kdn(x, y, hidden=(20,) * 3, include_output=True, log_b=PAPER_LOG_B, seed=0)),
    ):
        prior = np.bincount(y) / len(y)
        proba = model.predict_proba(ring(1e6, 500, rng) * model.scale)
        far[name] = float(np.abs(proba - prior).max())
    errors = {}
    for name, draw in SIMULATIONS.items():
        (x, y), (new_x, new_y) = draw(1000, rng), draw(2000, rng)
        as_printed = fit_kdf(x, y, trees=100, log_b=-(10.0**-7), seed=0)
        errors[name] = float((as_printed.predict_proba(new_x).argmax(1) != new_y).mean())
    return {
        "largest_difference_of_the_kernel": float(np.abs(product - enumerated).max()),
        "triples": triples,
        "triangles_broken": broken,
        "difference_from_the_prior_far_away": far,
        "constant_as_printed": errors,
    }


PARTS = {"kim": kim, "fang": fang, "pavutnitskiy": pavutnitskiy, "hoffmann": hoffmann, "dey": dey}


def main() -> None:
    run("propositions", __doc__, PARTS)


if __name__ == "__main__":
    main()
