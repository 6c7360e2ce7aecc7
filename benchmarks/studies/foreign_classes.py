"""KDN and its network on classes that neither has seen, in place of CIFAR and SVHN (Dey et al. 2025, tables 1 and 2).

Digits of 8 x 8 pixels: 0 to 5 are known; foreign are 6 to 9, and uniform noise. Crops of the sample parts, of which the
nine places of each are the classes: foreign are the crops of one, and linen's places, which look alike, are no classes.
KDN as published (the paper's constant, paths up to the output layer) and as the product has it (these paths, a
calibrated constant, lambda 1e-3).
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.measure import sets
from benchmarks.studies.calibrated_parents import with_parents
from benchmarks.studies.common import area
from benchmarks.studies.crops import PLACES, crops_of
from inspect_core.classify.kernel_density import PAPER_LOG_B, fit_kdn
from inspect_core.scoring.metrics import (
    expected_calibration_error,
    fpr95_of_foreign,
    mean_max_confidence,
    ood_calibration_error,
)

Case = tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray], dict[str, np.ndarray]]
"""(n, d) to learn from with (n,) classes, the same to test, and foreign (m, d) by name."""
ALIKE = "linen"
"""Whose places cannot be told apart."""
PRODUCT = {"include_output": True, "lam": 1e-3}
HELD_OUT = 0.25
"""Of what is learned from: for the constant and for the curves of the parent."""


def foreign(options: argparse.Namespace) -> dict:
    """By set of known classes and model: error, ECE, confidence where wrong, and of each foreign set OCE, AUROC, FPR95;
    means over seeds.
    """
    seeds = 1 if options.quick else 5
    cases = {"digits": [_digits(seed) for seed in range(seeds)]} | {
        f"without {name}": [case] * seeds for name, case in _parts().items()
    }
    return {name: _mean([_figures(case, seed) for seed, case in enumerate(known)]) for name, known in cases.items()}


def _digits(seed: int) -> Case:
    x, y = load_digits(return_X_y=True)
    known = y < 6
    strange = x[y >= 6]
    fit_x, test_x, fit_y, test_y = train_test_split(x[known], y[known], test_size=0.3, random_state=seed)
    noise = np.random.default_rng(seed).uniform(0, 16, strange.shape)
    return (fit_x, fit_y), (test_x, test_y), {"6 to 9": strange, "noise": noise}


def _parts() -> dict[str, Case]:
    crops = {name: crops_of(folder) for name, folder in sets([]).items()}
    cases = {}
    for name, strange in crops.items():
        known = [part for key, part in crops.items() if key not in (name, ALIKE)]
        fit, test = (
            (
                np.concatenate([values.reshape(-1, values.shape[-1]) for values in rows]).astype(np.float64),
                np.concatenate([PLACES * i + np.tile(np.arange(PLACES), len(v)) for i, v in enumerate(rows)]),
            )
            for rows in ([part.learned for part in known], [part.test for part in known])
        )
        cases[name] = fit, test, {"crops": strange.test.reshape(-1, strange.test.shape[-1]).astype(np.float64)}
    return cases


def _figures(case: Case, seed: int) -> dict[str, dict[str, float]]:
    (x, y), (test_x, test_y), strange = case
    fit_x, held_x, fit_y, held_y = train_test_split(x, y, test_size=HELD_OUT, random_state=seed, stratify=y)
    published = {"log_b": PAPER_LOG_B, "include_output": True}
    ways = {}
    for title, parameters in (("KDN", PRODUCT), ("KDN as published", published)):
        model = fit_kdn(fit_x, fit_y, held_out=(held_x, held_y), hidden=(100,) * 4, seed=seed, **parameters)
        ways |= with_parents(model, (title, "network"), held_x, held_y)
    prior = np.bincount(fit_y) / len(fit_y)
    figures = {}
    for way, proba in ways.items():
        shares = proba(test_x)
        wrong = shares.argmax(axis=1) != test_y
        figures[way] = {"error": float(wrong.mean()), "ece": expected_calibration_error(shares, test_y)}
        if wrong.any():
            figures[way]["confidence where wrong"] = mean_max_confidence(shares[wrong])
        for name, points in strange.items():
            of_foreign = proba(points)
            unsure, foreign_unsure = -shares.max(axis=1), -of_foreign.max(axis=1)
            labels = np.arange(len(unsure) + len(foreign_unsure)) >= len(unsure)
            figures[way] |= {
                f"{name}, oce": ood_calibration_error(of_foreign, prior),
                f"{name}, auroc": area(np.concatenate([unsure, foreign_unsure]), labels),
                f"{name}, fpr95": fpr95_of_foreign(unsure, foreign_unsure),
            }
    return figures


def _mean(runs: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Over the seeds; the confidence where wrong over those that were wrong at all."""
    return {
        way: {
            key: float(np.mean([run[way][key] for run in runs if key in run[way]]))
            for key in dict.fromkeys(key for run in runs for key in run[way])
        }
        for way in runs[0]
    }
