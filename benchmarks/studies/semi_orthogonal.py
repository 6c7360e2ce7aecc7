"""The semi-orthogonal embedding against its ablations, on masks: Table 1, PRO against k, spectra, single layers.

python -m benchmarks.studies.semi_orthogonal

After Kim et al., "Semi-orthogonal embedding for efficient unsupervised anomaly segmentation" (2021). EfficientNet-Lite0
in place of the paper's ResNets, the sample parts and magnetic tiles in place of MVTec AD; grid 32 x 32, ridge .01, no
local scale, maps smoothed by 4 px of 256 and measured at every second pixel. Table 1, Fig. 2 and Fig. 3 on the 176
channels of the "outputs" taps, of which all can be kept; "wide" on the 1,056 of the "expansions", projected on the way.
"""

import argparse
import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import torch
from torch import Tensor

from benchmarks.studies import ablations
from benchmarks.studies.common import line, panels, photo_sets, run
from inspect_core.detectors import mahalanobis
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.extraction import FeatureExtractor, PatchFeatureSpec
from inspect_core.images.folders import scan
from inspect_core.images.photo_reader import read, read_mask
from inspect_core.images.samples import PhotoFile
from inspect_core.images.splitting import split
from inspect_core.judge.anomaly_map import image_score, to_pixels
from inspect_core.judge.masks import mask_at
from inspect_core.judge.metrics import aupro, auroc

GRID, SIZE = (32, 32), (256, 256)
HERE = slice(None, None, 2)
K = 40
"""Of 176 channels, as 100 of the 448 of the paper's ResNet-18."""
KS = (2, 5, 10, 20, 50, 100, 176)
WIDE = (5, 10, 20, 50, 100)
DRAWN = {
    "Gaussian": mahalanobis.gaussian,
    "sampled": mahalanobis.sampled,
    "semi-orthogonal": mahalanobis.semi_orthogonal,
}
EIGEN = {"eigen, largest": ablations.fit_eigen_largest, "eigen, smallest": ablations.fit_eigen_smallest}
COLLAPSED = 1e-4


@dataclass(frozen=True, eq=False)
class Seen:
    """Features (n, h, w, d) of good photos to learn from and of photos to judge, with the true masks of these."""

    learned: Tensor
    judged: Tensor
    masks: np.ndarray

    def quality(self, errors: Tensor) -> dict[str, float]:
        """Of (n, h, w) errors: AUPRO to 30 %, pixel AUROC, image AUROC by the maximum of the map."""
        maps = to_pixels(errors.float().numpy(), SIZE)
        small, true = maps[:, HERE, HERE], self.masks[:, HERE, HERE]
        return {
            "pro": aupro(small, true),
            "pixel_auroc": auroc(small, true),
            "image_auroc": auroc(image_score(maps), self.masks.any(axis=(1, 2))),
        }

    def through(self, projection: Tensor) -> "Seen":
        return Seen(self.learned @ projection, self.judged @ projection, self.masks)


def seen(folder: Path, backbone: Backbone, look: PatchFeatureSpec) -> Seen:
    """All good photos to learn from, and all photos to judge whose mask is known."""
    photos, extractor = split(scan(folder), seed=0), FeatureExtractor(backbone, GRID, (look,))

    def features(samples: list[PhotoFile]) -> Tensor:
        return torch.cat([extractor.features(read(own.path, own.depth).pixels)[0] for own in samples])

    judged = [own for own in photos.test if own.label == "good" or own.mask is not None]
    masks = [np.zeros(SIZE, bool) if s.mask is None else mask_at(read_mask(s.mask, s.size), SIZE) for s in judged]
    return Seen(features([*photos.train, *photos.calibration]), features(judged), np.array(masks))


@functools.cache
def outputs_of(folder: Path) -> Seen:
    backbone = load("efficientnet_lite0", taps="outputs")
    return seen(folder, backbone, PatchFeatureSpec(backbone.taps))


def with_masks(options: argparse.Namespace) -> Mapping[str, Path]:
    """The sets of photos that have masks."""
    return {name: folder for name, folder in photo_sets(options).items() if (folder / "ground_truth").is_dir()}


def table(options: argparse.Namespace) -> dict:
    """By set and embedding at k = 40: quality; drawn embeddings as means over seeds, with the spread of their PRO."""
    found: dict[str, dict] = {}
    for name, folder in with_masks(options).items():
        own, d = outputs_of(folder), outputs_of(folder).learned.shape[-1]
        rows = found[name] = {
            "global": own.quality(ablations.fit_global(own.learned).score(own.judged)),
            "full": own.quality(ablations.fit_full(own.learned).score(own.judged)),
        }
        for title, fit in EIGEN.items():
            model = fit(own.learned, k=min(K, len(own.learned) - 1, d))
            rows[title] = own.quality(model.score(own.judged))
        for title, draw_columns in DRAWN.items():
            each = [_fitted(own, draw_columns(d, K, seed=seed)) for seed in range(1 if options.quick else 3)]
            rows[title] = {key: float(np.mean([one[key] for one in each])) for key in each[0]}
            rows[title]["pro_spread"] = float(np.ptp([one["pro"] for one in each]))
    return found


def _fitted(own: Seen, projection: Tensor) -> dict[str, float]:
    return own.quality(mahalanobis.fit(own.learned, projection=projection).score(own.judged))


def against_k(options: argparse.Namespace) -> dict:
    """PRO by set, embedding and k, one seed; null where so many eigenvectors do not exist."""
    found: dict[str, dict] = {"k": list(KS)}
    for name, folder in with_masks(options).items():
        own, d = outputs_of(folder), outputs_of(folder).learned.shape[-1]
        rows = found[name] = {}
        for title, fit in EIGEN.items():
            most = min(max(KS), len(own.learned) - 1, d)
            model = fit(own.learned, k=most)
            rows[title] = [own.quality(model.score(own.judged, k=k))["pro"] if k <= most else None for k in KS]
        for title, draw_columns in DRAWN.items():
            rows[title] = _sweep(own, draw_columns(d, max(KS)), KS)
    return found


def wide(options: argparse.Namespace) -> dict:
    """As `against_k` for the drawn embeddings of the 1,056 channels of the expansions."""
    backbone, found = load("efficientnet_lite0", taps="expansions"), {"k": list(WIDE)}
    d = sum(backbone.tap_channels)
    for name, folder in with_masks(options).items():
        found[name] = {}
        for title, draw_columns in DRAWN.items():
            columns = draw_columns(d, max(WIDE))
            own = seen(folder, backbone, PatchFeatureSpec(backbone.taps, columns.numpy()))
            found[name][title] = _sweep(own, torch.eye(max(WIDE)), WIDE)
    return found


def _sweep(own: Seen, projection: Tensor, ks: tuple[int, ...]) -> list[float]:
    model = mahalanobis.fit(own.learned, projection=projection)
    return [own.quality(errors)["pro"] for errors in model.sweep(own.judged, ks)]


def spectra(options: argparse.Namespace) -> dict:
    """Mean eigenvalue over places, largest first, of the embedded covariances at k = 40, and of all channels; share of
    them above 1e-4 of a place.
    """
    found: dict[str, dict] = {}
    for name, folder in with_masks(options).items():
        own, d = outputs_of(folder), outputs_of(folder).learned.shape[-1]
        models = {title: mahalanobis.fit(own.learned, projection=of(d, K)) for title, of in DRAWN.items()}
        models["all channels"] = ablations.fit_full(own.learned)
        values = {title: model.spectrum().flatten(0, 1) for title, model in models.items()}
        found[name] = {
            "photos": len(own.learned),
            "mean": {title: of.mean(0).tolist() for title, of in values.items()},
            "alive": {title: float((of > COLLAPSED).float().mean()) for title, of in values.items()},
        }
    return found


def layers(options: argparse.Namespace) -> dict:
    """PRO of the semi-orthogonal embedding, k = min(40, channels), on one level of the outputs and on all three."""
    backbone, found = load("efficientnet_lite0", taps="outputs"), {}
    ends = np.cumsum([0, *backbone.tap_channels]).tolist()
    levels = dict(zip(backbone.taps, itertools.pairwise(ends), strict=True)) | {"all": (0, ends[-1])}
    for name, folder in with_masks(options).items():
        whole, found[name] = outputs_of(folder), {}
        for tap, (first, last) in levels.items():
            own = Seen(whole.learned[..., first:last], whole.judged[..., first:last], whole.masks)
            found[name][tap] = _fitted(own, mahalanobis.semi_orthogonal(last - first, min(K, last - first)))["pro"]
    return found


def draw(figures: dict) -> go.Figure:
    """PRO against k on few and on many channels, and the spectra, by set."""
    names = [name for name in figures["against_k"] if name != "k"]
    titles = [f"{name}: PRO against k, d = 176" for name in names]
    titles += [f"{name}: against k, d = 1,056" for name in names] + [f"{name}: eigenvalues" for name in names]
    shown = panels(3, len(names), titles, height=1000, vertical_spacing=0.09, horizontal_spacing=0.05)
    order = ["semi-orthogonal", "sampled", "Gaussian", "eigen, largest", "eigen, smallest", "all channels"]
    for column, name in enumerate(names, start=1):
        for row, part in ((1, "against_k"), (2, "wide")):
            for title, values in figures[part][name].items():
                line(
                    shown,
                    figures[part]["k"],
                    values,
                    title,
                    order.index(title),
                    (row, column),
                    first=row == column == 1,
                )
            shown.update_xaxes(type="log", row=row, col=column)
        full = figures["against_k"][name]["semi-orthogonal"][-1]
        shown.add_hline(y=full, line_dash="dot", line_width=1, row=1, col=column)
        own = figures["spectra"][name]
        for title, values in own["mean"].items():
            first = column == 1 and title == "all channels"
            line(shown, np.arange(1, len(values) + 1), values, title, order.index(title), (3, column), first=first)
            shown.data[-1].mode = "lines"
        smallest = own["mean"]["all channels"][: own["photos"]][-K:]
        line(shown, np.arange(1, len(smallest) + 1), smallest, "eigen, smallest", 4, (3, column), first=False)
        shown.data[-1].mode = "lines"
        shown.update_yaxes(type="log", range=[-5, 3], dtick=1, exponentformat="power", row=3, col=column)
    return shown


PARTS: dict[str, Callable[[argparse.Namespace], dict]] = {
    "table": table,
    "against_k": against_k,
    "wide": wide,
    "spectra": spectra,
    "layers": layers,
}


def main() -> None:
    run("semi_orthogonal", __doc__, PARTS, draw)


if __name__ == "__main__":
    main()
