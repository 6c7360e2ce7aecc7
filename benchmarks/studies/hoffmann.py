"""Kernel PCA for novelty detection: the planar sets, the cancer table and digits of Hoffmann (2007).

python -m benchmarks.studies.hoffmann

Planar sets: overlap of the enclosed and the true area, each method at the best setting of a grid. Digits: 8 x 8 of
scikit-learn, one in turn is normal, its first 100 learned from; and the paper's digit 0 of MNIST, where --data holds
mnist/digits.npz: `train_zeros` (n, 28, 28), `test` and `test_labels`, uint8.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import cv2
import numpy as np
import plotly.graph_objects as go
import torch
from sklearn.datasets import load_digits

from benchmarks.studies.cancer_table import cancer
from benchmarks.studies.common import area, boundary, line, panels, run
from benchmarks.studies.data_sets import known
from inspect_core.detectors import baselines, kernel_pca
from inspect_core.playgrounds import planar_sets
from inspect_core.playgrounds.boundaries import SOLVED
from inspect_core.scoring.metrics import roc_curve

SEED = 1
SIGMAS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
COUNTS = (0, 5, 10, 20, 40, 80, 160)
LEARNED = 100
NEEDS = {"mnist": "mnist"}
OTHERS = 109
"""Samples of each other digit that the paper tests with."""
Score = Callable[[np.ndarray], torch.Tensor]
Box = tuple[tuple[float, float], tuple[float, float]]


def planar() -> dict[str, tuple[np.ndarray, planar_sets.Inside | None, Box, int]]:
    """By name: points, true area (None for a curve), the box looked at, and how many points come before the noise."""
    square = planar_sets.square(400, SEED)
    ring = planar_sets.ring_line_square(850, SEED)
    noisy = planar_sets.square_noise(400, 50, SEED)
    spiral = planar_sets.spiral(700, SEED)
    return {
        "square": (*square, ((-0.5, -0.5), (3.5, 3.5)), 400),
        "square_noise": (*noisy, ((-0.5, -0.5), (3.5, 3.5)), 400),
        "ring_line_square": (*ring, ((-2.5, 0.0), (4.5, 3.0)), 850),
        "spiral": (*spiral, ((-2.0, -2.0), (2.0, 2.0)), 700),
        "sine_noise": (planar_sets.sine_noise(500, 200, SEED), None, ((-0.5, -2.0), (6.8, 2.0)), 500),
    }


def candidates(points: np.ndarray, clean: int) -> Iterator[tuple[str, dict, Score]]:
    """(method, setting, score) of every method at every setting of its grid."""
    for sigma in SIGMAS:
        model = kernel_pca.fit(points, sigma=sigma, q=max(COUNTS))
        for q in COUNTS[1:]:
            yield "kernel PCA", {"sigma": sigma, "q": q}, partial(_at, model, q)
        yield "Parzen", {"sigma": sigma}, baselines.fit_parzen(points, sigma=sigma).score
        nu = max(1 - clean / len(points), 0.02)
        yield "one-class SVM", {"sigma": sigma, "nu": nu}, baselines.fit_one_class_svm(points, sigma=sigma, nu=nu).score
    yield "PCA", {"q": 1}, partial(baselines.fit_pca(points).score, q=1)


def _at(model: kernel_pca.KernelPCA, q: int, z: np.ndarray) -> torch.Tensor:
    return model.sweep(z, [q])[0]


def contest(_: argparse.Namespace) -> dict:
    """By set and method: the best setting, and what its boundary does.

    With a true area the best overlap counts; on the sine, the most curve points inside less the share of noise inside.
    """
    results: dict[str, dict] = {}
    for name, (points, within, box, clean) in planar().items():
        best = results.setdefault(name, {})
        for method, setting, score in candidates(points, clean):
            shown = _points_inside(score, points, clean)
            if within is not None:
                shown |= _overlap(score, points, within, box, clean=clean)
            quality = shown.get("iou", shown["clean"] - shown["noise"])
            if method not in best or quality > best[method]["quality"]:
                best[method] = {"quality": quality, "setting": setting, **shown}
    return results


def cancer_auc(_: argparse.Namespace, noise_seeds: int = 5) -> dict:
    """AUC on the Wisconsin table. Published: kernel PCA .9971, Parzen .9966, PCA .9828."""
    aucs = []
    for seed in range(noise_seeds):
        train, test, malignant = cancer(seed)
        aucs.append(area(kernel_pca.fit(train, sigma=2.0, q=190).score(test), malignant))
    train, test, malignant = cancer(0)
    widths = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0)
    pca = baselines.fit_pca(train).sweep(test, range(1, 9))
    machines = [baselines.fit_one_class_svm(train, sigma=s, nu=0.1) for s in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)]
    return {
        "kernel_pca_mean": float(np.mean(aucs)),
        "kernel_pca_range": [min(aucs), max(aucs)],
        "parzen_best": max(area(baselines.fit_parzen(train, sigma=s).score(test), malignant) for s in widths),
        "pca_q_1_2_3": [area(errors, malignant) for errors in pca[:3]],
        "pca_best": max(area(errors, malignant) for errors in pca),
        "one_class_svm_best": max(area(machine.score(test), malignant) for machine in machines),
        "one_class_svm_swept_in_nu": _swept_in_nu(train, test, malignant),
    }


def _swept_in_nu(train: np.ndarray, test: np.ndarray, malignant: np.ndarray) -> dict[str, float | None]:
    """By σ: area under `_curve_of_nu`; None where no ν keeps the false positives below a twentieth, of which the paper
    says that no area can be computed.
    """
    results: dict[str, float | None] = {}
    for sigma in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0):
        fpr, tpr = _curve_of_nu(train, test, malignant, sigma)
        results[str(sigma)] = float(np.trapezoid(tpr, fpr)) if fpr[1] < 0.05 else None
    return results


def _curve_of_nu(
    train: np.ndarray, test: np.ndarray, malignant: np.ndarray, sigma: float
) -> tuple[np.ndarray, np.ndarray]:
    """(false-positive rate, detections) of one-class SVMs, a point for each ν, as the paper draws them."""
    points = [(0.0, 0.0), (1.0, 1.0)]
    for nu in np.r_[np.geomspace(0.005, 0.5, 24), np.linspace(0.52, 0.995, 24)]:
        outside = baselines.fit_one_class_svm(train, sigma=sigma, nu=float(nu)).score(test).numpy() > SOLVED
        points.append((float(outside[~malignant].mean()), float(outside[malignant].mean())))
    fpr, tpr = np.array(sorted(points)).T
    return fpr, np.maximum.accumulate(tpr)


def enclosed_shares(_: argparse.Namespace) -> dict:
    """What the boundary through the worst training point (with noise: the noise quantile) encloses, as published."""
    sets = planar()
    square, in_square, box, _ = sets["square"]
    noisy, in_noisy, _, _ = sets["square_noise"]
    ring, in_ring, ring_box, _ = sets["ring_line_square"]
    spiral, in_spiral, spiral_box, _ = sets["spiral"]
    sine = sets["sine_noise"][0]
    wide = kernel_pca.fit(square, sigma=0.4, q=40)
    noise_free = kernel_pca.fit(noisy, sigma=0.3, q=20)
    curve = kernel_pca.fit(sine, sigma=0.4, q=40)
    machine_noisy = baselines.fit_one_class_svm(noisy, sigma=0.362, nu=1 / 9)
    machine_curve = baselines.fit_one_class_svm(sine, sigma=0.489, nu=2 / 7)
    return {
        "square_far_point": float(wide.score(np.array([[1e3, 1e3]]))),
        "square": _overlap(wide.score, square, in_square, box),
        "square_q0": _overlap(lambda z: wide.score(z, q=0), square, in_square, box),
        "square_polynomial": max(
            (
                _overlap(
                    partial(_at, kernel_pca.fit_polynomial(square, degree=10, offset=0, q=40), q),
                    square,
                    in_square,
                    box,
                )
                | {"q": q}
                for q in (5, 10, 20, 40)
            ),
            key=lambda row: row["iou"],
        ),
        "square_pca": _overlap(partial(_at, baselines.fit_pca(square), 1), square, in_square, box),
        "square_parzen": _overlap(baselines.fit_parzen(square, sigma=0.05).score, square, in_square, box),
        "ring_line_square": _overlap(kernel_pca.fit(ring, sigma=0.4, q=40).score, ring, in_ring, ring_box),
        "spiral": _overlap(kernel_pca.fit(spiral, sigma=0.25, q=40).score, spiral, in_spiral, spiral_box),
        "square_noise": _overlap(noise_free.score, noisy, in_noisy, box, clean=400),
        "square_noise_points_inside": _points_inside(noise_free.score, noisy, 400),
        "square_noise_points_inside_svm": _points_inside(machine_noisy.score, noisy, 400),
        "sine_noise_points_inside": _points_inside(curve.score, sine, 500),
        "sine_noise_points_inside_svm": _points_inside(machine_curve.score, sine, 500),
    }


def sigma_and_q(_: argparse.Namespace) -> dict:
    """Overlap on the square for every σ and q, and AUC on the cancer table likewise."""
    points, within, box, _ = planar()["square"]
    train, test, malignant = cancer(0)
    results = {"q": list(COUNTS), "square_iou": {}, "cancer_auc": {}}
    for sigma in SIGMAS:
        model = kernel_pca.fit(points, sigma=sigma, q=max(COUNTS))
        at = [partial(_at, model, q) for q in COUNTS]
        results["square_iou"][str(sigma)] = [_overlap(score, points, within, box)["iou"] for score in at]
    for sigma in (0.5, 1.0, 2.0, 4.0, 8.0):
        scores = kernel_pca.fit(train, sigma=sigma, q=max(COUNTS)).sweep(test, COUNTS)
        results["cancer_auc"][str(sigma)] = [area(scores_of_q, malignant) for scores_of_q in scores]
    return results


def digits(_: argparse.Namespace) -> dict:
    """AUC with each digit as the normal one, of each method at its best setting; curves and the strangest of the 0."""
    x, y = load_digits(return_X_y=True)
    x = x / 16.0
    widths, counts = (0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0), (0, 5, 10, 20, 40, 60, 80, 99)
    results: dict[str, dict] = {"auc": {}}
    for digit in range(10):
        of_digit = np.flatnonzero(y == digit)
        train = x[of_digit[:LEARNED]]
        others = np.flatnonzero(y != digit)
        test = np.concatenate([of_digit[LEARNED:], others])
        foreign = np.arange(len(x) - LEARNED) >= len(of_digit) - LEARNED
        z = x[test]
        by_sigma = {s: kernel_pca.fit(train, sigma=s, q=99).sweep(z, counts) for s in widths}
        grid = {s: [area(scores, foreign) for scores in rows] for s, rows in by_sigma.items()}
        tried = {
            "kernel PCA": [scores for own_row in by_sigma.values() for scores in own_row[1:]],
            "Parzen": [baselines.fit_parzen(train, sigma=s).score(z) for s in widths],
            "one-class SVM": [baselines.fit_one_class_svm(train, sigma=s, nu=0.1).score(z) for s in widths],
            "PCA": list(baselines.fit_pca(train).sweep(z, (1, 2, 5, 10, 20, 30, 40))),
        }
        best = {method: max(rows, key=lambda scores: area(scores, foreign)) for method, rows in tried.items()}
        results["auc"][str(digit)] = {method: area(scores, foreign) for method, scores in best.items()}
        if digit == 0:
            strangest = by_sigma[1.0][counts.index(60)]
            results["zero"] = {"q": list(counts), "auc": {str(s): row for s, row in grid.items()}}
            results["zero"]["roc"] = {
                method: _corners(*roc_curve(np.asarray(scores), foreign)) for method, scores in best.items()
            }
            results["zero"]["strangest"] = of_digit[LEARNED:][np.argsort(-strangest[~foreign].numpy())[:10]].tolist()
    results["mean"] = {m: float(np.mean([row[m] for row in results["auc"].values()])) for m in results["auc"]["0"]}
    return results


def mnist(options: argparse.Namespace) -> dict:
    """AUC of digit 0 of each method at the best of its grid, tested as in the paper: all zeros of the test set and the
    first OTHERS of each other digit, blurred and sub-sampled to 8 x 8. Fewer zeros are learned from than its 2,000.
    """
    with np.load(options.data / known()["mnist"].path, allow_pickle=False) as arrays:
        zeros, images, labels = (arrays[name] for name in ("train_zeros", "test", "test_labels"))
    train = _subsampled(zeros)
    others = (np.flatnonzero(labels == digit)[:OTHERS] for digit in range(1, 10))
    chosen = np.concatenate([np.flatnonzero(labels == 0), *others])
    z, foreign = _subsampled(images[chosen]), labels[chosen] != 0
    widths, counts = (0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0), (10, 20, 40, 60, 80, 100, 150, 200)
    rows = {
        "kernel PCA": [
            scores for s in widths for scores in kernel_pca.fit(train, sigma=s, q=max(counts)).sweep(z, counts)
        ],
        "PCA": list(baselines.fit_pca(train).sweep(z, (1, 2, 5, 10, 20, 30, 40))),
        "Parzen": [baselines.fit_parzen(train, sigma=s).score(z) for s in widths],
        "one-class SVM": [baselines.fit_one_class_svm(train, sigma=s, nu=0.1).score(z) for s in widths],
    }
    return {
        "learned": len(train),
        "tested": len(z),
        "auc": {method: max(area(scores, foreign) for scores in scored) for method, scored in rows.items()},
    }


def _subsampled(images: np.ndarray) -> np.ndarray:
    """(n, 64) float64 from 0 to 1 of (n, 28, 28) uint8: blurred by 1 px, then averaged to 8 x 8."""
    blurred = (cv2.GaussianBlur(image.astype(np.float64) / 255, (0, 0), 1.0) for image in images)
    return np.stack([cv2.resize(image, (8, 8), interpolation=cv2.INTER_AREA).ravel() for image in blurred])


def roc(_: argparse.Namespace) -> dict:
    """(false-positive rate, detections) on the cancer table of each method, at the published setting or its best.

    Of the one-class SVM as `_curve_of_nu` at its best σ.
    """
    train, test, malignant = cancer(0)
    scores = {
        "kernel PCA": kernel_pca.fit(train, sigma=2.0, q=190).score(test),
        "Parzen": baselines.fit_parzen(train, sigma=1.0).score(test),
        "PCA": baselines.fit_pca(train).score(test, q=1),
    }
    curves = {name: roc_curve(values.numpy(), malignant) for name, values in scores.items()}
    curves["one-class SVM"] = _curve_of_nu(train, test, malignant, 4.0)
    return {name: _corners(*curves[name]) for name in ("kernel PCA", "Parzen", "one-class SVM", "PCA")}


def _corners(fpr: np.ndarray, tpr: np.ndarray) -> list[list[float]]:
    """A ROC curve without the points between two others on a straight line."""
    turns = (np.diff(fpr, n=2, prepend=-1, append=2) != 0) | (np.diff(tpr, n=2, prepend=-1, append=2) != 0)
    return [axis[turns].round(5).tolist() for axis in (fpr, tpr)]


def draw(figures: dict) -> go.Figure:
    """Boundaries of every method at its best setting; under them AUC against q, ROC and the ten strangest zeros."""
    methods = ["kernel PCA", "Parzen", "one-class SVM", "PCA"]
    contests = figures["contest"]
    sets = planar()
    titles = [_title(name, method, contests[name][method]) for name in sets for method in methods]
    titles += ["square: IoU against q, by σ", "cancer: AUC against q, by σ", "cancer: ROC", "the ten strangest zeros"]
    titles += ["digit 0: AUC against q, by σ", "digit 0: ROC", "each digit: AUC"]
    shown = panels(len(sets) + 2, 4, titles, height=1750, vertical_spacing=0.03, horizontal_spacing=0.05)
    for row, (name, (points, _, box, clean)) in enumerate(sets.items(), start=1):
        axes, grid = _grid(box, 0.04)
        for method, setting, score in candidates(points, clean):
            if setting == contests[name][method]["setting"]:
                place = (row, methods.index(method) + 1)
                limit = float(_limit(score(points), clean))
                boundary(shown, points, axes, score(grid).numpy().reshape(len(axes[1]), -1), limit, place)
    below = len(sets) + 1
    for column, key in ((1, "square_iou"), (2, "cancer_auc")):
        for number, (sigma, values) in enumerate(figures["sigma_and_q"][key].items()):
            line(shown, figures["sigma_and_q"]["q"], values, f"σ {sigma}", number, (below, column), first=column == 1)
    shown.update_yaxes(range=[0.9, 1], row=below, col=2)
    for number, (name, (fpr, tpr)) in enumerate(figures["roc"].items()):
        line(shown, fpr, tpr, name, number + len(SIGMAS), (below, 3))
    shown.update_xaxes(range=[0, 0.2], row=below, col=3)
    shown.update_yaxes(range=[0.8, 1.005], row=below, col=3)
    pictures = np.pad(load_digits().images[figures["digits"]["zero"]["strangest"]], ((0, 0), (2, 2), (1, 1)))
    sheet = np.block([[pictures[5 * down + across] for across in range(5)] for down in range(2)])
    shown.add_heatmap(z=sheet[::-1], colorscale="Greys", showscale=False, row=below, col=4)
    shown.update_xaxes(visible=False, row=below, col=4)
    shown.update_yaxes(visible=False, scaleanchor=f"x{4 * below}", row=below, col=4)
    zero, last = figures["digits"]["zero"], below + 1
    for number, (sigma, values) in enumerate(zero["auc"].items()):
        line(shown, zero["q"], values, f"digits, σ {sigma}", number, (last, 1))
    for number, (name, (fpr, tpr)) in enumerate(zero["roc"].items()):
        line(shown, fpr, tpr, name, number + len(SIGMAS), (last, 2), first=False)
    shown.update_xaxes(range=[0, 0.05], row=last, col=2)
    shown.update_yaxes(range=[0.9, 1.005], row=last, col=2)
    for number, name in enumerate(zero["roc"]):
        values = [row[name] for row in figures["digits"]["auc"].values()]
        line(shown, list(range(10)), values, name, number + len(SIGMAS), (last, 3), first=False)
    return shown


def _title(name: str, method: str, row: dict) -> str:
    what = f"IoU {row['iou']:.2f}" if "iou" in row else f"{row['clean']:.0%}, noise {row['noise']:.0%}"
    return f"{name.replace('_', ' ')}, {method}: {what}"


def _grid(box: Box, step: float) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    (x0, y0), (x1, y1) = box
    axes = np.arange(x0, x1, step), np.arange(y0, y1, step)
    return axes, np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)


def _overlap(
    score: Score, points: np.ndarray, within: planar_sets.Inside, box: Box, *, clean: int | None = None
) -> dict[str, float]:
    """Overlap (intersection over union) of enclosed and true area on a grid of 0.02, and the true share enclosed."""
    _, grid = _grid(box, 0.02)
    enclosed = (score(grid) <= _limit(score(points), clean)).numpy()
    true = within(grid)
    return {
        "iou": float((enclosed & true).sum() / (enclosed | true).sum()),
        "true_area_enclosed": float(enclosed[true].mean()),
    }


def _points_inside(score: Score, points: np.ndarray, clean: int) -> dict[str, float]:
    scores = score(points)
    enclosed = (scores <= _limit(scores, clean)).numpy()
    noise = float(enclosed[clean:].mean()) if clean < len(points) else 0.0
    return {"clean": float(enclosed[:clean].mean()), "noise": noise}


def _limit(scores: torch.Tensor, clean: int | None) -> torch.Tensor:
    return scores.sort().values[len(scores) - 1 if clean is None else clean - 1]


PARTS = {
    "cancer_auc": cancer_auc,
    "enclosed_shares": enclosed_shares,
    "contest": contest,
    "sigma_and_q": sigma_and_q,
    "digits": digits,
    "mnist": mnist,
    "roc": roc,
}


def main() -> None:
    run("hoffmann", __doc__, PARTS, draw, NEEDS)


if __name__ == "__main__":
    main()
