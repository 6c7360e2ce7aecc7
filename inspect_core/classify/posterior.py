"""From log densities to posteriors: the constant that makes them fall to the prior, and their calibration error."""

import numpy as np

_BINS = 20


def posterior(log_density: np.ndarray, constant: float, prior: np.ndarray) -> np.ndarray:
    """g_y = (f_y + b / log n) P(y), normalised: (n, C) log densities -> (n, C) float64, rows summing to 1.

    constant: log(b / log n), may be -inf. Where the density of every class is 0, the posterior is the prior.
    Raises ValueError where a posterior is not finite: its largest share would name a class without justification.
    """
    joint = np.logaddexp(log_density, constant) + np.log(prior)
    largest = joint.max(axis=1, keepdims=True)
    nothing = np.isneginf(largest)
    shares = np.where(nothing, prior, np.exp(joint - np.where(nothing, 0, largest)))
    normalised = shares / shares.sum(axis=1, keepdims=True)
    finite = np.isfinite(normalised).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"the probabilities of example {int(np.argmin(finite))} are not finite; train the classifier again"
        )
    return normalised


def fixed_constant(log_b: float, n: int) -> float:
    """log(b / log n) of n training samples; b itself for n <= 2, where log n is below 1."""
    return log_b - np.log(np.log(n)) if n > 2 else log_b


def calibrated_constant(log_density: np.ndarray, *, outlying: float = 0.0) -> float:
    """A tenth of the density that all but a fraction `outlying` of the held-out samples reach under their
    likeliest class, as a logarithm: of the least density when 0. Ours; the paper has no such rule.

    log_density: (n, C). Samples whose density is too small for float64 are left out; -inf when none is left.
    """
    likeliest = log_density.max(axis=1)
    likeliest = likeliest[np.isfinite(likeliest)]
    return float(np.quantile(likeliest, outlying) - np.log(10)) if likeliest.size else -np.inf


def calibration_error(proba: np.ndarray, y: np.ndarray) -> float:
    """Expected calibration error over 20 equal bins (low, high] of the largest posterior. y: (n,) class numbers."""
    confidence = proba.max(axis=1)
    right = proba.argmax(axis=1) == y
    bins = np.searchsorted(np.arange(_BINS + 1) / _BINS, confidence).clip(1, _BINS) - 1
    return float(np.abs(np.bincount(bins, right - confidence, _BINS)).sum() / len(y))
