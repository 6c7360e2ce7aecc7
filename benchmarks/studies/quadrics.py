"""Quadric hypersurface intersection: the toy curve, a shift of the cloud, outliers at 99:1, identification.

python -m benchmarks.studies.quadrics

After Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022).
In place of faces: EfficientNet-Lite0's embeddings of crops of the sample parts, scaled to length 1.
"""

import argparse
import itertools
import time
from collections.abc import Callable

import cv2
import numpy as np
import plotly.graph_objects as go
import torch
from scipy.spatial import cKDTree
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import OneClassSVM

from benchmarks.measure import sets
from benchmarks.studies.bent_surface import bent_surface, moved_off
from benchmarks.studies.common import area, line, panels, run
from benchmarks.studies.crops import PLACES, Crops, crops_of, embedding_of, windows_of
from inspect_core.detectors import baselines, kernel_pca, quadrics
from inspect_core.detectors.cop_corp import KernelPCAMap
from inspect_core.detectors.quadrics.algebraic import least_squares_coefficients, least_squares_hs, monomial_moments
from inspect_core.features.backbones import load
from inspect_core.features.store import FeatureStore
from inspect_core.playgrounds.quadric_clouds import curve, noisy_curve, of_coefficients, onto
from inspect_core.runtime import workspace
from inspect_core.scoring.metrics import identification_rate

FITS = {
    "algebraic, coefficients": quadrics.fit_algebraic,
    "algebraic, quadratic part": quadrics.fit_algebraic_quadratic,
    "algebraic, HS": quadrics.fit_algebraic_hs,
    "d2": quadrics.fit,
}
SHIFTS = (0, 1, 2, 5, 10, 20)
STRANGE = 0.01
"""Share of outliers among what is learned: 99:1."""
FULL, SUB = 28, 12
DIMENSIONS = (10, 20, 40, 80, 160)
"""Principal components in which the quadrics are fitted, m half as many; 540 crops determine the 435 coefficients."""


def toy(options: argparse.Namespace) -> list[dict]:
    """Medians over seeds: mean d2 of the true curve, largest distance of the fitted curve from it, seconds to fit."""
    truth = curve(np.linspace(0, 2 * np.pi, 2000, endpoint=False))
    rows = []
    for sd in (0.12, 0.05):
        for title, fit in FITS.items():
            results = []
            for seed in range(3 if options.quick else 10):
                began = time.perf_counter()
                model = fit(noisy_curve(seed, sd), m=2)
                seconds = time.perf_counter() - began
                outlier = model.score(noisy_curve(seed, sd)).argmax() == 100
                reached = onto(model, truth)
                results.append((float(model.score(truth).mean()), _apart(reached, truth), seconds, float(outlier)))
            distance, deviation, seconds, _ = np.median(results, axis=0).tolist()
            top = float(np.mean([row[3] for row in results]))
            named = {"distance": distance, "deviation": deviation, "s": seconds, "outlier_scores_highest": top}
            rows.append({"fit": title, "noise": sd} | named)
    return rows


def contamination(options: argparse.Namespace, *, m: int = 8, n: int = 2000) -> list[dict]:
    """AUROC (mean over seeds) of defects against good points, when a share of the training points are such defects.

    The surface of four latent directions bends through all of 12 features, and of 24 it leaves 10 directions flat.
    """
    rows = []
    for d, kinds, fraction in itertools.product((12, 24), ("one", "every"), (0.0, 0.02, 0.05)):
        for title, fit in FITS.items():
            areas = []
            for seed in range(1 if options.quick else 3):
                good = bent_surface(3 * n, d, latent=4, seed=seed)
                defects = moved_off(2 * n, d, latent=4, seed=seed, directions=1 if kinds == "one" else 2 * n)
                count = round(fraction * n)
                model = fit(np.vstack([good[: n - count], defects[:count]]), m=m)
                scores = model.score(np.vstack([good[n:], defects[n:]])).numpy()
                areas.append(area(scores, np.arange(len(scores)) >= 2 * n))
            row = {"fit": title, "d": d, "kinds": kinds, "contamination": fraction}
            rows.append(row | {"auroc": float(np.mean(areas))})
    return rows


def shift(options: argparse.Namespace) -> dict:
    """The toy cloud moved by so many units along (1, 1, 1) and fitted where it lies, neither centred nor scaled.

    Median over seeds of the largest distance of the fitted curve from the true one: under eq. 7, all coefficients
    orthonormal, and with the quadratic part alone orthonormal in the Hilbert-Schmidt product, the start of eq. 8.
    """
    truth = curve(np.linspace(0, 2 * np.pi, 500, endpoint=False))
    results: dict[str, list] = {"shift": list(SHIFTS), "coefficients (eq. 7)": [], "Hilbert-Schmidt": []}
    for by in SHIFTS:
        for name, solve in (
            ("coefficients (eq. 7)", least_squares_coefficients),
            ("Hilbert-Schmidt", least_squares_hs),
        ):
            distances = []
            for seed in range(3 if options.quick else 10):
                cloud = torch.from_numpy(noisy_curve(seed, 0.12)[:100] + by)
                there = solve(monomial_moments(cloud), 3, 2)
                distances.append(_apart(onto(of_coefficients(there), truth + by), truth + by))
            results[name].append(float(np.median(distances)))
    return results


def contest(options: argparse.Namespace) -> dict:
    """AUROC of outliers, when 1 in 100 of what is learned is such an outlier: not the paper's protocol, but what a shop
    floor gives. Else as `clean_contest`.
    """
    return _by_part(STRANGE)


def clean_contest(options: argparse.Namespace) -> dict:
    """AUROC of outliers as the paper's Table 1 has it: good crops alone are learned from. Its ratio of 99:1 is that of
    the photos to test, which the AUROC does not depend on.

    foreign: crops of another part; defects: crops with a defect on them, against good crops of the same places. By
    part, with its median over the parts. NORM: minus the length of the embedding. a quarter of the points: Q-SUB, which
    is few points in the paper too. PCA by dimensions: the paper's Table 3.
    """
    return _by_part(0.0)


def _by_part(outlying: float) -> dict:
    crops = {name: crops_of(folder) for name, folder in sets([]).items()}
    results: dict[str, dict] = {"foreign": {}, "defects": {}}
    for name, part in crops.items():
        others = np.concatenate([_rows(other.test) for key, other in crops.items() if key != name])
        results["foreign"][name] = _contest(part, _rows(part.test), others, outlying)
        results["defects"][name] = _contest(
            part, part.test[:, part.defect_places].reshape(-1, part.test.shape[2]), part.defects, outlying
        )
    for rows in results.values():
        rows["median"] = {m: float(np.median([row[m] for row in rows.values()])) for m in next(iter(rows.values()))}
    return results


def _contest(part: Crops, good: np.ndarray, strange: np.ndarray, outlying: float) -> dict[str, float]:
    rng = np.random.default_rng(0)
    learned, strange = _rows(part.learned), rng.permutation(strange)
    count = round(outlying * len(learned))
    fit = _unit(np.vstack([learned[count:], strange[:count]]))
    test = np.vstack([good, strange[count:]])
    foreign = np.arange(len(test)) >= len(good)
    z = _unit(test)
    sigma = kernel_pca.suggest_sigma(fit)
    scores = {
        "PCA": baselines.fit_pca(fit, explained_variance=0.9).score(z),
        "kernel PCA": kernel_pca.fit(fit, sigma=3 * sigma, q=100).score(z),
        "one-class SVM": baselines.fit_one_class_svm(fit, sigma=3 * sigma, nu=STRANGE).score(z),
        "one-class SVM, cubic": _cubic_svm(fit, z),
        "Q-BASE (eq. 7)": quadrics.fit_algebraic(fit, m=FULL // 2, components=FULL).score(z),
        "nearest neighbour": baselines.fit_nearest_neighbour(fit).score(z),
        "NORM": -np.linalg.norm(test, axis=1),
    }
    for dimensions in DIMENSIONS:
        scores[f"PCA, {dimensions} dimensions"] = baselines.fit_pca(fit).score(z, q=dimensions)
    quarter = rng.permutation(fit)[: len(fit) // 4]
    for title, points, components in (
        ("quadrics", fit, FULL),
        (f"quadrics, {SUB} components", fit, SUB),
        ("quadrics, a quarter of the points", quarter, SUB),
    ):
        for kind, make in (("algebraic", quadrics.fit_algebraic_hs), ("d2", quadrics.fit)):
            model = make(points, m=components // 2, components=components)
            scores[f"{title}, {kind}"] = model.score(z)
            scores[f"{title}, {kind}, with PCA"] = _off_surface(model, baselines.fit_pca(points), z)
    return {name: area(part, foreign) for name, part in scores.items()}


def identification(options: argparse.Namespace) -> dict:
    """Which place of which part does a crop show? Rates of pairs found, with and without robustified similarities.

    Identities: the nine places of flange and board (places of linen look alike). Embeddings: Lite0's, reduced to those
    directions that tell the places apart (linear discriminants), as a face network is trained to. Among the crops are
    5 % that show nothing any more, dark and out of focus. t: the .99 quantile of good crops kept out of the fit. "full"
    are the rates with the crops of linen for distractors.
    """
    crops = {name: crops_of(folder) for name, folder in sets([]).items()}
    strangers = _rows(crops.pop("linen").test)
    named = {part: _places(crops, part) for part in ("learned", "test")}
    learned, shown = (np.concatenate([_rows(getattr(values, part)) for values in crops.values()]) for part in named)
    reduce = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(learned, named["learned"]).transform
    spoiled = _spoiled(round(0.05 * len(shown) / len(crops)), list(crops))
    reduced = [reduce(rows) for rows in (learned, np.concatenate([shown, spoiled]), strangers)]
    learned, everything, strangers = map(_unit, reduced)
    identity = np.concatenate([named["test"], [f"spoiled {i}" for i in range(len(spoiled))]])
    order = np.random.default_rng(0).permutation(len(learned))
    fit, kept_out = learned[order[: len(order) * 3 // 4]], learned[order[len(order) * 3 // 4 :]]
    everyone = np.concatenate([everything, strangers])
    similarity = everything @ everyone.T
    beyond = {"without": np.full(len(everyone), -1.0)}
    sigma = kernel_pca.suggest_sigma(fit)
    for kind, model in (
        ("Q-BASE (eq. 7)", quadrics.fit_algebraic(fit, m=2 * FULL)),
        ("algebraic", quadrics.fit_algebraic_hs(fit, m=2 * FULL)),
        ("d2", quadrics.fit(fit, m=2 * FULL)),
        ("PCA", baselines.fit_pca(fit)),
        ("kernel PCA", kernel_pca.fit(fit, sigma=sigma)),
        ("one-class SVM", baselines.fit_one_class_svm(fit, sigma=sigma, nu=0.1)),
    ):
        beyond[kind] = (model.score(everyone) - model.score(kept_out).quantile(0.99)).numpy()
    cubic, of_kept_out = np.split(_cubic_svm(fit, np.vstack([everyone, kept_out])), [len(everyone)])
    beyond["one-class SVM, cubic"] = cubic - np.quantile(of_kept_out, 0.99)
    lengths = [np.linalg.norm(rows, axis=1) for rows in reduced]
    shortest = np.quantile(lengths[0][order[len(order) * 3 // 4 :]], 0.01)
    beyond["NORM"] = shortest - np.concatenate(lengths[1:])
    results: dict[str, dict] = {"crops": {"shown": len(shown), "spoiled": len(spoiled)}}
    for kind, values in beyond.items():
        known = values < 0
        robust = np.where(known[: len(everything), None] & known, similarity, -np.inf)
        among, strange = np.split(robust, [len(everything)], axis=1)
        results[kind] = {}
        for fpr in (1e-2, 1e-3, 1e-4):
            results[kind][str(fpr)] = identification_rate(among, identity, fpr=fpr)
            results[kind][f"full {fpr}"] = identification_rate(among, identity, fpr=fpr, distractors=strange)
        results[kind]["spoiled_called_strange"] = float((~known[len(shown) : len(everything)]).mean())
        results[kind]["good_called_strange"] = float((~known[: len(shown)]).mean())
        results[kind]["distractors_called_strange"] = float((~known[len(everything) :]).mean())
    return results


def _places(crops: dict[str, Crops], part: str) -> np.ndarray:
    """The identity of every crop, in the order of the rows."""
    counts = ((name, len(getattr(crops_of_part, part))) for name, crops_of_part in crops.items())
    return np.concatenate(
        [[f"{name} {place}" for _ in range(count) for place in range(PLACES)] for name, count in counts]
    )


def of_m(options: argparse.Namespace) -> dict:
    """AUROC against the number of quadrics, algebraic, on the crops with defects and of other parts; and the spectra:
    -log10 of each principal component's variance over the largest.
    """
    crops = {name: crops_of(folder) for name, folder in sets([]).items()}
    ms = [1, 2, 5, 10, 20, 50, 100, 200]
    results: dict[str, dict] = {"m": ms, "foreign": {}, "defects": {}, "spectrum": {}}
    for name, part in crops.items():
        fit = _unit(_rows(part.learned))
        others = np.concatenate([_rows(other.test) for key, other in crops.items() if key != name])
        good = part.test[:, part.defect_places].reshape(-1, part.test.shape[2])
        model = quadrics.fit_algebraic_hs(fit, m=max(ms), components=FULL)
        for title, normal, strange in (("foreign", _rows(part.test), others), ("defects", good, part.defects)):
            labels = np.arange(len(normal) + len(strange)) >= len(normal)
            scores = model.sweep(_unit(np.vstack([normal, strange])), ms)
            results[title][name] = [area(row.numpy(), labels) for row in scores]
        variances = baselines.fit_pca(fit).eigenvalues
        results["spectrum"][name] = (-torch.log10(variances / variances[0]))[:200:5].tolist()
    return results


def draw(figures: dict) -> go.Figure:
    """The toy curve fitted both ways, the shift, m, identification and the spectra."""
    titles = ["toy, algebraic (eq. 7)", "toy, second-order distance (eq. 8)", "shift: largest error of the curve"]
    titles += ["other parts: AUROC against m", "defects: AUROC against m", "−log10 λₙ/λ₁ against n"]
    shown = panels(2, 3, titles, height=760, vertical_spacing=0.12)
    truth = curve(np.linspace(0, 2 * np.pi, 400))
    cloud = noisy_curve(0, 0.12)
    for column, fit in ((1, quadrics.fit_algebraic), (2, quadrics.fit)):
        reached = onto(fit(cloud, m=2), truth)
        for number, (name, rows) in enumerate({"true curve": truth, "fitted": reached, "points": cloud}.items()):
            line(shown, rows[:, 0], rows[:, 1], name, number, (1, column), first=column == 1)
            shown.data[-1].mode = "markers" if name == "points" else "lines"
        shown.update_xaxes(range=[-2, 2], row=1, col=column)
        shown.update_yaxes(range=[-2, 2], scaleanchor=f"x{column if column > 1 else ''}", row=1, col=column)
    for number, name in enumerate(("coefficients (eq. 7)", "Hilbert-Schmidt"), start=3):
        line(shown, figures["shift"]["shift"], figures["shift"][name], name, number, (1, 3))
    shown.update_yaxes(type="log", row=1, col=3)
    for column, key in ((1, "foreign"), (2, "defects"), (3, "spectrum")):
        for number, (name, values) in enumerate(figures["of_m"][key].items(), start=5):
            x = figures["of_m"]["m"] if column < 3 else 1 + 5 * np.arange(len(values))
            line(shown, x, values, name, number, (2, column), first=column == 1)
        shown.update_xaxes(type="log" if column < 3 else "linear", row=2, col=column)
    return shown


def _rows(crops: np.ndarray) -> np.ndarray:
    return crops.reshape(-1, crops.shape[-1])


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.float64) / np.linalg.norm(rows, axis=1, keepdims=True)


def _spoiled(count: int, parts: list[str]) -> np.ndarray:
    """(parts x count, d): crops of these parts, dark and far out of focus, with noise."""
    backbone = load("efficientnet_lite0")
    store = FeatureStore(workspace.features_folder())
    rng = np.random.default_rng(0)
    embeddings = []
    for name in parts:
        for pixels in windows_of(sets([])[name], count):
            dark = 0.15 * cv2.GaussianBlur(pixels.astype(float), (0, 0), 12) + rng.normal(0, 2, pixels.shape)
            embeddings.append(embedding_of(dark.clip(0, 255).astype(np.uint8), backbone, store))
    return np.array(embeddings)


def _cubic_svm(fit: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Scores of the paper's one-class SVM, whose kernel is a polynomial of degree 3; it gives no other setting."""
    return -OneClassSVM(kernel="poly", degree=3, nu=STRANGE).fit(fit).decision_function(z)


def _off_surface(model: quadrics.Quadrics, pca: KernelPCAMap, rows: np.ndarray) -> np.ndarray:
    """sqrt(o^2 + r^2), r the distance to the components that the quadrics lie in: as "seen before?" measures it."""
    return np.hypot(model.score(rows).double().numpy(), pca.score(rows, q=model.A.shape[1]).numpy())


def _apart(reached: np.ndarray, truth: np.ndarray) -> float:
    return float(cKDTree(truth).query(reached)[0].max())


PARTS: dict[str, Callable[[argparse.Namespace], dict | list[dict]]] = {
    "toy": toy,
    "contamination": contamination,
    "shift": shift,
    "contest": contest,
    "clean_contest": clean_contest,
    "identification": identification,
    "of_m": of_m,
}


def main() -> None:
    run("quadrics", __doc__, PARTS, draw)


if __name__ == "__main__":
    main()
