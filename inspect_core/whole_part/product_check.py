"""The product check: is this the product that was taught at all? One score for the whole photo, with its own limit.

CoP or CoRP on the penultimate features of the backbone, alone or fused with the energy of the backbone's own logits
(Fang et al. 2024), trained in `tuning/` and evaluated in NumPy. The map looks for a defect on the part;
the product check looks whether it is the part.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np

from inspect_core.runtime.json_record import ANY, LARGEST, SMALLEST, WIDTH, number, one_of, or_null
from inspect_core.runtime.stored import ArraySpec, Stored, fourier, subspace
from inspect_core.scoring.input_checks import as_finite, as_finite_number
from inspect_core.verdict import ProductCheckResult

OFF, WARN, STOP = "off", "warn", "stop"
MODES = (OFF, WARN, STOP)
RIGHT = "Right product."
ALONE, FUSED = "alone", "fused"


@dataclass(frozen=True, eq=False)
class ProductSubspace(Stored):
    """CoP or CoRP as plain arrays: what `detectors.cop_corp.fit_cop` or `fit_corp` gives, under the same names.

    mean: (D,); components: (D, r); eigenvalues: (r,); explained_variance: decides how many components are in force;
    w0 (M, m), u (M,) and gamma: the random Fourier features of CoRP, None for CoP; cosine: both begin with that map.
    """

    mean: np.ndarray
    components: np.ndarray
    eigenvalues: np.ndarray
    gamma: Annotated[float | None, or_null(WIDTH)]
    explained_variance: Annotated[float, number(SMALLEST, 1)]
    w0: np.ndarray | None = None
    u: np.ndarray | None = None
    cosine: Annotated[bool, one_of(True)] = True

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

    @classmethod
    def array_specs(cls, params: Mapping[str, Any], names: Collection[str]) -> dict[str, ArraySpec]:
        return subspace("e", 1.01) if params["gamma"] is None else fourier("e")


@dataclass(frozen=True, eq=False)
class ProductCheck(Stored):
    """A fitted product check.

    detector: CoP or CoRP on (d,) penultimate features; fused: whether the energy of the logits takes part;
    min_energy: least energy of the good photos, which the fusion shifts by; limit: above it a photo is not the product;
    mode: "off", "warn" (the verdict stands, with a sentence) or "stop" (the part is rejected).
    Raises ValueError for a limit or min_energy that is not finite, and for any other mode.
    """

    detector: ProductSubspace
    fused: bool
    min_energy: Annotated[float, number(-LARGEST, 0)]
    limit: Annotated[float, ANY]
    mode: str = WARN

    def __post_init__(self) -> None:
        for name in ("min_energy", "limit"):
            as_finite_number(getattr(self, name), name=f"the product check's {name}")
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}; choose one of {', '.join(MODES)}")

    def score(self, embedding: np.ndarray, logits: np.ndarray | None = None) -> np.ndarray:
        """(n, d) penultimate features and, when fused, (n, c) logits -> (n,) float64, higher is more foreign.

        Raises ValueError when the check is fused and the logits are missing, and for an error that is not finite, which
        the fusion would hide.
        """
        error = as_finite(self.detector.score(embedding), name="the product check's error")
        if not self.fused:
            return error
        if logits is None:
            raise ValueError(
                "logits are missing, and this product check is fused with them; take a backbone with a head, or the "
                "check alone"
            )
        from scipy.special import logsumexp  # a third of a second at the start of a runner

        energy = as_finite(logsumexp(np.asarray(logits, np.float64), axis=-1), name="the energy of the logits")
        return -np.maximum(1 - error, 0) * np.maximum(energy - self.min_energy, 0)

    @property
    def is_on(self) -> bool:
        return self.mode != OFF

    def check(self, embedding: np.ndarray, logits: np.ndarray) -> ProductCheckResult | None:
        """The result on one photo, from its (1, d) and (1, c). Raises as `score` and `judge`."""
        return self.judge(float(self.score(embedding, logits)[0])) if self.is_on else None

    def judge(self, score: float) -> ProductCheckResult | None:
        """The result on a photo with this score; None when the check is off.

        Raises ValueError when the score is not finite: it is then unknown whether the photo shows the product.
        """
        if not self.is_on:
            return None
        if as_finite_number(score, name="the product check's score") <= self.limit:
            return ProductCheckResult(False, False, RIGHT, score)
        stops = self.mode == STOP
        finding = "so the recipe rejects it" if stops else "so do not rely on the verdict"
        figures = f"(product check {score:.2f}, limit {self.limit:.2f})"
        sentence = f"This does not look like the taught product, {finding} {figures}."
        return ProductCheckResult(True, stops, sentence, score)

    def with_mode(self, mode: str) -> Self:
        """The same check in mode "off", "warn" or "stop". Raises ValueError for any other mode."""
        return replace(self, mode=mode)
