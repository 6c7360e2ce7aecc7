"""A ReLU net as plain arrays, evaluated in NumPy."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from inspect_core.classify.polytopes import network_kernel
from inspect_core.runtime.stored import ArraySpec, floats


@dataclass(frozen=True, eq=False)
class ReluNet:
    """Fully connected layers z -> W z + b with ReLU between them; the last one gives the logits.

    weights: float32, (N_1, d), (N_2, N_1), ..., (C, N_L). biases: float32, (N_1,), ..., (C,).
    with_output: whether the code has a last layer of C entries, 1 where the class has more than its even share 1 / C
    of the net's posterior. With it the kernel's paths run to the output; without it polytopes are convex.
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    with_output: bool

    def codes(self, x: np.ndarray) -> np.ndarray:
        """Which units are on, pre-activation > 0, layer after layer: (n, d) -> (n, units) bool.

        Evaluated in float64, so that the signs of float32 weights' sums do not hang on the size of the batch.
        """
        on, logits = self._forward(x)
        if self.with_output:
            on.append(_softmax(logits) > 1 / logits.shape[1])
        return np.concatenate(on, axis=1)

    def proba(self, x: np.ndarray) -> np.ndarray:
        """The net's own posterior, the softmax of its logits: (n, d) -> (n, C) float64."""
        return _softmax(self._forward(x)[1])

    def kernel(self, codes_a: np.ndarray, codes_b: np.ndarray) -> np.ndarray:
        """`network_kernel` of (n_a, units) and (n_b, units) codes: (n_a, n_b)."""
        widths = [len(bias) for bias in (self.biases if self.with_output else self.biases[:-1])]
        cuts = np.cumsum(widths)[:-1]
        return network_kernel(np.split(codes_a, cuts, axis=1), np.split(codes_b, cuts, axis=1))

    def arrays(self) -> dict[str, np.ndarray]:
        """W_0, b_0, W_1, b_1, ...; the last pair is the output layer."""
        named = {f"W_{i}": weight for i, weight in enumerate(self.weights)}
        return named | {f"b_{i}": bias for i, bias in enumerate(self.biases)}

    @staticmethod
    def array_specs(names: Collection[str]) -> dict[str, ArraySpec]:
        """What the arrays of a recipe must be, from the embedding to the classes; names: those it has, which say how
        deep the net is.
        """
        layers = sum(name.startswith("W_") for name in names)
        widths = ["e", *(f"units_{i}" for i in range(layers - 1)), "classes"]
        specs = {}
        for i in range(layers):
            specs |= {f"W_{i}": floats(f"{widths[i + 1]} {widths[i]}"), f"b_{i}": floats(widths[i + 1])}
        return specs

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], *, with_output: bool) -> "ReluNet":
        """The net that `arrays()` came from; other keys are ignored."""
        layers = range(sum(name.startswith("W_") for name in arrays))
        return cls(tuple(arrays[f"W_{i}"] for i in layers), tuple(arrays[f"b_{i}"] for i in layers), with_output)

    def _forward(self, x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        on = []
        z = x
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            before = z @ weight.T.astype(np.float64) + bias
            on.append(before > 0)
            z = np.maximum(before, 0)
        return on, z @ self.weights[-1].T.astype(np.float64) + self.biases[-1]


def _softmax(logits: np.ndarray) -> np.ndarray:
    from scipy.special import softmax  # a third of a second at the start of a runner

    return softmax(logits, axis=1)
