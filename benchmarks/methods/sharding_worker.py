"""The task of the benchmark of shards: photos whose features are drawn where they are needed, seeded by number.

The features of a photo are those of a fitted detector's Gaussians: at every place its mean and its factor times
standard normal numbers, which takes no file and about as much arithmetic as reading one.
"""

from dataclasses import dataclass

import numpy as np
import torch

from inspect_core.sharding.study_workers import ShardResult, states
from inspect_core.study.photo_features import PhotoNotes
from inspect_core.study.statistics_gathering import FitPlan

DRAWN = 16
"""Photos drawn at a time: the factors are read once for all of them."""


@dataclass(frozen=True, eq=False)
class Simulating:
    """Learns from a shard of simulated photos, (first, end): mean (h, w, k), factor (h w, k, k) of every place."""

    fit: FitPlan
    mean: np.ndarray
    factor: np.ndarray

    def __call__(self, numbers: tuple[int, int]) -> ShardResult:
        return ShardResult(PhotoNotes(), states(learned(self.fit, self.mean, self.factor, *numbers)))


def learned(fit: FitPlan, mean: np.ndarray, factor: np.ndarray, first: int, end: int) -> list:
    """The statistics of the photos from `first` to `end`."""
    return fit.shard(photos(mean, factor, first, end))


def photos(mean: np.ndarray, factor: np.ndarray, first: int, end: int):
    """(number, features) of each: mean (h, w, k), factor (h w, k, k) of every place."""
    h, w, k = mean.shape
    for start in range(first, end, DRAWN):
        numbers = range(start, min(start + DRAWN, end))
        drawn = np.stack(
            [np.random.default_rng([0, number]).standard_normal((h * w, k), np.float32) for number in numbers], axis=1
        )
        features = np.matmul(drawn, factor.transpose(0, 2, 1)).transpose(1, 0, 2) + mean.reshape(h * w, k)
        for number, values in zip(numbers, features, strict=True):
            yield number, (torch.from_numpy(np.ascontiguousarray(values.reshape(1, h, w, k))),)
