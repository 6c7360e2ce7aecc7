"""The semi-orthogonal embedding against its ablations, on masks: Table 1, PRO against k, spectra, single layers.

python -m benchmarks.studies.semi_orthogonal

After Kim et al., "Semi-orthogonal embedding for efficient unsupervised anomaly segmentation" (2021). EfficientNet-Lite0
in place of the paper's ResNets, the sample parts and magnetic tiles in place of MVTec AD; grid 32 x 32, ridge .01, no
local scale, maps smoothed by 4 px of 256 and measured at every second pixel. Table 1, Fig. 2 and Fig. 3 on the 176
channels of the "outputs" taps, of which all can be kept; "wide" on the 1,056 of the "expansions", projected on the way.
MVTec AD's transistor and screw in their published splits, where --data holds them.
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

from benchmarks.measure import timed
from benchmarks.studies import ablations
from benchmarks.studies.common import line, panels, photo_sets, run
from benchmarks.studies.data_sets import known
from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import split
from inspect_core.detectors import mahalanobis
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.images.photo_reader import read, read_mask
from inspect_core.scoring.anomaly_map import image_score, to_pixels
from inspect_core.scoring.masks import mask_at
from inspect_core.scoring.metrics import aupro, auroc

GRID, SIZE = (32, 32), (256, 256)
HERE = slice(None, None, 2)
K = 40
"""Of 176 channels, as 100 of the 448 of the paper's ResNet-18."""
KS = (2, 5, 10, 20, 50, 100, 176)
WIDE = (5, 10, 20, 50, 100)
OF_PUBLISHED = (20, 40, 100)
"""k on the published splits."""
PUBLISHED = ("transistor", "screw")
OF_TABLE_2 = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2")
"""From the smallest to the largest, as the paper's three ResNets."""
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
    test: Tensor
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
        return Seen(self.learned @ projection, self.test @ projection, self.masks)


def seen(folder: Path, backbone: Backbone, spec: PatchFeatureSpec) -> Seen:
    """All good photos to learn from, and all photos to judge whose mask is known."""
    photos = split(scan(folder), seed=0)
    extractor = FeatureExtractor(backbone, GRID, (spec,))

    def features(samples: list[PhotoFile]) -> Tensor:
        return torch.cat([extractor.features(read(photo.path, photo.depth).pixels)[0] for photo in samples])

    test = [photo for photo in photos.test if photo.label == "good" or photo.mask is not None]
    masks = [np.zeros(SIZE, bool) if s.mask is None else mask_at(read_mask(s.mask, s.size), SIZE) for s in test]
    return Seen(features([*photos.train, *photos.calibration]), features(test), np.array(masks))


@functools.cache
def outputs_of(folder: Path) -> Seen:
    backbone = load("efficientnet_lite0", taps="outputs")
    return seen(folder, backbone, PatchFeatureSpec(backbone.taps))


def with_masks(options: argparse.Namespace) -> Mapping[str, Path]:
    """The sets of photos that have masks."""
    return {name: folder for name, folder in photo_sets(options).items() if (folder / "ground_truth").is_dir()}


def table(options: argparse.Namespace) -> dict:
    """By set and embedding at k = 40: quality; drawn embeddings as means over seeds, with the spread of their PRO."""
    results: dict[str, dict] = {}
    for name, folder in with_masks(options).items():
        outputs = outputs_of(folder)
        d = outputs_of(folder).learned.shape[-1]
        rows = results[name] = {
            "global": outputs.quality(ablations.fit_global(outputs.learned).score(outputs.test)),
            "full": outputs.quality(ablations.fit_full(outputs.learned).score(outputs.test)),
        }
        for title, fit in EIGEN.items():
            model = fit(outputs.learned, k=min(K, len(outputs.learned) - 1, d))
            rows[title] = outputs.quality(model.score(outputs.test))
        for title, draw_columns in DRAWN.items():
            repeats = [_fitted(outputs, draw_columns(d, K, seed=seed)) for seed in range(1 if options.quick else 3)]
            rows[title] = {key: float(np.mean([figures[key] for figures in repeats])) for key in repeats[0]}
            rows[title]["pro_spread"] = float(np.ptp([figures["pro"] for figures in repeats]))
    return results


def published_split(name: str, options: argparse.Namespace) -> dict:
    """A set of MVTec AD in its published split, which has more photos than channels as the paper's has: quality by
    embedding and k; drawn embeddings as means over seeds.
    """
    outputs = outputs_of(options.data / Path(known()[name].path).parent)
    d = outputs.learned.shape[-1]
    rows: dict[str, dict] = {
        "global": outputs.quality(ablations.fit_global(outputs.learned).score(outputs.test)),
        "full": outputs.quality(ablations.fit_full(outputs.learned).score(outputs.test)),
    }
    for k in OF_PUBLISHED:
        for title, fit in EIGEN.items():
            rows[f"{title}, {k}"] = outputs.quality(fit(outputs.learned, k=k).score(outputs.test))
        for title, draw_columns in DRAWN.items():
            seeds = range(1 if options.quick else 3)
            repeats = [_fitted(outputs, draw_columns(d, k, seed=seed)) for seed in seeds]
            rows[f"{title}, {k}"] = {key: float(np.mean([row[key] for row in repeats])) for key in repeats[0]}
    return {"learned": len(outputs.learned), "judged": len(outputs.test), "embeddings": rows}


def backbones(options: argparse.Namespace) -> dict:
    """PRO by published split and backbone, the semi-orthogonal embedding at k = 100, means over seeds: Table 2."""
    results: dict[str, dict] = {}
    for name in PUBLISHED:
        results[name] = {}
        for backbone_name in OF_TABLE_2:
            backbone = load(backbone_name, taps="outputs")
            folder = options.data / Path(known()[name].path).parent
            features = seen(folder, backbone, PatchFeatureSpec(backbone.taps))
            d = features.learned.shape[-1]
            seeds = range(1 if options.quick else 3)
            pro = [_fitted(features, mahalanobis.semi_orthogonal(d, 100, seed=seed))["pro"] for seed in seeds]
            results[name][backbone_name] = float(np.mean(pro))
    return results


def _fitted(outputs: Seen, projection: Tensor) -> dict[str, float]:
    return outputs.quality(mahalanobis.fit(outputs.learned, projection=projection).score(outputs.test))


def against_k(options: argparse.Namespace) -> dict:
    """PRO by set, embedding and k, one seed; null where so many eigenvectors do not exist."""
    results: dict[str, dict] = {"k": list(KS)}
    for name, folder in with_masks(options).items():
        outputs = outputs_of(folder)
        d = outputs_of(folder).learned.shape[-1]
        rows = results[name] = {}
        for title, fit in EIGEN.items():
            most = min(max(KS), len(outputs.learned) - 1, d)
            model = fit(outputs.learned, k=most)
            rows[title] = [outputs.quality(model.score(outputs.test, k=k))["pro"] if k <= most else None for k in KS]
        for title, draw_columns in DRAWN.items():
            rows[title] = _sweep(outputs, draw_columns(d, max(KS)), KS)
    return results


def wide(options: argparse.Namespace) -> dict:
    """As `against_k` for the drawn embeddings of the 1,056 channels of the expansions."""
    backbone = load("efficientnet_lite0", taps="expansions")
    results = {"k": list(WIDE)}
    d = sum(backbone.tap_channels)
    for name, folder in with_masks(options).items():
        results[name] = {}
        for title, draw_columns in DRAWN.items():
            columns = draw_columns(d, max(WIDE))
            features = seen(folder, backbone, PatchFeatureSpec(backbone.taps, columns.numpy()))
            results[name][title] = _sweep(features, torch.eye(max(WIDE)), WIDE)
    return results


def _sweep(outputs: Seen, projection: Tensor, ks: tuple[int, ...]) -> list[float]:
    model = mahalanobis.fit(outputs.learned, projection=projection)
    return [outputs.quality(errors)["pro"] for errors in model.sweep(outputs.test, ks)]


def spectra(options: argparse.Namespace) -> dict:
    """Mean eigenvalue over places, largest first, of the embedded covariances at k = 40, and of all channels; share of
    them above 1e-4 of a place.
    """
    results: dict[str, dict] = {}
    for name, folder in with_masks(options).items():
        outputs = outputs_of(folder)
        d = outputs_of(folder).learned.shape[-1]
        models = {title: mahalanobis.fit(outputs.learned, projection=columns(d, K)) for title, columns in DRAWN.items()}
        models["all channels"] = ablations.fit_full(outputs.learned)
        values = {title: model.spectrum().flatten(0, 1) for title, model in models.items()}
        results[name] = {
            "photos": len(outputs.learned),
            "mean": {title: columns.mean(0).tolist() for title, columns in values.items()},
            "alive": {title: float((columns > COLLAPSED).float().mean()) for title, columns in values.items()},
        }
    return results


def layers(options: argparse.Namespace) -> dict:
    """PRO of the semi-orthogonal embedding, k = min(40, channels), on one level of the outputs and on all three."""
    backbone = load("efficientnet_lite0", taps="outputs")
    results = {}
    ends = np.cumsum([0, *backbone.tap_channels]).tolist()
    levels = dict(zip(backbone.taps, itertools.pairwise(ends), strict=True)) | {"all": (0, ends[-1])}
    for name, folder in with_masks(options).items():
        whole = outputs_of(folder)
        results[name] = {}
        for tap, (first, last) in levels.items():
            of_layer = Seen(whole.learned[..., first:last], whole.test[..., first:last], whole.masks)
            results[name][tap] = _fitted(of_layer, mahalanobis.semi_orthogonal(last - first, min(K, last - first)))[
                "pro"
            ]
    return results


def cost(options: argparse.Namespace) -> dict:
    """Seconds to fit and score ten photos, and bytes of the factors, of k = 100 of 448 channels and of all 448, as with
    the paper's ResNet-18, on a grid of 8 x 8: every location costs the same. Medians of three.
    """
    features = torch.randn(10, 8, 8, 448, generator=torch.Generator().manual_seed(0))
    results = {}
    for k in (100, 448):
        projection = mahalanobis.semi_orthogonal(448, k)
        seconds = timed(
            lambda: mahalanobis.fit(features, projection=projection).score(features),  # noqa: B023 - called at once
            repeats=3,
            warm_up=1,
        )
        factors = mahalanobis.fit(features, projection=projection).cholesky
        results[str(k)] = {"median_ms": seconds["median_ms"], "bytes": factors.nbytes}
    return results


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
        spectrum = figures["spectra"][name]
        for title, values in spectrum["mean"].items():
            first = column == 1 and title == "all channels"
            line(shown, np.arange(1, len(values) + 1), values, title, order.index(title), (3, column), first=first)
            shown.data[-1].mode = "lines"
        smallest = spectrum["mean"]["all channels"][: spectrum["photos"] - 1][-K:]  # the null space begins there
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
    "cost": cost,
    **{name: functools.partial(published_split, name) for name in PUBLISHED},
    "backbones": backbones,
}


def main() -> None:
    run("semi_orthogonal", __doc__, PARTS, draw, needs={name: name for name in PUBLISHED} | {"backbones": PUBLISHED[0]})


if __name__ == "__main__":
    main()
