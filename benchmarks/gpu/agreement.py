"""Whether a GPU gives the verdicts of the CPU, and whether a photo's features depend on the others of its batch."""

import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.gpu.setting import Clock, GpuSetting
from benchmarks.measure import sets
from inspect_core.datasets.folders import Split, scan, split
from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.features.store import FeatureStore
from inspect_core.methods.fitted_method import with_taps
from inspect_core.study.study import FittedStudy, Study

TOLERANCE = 1e-3
"""Largest relative difference of a score: that of METHODS, section 6, for the distances of few photos. The networks
themselves, by ONNX Runtime and by cuDNN, differ by some 1e-5."""


def methods_agree(device: str, setting: GpuSetting, clock: Clock) -> dict[str, dict[str, dict[str, float]]]:
    """Teach the sample parts on the CPU and on the device: by part and method, how many verdicts change, the largest
    relative difference of a score, and seconds of both.
    """
    figures: dict[str, dict[str, dict[str, float]]] = {}
    longest = 0.0
    with tempfile.TemporaryDirectory(prefix="loupe-gpu-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for method in setting.methods:
            for part, place in sets([]).items():
                if not clock.allows(f"{method} on {part}", longest):
                    continue
                began = time.monotonic()
                photos = _some(split(scan(place), seed=0), setting.of_sample)
                here = _fitted(photos, method, "cpu", Path(folder, "cpu"))
                there = _fitted(photos, method, device, Path(folder, "device"))
                figures.setdefault(part, {})[method] = _compared(here, there)
                longest = max(longest, time.monotonic() - began)
    return figures


def _fitted(photos: Split, method: str, device: str, store: Path) -> tuple[FittedStudy, float]:
    began = time.perf_counter()
    backbone, taps = with_taps((method,), "efficientnet_lite0", device=device)
    study = Study.from_photos(photos, backbone, FeatureStore(store), method=method, taps=taps).fit()
    return study, time.perf_counter() - began


def _compared(here: tuple[FittedStudy, float], there: tuple[FittedStudy, float]) -> dict[str, float]:
    scores = [study.scores().astype(float) for study, _ in (here, there)]
    words = [
        [study.default_limits().decide(float(score))[0] for score in values]
        for (study, _), values in zip((here, there), scores, strict=True)
    ]
    apart = np.abs(scores[1] - scores[0]) / np.maximum(np.abs(scores[0]), np.finfo(np.float32).tiny)
    return {
        "photos": len(scores[0]),
        "verdicts_changed": sum(ours != theirs for ours, theirs in zip(*words, strict=True)),
        "largest_relative_difference": float(apart.max(initial=0.0)),
        "cpu_s": here[1],
        "device_s": there[1],
    }


def bits_agree(backbone: Backbone) -> bool:
    """Whether photos have equal features, to the bit, in a full batch, backwards, alone and in the last one."""
    channels = sum(backbone.tap_channels)
    columns = np.linalg.qr(np.random.default_rng(0).standard_normal((channels, min(channels, 64))))[0]
    extractor = FeatureExtractor(backbone, (32, 32), (PatchFeatureSpec(backbone.taps, columns.astype(np.float32)),))
    pictures = list(
        np.random.default_rng(1).integers(0, 256, (backbone.at_once + 3, *backbone.size, 3), dtype=np.uint8)
    )
    [together], [backwards] = (extractor.features_of_inputs(batch) for batch in (pictures, pictures[::-1]))
    singles = [extractor.features_of_inputs([picture])[0] for picture in (pictures[0], pictures[-1])]
    return (
        torch.equal(together, backwards.flip(0))
        and torch.equal(together[:1], singles[0])
        and torch.equal(together[-1:], singles[1])
    )


def _some(photos: Split, count: int | None) -> Split:
    def chosen(samples: Sequence) -> tuple:
        return tuple(samples) if count is None else tuple(samples[:: max(1, len(samples) // count)][:count])

    return Split(chosen(photos.train), chosen(photos.calibration), chosen(photos.test))
