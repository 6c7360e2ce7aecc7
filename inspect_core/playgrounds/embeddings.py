"""Rank and spectrum of features that repeat each other, under four embeddings into fewer dimensions.

After Kim et al., "Semi-orthogonal embedding for efficient unsupervised anomaly segmentation" (2021), Fig. 3.
"""

from collections.abc import Sequence

import numpy as np

from inspect_core.detectors.mahalanobis import gaussian, sampled, semi_orthogonal
from inspect_core.methods.spectrum import LocalSpectrum

FEATURES = 120
LARGEST_K = 100
EMBEDDINGS = {"semi-orthogonal": semi_orthogonal, "Gaussian": gaussian, "sampled": sampled}
"""(d, k, seed=) -> (d, k); sampled: k of the features, drawn at random."""


def redundant_features(n: int, distinct: int, seed: int) -> np.ndarray:
    """(n, 120): each feature one of `distinct` normal ones, drawn at random; variances fall as 1 / j."""
    rng = np.random.default_rng(seed)
    distinct_features = rng.standard_normal((n, distinct)) / np.sqrt(np.arange(1, distinct + 1))
    return distinct_features[:, rng.integers(0, distinct, FEATURES)]


def spectra(features: np.ndarray, k: int, seed: int = 0) -> dict[str, LocalSpectrum]:
    """The spectrum of features (n, d) embedded in k dimensions, by the embedding; "all features" last."""
    embedded = {name: features @ draw(FEATURES, k, seed=seed).double().numpy() for name, draw in EMBEDDINGS.items()}
    variants = {**embedded, "all features": features}
    n = len(features)
    return {
        name: LocalSpectrum(np.linalg.eigvalsh(np.cov(x.T, bias=True))[::-1].astype(np.float32)[None, None], n)
        for name, x in variants.items()
    }


def ranks(features: np.ndarray, ks: Sequence[int], seed: int = 0) -> dict[str, list[float]]:
    """The share of the k eigenvalues above 1e-4, for every k and embedding."""
    spectra_by_k = [spectra(features, k, seed) for k in ks]
    return {name: [spectrum_of[name].fraction() for spectrum_of in spectra_by_k] for name in EMBEDDINGS}
