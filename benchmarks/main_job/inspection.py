"""One image from file to verdict, step by step and as a whole, with localized Mahalanobis on two grids.

The steps follow each other as in use, one photo after the other, so each finds the caches as the step before left
them. The backbone is also timed alone, right after a run of itself: that quicker figure is what the ratios divide by.
What the patches take beyond it, distances, map and score count as detector and map. The whole is a verdict as users
get it, with a product check, and with defect types of the whole part or by region, for good and defective photos in
turn. Last, what the methods of each candidate for a new folder take for a photo, without the network: what
`tuning.shortlist.forecast_ms` forecasts.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.main_job.setting import BACKBONE, Setting, sample, study, taught, with_head
from benchmarks.measure import Stopwatch, machine, spread
from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import embed
from inspect_core.features.patch_join import PatchJoin
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read, squash
from inspect_core.methods.fitted_method import joined_errors, with_taps
from inspect_core.methods.registry import CANDIDATES, methods_in, methods_of
from inspect_core.recipe import Recipe, inspect
from inspect_core.runtime.threads import cores
from inspect_core.scoring.anomaly_map import AREA, SIGMA, image_score, regions, to_pixels
from inspect_core.study.study import Study
from inspect_core.tuning.product_check_training import train_product_check
from inspect_core.whole_part import defect_type_training

WITH_BACKBONE = ("patches", "detector", "map")
WHOLES = {"file_to_verdict": False, "file_to_verdict_by_region": True}
"""Name of a figure -> whether the defect types are by region."""


def figures(setting: Setting) -> dict:
    """Milliseconds of each step and of the whole, and the ratios to the backbone, on each grid."""
    backbone = with_head(setting)
    photos = taught(setting)
    product_check = train_product_check(backbone, photos.train, photos.calibration)
    paths = _in_turn(photos.test)
    defects = sample().defects
    types = defect_type_training.fit(
        np.stack([embed(read(photo.path).pixels, backbone) for photo in defects]), [p.label for p in defects]
    ).defect_types
    results = {"engine": backbone.engine, "threads": cores(), "k": setting.k}
    for side in setting.sides:
        with tempfile.TemporaryDirectory(prefix="loupe-features-") as folder:
            recipe = (
                study(setting, photos, side, FeatureStore(folder))
                .fit()
                .recipe(product_check=product_check, defect_types=types)
            )
        results[f"{side}x{side}"] = on_grid(recipe, backbone, paths, setting.repeats)
    return results | {"candidates": candidates(setting)}


def candidates(setting: Setting) -> dict:
    """Milliseconds a photo of the methods of each of CANDIDATES, fitted to the sample part; threads: those that share a
    sum. They take turns, so that each finds the machine quiet at some time.
    """
    methods = methods_in(CANDIDATES)
    side = setting.sides[0]
    watch = Stopwatch()
    backbone, taps = with_taps(methods, BACKBONE, size=setting.size, device="cpu")
    results = {"measured_on": machine(), "threads": torch.get_num_threads()}
    photos = taught(setting)
    with tempfile.TemporaryDirectory(prefix="loupe-features-") as folder:
        fitted = Study.from_photos(
            photos, backbone, FeatureStore(folder), method=methods, taps=taps, grid=(side, side)
        ).fit()
        views = fitted.scored.views
        photo_features = [fitted.extractor.features(read(path).pixels) for path in _in_turn(photos.test)[:4]]
    for number in range(setting.repeats + 2):
        features = photo_features[number % len(photo_features)]
        for name in CANDIDATES:
            which = [methods.index(method) for method in methods_of(name)]
            watch.start()
            for i in which:
                views[i].errors([features[i]], views[i].start)
            watch.lap(name)
    return results | {f"{side}x{side}": {name: spread(values[2:], "ms") for name, values in watch.took.items()}}


def on_grid(recipe: Recipe, backbone: Backbone, paths: list, repeats: int) -> dict:
    """`repeats` photos, after two that are not counted."""
    watch, whole = Stopwatch(), Stopwatch()
    wholes = {
        name: replace(recipe, defect_types=replace(recipe.defect_types, by_region=by_region))
        for name, by_region in WHOLES.items()
    }
    for number in range(repeats + 2):
        path = paths[number % len(paths)]
        _one_photo(path, recipe, backbone, watch)
        for name, complete in wholes.items():
            whole.start()
            inspect(read(path).pixels, complete, backbone=backbone)
            whole.lap(name)
    timings = {name: values[2:] for name, values in {**watch.took, **whole.took}.items()}
    after = np.sum([timings[name] for name in WITH_BACKBONE], axis=0) - timings["backbone_alone"]
    return {name: spread(values, "ms") for name, values in timings.items()} | {
        "detector_and_map": spread(after.tolist(), "ms"),
        "detector_and_map_to_backbone": _to_backbone(after, timings),
        **{f"{name}_to_backbone": _to_backbone(timings[name], timings) for name in WHOLES},
    }


def _to_backbone(values, timings: dict[str, list[float]]) -> dict[str, float]:
    return spread((np.asarray(values) / timings["backbone_alone"]).tolist(), "ratio")


def _in_turn(photos: tuple) -> list[Path]:
    """Paths of good and defective photos, one after the other, as many of each."""
    good, defects = (
        [photo.path for photo in photos if (photo.label != "good") == defective] for defective in (False, True)
    )
    return [path for pair in zip(good, defects, strict=False) for path in pair]


def _one_photo(path, recipe: Recipe, backbone: Backbone, watch: Stopwatch) -> None:
    (spec,) = (view.spec for view in recipe.views)
    area = recipe.live_values[AREA]
    join = PatchJoin((spec,), recipe.grid, recipe.nearest_upsampling)
    watch.start()
    pixels = read(path).pixels
    watch.lap("decode")
    image = squash(pixels, backbone.size)[None]
    watch.lap("resize")
    [patches] = backbone.run(image, join)
    watch.lap("patches")
    [grid_scores] = joined_errors(recipe.views, [[patches]], recipe.live_values)
    watch.lap("detector")
    pixel_map = to_pixels(grid_scores, recipe.backbone.size, sigma=SIGMA)
    image_score(pixel_map, area=area)
    watch.lap("map")
    regions(pixel_map, recipe.limits.review, area=area)
    watch.lap("regions")
    backbone.tap_maps(image)
    watch.start()
    backbone.tap_maps(image)
    watch.lap("backbone_alone")
