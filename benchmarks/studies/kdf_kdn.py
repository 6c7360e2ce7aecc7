"""KDF and KDN against their parents: six simulations, many dimensions, four tables, foreign classes, shifted pictures.

python -m benchmarks.studies.kdf_kdn

After Dey et al., "Simple Calibration via Geodesic Kernels" (TMLR 2025). Full: samples up to 3,000 points, and 10,000 as
published, 500 trees, nets of 4 x 100 units, five seeds (three as published). --quick: up to 1,000 points, 100 trees,
three seeds. Held out are 30 % more; 2,000 points to test. Tables: digits, breast cancer, wine and iris of scikit-learn
in place of those of OpenML.
"""

import argparse
import itertools
import statistics
import time
from collections.abc import Callable, Iterable

import numpy as np
import plotly.graph_objects as go
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

from benchmarks.studies.calibrated_parents import with_parents
from benchmarks.studies.common import line, panels, picture, run
from benchmarks.studies.foreign_classes import foreign
from benchmarks.studies.shifted_shapes import SHIFTS, repetition
from inspect_core.classify.kernel_density import PAPER_LOG_B, KernelDensityClassifier, fit_kdf, fit_kdn
from inspect_core.classify.relu_net import ReluNet
from inspect_core.playgrounds.simulated_classes import SIMULATIONS, posterior, ring, trunk
from inspect_core.scoring.metrics import (
    expected_calibration_error,
    hellinger,
    mean_max_confidence,
    ood_calibration_error,
)

RADII = (1, 2, 5)
TEST_POINTS, RING_POINTS = 2_000, 500
CLOSE = 1_000
"""The sample size at which all constants are compared."""
PLAIN = {"KDF": (fit_kdf, {}), "KDN": (fit_kdn, {})}
CONSTANTS = {
    "KDF lam 1e-3": (fit_kdf, {"lam": 1e-3}),
    "KDF paper constant": (fit_kdf, {"log_b": PAPER_LOG_B}),
    "KDF no constant": (fit_kdf, {"log_b": -np.inf}),
    "KDF Euclidean, paper constant": (fit_kdf, {"log_b": PAPER_LOG_B, "euclidean": True}),
    "KDN paper constant": (fit_kdn, {"log_b": PAPER_LOG_B}),
    "KDN with output layer": (fit_kdn, {"include_output": True}),
}
AUTHORS_LOG_B = (-1e100, -1e7, -100.0)
"""Of their library in distribution, commented out for CIFAR-10, and for OpenML out of it."""
TABLES = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
Figures = dict[str, dict[str, float]]


def sizes(options: argparse.Namespace, fit: Callable) -> tuple[tuple[int, ...], int, dict]:
    """Samples, seeds, and what the parent is made of."""
    counts, seeds = ((100, 1_000), 3) if options.quick else ((100, 300, 1_000, 3_000), 5)
    parent = {"hidden": (100,) * 4} if fit is fit_kdn else {"trees": 100 if options.quick else 500}
    return counts, seeds, parent


def simulations(options: argparse.Namespace) -> dict:
    """By simulation and sample: medians over seeds of every model's figures, the parents' among them."""
    results: dict[str, dict] = {}
    for name in SIMULATIONS:
        results[name] = {}
        for title, (fit, more) in (PLAIN | CONSTANTS).items():
            if title in CONSTANTS and "lam" not in more and name != "gaussian_xor":
                continue
            counts, seeds, parent = sizes(options, fit)
            for n in counts if title in PLAIN else (CLOSE,):
                runs = [simulate(name, n, seed, fit, {**parent, **more}) for seed in range(seeds)]
                row = results[name].setdefault(str(n), {})
                row[title] = _median([figures for figures, _ in runs])
                if title in ("KDF", "KDN"):
                    row["forest" if fit is fit_kdf else "network"] = _median([of_parent for _, of_parent in runs])
        print(name, flush=True)
    return results


def simulate(name: str, n: int, seed: int, fit: Callable, options: dict) -> tuple[dict, dict]:
    """Figures of a model and of its parent on one draw of one simulation."""
    rng = np.random.default_rng(seed)
    x, y = SIMULATIONS[name](n + n * 3 // 10, rng)
    test = SIMULATIONS[name](TEST_POINTS, rng)
    rings = {radius: ring(radius, RING_POINTS, rng) for radius in RADII}
    began = time.perf_counter()
    model = fit(x[:n], y[:n], held_out=(x[n:], y[n:]), seed=seed, **options)
    cost = {"power": model.power, "polytopes": len(model.log_ratio), "fit_seconds": time.perf_counter() - began}
    truth = posterior(name, test[0])
    figures = _figures(model.predict_proba, model, *test, rings) | {
        "hellinger": hellinger(model.predict_proba(test[0]), truth)
    }
    of_parent = _figures(model.parent_proba, model, *test, rings)
    return figures | cost, of_parent | {"hellinger": hellinger(model.parent_proba(test[0]), truth)}


def _figures(
    proba: Callable, model: KernelDensityClassifier, x: np.ndarray, y: np.ndarray, rings: dict[int, np.ndarray]
) -> dict[str, float]:
    shares = proba(x)
    figures = {"error": float((shares.argmax(axis=1) != y).mean()), "ece": expected_calibration_error(shares, y)}
    for radius, points in rings.items():
        figures[f"confidence_at_{radius}"] = mean_max_confidence(proba(points * model.scale))
    return figures | {"oce": ood_calibration_error(proba(rings[RADII[-1]] * model.scale), np.bincount(y) / len(y))}


def _median(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(statistics.median(row[key] for row in runs)) for key in runs[0]}


def many_dimensions(options: argparse.Namespace) -> dict:
    """Trunk: medians over seeds by number of dimensions, of one sample size."""
    ways = [(title, parent, fit, sizes(options, fit)[2]) for title, parent, fit, _ in published_ways(options)]
    dimensions = (2, 5, 10, 20, 50, 100)
    return {str(d): _on_trunk(d, ways, 3 if options.quick else 5, options) for d in dimensions}


def many_dimensions_as_published(options: argparse.Namespace) -> dict:
    """As `many_dimensions` in 100 of them, as the paper has KDF and KDN: medians over three seeds."""
    return _on_trunk(100, published_ways(options), 3, options)


def _on_trunk(
    d: int, ways: Iterable[tuple[str, str, Callable, dict]], seeds: int, options: argparse.Namespace
) -> dict[str, dict[str, float]]:
    n = 1_000 if options.quick else 2_000
    runs: dict[str, list] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        x, y = trunk(n + n * 3 // 10, rng, d=d)
        test = trunk(TEST_POINTS, rng, d=d)
        rings = {r: ring(r, RING_POINTS, rng, d=d) for r in RADII}
        for title, parent, fit, parameters in ways:
            model = fit(x[:n], y[:n], held_out=(x[n:], y[n:]), seed=seed, **parameters)
            runs.setdefault(title, []).append(_figures(model.predict_proba, model, *test, rings))
            runs.setdefault(parent, []).append(_figures(model.parent_proba, model, *test, rings))
    return {title: _median(of_title) for title, of_title in runs.items()}


def published_ways(options: argparse.Namespace) -> tuple[tuple[str, str, Callable, dict], ...]:
    """KDF and KDN as the paper has them: name, parent, fit, parameters.

    The paper's constant; the network's paths run to the output layer; 500 trees, nets of 4 x 100 units.
    """
    return (
        ("KDF", "forest", fit_kdf, {"trees": 100 if options.quick else 500, "log_b": PAPER_LOG_B}),
        ("KDN", "network", fit_kdn, {"hidden": (100,) * 4, "include_output": True, "log_b": PAPER_LOG_B}),
    )


def as_published(options: argparse.Namespace) -> dict:
    """By simulation and sample: KDF and KDN as the paper has them, beside their parents; means over three seeds, and
    the spread (largest less smallest) of each figure.
    """
    results: dict[str, dict] = {}
    for name in SIMULATIONS:
        for n in (CLOSE,) if options.quick else (CLOSE, 10_000):
            row = results.setdefault(name, {}).setdefault(str(n), {})
            for title, parent, fit, parameters in published_ways(options):
                pairs = [simulate(name, n, seed, fit, parameters) for seed in range(3)]
                for model, figures in zip((title, parent), zip(*pairs, strict=True), strict=True):
                    keys = figures[0].keys()
                    row[model] = {key: float(np.mean([values[key] for values in figures])) for key in keys}
                    row[f"{model}, spread"] = {key: float(np.ptp([values[key] for values in figures])) for key in keys}
        print(name, flush=True)
    return results


def authors_constants(options: argparse.Namespace) -> dict:
    """By log b of the authors' scripts, None for a calibrated one, and model: worst rise of the error over the parent's
    and largest confidence at five times the largest norm, over the six simulations at n = CLOSE; one seed.
    """
    results: dict[str, dict] = {}
    for log_b in (*AUTHORS_LOG_B, None):
        row = results[f"{log_b:g}" if log_b is not None else "calibrated"] = {}
        for title, fit, parameters in (
            ("KDF", fit_kdf, {"trees": 100}),
            ("KDN", fit_kdn, {"hidden": (100,) * 4, "include_output": True}),
        ):
            pairs = [simulate(name, CLOSE, 0, fit, parameters | {"log_b": log_b}) for name in SIMULATIONS]
            rises = [figures["error"] - of_parent["error"] for figures, of_parent in pairs]
            row[title] = {"error_rise": max(rises), "far": max(figures["confidence_at_5"] for figures, _ in pairs)}
    return results


def depth(options: argparse.Namespace) -> dict:
    """Mean kernel between test points of the same and of different classes (XOR), by hidden layers of a net."""
    rng = np.random.default_rng(0)
    x, y = SIMULATIONS["gaussian_xor"](CLOSE, rng)
    test, classes = SIMULATIONS["gaussian_xor"](400, rng)
    same = classes[:, None] == classes
    results = {}
    for layers in (1, 2, 3, 4, 6, 8):
        results[str(layers)] = {}
        for title, with_output in (("hidden layers", False), ("with output layer", True)):
            model = fit_kdn(x, y, hidden=(100,) * layers, include_output=with_output, seed=0)
            codes = model.parent.codes(test / model.scale)
            kernel = model.parent.kernel(codes, codes)
            results[str(layers)][title] = {"same": float(kernel[same].mean()), "other": float(kernel[~same].mean())}
    return results


def untrained(options: argparse.Namespace) -> dict:
    """As `depth`, of nets with random weights (He), means over three draws: the left half of the paper's Fig. 2."""
    rng = np.random.default_rng(0)
    x, classes = SIMULATIONS["gaussian_xor"](400, rng)
    same = classes[:, None] == classes
    results = {}
    for layers in (1, 2, 4, 8):
        kernels = []
        for _ in range(3):
            widths = [2, *(100,) * layers, 2]
            pairs = list(itertools.pairwise(widths))
            weights = tuple(rng.normal(0, np.sqrt(2 / i), (o, i)).astype(np.float32) for i, o in pairs)
            net = ReluNet(weights, tuple(rng.normal(0, 0.1, o).astype(np.float32) for _, o in pairs), with_output=True)
            codes = net.codes((x / np.linalg.norm(x, axis=1).max()).astype(np.float32))
            kernels.append(net.kernel(codes, codes))
        kernel = np.mean(kernels, axis=0)
        results[str(layers)] = {"same": float(kernel[same].mean()), "other": float(kernel[~same].mean())}
    return results


def euclidean(options: argparse.Namespace) -> dict:
    """Trunk in 100 dimensions, as published: error with the geodesic and with the Euclidean distance, means of three
    seeds.
    """
    n = 1_000 if options.quick else 2_000
    runs: dict[str, list[float]] = {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, y = trunk(n + n * 3 // 10, rng, d=100)
        test, truth = trunk(TEST_POINTS, rng, d=100)
        for title, _, fit, parameters in published_ways(options):
            for way, euclidean_distance in (("geodesic", False), ("Euclidean", True)):
                held_out = x[n:], y[n:]
                model = fit(x[:n], y[:n], held_out=held_out, seed=seed, euclidean=euclidean_distance, **parameters)
                wrong = model.predict_proba(test).argmax(axis=1) != truth
                runs.setdefault(f"{title}, {way}", []).append(float(wrong.mean()))
    return {title: float(np.mean(errors)) for title, errors in runs.items()}


def widths(options: argparse.Namespace) -> dict:
    """KDN on XOR by units a layer: polytopes, seconds to fit and to answer 2,000 points: the paper's Fig. 6."""
    rng = np.random.default_rng(0)
    results = {}
    x, y = SIMULATIONS["gaussian_xor"](CLOSE + CLOSE * 3 // 10, rng)
    test, _ = SIMULATIONS["gaussian_xor"](TEST_POINTS, rng)
    for units in (50, 100, 200, 400):
        began = time.perf_counter()
        held_out = x[CLOSE:], y[CLOSE:]
        model = fit_kdn(x[:CLOSE], y[:CLOSE], held_out=held_out, hidden=(units,) * 4, include_output=True, seed=0)
        fitted = time.perf_counter()
        model.predict_proba(test)
        seconds = {"fit_seconds": fitted - began, "answer_seconds": time.perf_counter() - fitted}
        results[str(units)] = {"polytopes": len(model.log_ratio), **seconds}
    return results


def tables_as_published(options: argparse.Namespace) -> dict:
    """By table, the largest sample: KDF and KDN as the paper has them and their parents; means over five seeds."""
    results = {}
    for name, read in TABLES.items():
        x, y = read(return_X_y=True)
        n = max(n for n in (50, 100, 200, 400, 1_000) if n * 1.3 < 0.7 * len(x))
        ways = [(title, fit, parent, made) for title, parent, fit, made in published_ways(options)]
        runs = [_on_table(x, y, n, seed, ways) for seed in range(3 if options.quick else 5)]
        results[name] = {
            model: {key: float(np.mean([figures[model][key] for figures in runs])) for key in runs[0][model]}
            for model in ("KDF", "forest", "KDN", "network")
        }
    return results


def tables(options: argparse.Namespace) -> dict:
    """By table and sample: error, ECE and OCE (five times the largest norm away) of parents, KDF, KDN, and the parents
    under isotonic and sigmoid curves; means over seeds.
    """
    results: dict[str, dict] = {}
    for name, read in TABLES.items():
        x, y = read(return_X_y=True)
        results[name] = {}
        for n in (n for n in (50, 100, 200, 400, 1_000) if n * 1.3 < 0.7 * len(x)):
            trees = {"trees": 100 if options.quick else 500}
            ways = [("KDF", fit_kdf, "forest", trees), ("KDN", fit_kdn, "network", {"hidden": (100,) * 4})]
            runs = [_on_table(x, y, n, seed, ways) for seed in range(3 if options.quick else 10)]
            results[name][str(n)] = {
                model: {key: float(np.mean([figures[model][key] for figures in runs])) for key in runs[0][model]}
                for model in runs[0]
            }
    return results


def _on_table(
    x: np.ndarray, y: np.ndarray, n: int, seed: int, ways: Iterable[tuple[str, Callable, str, dict]]
) -> Figures:
    """Figures of each way (title, fit, parent, parameters) on one draw of a table."""
    learned, test_x, own_y, test_y = train_test_split(x, y, train_size=n * 13 // 10, random_state=seed, stratify=y)
    spread = learned.std(axis=0)
    middle, spread = learned.mean(axis=0), np.where(spread > 0, spread, 1.0)
    learned, test_x = (learned - middle) / spread, (test_x - middle) / spread
    fit_x, held_x, fit_y, held_y = train_test_split(learned, own_y, train_size=n, random_state=seed, stratify=own_y)
    far = ring(RADII[-1], RING_POINTS, np.random.default_rng(seed), d=x.shape[1])
    prior = np.bincount(y) / len(y)
    results = {}
    for title, fit, parent, parameters in ways:
        model = fit(fit_x, fit_y, held_out=(held_x, held_y), seed=seed, **parameters)
        for way, proba in with_parents(model, (title, parent), held_x, held_y).items():
            shares = proba(test_x)
            results[way] = {
                "error": float((shares.argmax(axis=1) != test_y).mean()),
                "ece": expected_calibration_error(shares, test_y),
                "oce": ood_calibration_error(proba(far * model.scale), prior),
            }
    return results


def shift(options: argparse.Namespace) -> dict:
    """Mean of the largest posterior under each shift, at full size: 2,000 pictures a class, ten repetitions."""
    repetitions, per_class = (3, 1_000) if options.quick else (10, 2_000)
    runs = [repetition(seed, per_class) for seed in range(repetitions)]
    curves = {
        name: {"values": values.tolist()}
        | {model: np.mean([run[name][model] for run in runs], axis=0).tolist() for model in runs[0][name]}
        for name, values in SHIFTS.items()
    }
    return {"repetitions": repetitions, "per_class": per_class, "confidence": curves}


def posteriors() -> go.Figure:
    """The true posterior of each simulation in the plane, and those of KDF and KDN as published, with their parents."""
    names = ("truth", "forest", "KDF", "network", "KDN")
    titles = [f"{simulation}: {name}" for simulation in SIMULATIONS for name in names]
    shown = panels(len(SIMULATIONS), 5, titles, height=1500, vertical_spacing=0.035, horizontal_spacing=0.02)
    axis = np.linspace(-2, 2, 61)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    for row, simulation in enumerate(SIMULATIONS, start=1):
        x, y = SIMULATIONS[simulation](1_000, np.random.default_rng(0))
        forest = fit_kdf(x, y, trees=100, log_b=PAPER_LOG_B, seed=0)
        network = fit_kdn(x, y, include_output=True, log_b=PAPER_LOG_B, seed=0)
        fields = (posterior(simulation, grid), forest.parent_proba(grid), forest.predict_proba(grid))
        for column, field in enumerate((*fields, network.parent_proba(grid), network.predict_proba(grid)), start=1):
            shown.add_heatmap(
                x=axis, y=axis, z=np.asarray(field)[:, 1].reshape(61, 61), zmin=0, zmax=1, colorscale="RdBu",
                showscale=False, row=row, col=column,
            )  # fmt: skip
    shown.update_xaxes(visible=False)
    shown.update_yaxes(visible=False)
    return shown


def draw(figures: dict) -> go.Figure:
    """Posterior fields, growing samples, dimensions, tables, shifts; those of all simulations in a picture apart."""
    picture("posteriors", posteriors())
    models = ["forest", "KDF", "network", "KDN"]
    titles = [f"XOR, {name}: class 1" for name in models] + [f"{name}: Hellinger" for name in SIMULATIONS]
    titles += ["trunk: error against d", "trunk: confidence at 5 against d"]
    titles += [f"{name}: ECE against n" for name in TABLES] + [f"confidence, {name}" for name in SHIFTS]
    titles += ["kernel against hidden layers"]
    shown = panels(5, 4, titles, height=1500, vertical_spacing=0.055, horizontal_spacing=0.05)
    rng = np.random.default_rng(0)
    axis = np.linspace(-3, 3, 81)
    x, y = SIMULATIONS["gaussian_xor"](CLOSE, rng)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    as_printed = fit_kdf(x, y, trees=100, log_b=PAPER_LOG_B), fit_kdn(x, y, include_output=True, log_b=PAPER_LOG_B)
    for first, model in ((1, as_printed[0]), (3, as_printed[1])):
        for column, proba in ((first, model.parent_proba), (first + 1, model.predict_proba)):
            field = proba(grid)[:, 1].reshape(81, 81)
            shown.add_heatmap(
                x=axis, y=axis, z=field, zmin=0, zmax=1, colorscale="RdBu", showscale=False, row=1, col=column
            )
    for place, name in enumerate(SIMULATIONS):
        row, column = 2 + place // 4, 1 + place % 4
        for number, model in enumerate(models):
            distances = {
                int(n): rows[model]["hellinger"] for n, rows in figures["simulations"][name].items() if model in rows
            }
            line(shown, list(distances), list(distances.values()), model, number, (row, column), first=place == 0)
        shown.update_xaxes(type="log", row=row, col=column)
    for column, key in ((3, "error"), (4, "confidence_at_5")):
        for number, model in enumerate(models):
            rows = figures["many_dimensions"]
            line(
                shown,
                [int(d) for d in rows],
                [row[model][key] for row in rows.values()],
                model,
                number,
                (3, column),
                first=False,
            )
        shown.update_xaxes(type="log", row=3, col=column)
    for column, name in enumerate(TABLES, start=1):
        ways = ["forest", "KDF", "network", "KDN", "forest, isotonic", "forest, sigmoid"]
        for number, way in enumerate(ways):
            rows = figures["tables"][name]
            values = [row[way]["ece"] for row in rows.values()]
            line(shown, [int(n) for n in rows], values, way, number, (4, column), first=column == 1 and number > 3)
    ways = {"net": "network", "kdn_own_layers": "KDN", "kdn": "KDN, net of its own"}
    for column, rows in enumerate(figures["shift"]["confidence"].values(), start=1):
        for number, (way, title) in zip((2, 3, 6), ways.items(), strict=True):
            line(shown, rows["values"], rows[way], title, number, (5, column), first=column == 1 and number == 6)
        shown.update_yaxes(range=[0.45, 1.02], row=5, col=column)
    for number, (title, key) in enumerate((("hidden layers", "same"), ("hidden layers", "other")), start=7):
        rows = figures["depth"]
        line(
            shown,
            [int(n) for n in rows],
            [row[title][key] for row in rows.values()],
            f"kernel, {key} class",
            number,
            (5, 4),
        )
    return shown


PARTS: dict[str, Callable[[argparse.Namespace], dict]] = {
    "simulations": simulations,
    "as_published": as_published,
    "authors_constants": authors_constants,
    "many_dimensions": many_dimensions,
    "many_dimensions_as_published": many_dimensions_as_published,
    "depth": depth,
    "untrained": untrained,
    "euclidean": euclidean,
    "widths": widths,
    "tables": tables,
    "tables_as_published": tables_as_published,
    "foreign": foreign,
    "shift": shift,
}


def main() -> None:
    run("kdf_kdn", __doc__, PARTS, draw)


if __name__ == "__main__":
    main()
