"""How far a part lies from everything known: the outlier score that makes similarities robust.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022). The
quadrics are fitted to embeddings of length 1 in their leading principal components; the distance to the space of those
counts too, since an unknown part differs in directions in which the known parts do not vary at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors import quadrics
from inspect_core.detectors.quadrics import Quadrics
from inspect_core.similar.gallery import to_unit

LEAST = 5
MOST_COMPONENTS = 16


@dataclass(frozen=True, eq=False)
class KnownSurface:
    """quadrics: fitted to the known parts; vouched: (v, d) float64 unit embeddings of parts that someone vouched for.

    A single part of a new type is an outlier to any fit of many; if vouched for, it and parts like it are known.
    """

    quadrics: Quadrics
    vouched: np.ndarray

    def score(self, embeddings: np.ndarray) -> np.ndarray:
        """(n,) float64 distance of (n, d) embeddings, scaled to length 1, to what is known.

        The distance to the surface or to the nearest part vouched for, whichever is less. Raises ValueError for
        non-finite values or another width.
        """
        surface = self.off_surface(embeddings)
        if not len(self.vouched):
            return surface
        apart = np.sqrt(np.maximum(2 - 2 * (_finite_unit(embeddings) @ self.vouched.T), 0.0)).min(axis=1)
        return np.minimum(surface, apart)

    def off_surface(self, embeddings: np.ndarray) -> np.ndarray:
        """(n,) float64 distance of (n, d) embeddings to the surface alone.

        sqrt(o^2 + r^2), o the score of eq. 16 and r the distance to the space of the components.
        """
        unit = _finite_unit(embeddings)
        within = self.quadrics.score(unit).numpy().astype(np.float64)
        if self.quadrics.basis is None:
            return within
        basis, shift = self.quadrics.basis.numpy(), self.quadrics.shift.numpy()
        centred = unit - shift
        outside = centred - (centred @ basis) @ basis.T
        return np.hypot(within, np.linalg.norm(outside, axis=1))

    def vouch(self, embeddings: np.ndarray) -> "KnownSurface":
        """The same with more parts vouched for. embeddings: (n, d)."""
        return replace(self, vouched=np.concatenate([self.vouched, _finite_unit(embeddings)]))

    def arrays(self) -> dict[str, Tensor]:
        return {**self.quadrics.arrays(), "vouched": torch.from_numpy(self.vouched)}

    def params(self) -> dict:
        return self.quadrics.params()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Tensor], params: Mapping) -> "KnownSurface":
        """The surface whose arrays() and params() these are; it scores the same to the bit."""
        own = {name: value for name, value in arrays.items() if name != "vouched"}
        return cls(Quadrics.from_arrays(own, dict(params)), np.array(arrays["vouched"].numpy(), np.float64))


def fit(embeddings: np.ndarray, *, seed: int = 0) -> KnownSurface:
    """The surface through (n, d) embeddings of every type of part that should be known, good ones and defects.

    With up to 16 components, but no more than n points can determine a quadric in. Raises ValueError for fewer than
    `LEAST` rows and for non-finite values.
    """
    n = len(embeddings)
    if n < LEAST:
        raise ValueError(f"there are {n} known parts; {LEAST} or more make a gallery")
    components = max(r for r in range(1, MOST_COMPONENTS + 1) if r * (r + 3) // 2 + 1 <= n)
    unit = _finite_unit(embeddings)
    fitted = quadrics.fit(unit, components=min(components, unit.shape[1]), seed=seed)
    return KnownSurface(fitted, np.empty((0, unit.shape[1])))


def _finite_unit(embeddings: np.ndarray) -> np.ndarray:
    """Rows of (n, d) scaled to length 1, in float64. Raises ValueError unless all are finite."""
    rows = np.asarray(embeddings, np.float64)
    if not np.isfinite(rows).all():
        raise ValueError("embeddings are not all finite; repair or leave out those parts")
    return to_unit(rows)
