"""A ReLU net as plain arrays: trained by torch, evaluated here in NumPy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor
from torch.nn import functional

from inspect_core.classify.polytopes import network_kernel

LARGEST_EPOCHS = 500
PATIENCE = 20
"""Epochs without a smaller held-out cross-entropy before training stops."""

_SMALLEST_BATCH = 32
_MOST_STEPS = 32
_LEARNING_RATE = 1e-3


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
            on.append(softmax(logits, axis=1) > 1 / logits.shape[1])
        return np.concatenate(on, axis=1)

    def proba(self, x: np.ndarray) -> np.ndarray:
        """The net's own posterior, the softmax of its logits: (n, d) -> (n, C) float64."""
        return softmax(self._forward(x)[1], axis=1)

    def kernel(self, codes_a: np.ndarray, codes_b: np.ndarray) -> np.ndarray:
        """`network_kernel` of (n_a, units) and (n_b, units) codes: (n_a, n_b)."""
        widths = [len(bias) for bias in (self.biases if self.with_output else self.biases[:-1])]
        cuts = np.cumsum(widths)[:-1]
        return network_kernel(np.split(codes_a, cuts, axis=1), np.split(codes_b, cuts, axis=1))

    def arrays(self) -> dict[str, np.ndarray]:
        """W_0, b_0, W_1, b_1, ...; the last pair is the output layer."""
        named = {f"W_{i}": weight for i, weight in enumerate(self.weights)}
        return named | {f"b_{i}": bias for i, bias in enumerate(self.biases)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], *, with_output: bool) -> "ReluNet":
        """The net that `arrays()` came from; other keys are ignored."""
        layers = range(sum(name.startswith("W_") for name in arrays))
        return cls(tuple(arrays[f"W_{i}"] for i in layers), tuple(arrays[f"b_{i}"] for i in layers), with_output)

    def _forward(self, x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        on, z = [], x
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            before = z @ weight.T.astype(np.float64) + bias
            on.append(before > 0)
            z = np.maximum(before, 0)
        return on, z @ self.weights[-1].T.astype(np.float64) + self.biases[-1]


def train_until_held_out_rises(
    x: np.ndarray,
    y: np.ndarray,
    held_x: np.ndarray,
    held_y: np.ndarray,
    *,
    classes: int,
    hidden: Sequence[int],
    seed: np.random.SeedSequence,
    with_output: bool,
) -> tuple[ReluNet, int]:
    """Trains until the held-out cross-entropy has not fallen for `PATIENCE` epochs.

    x: (n, d), y: (n,) class numbers; held_x, held_y likewise. Returns the net of the best epoch and that epoch's
    number, counted from 1. The same seed gives the same net on the same machine and number of threads.
    """
    points, labels = torch.from_numpy(held_x).float(), torch.from_numpy(held_y)
    best, best_loss, best_epoch = [], np.inf, 0
    training = _epochs(x, y, classes=classes, hidden=hidden, seed=seed)
    for epoch, layers in enumerate(islice(training, LARGEST_EPOCHS), start=1):
        with torch.no_grad():
            loss = functional.cross_entropy(_logits(layers, points), labels).item()
        if not best or loss < best_loss:
            best, best_loss, best_epoch = [parameter.detach().clone() for parameter in layers], loss, epoch
        if epoch - best_epoch >= PATIENCE:
            break
    return _as_net(best, with_output), best_epoch


def train_for(
    x: np.ndarray,
    y: np.ndarray,
    *,
    epochs: int,
    classes: int,
    hidden: Sequence[int],
    seed: np.random.SeedSequence,
    with_output: bool,
) -> ReluNet:
    """Trains for a number of epochs that is already known. x: (n, d), y: (n,) class numbers below `classes`."""
    *_, layers = islice(_epochs(x, y, classes=classes, hidden=hidden, seed=seed), epochs)
    return _as_net(layers, with_output)


def _epochs(
    x: np.ndarray, y: np.ndarray, *, classes: int, hidden: Sequence[int], seed: np.random.SeedSequence
) -> Iterator[list[Tensor]]:
    """Yields the parameters (W_0, b_0, W_1, ...) after each epoch of Adam on the cross-entropy, for ever.

    Batches grow with the sample so that an epoch never takes more than `_MOST_STEPS` steps.
    """
    rng = np.random.default_rng(seed)
    layers = []
    for fan_in, fan_out in zip([x.shape[1], *hidden], [*hidden, classes], strict=True):
        weight = rng.standard_normal((fan_out, fan_in)) * np.sqrt(2 / fan_in)
        bias = rng.uniform(-1, 1, fan_out) / np.sqrt(fan_in)
        layers += [torch.from_numpy(drawn).float().requires_grad_() for drawn in (weight, bias)]
    optimiser = torch.optim.Adam(layers, lr=_LEARNING_RATE, fused=True)
    size = max(_SMALLEST_BATCH, -(-len(x) // _MOST_STEPS))
    points, labels = torch.from_numpy(x).float(), torch.from_numpy(y)
    while True:
        for batch in torch.from_numpy(rng.permutation(len(x))).split(size):
            with torch.enable_grad():
                loss = functional.cross_entropy(_logits(layers, points[batch]), labels[batch])
                optimiser.zero_grad()
                loss.backward()
            optimiser.step()
        yield layers


def _logits(layers: list[Tensor], z: Tensor) -> Tensor:
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        z = functional.relu(functional.linear(z, weight, bias))
    return functional.linear(z, layers[-2], layers[-1])


def _as_net(layers: list[Tensor], with_output: bool) -> ReluNet:
    stored = [parameter.detach().numpy().copy() for parameter in layers]
    return ReluNet(tuple(stored[::2]), tuple(stored[1::2]), with_output)
