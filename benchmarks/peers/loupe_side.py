"""One way of teaching Loupe, taught and run as by `fit` and `inspect`: `python loupe_side.py ORDER.json`.

A process of its own, that `race` calls, so that its memory is its own. Writes figures and maps where told.
"""

import json
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import own_peak_mb
from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import split_to_teach
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.recipe import LoadedRecipe, loaded_backbone
from inspect_core.recipe_io import recipe_file
from inspect_core.recipe_io.onnx_export import export
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.teaching import teach
from inspect_core.whole_part.product_check import OFF


def race(order: dict) -> None:
    """Teach on train/good as a user would, judge test/ one photo after the other."""
    warnings.simplefilter("ignore")
    scratch = Path(order["scratch"])
    samples = scan(Path(order["folder"]))
    photos = replace(split_to_teach(samples, blind=True), test=())  # nobody judges while it learns
    asked = TeachingConfig("race", photos, size=tuple(order["size"]), method=order["detector"], product_check=OFF)
    if not order["tolerances"]:
        asked = replace(asked, tolerances=None)
    started = time.perf_counter()
    product = teach(asked, FeatureStore(scratch / "features"), lambda fraction, words: None)
    study = product.study
    recipe = recipe_file.save(study.recipe(study.default_limits(), product="race", **study.live), scratch / "recipe")
    fitted = time.perf_counter()
    inspector = LoadedRecipe(recipe, loaded_backbone(recipe.backbone))
    test = [sample for sample in (*samples.good, *samples.defects) if sample.split_side == "test"]
    verdicts = [inspector.inspect(read(sample.path).pixels) for sample in test]
    scored = time.perf_counter()
    names = [sample.name.removeprefix("test/") for sample in test]
    maps = np.stack([verdict.anomaly_map for verdict in verdicts])
    np.savez(order["maps"], names=names, scores=[verdict.score for verdict in verdicts], maps=maps)
    figures = {
        "fit_s": fitted - started,
        "photos_a_second": len(test) / (scored - fitted),
        "peak_mb": own_peak_mb(),
        "model_mb": sum(file.stat().st_size for file in (scratch / "recipe").rglob("*")) / 1e6,
        "review": recipe.limits.review,
    }
    Path(order["figures"]).write_text(json.dumps(figures))
    if "line" in order:
        export(recipe, order["line"])


if __name__ == "__main__":
    race(json.loads(Path(sys.argv[1]).read_text()))
