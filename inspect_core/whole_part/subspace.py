"""CoP or CoRP as plain arrays (Fang et al. 2024), evaluated in NumPy: on the line there is no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np


@dataclass(frozen=True, eq=False)
class Subspace:
    """Result of `detectors.cop_corp.fit_cop` or `fit_corp`, with the same names of its arrays.

    mean: (D,); components: (D, r); eigenvalues: (r,); explained_variance: decides how many components are in force;
    w0 (M, m), u (M,) and gamma: the random Fourier features of CoRP, None for CoP.
    """

    mean: np.ndarray
    components: np.ndarray
    eigenvalues: np.ndarray
    explained_variance: float
    gamma: float | None = None
    w0: np.ndarray | None = None
    u: np.ndarray | None = None

    def score(self, x: np.ndarray) -> np.ndarray:
        """‖(I - U_q U_qᵀ)(Φ(x) - μ)‖ with the components in force: (n, m) -> (n,) float64.

        Raises ValueError for another width.
        """
        x = np.asarray(x, np.float32)
        width = len(self.mean) if self.w0 is None else self.w0.shape[1]
        if x.ndim != 2 or x.shape[1] != width:
            raise ValueError(f"x has shape {x.shape}; give (n, {width}) features")
        length = np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True) + 1e-10
        mapped = (x / length).astype(np.float32)
        if self.w0 is not None and self.u is not None and self.gamma is not None:
            angles = mapped @ (self.w0 * np.float32(np.sqrt(2 * self.gamma))).T + self.u
            mapped = np.cos(angles) * np.float32(np.sqrt(2 / len(self.u)))
        centred = mapped - self.mean
        rest = centred - (centred @ self._in_force) @ self._in_force.T
        return np.linalg.norm(rest.astype(np.float64), axis=1)

    @cached_property
    def _in_force(self) -> np.ndarray:
        """(D, q) components that together hold explained_variance of the variance, none when nothing varied."""
        reached = np.cumsum(self.eigenvalues / self.eigenvalues.sum()) >= self.explained_variance - 1e-12
        q = int(reached.argmax()) + 1 if reached.any() else len(reached)
        return np.ascontiguousarray(self.components[:, :q])

    def arrays(self) -> dict[str, np.ndarray]:
        """mean, components, eigenvalues, and w0 and u with random Fourier features."""
        arrays = {"mean": self.mean, "components": self.components, "eigenvalues": self.eigenvalues}
        return arrays if self.w0 is None or self.u is None else arrays | {"w0": self.w0, "u": self.u}

    def params(self) -> dict:
        """cosine, gamma (None for CoP) and explained_variance."""
        return {"cosine": True, "gamma": self.gamma, "explained_variance": self.explained_variance}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], params: Mapping) -> Self:
        """The subspace that `arrays` and `params`, its own or those of the detector, describe."""
        named = {name: arrays[name] for name in ("mean", "components", "eigenvalues")}
        fourier = {name: arrays.get(name) for name in ("w0", "u")}
        return cls(**named, **fourier, gamma=params["gamma"], explained_variance=float(params["explained_variance"]))
