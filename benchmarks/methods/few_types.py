"""Naming defects from 3 to 10 labelled crops of each type: as they are, and turned, mirrored and lit as well.

python -m benchmarks.methods.few_types flange=sample_data/flange tile=DATA

So many crops of each type are learned from, all others of the type are named; means over SEEDS draws. Crops are the
squares around the largest true region, embedded by EfficientNet-Lite0.
"""

import warnings
from collections.abc import Iterator

import numpy as np

from benchmarks.measure import machine, parser, sets, write
from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.folders import scan
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.extraction import embed
from inspect_core.images.boxes import crop_square
from inspect_core.images.photo_reader import read, read_mask
from inspect_core.whole_part.training_crops import boxes_of_mask

EACH = (3, 5, 10)
SEEDS = 5
LIGHTS = (0.9, 1.1)


def looks(sample: PhotoFile) -> Iterator[np.ndarray]:
    """(H, W, 3) uint8: the crop, then turned and mirrored, then darker and lighter."""
    pixels = read(sample.path).pixels
    crop = crop_square(pixels, boxes_of_mask(read_mask(sample.mask, pixels.shape[:2]))[0])
    turned = [np.rot90(mirrored, turns) for mirrored in (crop, crop[:, ::-1]) for turns in range(4)]
    yield from map(np.ascontiguousarray, turned)
    yield from (np.clip(light * crop.astype(np.float32), 0, 255).astype(np.uint8) for light in LIGHTS)


def shares_right(points: np.ndarray, kinds: np.ndarray, count_per_type: int) -> dict[str, list[float]]:
    """Share of the other crops that are named rightly, by what was learned from; points (n, looks, d)."""
    results: dict[str, list[float]] = {"as_they_are": [], "with_copies": []}
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        learned = np.zeros(len(kinds), bool)
        for kind in np.unique(kinds):
            learned[rng.permutation(np.flatnonzero(kinds == kind))[:count_per_type]] = True
        for name, count in zip(results, (1, points.shape[1]), strict=True):
            x = points[learned, :count].reshape(-1, points.shape[2])
            model = fit_kdf(x, np.repeat(kinds[learned], count), seed=seed)
            named = model.classes[model.predict_proba(points[~learned, 0]).argmax(axis=1)]
            results[name].append(float((named == kinds[~learned]).mean()))
    return results


def of_set(samples: tuple[PhotoFile, ...], backbone: Backbone) -> dict:
    labelled = [sample for sample in samples if sample.mask is not None]
    points = np.stack([np.stack([embed(copy, backbone) for copy in looks(sample)]) for sample in labelled])
    kinds = np.array([sample.label for sample in labelled])
    most = min(np.unique(kinds, return_counts=True)[1])
    rows = {}
    for count in (count for count in EACH if count < most):
        results = shares_right(points, kinds, count)
        rows[str(count)] = {
            name: {"mean": float(np.mean(shares)), "worst": min(shares)} for name, shares in results.items()
        }
    return {"crops": len(kinds), "types": len(np.unique(kinds)), "learned_of_each": rows}


def main() -> None:
    asked = parser("few_types", __doc__)
    asked.add_argument("folders", nargs="*", metavar="NAME=FOLDER", help="with masks; default: the sample parts")
    options = asked.parse_args()
    measured_on = machine()
    warnings.simplefilter("ignore", UserWarning)
    backbone = load("efficientnet_lite0")
    results = {name: of_set(scan(folder).defects, backbone) for name, folder in sets(options.folders).items()}
    write(options.name, results, measured_on=measured_on)


if __name__ == "__main__":
    main()
