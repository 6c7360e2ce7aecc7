"""The exported recipe at the line: its graph against the backbone alone in the same ONNX Runtime, and its cold start.

One photo of 256 px on a 32 x 32 grid, two threads. Each run of a graph is followed by one of the backbone up to the
same taps, so both find the same machine; the ratio is taken pair by pair. The cold start is a fresh process from its
first import to a runner whose golden images agree; a whole verdict is from pixels to regions.
"""

import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.main_job.setting import SAMPLE, Setting, network, sample, taught
from benchmarks.measure import Stopwatch, spread
from inspect_core.features.store import Store
from inspect_core.images.read import read, squash
from inspect_core.methods.table import METHODS
from inspect_core.recipe import Recipe, inspect
from inspect_core.records import line_network
from inspect_core.records.check_photos import find_photos
from inspect_core.records.onnx_export import export
from inspect_core.runner import Runner
from inspect_core.runtime.graph import IMAGES, session_of
from inspect_core.study.study import Study
from inspect_core.tuning.comparison import DEFAULT
from inspect_core.view import with_taps

START = (
    "import sys, time\n"
    "from inspect_core.runner import Runner\n"
    "Runner(sys.argv[1])\n"
)  # fmt: skip


def figures(setting: Setting) -> dict:
    """Of each detector the ratio to the backbone and the largest difference of a score; the cold start."""
    found: dict = {}
    with tempfile.TemporaryDirectory(prefix="loupe-line-") as folder:
        for name in (*METHODS, DEFAULT):
            recipe = _recipe(setting, name, Store(Path(folder) / "store"))
            path = Path(folder) / f"{name}.zip"
            parity = export(recipe, path, check_images=find_photos(recipe, SAMPLE).paths)
            found[name] = _against_backbone(setting, recipe, name) | {
                "photos": len(parity.table),
                "flips": parity.flips,
                "largest_difference": parity.largest_difference,
                "allowed": parity.allowed,
                "model_mb": len(line_network.exported(recipe, _backbone(setting, name)[0])) / 1e6,
            }
            if name == "mahalanobis":
                few = replace(recipe, live=recipe.live | {"k": min(20, setting.k)})
                found["mahalanobis at k = 20"] = _against_backbone(setting, few, name)
            if name == DEFAULT:
                found[name] |= _verdicts(setting, recipe, path) | {"cold_start": _cold_start(setting, path)}
    return found


def _backbone(setting: Setting, name: str):
    return with_taps(name.split("+"), network(setting).name, size=setting.size, device="cpu")


def _recipe(setting: Setting, name: str, store: Store) -> Recipe:
    backbone, taps = _backbone(setting, name)
    given = {"k": setting.k} if "mahalanobis" in name else {}
    side = setting.sides[0]
    return (
        Study(taught(setting), backbone, store, method=name, taps=taps, parameters=given, grid=(side, side))
        .fit()
        .recipe()
    )


def _against_backbone(setting: Setting, recipe: Recipe, name: str) -> dict:
    backbone, _ = _backbone(setting, name)
    image = squash(read(sample().good[0].path).pixels, setting.size)[None]
    session = session_of(line_network.exported(recipe, backbone), threads=2)
    watch = Stopwatch()
    for _ in range(setting.repeats + 2):
        watch.start()
        session.run(None, {IMAGES: image})
        watch.lap("graph")
        backbone.tap_maps(image)
        watch.lap("backbone")
    took = {part: np.array(values[2:]) for part, values in watch.took.items()}
    return {
        "graph": spread(took["graph"].tolist(), "ms"),
        "backbone": spread(took["backbone"].tolist(), "ms"),
        "graph_to_backbone": spread((took["graph"] / took["backbone"]).tolist(), "ratio"),
    }


def _verdicts(setting: Setting, recipe: Recipe, path: Path) -> dict:
    """Pixels to verdict: in the runner and in the app, one photo at a time."""
    runner, backbone = Runner(path), _backbone(setting, recipe.method)[0]
    pixels = [read(photo.path).pixels for photo in taught(setting).judge]
    watch = Stopwatch()
    for number in range(setting.repeats + 2):
        image = pixels[number % len(pixels)]
        watch.start()
        runner.inspect(image)
        watch.lap("runner")
        inspect(image, recipe, backbone=backbone)
        watch.lap("app")
    return {f"verdict_in_{part}": spread(values[2:], "ms") for part, values in watch.took.items()}


def _cold_start(setting: Setting, path: Path) -> dict:
    watch = Stopwatch()
    for _ in range(setting.runs):
        watch.start()
        subprocess.run([sys.executable, "-c", START, path], check=True)
        watch.lap("start")
    return spread(watch.took["start"], "ms")
