"""Reproduces published and reference figures of the kernel PCA detectors.

python -m benchmarks.methods.kernel_pca_figures

Hoffmann 2007: AUC on the cancer table and enclosed shares of the planar sets. Fang et al.: order of the detectors on
features of a small digits classifier, decay of the Fourier approximation, and the exact kernel form of the error.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

from benchmarks.measure import parser, write
from benchmarks.methods import exact_kernel
from benchmarks.methods.cancer_table import cancer
from inspect_core.detectors import baselines, cop_corp, kernel_pca
from inspect_core.detectors.cop_corp import covariance
from inspect_core.playgrounds import planar_sets


def cancer_auc(noise_seeds: int = 5) -> dict:
    """AUC on the Wisconsin table. Published: kernel PCA .9971, Parzen .9966, PCA .9828."""
    aucs = []
    for seed in range(noise_seeds):
        train, test, malignant = cancer(seed)
        aucs.append(_auroc(kernel_pca.fit(train, sigma=2.0, q=190).score(test), malignant))
    train, test, malignant = cancer(0)
    widths = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0)
    pca = baselines.fit_pca(train).sweep(test, range(1, 9))
    machines = [baselines.fit_one_class_svm(train, sigma=s, nu=0.1) for s in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)]
    return {
        "kernel_pca_mean": float(np.mean(aucs)),
        "kernel_pca_range": [min(aucs), max(aucs)],
        "parzen_best": max(_auroc(baselines.fit_parzen(train, sigma=s).score(test), malignant) for s in widths),
        "pca_q_1_2_3": [_auroc(errors, malignant) for errors in pca[:3]],
        "pca_best": max(_auroc(errors, malignant) for errors in pca),
        "one_class_svm_best": max(_auroc(machine.score(test), malignant) for machine in machines),
    }


def enclosed_shares(seed: int = 1) -> dict:
    """What the boundary through the worst training point (with noise: the noise quantile) encloses."""
    square, in_square = planar_sets.square(400, seed)
    ring, in_ring = planar_sets.ring_line_square(850, seed)
    spiral, in_spiral = planar_sets.spiral(700, seed)
    noisy, in_noisy = planar_sets.square_noise(400, 50, seed)
    sine = planar_sets.sine_noise(500, 200, seed)
    box, ring_box, spiral_box = ((-0.5, -0.5), (3.5, 3.5)), ((-2.5, 0.0), (4.5, 3.0)), ((-2.0, -2.0), (2.0, 2.0))
    wide = kernel_pca.fit(square, sigma=0.4, q=40)
    noise_free = kernel_pca.fit(noisy, sigma=0.3, q=20)
    curve = kernel_pca.fit(sine, sigma=0.4, q=40)
    machine_noisy = baselines.fit_one_class_svm(noisy, sigma=0.362, nu=1 / 9)
    machine_curve = baselines.fit_one_class_svm(sine, sigma=0.489, nu=2 / 7)
    return {
        "square_far_point": float(wide.score(np.array([[1e3, 1e3]]))),
        "square": _overlap(wide.score, square, in_square, box),
        "square_q0": _overlap(lambda z: wide.score(z, q=0), square, in_square, box),
        "square_parzen": _overlap(baselines.fit_parzen(square, sigma=0.05).score, square, in_square, box),
        "ring_line_square": _overlap(kernel_pca.fit(ring, sigma=0.4, q=40).score, ring, in_ring, ring_box),
        "spiral": _overlap(kernel_pca.fit(spiral, sigma=0.25, q=40).score, spiral, in_spiral, spiral_box),
        "square_noise": _overlap(noise_free.score, noisy, in_noisy, box, kept=400),
        "square_noise_points_inside": _points_inside(noise_free.score, noisy, 400),
        "square_noise_points_inside_svm": _points_inside(machine_noisy.score, noisy, 400),
        "sine_noise_points_inside": _points_inside(curve.score, sine, 500),
        "sine_noise_points_inside_svm": _points_inside(machine_curve.score, sine, 500),
    }


def approximation_decay(m: int = 20, gamma: float = 1.0) -> dict:
    """Mean error of the approximated kernel against 1/√(2M), and CoRP's error against the exact kernel's."""
    rng = np.random.default_rng(0)
    deviations = 1.0 / np.arange(1, m + 1)
    x, z = rng.standard_normal((300, m)) * deviations, rng.standard_normal((200, m)) * deviations
    unit = cop_corp.cosine(torch.from_numpy(x))
    kernel = torch.exp(-gamma * torch.cdist(unit, unit) ** 2)
    w0, u = cop_corp.draw(m, 4096, seed=0)
    exact = exact_kernel.cosine_gaussian_kernel_error(x, z, gamma=gamma, q=20)
    figures = {}
    for M in (64, 128, 256, 1024, 4096):
        mapped = cop_corp.random_fourier(unit, w0[:M], u[:M], gamma=gamma)
        error = cop_corp.fit_corp(x, gamma=gamma, M=M, seed=0).score(z, q=20)
        figures[str(M)] = {
            "mean_kernel_error": float((mapped @ mapped.T - kernel).abs().mean()),
            "one_over_root_2M": (2.0 * M) ** -0.5,
            "largest_relative_error_difference": float(((error - exact).abs() / exact).max()),
            "rank_correlation_with_exact": float(spearmanr(error, exact).statistic),
        }
    return figures


def exact_identities() -> dict:
    """Largest differences of quantities that are equal in exact arithmetic, and the printed form that is not."""
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((120, 12)) * np.linspace(0.2, 2.0, 12), rng.standard_normal((60, 12))
    explicit = cop_corp.fit_cop(x).sweep(z, range(1, 12))
    exact = torch.stack([exact_kernel.cosine_kernel_error(x, z, q=q) for q in range(1, 12)])
    pca = baselines.fit_pca(x).sweep(z, range(1, 12)).square()
    linear = kernel_pca.fit_linear(x).sweep(z, range(1, 12))
    printed = exact_kernel.proposition_2_as_printed(x, z, q=4)
    return {
        "cosine_kernel_against_cop": float((exact - explicit).abs().max()),
        "linear_kernel_against_pca": float((linear - pca).abs().max()),
        "rank_correlation_of_printed_form": float(spearmanr(printed, explicit[3]).statistic),
    }


def digits_order(seeds: int = 3) -> dict:
    """Mean AUROC of foreign digits (6 to 9) against test digits 0 to 5, on 128 hidden features of a small network."""
    x, y = load_digits(return_X_y=True)
    x = x / 16.0
    rows = [_digits_scores(x, y, seed) for seed in range(seeds)]
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def _digits_scores(x: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    known = np.random.default_rng(seed).permutation(np.flatnonzero(y <= 5))
    train, held_out = known[: len(known) * 2 // 3], known[len(known) * 2 // 3 :]
    test = np.concatenate([held_out, np.flatnonzero(y > 5)])
    foreign = y[test] > 5
    network = MLPClassifier((128,), max_iter=300, random_state=seed).fit(x[train], y[train])
    weights, offsets = network.coefs_, network.intercepts_
    fit_z, z = (np.maximum(x[rows] @ weights[0] + offsets[0], 0.0) for rows in (train, test))
    logits = z @ weights[1] + offsets[1]
    cop, corp = cop_corp.fit_cop(fit_z), cop_corp.fit_corp(fit_z, gamma=2.0, M=1024, seed=seed)
    plain = baselines.fit_pca(fit_z)
    energy = cop_corp.energy(logits)
    smallest = min(0.0, float(cop_corp.energy(fit_z @ weights[1] + offsets[1]).min()))
    error = cop.score(z, explained_variance=0.95)
    plain_error = plain.score(z, explained_variance=0.95)
    without_cosine = {
        f"fourier_without_cosine_gamma_{gamma}": _auroc(
            covariance.fit(
                fit_z,
                replace(cop_corp.cosine_fourier_map(fit_z.shape[-1], gamma=gamma, M=1024, seed=seed), cosine=False),
                explained_variance=0.95,
            ).score(z),
            foreign,
        )
        for gamma in (0.01, 0.1, 0.5, 1.0, 2.0)
    }
    return {
        "nearest_neighbour_unit": _auroc(baselines.fit_nearest_neighbour_unit(fit_z).score(z), foreign),
        "cop_95_with_energy": _auroc(-cop_corp.fuse(error, energy, smallest=smallest), foreign),
        "energy": _auroc(-energy, foreign),
        "corp_gamma_2_95": _auroc(corp.score(z, explained_variance=0.95), foreign),
        "msp": _auroc(-cop_corp.msp(logits), foreign),
        "cop_95": _auroc(error, foreign),
        "regularised_pca_95": _auroc(cop_corp.regularised_error(plain_error, z), foreign),
        "pca_95": _auroc(plain_error, foreign),
        "cop_30": _auroc(cop.score(z, explained_variance=0.3), foreign),
    } | without_cosine


def _auroc(scores: torch.Tensor, labels: np.ndarray) -> float:
    return float(roc_auc_score(labels, scores.numpy()))


def _overlap(
    score: Callable,
    points: np.ndarray,
    inside: planar_sets.Inside,
    box: tuple[tuple[float, float], tuple[float, float]],
    *,
    kept: int | None = None,
) -> dict[str, float]:
    """Overlap (intersection over union) of enclosed and true area on a grid of 0.02, and the true share enclosed."""
    (x0, y0), (x1, y1) = box
    grid = np.stack(np.meshgrid(np.arange(x0, x1, 0.02), np.arange(y0, y1, 0.02)), axis=-1).reshape(-1, 2)
    enclosed = (score(grid) <= _limit(score(points), kept)).numpy()
    true = inside(grid)
    return {
        "iou": float((enclosed & true).sum() / (enclosed | true).sum()),
        "true_area_enclosed": float(enclosed[true].mean()),
    }


def _points_inside(score: Callable, points: np.ndarray, clean: int) -> dict[str, float]:
    scores = score(points)
    inside = (scores <= _limit(scores, clean)).numpy()
    return {"clean": float(inside[:clean].mean()), "noise": float(inside[clean:].mean())}


def _limit(scores: torch.Tensor, kept: int | None) -> torch.Tensor:
    return scores.sort().values[len(scores) - 1 if kept is None else kept - 1]


def main() -> None:
    asked = parser("kernel_pca_figures", __doc__)
    options = asked.parse_args()
    figures = {
        "cancer_auc": cancer_auc(),
        "enclosed_shares": enclosed_shares(),
        "approximation_decay": approximation_decay(),
        "exact_identities": exact_identities(),
        "digits_order": digits_order(),
    }
    write(options.name, figures)


if __name__ == "__main__":
    main()
