"""How far a part lies from everything known: the outlier score that makes similarities robust.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022). The
quadrics are fitted (`tuning.known_cases_training`) to embeddings of length 1 in their leading principal components; the
distance to the space of those counts too, since an unknown part differs in directions in which the known parts do not
vary at all. Evaluated in NumPy.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from inspect_core.runtime.json_record import DISTANCE, SMALLEST, number, one_of
from inspect_core.runtime.stored import Stored, floats, unit


@dataclass(frozen=True, eq=False)
class KnownSurface(Stored):
    """m quadrics through the known parts, and parts that someone vouched for.

    A (m, r, r), b (m, r), c (m,): in the coordinates ((x - shift) @ basis) / scale; shift (d,), scale () or (1,), basis
    (d, r): float64. accepted: (v, d) float64 unit embeddings. The others: what the fit records of the
    quadrics.
    A single part of a new type is an outlier to any fit of many; if vouched for, it and parts like it are known.
    """

    A: Annotated[np.ndarray, floats("m n n")]
    b: Annotated[np.ndarray, floats("m n")]
    c: Annotated[np.ndarray, floats("m")]
    shift: Annotated[np.ndarray, floats("e")]
    scale: Annotated[np.ndarray, floats("1", SMALLEST)]
    basis: Annotated[np.ndarray, unit("e n")]
    accepted: Annotated[np.ndarray, unit("accepted e")]
    kept_variance: Annotated[float, number(0, 1 + 1e-6)]
    penalty_value: Annotated[float, DISTANCE]
    start: Annotated[str, one_of("closed form", "random")]

    def score(self, embeddings: np.ndarray) -> np.ndarray:
        """(n,) float64 distance of (n, d) embeddings, scaled to length 1, to what is known.

        The distance to the surface or to the nearest part vouched for, whichever is less. Raises ValueError for
        non-finite values or another width.
        """
        surface = self.off_surface(embeddings)
        if not len(self.accepted):
            return surface
        apart = np.sqrt(np.maximum(2 - 2 * (finite_unit(embeddings) @ self.accepted.T), 0.0)).min(axis=1)
        return np.minimum(surface, apart)

    def off_surface(self, embeddings: np.ndarray) -> np.ndarray:
        """(n,) float64 distance of (n, d) embeddings to the surface alone.

        sqrt(o^2 + r^2), o the score of eq. 16 rounded to float32 and r the distance to the space of the components.
        """
        unit = finite_unit(embeddings)
        if unit.shape[1:] != self.shift.shape:
            raise ValueError(f"embeddings have shape {unit.shape}; give (n, {len(self.shift)}) of the same backbone")
        centred = unit - self.shift
        reduced = centred @ self.basis
        within = self._mean_distance(reduced / self.scale).astype(np.float32)
        return np.hypot(within.astype(np.float64), np.linalg.norm(centred - reduced @ self.basis.T, axis=1))

    def _mean_distance(self, z: np.ndarray) -> np.ndarray:
        """(n,) mean second-order distance (eqs. 8 and 16) of (n, r) points to the quadrics, in their unit."""
        A, b, c = (part.astype(np.float64) for part in (self.A, self.b, self.c))
        half_gradient = np.einsum("nr,msr->nms", z, A) + b / 2
        size = np.abs((half_gradient * z[:, None]).sum(axis=2) + z @ b.T / 2 + c)
        steepness = np.linalg.norm(half_gradient, axis=2)
        root = np.hypot(steepness, np.sqrt(size) * np.sqrt(np.linalg.norm(A, axis=(1, 2))))
        distance = np.divide(size, root + steepness, out=np.zeros_like(size), where=size != 0)
        return distance.mean(axis=1) * self.scale

    def mark_as_known(self, embeddings: np.ndarray) -> "KnownSurface":
        """The same with more parts vouched for. embeddings: (n, d)."""
        return replace(self, accepted=np.concatenate([self.accepted, finite_unit(embeddings)]))


def to_unit(rows: np.ndarray) -> np.ndarray:
    """Rows divided by their length; zero rows stay zero."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def finite_unit(embeddings: np.ndarray) -> np.ndarray:
    """Rows of (n, d) scaled to length 1, in float64. Raises ValueError unless all are finite."""
    rows = np.asarray(embeddings, np.float64)
    if not np.isfinite(rows).all():
        raise ValueError("embeddings are not all finite; repair or leave out those parts")
    return to_unit(rows)
