"""Made-up features of a bent surface, and points moved off it."""

import numpy as np


def bent_surface(n: int, d: int, *, latent: int, seed: int, noise: float = 0.05) -> np.ndarray:
    """(n, d): a quadratic image of `latent` Gaussian directions, the same surface for every seed, and noise."""
    mix = np.random.default_rng(d)
    rng = np.random.default_rng((seed, 1))
    flat = latent * (latent + 1) // 2
    straight = mix.standard_normal((latent, d))
    bent = 0.3 * mix.standard_normal((flat, d))
    z = rng.standard_normal((n, latent))
    products = (z[:, :, None] * z[:, None, :])[:, *np.triu_indices(latent)]
    return (z @ straight + products @ bent) / np.sqrt(latent) + noise * rng.standard_normal((n, d))


def moved_off(n: int, d: int, *, latent: int, seed: int, directions: int) -> np.ndarray:
    """(n, d): points of the same surface, moved off it by random lengths in 1 common or n own random directions."""
    rng = np.random.default_rng((seed, 2))
    off = rng.standard_normal((directions, d))
    return bent_surface(n, d, latent=latent, seed=seed + 1000) + rng.exponential(1.5, (n, 1)) * off / np.sqrt(d)
