"""Alignment on parts as a conveyor brings them: error against exact poses, time on one core, which photos are located,
and what it is worth: python -m benchmarks.methods.alignment

Error: mean distance over the part between where a photo puts it on the reference and where it must lie, in pixels at
256, on photos that were not learned from. The reference's own pose is free, so that one pose common to all photos is
fitted first. Located: good parts, parts of which a piece is missing (of the flange drawn so, of others a side is
covered), parts moved that were learned lying still; and what must not be: mirrored, half out, empty, another product,
upside down. Worth: the localized detector on the same parts lying still, moved, and moved and aligned.
"""

import tempfile
import warnings
from pathlib import Path

import cv2
import numpy as np

from benchmarks.measure import kept, parser, timed, write
from inspect_core.datasets.folders import scan, split
from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import Alignment, NotLocated, learn_alignment
from inspect_core.images.photo_reader import read
from inspect_core.methods.fitted_method import with_taps
from inspect_core.study.evaluation import evaluate_photos
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.study import Study
from sample_data.make import products
from sample_data.make.conveyor import RIGID, SCALED, Conveyor
from sample_data.make.flange import CUT

PRODUCTS = {"flange": 38.0, "board": 25.0}
"""Half of the side of the part in mm."""
LEARNED, JUDGED = 40, 100
FEW = 35
STILL, MOVED = Conveyor(shift=0, turn=0), Conveyor(shift=0.05, turn=8)
MOVES = {"still": STILL, "rigid": RIGID, "similarity": SCALED}
GRID = 256


def error(product: str, conveyor: Conveyor) -> dict:
    """Learned from the first photos, judged on the next ones."""

    def photo(index: int) -> np.ndarray:
        return products.render(product, index, conveyor=conveyor)[0]

    learned = learn_alignment((photo(index) for index in range(LEARNED)), scale=conveyor.scale > 0)
    axis = np.linspace(-1, 1, 7) * PRODUCTS[product]
    part = np.array([(x, y) for x in axis for y in axis])
    places, reasons = [], []
    for index in range(LEARNED, LEARNED + JUDGED):
        try:
            placement = learned.locate_or_raise(photo(index))
        except NotLocated as error:
            reasons.append(str(error))
            continue
        pose = products.pose(product, index, conveyor=conveyor)
        points = np.array([pose.place(*point) for point in part]) / pose.field * products.SIZE + (products.SIZE - 1) / 2
        places.append([placement.to_reference(tuple(point)) for point in points])
    off = np.linalg.norm(places - _common(part, np.mean(places, axis=0)), axis=2).mean(axis=1) * 256 / products.SIZE
    return {
        "photos": JUDGED,
        "not_located": reasons,
        "median_px_at_256": float(np.median(off)),
        "p99_px_at_256": float(np.percentile(off, 99)),
        "largest_px_at_256": float(off.max()),
        "time": _times(learned, photo(LEARNED)),
    }


def located(product: str, other: str, conveyor: Conveyor) -> dict:
    """Of each kind of photo, those there are and those that are located."""

    def photos(indices: range, conveyor: Conveyor = conveyor, **kind: str) -> list[np.ndarray]:
        return [products.render(product, index, conveyor=conveyor, **kind)[0] for index in indices]

    learned = learn_alignment(photos(range(FEW)), scale=conveyor.scale > 0)
    still = learn_alignment(photos(range(FEW), STILL))
    good, strange = photos(range(FEW, FEW + 23)), photos(range(FEW, FEW + 10))
    cut = (
        photos(range(100, 160), defect=CUT)
        if product == "flange"
        else [_covered(*numbered) for numbered in enumerate(good)]
    )
    others = [products.render(name, index, conveyor=conveyor)[0] for name in (other, "linen") for index in range(10)]
    kinds = {
        "good": (learned, good),
        "with a piece missing": (learned, cut),
        "learned still, moved": (still, photos(range(FEW, FEW + 20), MOVED)),
        "mirrored": (learned, [photo[:, ::-1].copy() for photo in strange]),
        "half out": (learned, [_half_out(photo) for photo in strange]),
        "empty": (learned, [cv2.resize(photo[:40, :40], (products.SIZE,) * 2) for photo in strange]),
        "another product": (learned, others),
        "upside down": (learned, [photo[::-1, ::-1].copy() for photo in strange]),
    }
    return {
        kind: {"photos": len(shown), "located": sum(alignment.locate(photo) is not None for photo in shown)}
        for kind, (alignment, shown) in kinds.items()
    }


def _half_out(photo: np.ndarray) -> np.ndarray:
    """The photo moved right by half of its width, its left edge repeated."""
    half = products.SIZE // 2
    return np.concatenate([np.repeat(photo[:, :1], half, axis=1), photo[:, :-half]], axis=1)


def _covered(seed: int, photo: np.ndarray) -> np.ndarray:
    """The photo with a side dark, up to three fifths of it."""
    rng = np.random.default_rng(seed)
    heading = rng.uniform(0, 2 * np.pi)
    y, x = np.mgrid[: products.SIZE, : products.SIZE] - products.SIZE / 2
    covered = x * np.cos(heading) + y * np.sin(heading) > rng.uniform(-20, 90)
    return np.where(covered[..., None], rng.integers(30, 60, (*covered.shape, 1), np.uint8), photo)


def _common(part: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The part's points under the pose, shift, turn and one scale, that fits these places best."""
    a, b = ((points - points.mean(axis=0)) @ [1, 1j] for points in (part, places))
    fitted = a * np.vdot(a, b) / np.vdot(a, a).real
    return np.column_stack([fitted.real, fitted.imag]) + places.mean(axis=0)


def _times(learned: Alignment, photo: np.ndarray) -> dict:
    """One core: a photo of 1 megapixel located, and warped to the network's size."""
    large = cv2.resize(photo, (1024, 1024), interpolation=cv2.INTER_CUBIC)
    located = learned.locate(large)
    if located is None:
        raise ValueError("the enlarged photo is not located")
    return {
        "locate": timed(lambda: learned.locate(large), repeats=30),
        "warp": timed(lambda: located.squash(large, (GRID, GRID)), repeats=30),
    }


def figures(folder: Path, store: FeatureStore, alignment: Alignment | None) -> dict:
    """The localized detector at its defaults."""
    backbone, taps = with_taps(("mahalanobis",), "efficientnet_lite0")
    study = Study.from_photos(
        split(scan(folder), seed=0, blind=True), backbone, store, taps=taps, alignment=alignment
    ).fit()
    evaluation = evaluate_photos(study.scored, study.default_limits(), truth_masks(study.scored))
    return {
        "image_auroc": evaluation.image_auroc, "pixel_auroc": evaluation.pixel_auroc, "aupro": evaluation.aupro,
        "not_located": len(study.not_located),
    }  # fmt: skip


def worth(product: str, folder: Path) -> dict:
    """By how the parts lie, as they are and aligned."""
    store = FeatureStore(folder / "store", limit=2**32)
    results = {}
    for name, conveyor in MOVES.items():
        products.write(folder / name, products=(product,), conveyor=conveyor)
        photos = folder / name / f"{product}{products.MOVED}"
        good = split(scan(photos), seed=0, blind=True).train
        learned = learn_alignment((read(sample.path).pixels for sample in good), scale=conveyor.scale > 0)
        results[name] = {"as it is": figures(photos, store, None), "aligned": figures(photos, store, learned)}
        results[name]["inspected"] = float(learned.coverage_mask.mean())
    return results


def main() -> None:
    asked = parser("alignment", __doc__)
    asked.add_argument("--without-worth", action="store_true", help="keep those figures as they are")
    options = asked.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    cv2.setNumThreads(1)
    result = kept(options.name)
    for product in PRODUCTS:
        other = next(name for name in PRODUCTS if name != product)
        result[product] = result.get(product, {}) | {
            name: error(product, MOVES[name]) | {"located": located(product, other, MOVES[name])}
            for name in ("rigid", "similarity")
        }
        if not options.without_worth:
            with tempfile.TemporaryDirectory(prefix="loupe-alignment-") as folder:
                result[product]["worth"] = worth(product, Path(folder))
        write(options.name, result)


if __name__ == "__main__":
    main()
