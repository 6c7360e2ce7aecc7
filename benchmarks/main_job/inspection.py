"""One image from file to verdict, step by step and as a whole, with localized Mahalanobis on two grids.

The steps follow each other as in use, one photo after the other, so each finds the caches as the step before left
them. The backbone is also timed alone, right after a run of itself: that quicker figure is what the ratio divides by.
Everything from the patch grid on counts as detector and map: projection, distances, map, score.
"""

import tempfile

import numpy as np
import torch

from benchmarks.main_job.setting import Setting, network, study, taught
from benchmarks.measure import Stopwatch, spread
from inspect_core.features.backbones import Backbone
from inspect_core.features.patch_grid import join
from inspect_core.features.store import Store
from inspect_core.images.read import read, squash
from inspect_core.judge.anomaly_map import SIGMA, image_score, regions, to_pixels
from inspect_core.recipe import Recipe, inspect, map_patches

AFTER_BACKBONE = ("grid", "detector", "map")


def figures(setting: Setting) -> dict:
    """Milliseconds of each step and of the whole, and the ratio to the backbone, on each grid."""
    backbone, photos = network(setting), taught(setting)
    found = {"engine": backbone.engine, "threads": torch.get_num_threads(), "k": setting.k}
    for side in setting.sides:
        with tempfile.TemporaryDirectory(prefix="loupe-features-") as folder:
            recipe = study(setting, photos, side, Store(folder)).fit().recipe()
        found[f"{side}x{side}"] = on_grid(recipe, backbone, [photo.path for photo in photos.judge], setting.repeats)
    return found


def on_grid(recipe: Recipe, backbone: Backbone, paths: list, repeats: int) -> dict:
    """`repeats` photos, after two that are not counted."""
    columns = torch.from_numpy(recipe.projection)
    watch, whole = Stopwatch(), Stopwatch()
    for number in range(repeats + 2):
        path = paths[number % len(paths)]
        _one_photo(path, recipe, backbone, columns, watch)
        whole.start()
        inspect(read(path).pixels, recipe, backbone=backbone)
        whole.lap("file_to_verdict")
    took = {name: values[2:] for name, values in {**watch.took, **whole.took}.items()}
    after = np.sum([took[name] for name in AFTER_BACKBONE], axis=0)
    return {name: spread(values, "ms") for name, values in took.items()} | {
        "detector_and_map": spread(after.tolist(), "ms"),
        "detector_and_map_to_backbone": spread((after / took["backbone_alone"]).tolist(), "ratio"),
    }


def _one_photo(path, recipe: Recipe, backbone: Backbone, columns: torch.Tensor, watch: Stopwatch) -> None:
    watch.start()
    pixels = read(path).pixels
    watch.lap("decode")
    image = squash(pixels, backbone.size)[None]
    watch.lap("resize")
    maps = backbone.tap_maps(image)
    watch.lap("backbone")
    patches = join(maps, grid=recipe.grid, projection=columns, pool=recipe.pool, nearest=recipe.nearest)
    watch.lap("grid")
    grid_scores = map_patches(recipe.method, recipe.detector, patches, recipe.live)
    watch.lap("detector")
    pixel_map = to_pixels(grid_scores, recipe.backbone.size, sigma=SIGMA)
    image_score(pixel_map)
    watch.lap("map")
    regions(pixel_map, recipe.limits.review)
    watch.lap("regions")
    backbone.tap_maps(image)
    watch.start()
    backbone.tap_maps(image)
    watch.lap("backbone_alone")
