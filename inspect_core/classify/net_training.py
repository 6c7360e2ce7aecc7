"""Training a ReLU net with torch."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from inspect_core.classify.relu_net import ReluNet

LARGEST_EPOCHS = 500
PATIENCE = 20
"""Epochs without a smaller held-out cross-entropy before training stops."""

_SMALLEST_BATCH = 32
_MOST_STEPS = 32
_LEARNING_RATE = 1e-3


def train_until_held_out_rises(
    x: np.ndarray, y: np.ndarray, held_x: np.ndarray, held_y: np.ndarray, *, with_output: bool, **shape: Any
) -> tuple[ReluNet, int]:
    """Trains until the held-out cross-entropy has not fallen for `PATIENCE` epochs.

    x: (n, d), y: (n,) class numbers; held_x, held_y likewise. Returns the net of the best epoch and that epoch's
    number, counted from 1. shape: as `_epochs` takes it. The same seed gives the same net on the same machine and
    number of threads.
    """
    points = torch.from_numpy(held_x).float()
    labels = torch.from_numpy(held_y)
    best = []
    best_loss = np.inf
    best_epoch = 0
    training = _epochs(x, y, **shape)
    for epoch, layers in enumerate(islice(training, LARGEST_EPOCHS), start=1):
        with torch.no_grad():
            loss = functional.cross_entropy(_logits(layers, points), labels).item()
        if not best or loss < best_loss:
            best = [parameter.detach().clone() for parameter in layers]
            best_loss = loss
            best_epoch = epoch
        if epoch - best_epoch >= PATIENCE:
            break
    return _as_net(best, with_output), best_epoch


def train_for(x: np.ndarray, y: np.ndarray, *, epochs: int, with_output: bool, **shape: Any) -> ReluNet:
    """Train for a number of epochs that is already known. x: (n, d), y: (n,) class numbers; shape: as for `_epochs`."""
    *_, layers = islice(_epochs(x, y, **shape), epochs)
    return _as_net(layers, with_output)


def _epochs(
    x: np.ndarray, y: np.ndarray, *, classes: int, hidden: Sequence[int], seed: np.random.SeedSequence
) -> Iterator[list[Tensor]]:
    """Yield the parameters (W_0, b_0, W_1, ...) after each epoch of Adam on the cross-entropy, without end.

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
    points = torch.from_numpy(x).float()
    labels = torch.from_numpy(y)
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
