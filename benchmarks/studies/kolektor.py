"""KolektorSDD at 704 x 256, the size of Kim et al.: their Table 3, and the other patch detectors on the same features.

python -m benchmarks.studies.kolektor

After Kim et al., "Semi-orthogonal embedding for efficient unsupervised anomaly segmentation" (2021), Table 3: k = 100,
semi-orthogonal against sampled channels (PaDiM). EfficientNet-Lite0's 176 channels in place of ResNet-18's 448; the
three folds of the paper are not marked in the photos, so that each seed learns from the good photos of two thirds of
the commutators. The photos are in `--data`/kolektorsdd, 704 px high.
"""

import argparse
import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from benchmarks.studies.common import line, panels, run
from inspect_core.datasets.folders import scan
from inspect_core.detectors import baselines, cop_corp, mahalanobis, quadrics
from inspect_core.detectors.nearest_patch import spread_out
from inspect_core.features.backbones import load
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.images.photo_reader import read, read_mask
from inspect_core.scoring.anomaly_map import image_score, to_pixels
from inspect_core.scoring.masks import mask_at
from inspect_core.scoring.metrics import aupro, auroc

SIZE = (704, 256)
GRID = (88, 32)
K, FEW = 100, 40
HERE = slice(None, None, 2)
PATCHES, BANK, COMPONENTS = 20_000, 4_096, 28
"""Patches that CoRP and quadrics learn from; those of the bank of the nearest neighbour; components of the quadrics."""


@cache
def photos(folder: Path) -> tuple[list[str], Tensor, np.ndarray]:
    """The commutator of every photo, its features (n, h, w, d), and its mask (n, H, W)."""
    backbone = load("efficientnet_lite0", taps="outputs", size=SIZE)
    extractor = FeatureExtractor(backbone, GRID, (PatchFeatureSpec(backbone.taps),))
    samples = [*scan(folder).good, *scan(folder).defects]
    features = torch.cat([extractor.features(read(photo.path, photo.depth).pixels)[0] for photo in samples])
    masks = [np.zeros(SIZE, bool) if photo.mask is None else mask_at(read_mask(photo.mask, photo.size), SIZE)
             for photo in samples]  # fmt: skip
    return [re.findall(r"kos\d+", photo.name)[0] for photo in samples], features, np.array(masks)


def detectors(options: argparse.Namespace) -> dict:
    """By detector: pixel and image AUROC and AUPRO to 30 %, one for each seed."""
    return _measured(options, _errors)


def few_channels(options: argparse.Namespace) -> dict:
    """As `detectors`, of the two embeddings at k = 40, the paper's share of the channels."""
    return _measured(options, partial(_located, k=FEW))


def _measured(options: argparse.Namespace, errors_of: Callable[[Tensor, Tensor, int], dict[str, Tensor]]) -> dict:
    names, features, masks = photos(options.data / "kolektorsdd")
    defective = masks.any(axis=(1, 2))
    parts = sorted(set(names))
    results: dict[str, dict[str, list[float]]] = {}
    for seed in range(1 if options.quick else 3):
        chosen = set(np.random.default_rng(seed).permutation(parts)[: 2 * len(parts) // 3])
        learned = np.array([name in chosen for name in names]) & ~defective
        test = np.array([name not in chosen for name in names]) | defective
        for title, errors in errors_of(features[learned], features[test], seed).items():
            maps = to_pixels(errors.float().numpy(), SIZE)
            small, true = maps[:, HERE, HERE], masks[test][:, HERE, HERE]
            row = results.setdefault(title, {"pixel_auroc": [], "pro": [], "image_auroc": []})
            row["pixel_auroc"].append(auroc(small, true))
            row["pro"].append(aupro(small, true))
            row["image_auroc"].append(auroc(image_score(maps), defective[test]))
    return results


def _errors(learned: Tensor, test: Tensor, seed: int) -> dict[str, Tensor]:
    """(n, h, w) errors of the judged photos under each detector."""
    d = learned.shape[-1]
    drawn = torch.randperm(learned[..., 0].numel(), generator=torch.Generator().manual_seed(seed))[:PATCHES]
    patches = learned.reshape(-1, d)[drawn]
    corp = cop_corp.fit_corp(patches, gamma=2.0, M=1024, explained_variance=0.95, seed=seed)
    surface = quadrics.fit_algebraic_hs(patches, m=COMPONENTS // 2, components=COMPONENTS)
    bank = baselines.fit_nearest_neighbour(patches[spread_out(patches, BANK)])
    return _located(learned, test, seed, k=K) | {
        title: torch.stack([model.score(photo.reshape(-1, d)).reshape(GRID) for photo in test])
        for title, model in (("CoRP", corp), ("quadrics", surface), ("nearest neighbour", bank))
    }


def _located(learned: Tensor, test: Tensor, seed: int, *, k: int) -> dict[str, Tensor]:
    """The errors by localized Gaussians of k channels, mixed and sampled."""
    columns = {"semi-orthogonal": mahalanobis.semi_orthogonal, "sampled": mahalanobis.sampled}
    return {
        title: mahalanobis.fit(learned, projection=draw_columns(learned.shape[-1], k, seed=seed)).score(test)
        for title, draw_columns in columns.items()
    }


def draw(figures: dict) -> go.Figure:
    """Pixel AUROC and AUPRO by seed."""
    shown = panels(1, 2, ["pixel AUROC by seed", "AUPRO by seed"], height=380)
    for number, (title, rows) in enumerate(figures["detectors"].items()):
        for column, key in ((1, "pixel_auroc"), (2, "pro")):
            line(shown, list(range(len(rows[key]))), rows[key], title, number, (1, column), first=column == 1)
    return shown


PARTS: dict[str, Callable[[argparse.Namespace], dict]] = {"detectors": detectors, "few_channels": few_channels}


def main() -> None:
    run("kolektor", __doc__, PARTS, draw, dict.fromkeys(PARTS, "kolektorsdd"))


if __name__ == "__main__":
    main()
