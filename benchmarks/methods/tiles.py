"""What tiles find that the squashed photo does not show, and what they cost: python -m benchmarks.methods.tiles

On the panel of boards, photos of 12 megapixels with defects of 10 to 40 px: the localized detector on photos squashed
to the network's input, at 256 and at 512 px, and in tiles as proposed for defects of 20 px. Time: `inspect` on a photo
in memory, and from its file, against the sum over its tiles of network with patch grid, distances and map, each
measured on the same photo. Memory: peak of the process after learning from few photos, and from all.
"""

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import Stopwatch, kept, own_peak_mb, parser, spread, write
from inspect_core.datasets.folders import Split, scan, split
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.images.tiles import TilePlan, proposed
from inspect_core.methods.fitted_method import joined_errors, with_taps
from inspect_core.recipe import inspect
from inspect_core.runtime.json_record import to_table
from inspect_core.scoring.anomaly_map import SIGMA, to_pixels
from inspect_core.study.evaluation import evaluate_photos
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.study import FittedStudy, Study
from sample_data.make import panel

SMALLEST = 20
FEW = 4
REPEATS = 7
SQUASHED = {"squashed to 256": (256, (32, 32)), "squashed to 512": (512, (64, 64))}


def taught(
    photos: Split, store: FeatureStore, *, side: int = 256, grid=(32, 32), tiles: TilePlan | None = None
) -> FittedStudy:
    """The localized detector at its defaults."""
    backbone, taps = with_taps(("mahalanobis",), "efficientnet_lite0", size=(side, side))
    return Study.from_photos(photos, backbone, store, grid=grid, taps=taps, tiles=tiles).fit()


def figures(study: FittedStudy) -> dict:
    """How well good and defective panels are told apart, and where the defects are."""
    evaluation = evaluate_photos(study.scored, study.default_limits(), truth_masks(study.scored))
    counts = evaluation.counts
    return {
        "image_auroc": evaluation.image_auroc,
        "pixel_auroc": evaluation.pixel_auroc,
        "aupro": evaluation.aupro,
        "defects_missed": counts.defects_missed,
        "defects": counts.defects_total,
        "good_rejected_or_for_review": counts.good_rejected + counts.good_reviewed,
        "good": counts.good_total,
        "k": study.parameters[0]["k"],
    }


def times(study: FittedStudy, paths: list[Path]) -> dict:
    """Milliseconds of a verdict, of its steps by themselves, and of the whole over their sum."""
    extractor = study.extractor
    recipe = study.recipe()
    watch = Stopwatch()
    backbone, plan = extractor.backbone, extractor.tiles
    for path in paths:
        watch.start()
        pixels = read(path).pixels
        watch.lap("read")
        inspect(pixels, recipe, backbone=backbone)
        watch.lap("inspect")
        picture = extractor.network_input(pixels)
        watch.lap("squash")
        for tile in plan.tiles:
            backbone.run(plan.cut(picture, tile)[None], extractor.join)
        watch.lap("network")
        features = extractor.features(pixels)
        watch.start()
        [errors] = joined_errors(recipe.views, [features], recipe.live_values)
        watch.lap("detector")
        to_pixels(errors, recipe.map_size, sigma=SIGMA)
        watch.lap("map")
    timings = {name: np.array(values[1:]) for name, values in watch.took.items()}
    parts = timings["network"] + timings["detector"] + timings["map"]
    return {name: spread(values.tolist(), "ms") for name, values in timings.items()} | {
        "inspect_to_tiles": spread((timings["inspect"] / parts).tolist(), "ratio"),
        "file_to_verdict_to_tiles": spread(((timings["read"] + timings["inspect"]) / parts).tolist(), "ratio"),
    }


def main() -> None:
    asked = parser("tiles", __doc__)
    asked.add_argument("--folder", type=Path, help="where the panels are, or are written; else a temporary folder")
    asked.add_argument("--store", type=Path, help="folder for the features, else a temporary one")
    asked.add_argument("--only-time", action="store_true", help="measure time again, and keep the other figures")
    options = asked.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    with tempfile.TemporaryDirectory(prefix="loupe-tiles-") as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / panel.PRODUCT).exists():
            panel.write(folder)
        photos = split(scan(folder / panel.PRODUCT), seed=0)
        store = FeatureStore(options.store or Path(temporary) / "store", limit=2**34)
        plan = proposed((panel.HEIGHT, panel.WIDTH), SMALLEST)
        timed = [photo.path for photo in photos.test[: REPEATS + 1]]
        if options.only_time:
            write(options.name, kept(options.name) | {"time": times(taught(photos, store, tiles=plan), timed)})
            return
        few = replace(photos, train=photos.train[:FEW], calibration=photos.calibration[:FEW], test=photos.test[:FEW])
        taught(few, store, tiles=plan)
        memory = {f"after {3 * FEW} photos": own_peak_mb()}
        study = taught(photos, store, tiles=plan)
        shown = len(photos.train) + len(photos.calibration) + len(photos.test)
        memory[f"after {shown} photos"] = own_peak_mb()
        result = {
            "smallest_defect_px": SMALLEST,
            "plan": to_table(plan) | {"tiles": len(plan.tiles), "grid": list(plan.grid)},
            "peak_mb": memory,
            "found": {"in tiles": figures(study)},
            "time": times(study, timed),
        }
        for name, (side, grid) in SQUASHED.items():
            result["found"][name] = figures(taught(photos, store, side=side, grid=grid))
            write(options.name, result)


if __name__ == "__main__":
    main()
