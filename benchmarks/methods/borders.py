"""Where good parts score highest: how often at the border of the photo, before the local scale and after it.

A few good photos are learned from, group by group, the others and the defects are judged. Of each photo the pixels that
set its score (the smallest area of them) are counted in the outer BAND pixels of the map; the share of all pixels that
lie there is .234. For each detector: image AUROC, AUPRO, that share for good and for defective photos, and among the
highest 1 % of all pixels of good photos the share in the band and in its corners; mean and spread of good maps by
distance from the border, in spreads of the interior. mirrored: the photo is continued by its mirror image before the
network, and the features beyond the border are cut away, so that the network's own padding is never seen.

python -m benchmarks.methods.borders --store DIR [--mirrored] [--label "as it is"] [NAME=FOLDER ...]
"""

import itertools
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from benchmarks.measure import folder_parser, kept, sets, write
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.store import FeatureStore
from inspect_core.images.folders import scan, split
from inspect_core.images.splitting import Split
from inspect_core.methods.fitted_method import with_taps
from inspect_core.methods.registry import methods_in, methods_of
from inspect_core.scoring.anomaly_map import AREA, image_score, to_pixels
from inspect_core.scoring.metrics import aupro, auroc
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study

DETECTORS = ("mahalanobis", "corp", "nearest", "quadrics", "mahalanobis+quadrics", "mahalanobis+corp+nearest")
BAND, MARGIN = 16, 32
DISTANCES = (0, 4, 8, 16, 24, 32)
MOST = 60
"""Good photos, and defects, that are judged at most."""
SHOWN = ("image_auroc", "aupro", "share_good", "share_defective", "highest_in_band", "highest_in_corners")
STEP = 4
"""AUPRO is of every fourth pixel in each direction."""


@dataclass(frozen=True, eq=False)
class Mirrored:
    """A backbone that sees each photo continued by its mirror image; otherwise the one it stands for."""

    plain: Backbone
    wide: Backbone

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    @property
    def weight_digest(self) -> str:
        return f"{self.plain.weight_digest} mirrored by {MARGIN}"

    def tap_maps(self, images: np.ndarray) -> tuple[Tensor, ...]:
        cropped = []
        for values in self.wide.tap_maps(np.pad(images, ((0, 0), *[(MARGIN, MARGIN)] * 2, (0, 0)), mode="symmetric")):
            cut = values.shape[1] * MARGIN // self.wide.size[0]
            cropped.append(values[:, cut:-cut, cut:-cut].contiguous())
        return tuple(cropped)


def drawn(folder: Path, size: int, seed: int) -> Split:
    """`size` good photos or a few less to learn from, whole groups; others and defects to judge."""
    samples = scan(folder)
    groups = split(samples, seed=0).groups
    rng = np.random.default_rng(seed)
    label = {sample.name: groups.get(sample.name, sample.name) for sample in samples.good}
    order = {name: place for place, name in enumerate(rng.permutation(sorted(set(label.values()))))}
    good = sorted(samples.good, key=lambda sample: (order[label[sample.name]], sample.name))
    last = {label[sample.name] for sample in good[:size]}
    rest = [sample for sample in good[size:] if label[sample.name] not in last][:MOST]
    defects = [samples.defects[i] for i in sorted(rng.permutation(len(samples.defects))[:MOST])]
    return Split(tuple(good[:size]), (), (*rest, *defects), groups=groups)


def errors_of(
    photos: Split, method: str, store: FeatureStore, *, mirrored: bool
) -> tuple[ScoredPhotos, np.ndarray, np.ndarray]:
    """(photos, raw errors (n, h, w), calibrated errors in spreads of good ones)."""
    backbone, taps = with_taps((method,), "efficientnet_lite0")
    if mirrored:
        size = (backbone.size[0] + 2 * MARGIN, backbone.size[1] + 2 * MARGIN)
        wide = load(backbone.name, taps=backbone.taps, size=size, device="cpu")
        backbone = Mirrored(backbone, wide)
    study = Study(photos, backbone, store, method=method, taps=taps).fit()  # ty: ignore[invalid-argument-type]
    scored = study.results
    scale = scored.scale(0, scored.live.get(scored.views[0].live_parameter, 0))
    assert scale is not None
    centred = scored.grid_errors() - np.float32(scale.level)
    return scored, scale.centre + centred / scale.gain, centred / np.float32(scale.spread)


def figures(scored: ScoredPhotos, errors: np.ndarray) -> dict[str, float]:
    """Of the photos that are judged, with these grid errors of all."""
    judge = np.flatnonzero(scored.of_subset("test"))
    maps = to_pixels(errors[judge], scored.size)
    defect = scored.good_and_defect()[1][judge]
    masks = truth_masks(scored, judge.tolist())
    area = scored.live[AREA]
    known = [i for i, mask in enumerate(masks) if mask is not None]
    small = np.stack([masks[i] for i in known])
    here = slice(STEP // 2, None, STEP)
    rows, columns = (np.minimum(np.arange(side), np.arange(side)[::-1]) for side in scored.size)
    distance = np.minimum(rows[:, None], columns)
    band = distance < BAND
    corner = (rows[:, None] < BAND) & (columns < BAND)
    top = np.argpartition(maps.reshape(len(maps), -1), -area, axis=1)[:, -area:]
    share = band.ravel()[top].mean(axis=1)
    good = maps[~defect]
    highest = good > np.quantile(good, 0.99)
    interior = good[:, distance >= DISTANCES[-1]]
    rings = {
        f"{low} to {high} px": good[:, (distance >= low) & (distance < high)]
        for low, high in itertools.pairwise(DISTANCES)
    }
    level = {
        f"level at {name}": float((ring.mean() - interior.mean()) / interior.std()) for name, ring in rings.items()
    }
    return {
        "image_auroc": auroc(image_score(maps, area=area), defect),
        "aupro": aupro(maps[known][:, here, here], small[:, here, here]),
        "share_good": float(share[~defect].mean()),
        "share_defective": float(share[defect].mean()),
        "highest_in_band": float(np.broadcast_to(band, good.shape)[highest].mean()),
        "highest_in_corners": float(np.broadcast_to(corner, good.shape)[highest].mean()),
        **level,
        **{f"spread at {name}": float(ring.std() / interior.std()) for name, ring in rings.items()},
    }


def measured(
    photos: Split, store: FeatureStore, detectors: tuple[str, ...], *, mirrored: bool
) -> Iterator[tuple[str, dict[str, float]]]:
    """Of each detector the figures of the calibrated map, and of the raw one where it is one method."""
    errors = {name: errors_of(photos, name, store, mirrored=mirrored) for name in methods_in(detectors)}
    for detector in detectors:
        names = methods_of(detector)
        scored = errors[names[0]][0]
        yield detector, figures(scored, np.sum([errors[name][2] for name in names], axis=0))
        if len(names) == 1:
            yield f"{detector}, raw", figures(scored, errors[detector][1])


def main() -> None:
    asked = folder_parser("borders", __doc__)
    asked.add_argument("--detectors", default=",".join(DETECTORS))
    asked.add_argument("--sizes", type=int, nargs="+", default=[25, 60], help="good photos to learn from")
    asked.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    asked.add_argument("--mirrored", action="store_true")
    asked.add_argument("--label", default="as it is", help="under which the figures are kept")
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    store = FeatureStore(options.store, limit=20 << 30)
    results = kept(options.name)
    for name, folder in sets(options.sets).items():
        rows = defaultdict(list)
        for size, seed in itertools.product(options.sizes, options.seeds):
            photos = drawn(folder, size, seed)
            for what, row in measured(photos, store, tuple(options.detectors.split(",")), mirrored=options.mirrored):
                rows[what].append(row)
                print(f"{name} {size} {seed} {what:30}", *(f"{key} {row[key]:.3f}" for key in SHOWN), flush=True)
        results.setdefault(options.label, {})[name] = mean_of(rows)
        write(options.name, results)


def mean_of(rows: Mapping[str, Sequence[Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """By detector the mean of each figure over sizes and seeds."""
    return {
        what: {key: round(float(np.mean([row[key] for row in measured])), 4) for key in measured[0]}
        for what, measured in rows.items()
    }


if __name__ == "__main__":
    main()
