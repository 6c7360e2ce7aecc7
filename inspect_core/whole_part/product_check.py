"""The guard: is this the product that was taught at all? One score for the whole photo, with its own limit.

CoP or CoRP on the penultimate features of the backbone, alone or fused with the energy of the backbone's own logits
(Fang et al. 2024). The map looks for a defect on the part; the guard looks whether it is the part.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from inspect_core.judge.checks import as_finite, as_finite_number
from inspect_core.verdict import ProductCheck
from inspect_core.whole_part.subspace import Subspace

OFF, WARN, STOP = "off", "warn", "stop"
MODES = (OFF, WARN, STOP)
ALONE, FUSED = "alone", "fused"


@dataclass(frozen=True, eq=False)
class Guard:
    """A fitted guard.

    detector: CoP or CoRP on (d,) penultimate features; fused: whether the energy of the logits takes part;
    smallest: least energy of the good photos, which the fusion shifts by; limit: above it a photo is not the product;
    mode: "off", "warn" (the verdict stands, with a sentence) or "stop" (the part is rejected).
    Raises ValueError for a limit or smallest that is not finite, and for any other mode.
    """

    detector: Subspace
    fused: bool
    smallest: float
    limit: float
    mode: str = WARN

    def __post_init__(self) -> None:
        for name in ("smallest", "limit"):
            as_finite_number(getattr(self, name), name=f"the product check's {name}")
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}; choose one of {', '.join(MODES)}")

    def score(self, embedding: np.ndarray, logits: np.ndarray | None = None) -> np.ndarray:
        """(n, d) penultimate features and, when fused, (n, c) logits -> (n,) float64, higher is more foreign.

        Raises ValueError when the guard is fused and the logits are missing, and for an error that is not finite, which
        the fusion would hide.
        """
        error = as_finite(self.detector.score(embedding), name="the product check's error")
        if not self.fused:
            return error
        if logits is None:
            raise ValueError(
                "logits are missing, and this guard is fused with them; use a backbone with a head, or a guard alone"
            )
        energy = as_finite(logsumexp(np.asarray(logits, np.float64), axis=-1), name="the energy of the logits")
        return -np.maximum(1 - error, 0) * np.maximum(energy - self.smallest, 0)

    @property
    def is_on(self) -> bool:
        return self.mode != OFF

    def check(self, embedding: np.ndarray, logits: np.ndarray) -> ProductCheck | None:
        """The guard's result on one photo, from its (1, d) and (1, c). Raises as `score` and `judge`."""
        return self.judge(float(self.score(embedding, logits)[0])) if self.is_on else None

    def judge(self, score: float) -> ProductCheck | None:
        """The guard's result on a photo with this score; None when it is off.

        Raises ValueError when the score is not finite: it is then unknown whether the photo shows the product.
        """
        if not self.is_on:
            return None
        if as_finite_number(score, name="the product check's score") <= self.limit:
            return ProductCheck(False, False, "This looks like the product that was taught.")
        stops = self.mode == STOP
        what = "so the recipe rejects it" if stops else "so do not rely on the verdict"
        return ProductCheck(
            True, stops, f"This does not look like the product that was taught, {what} "
            f"(product check {score:.2f}, limit {self.limit:.2f}).",
        )  # fmt: skip

    def with_mode(self, mode: str) -> "Guard":
        """The same guard in mode "off", "warn" or "stop". Raises ValueError for any other mode."""
        return replace(self, mode=mode)

    def arrays(self) -> dict[str, np.ndarray]:
        return self.detector.arrays()

    def params(self) -> dict:
        own = {"fused": self.fused, "smallest": self.smallest, "limit": self.limit, "mode": self.mode}
        return {**own, "detector": self.detector.params()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], params: Mapping) -> "Guard":
        """The guard of a recipe. Raises ValueError for parameters that are not those of a guard."""
        detector = Subspace.from_arrays(arrays, params["detector"])
        limit, smallest = float(params["limit"]), float(params["smallest"])
        return cls(detector, bool(params["fused"]), smallest, limit, params["mode"])
