"""Alignment on parts as a conveyor brings them: error against exact poses, time on one core, and what it is worth:
python -m benchmarks.methods.alignment

Error: mean distance over the part between where a photo puts it on the reference and where it must lie, in pixels at
256, on photos that were not learned from. The reference's own pose is free, so that one pose common to all photos is
fitted first. Worth: the localized detector on the same parts lying still, moved, and moved and aligned.
"""

import tempfile
import warnings
from pathlib import Path

import cv2
import numpy as np

from benchmarks.measure import parser, timed, write
from inspect_core.features.store import Store
from inspect_core.images.alignment import Alignment, NotLocated, learn
from inspect_core.images.folders import scan, split
from inspect_core.images.read import read
from inspect_core.images.synthetic import products
from inspect_core.images.synthetic.conveyor import RIGID, SCALED, Conveyor
from inspect_core.study.evaluation import evaluate
from inspect_core.study.judged import truth_masks
from inspect_core.study.study import Study
from inspect_core.view import with_taps

PRODUCTS = {"flange": 38.0, "board": 25.0}
"""Half of the side of the part in mm."""
LEARNED, JUDGED = 40, 100
STILL = Conveyor(shift=0, turn=0)
MOVES = {"still": STILL, "rigid": RIGID, "similarity": SCALED}
GRID = 256


def error(product: str, conveyor: Conveyor) -> dict:
    """Learned from the first photos, judged on the next ones."""

    def photo(index: int) -> np.ndarray:
        return products.render(product, index, conveyor=conveyor)[0]

    learned = learn((photo(index) for index in range(LEARNED)), scale=conveyor.scale > 0)
    axis = np.linspace(-1, 1, 7) * PRODUCTS[product]
    part = np.array([(x, y) for x in axis for y in axis])
    places, reasons = [], []
    for index in range(LEARNED, LEARNED + JUDGED):
        try:
            found = learned.look(photo(index))
        except NotLocated as error:
            reasons.append(str(error))
            continue
        pose = products.pose(product, index, conveyor=conveyor)
        seen = np.array([pose.place(*point) for point in part]) / pose.field * products.SIZE + (products.SIZE - 1) / 2
        places.append([found.to_reference(tuple(point)) for point in seen])
    off = np.linalg.norm(places - _common(part, np.mean(places, axis=0)), axis=2).mean(axis=1) * 256 / products.SIZE
    return {
        "photos": JUDGED,
        "not_located": reasons,
        "median_px_at_256": float(np.median(off)),
        "p99_px_at_256": float(np.percentile(off, 99)),
        "largest_px_at_256": float(off.max()),
        "time": _times(learned, photo(LEARNED)),
    }


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


def figures(folder: Path, store: Store, alignment: Alignment | None) -> dict:
    """The localized detector at its defaults."""
    backbone, taps = with_taps(("mahalanobis",), "efficientnet_lite0")
    study = Study(split(scan(folder), seed=0, blind=True), backbone, store, taps=taps, alignment=alignment).fit()
    found = evaluate(study, study.default_limits(), truth_masks(study.results))
    return {
        "image_auroc": found.image_auroc, "pixel_auroc": found.pixel_auroc, "aupro": found.aupro,
        "not_located": len(study.lost),
    }  # fmt: skip


def worth(product: str, folder: Path) -> dict:
    """By how the parts lie, as they are and aligned."""
    store, found = Store(folder / "store", limit=2**32), {}
    for name, conveyor in MOVES.items():
        products.write(folder / name, products=(product,), conveyor=conveyor)
        photos = folder / name / f"{product}{products.MOVED}"
        good = split(scan(photos), seed=0, blind=True).fit
        learned = learn((read(sample.path).pixels for sample in good), scale=conveyor.scale > 0)
        found[name] = {"as it is": figures(photos, store, None), "aligned": figures(photos, store, learned)}
        found[name]["inspected"] = float(learned.always.mean())
    return found


def main() -> None:
    asked = parser("alignment", __doc__)
    asked.add_argument("--without-worth", action="store_true", help="error and time alone")
    options = asked.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    cv2.setNumThreads(1)
    result: dict = {}
    for product in PRODUCTS:
        result[product] = {name: error(product, MOVES[name]) for name in ("rigid", "similarity")}
        if not options.without_worth:
            with tempfile.TemporaryDirectory(prefix="loupe-alignment-") as folder:
                result[product]["worth"] = worth(product, Path(folder))
        write(options.name, result)


if __name__ == "__main__":
    main()
