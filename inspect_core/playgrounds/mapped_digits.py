"""Digits as they are and as CoRP maps them: what PCA reconstructs of either.

After Fang et al., "Kernel PCA for out-of-distribution detection" (NeurIPS 2024): before the maps the errors of
known and foreign lie over each other, after them apart. The data are the 8 x 8 digits of scikit-learn.
"""

from dataclasses import dataclass

import numpy as np
import torch

from inspect_core.detectors import baselines, cop_corp

KNOWN = 5
TAUGHT = 400
SHOWN = 125


@dataclass(frozen=True, eq=False)
class Digits:
    """training: (400, 64) digits 0 to 4. shown: (250, 64), of which `foreign` (250,) marks the digits 5 to 9."""

    training: np.ndarray
    shown: np.ndarray
    foreign: np.ndarray


@dataclass(frozen=True, eq=False)
class MappingComparison:
    """Of the shown digits: features (n, d) and reconstruction errors (n,), before and after the maps."""

    features: np.ndarray
    errors: np.ndarray


def digits(seed: int = 0) -> Digits:
    from sklearn.datasets import load_digits  # reads 1,797 rows of text

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(x))
    x, y = x[order] / 16, y[order]
    known, foreign = x[y < KNOWN], x[y >= KNOWN]
    shown = np.concatenate([known[TAUGHT : TAUGHT + SHOWN], foreign[:SHOWN]])
    return Digits(known[:TAUGHT], shown, np.arange(len(shown)) >= SHOWN)


def before(data: Digits, explained_variance: float) -> MappingComparison:
    """Plain PCA of the features."""
    model = baselines.fit_pca(data.training, explained_variance=explained_variance)
    return MappingComparison(data.shown, model.score(data.shown).numpy())


def after(data: Digits, explained_variance: float, *, gamma: float, M: int) -> MappingComparison:
    """PCA of the features divided by their length and spread over M random Fourier features: CoRP."""
    model = cop_corp.fit_corp(data.training, gamma=gamma, M=M, explained_variance=explained_variance)
    mapped = model.feature_map(torch.from_numpy(data.shown)).numpy()
    return MappingComparison(mapped, model.score(data.shown).numpy())
