"""The exported recipe at the line: its graph against the backbone alone in the same ONNX Runtime, and its cold start.

One photo of 256 px on a 32 x 32 grid, two threads. Each run of a graph is followed by one of the backbone up to the
same taps, so both find the same machine; the ratio is taken pair by pair, as is that of a whole verdict, from pixels to
regions. The cold start is a fresh process from its first import to a runner whose golden images agree.
"""

import subprocess
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.main_job.setting import BACKBONE, FULL, sample, taught
from benchmarks.measure import Stopwatch, machine, parser, spread, write
from inspect_core.features.backbones import Backbone
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read, squash
from inspect_core.methods.fitted_method import with_taps
from inspect_core.methods.registry import FITTED, LOOSE, methods_of
from inspect_core.recipe import Recipe, inspect
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_io import line_network
from inspect_core.recipe_io.onnx_export import export
from inspect_core.recipe_io.parity_photos import find_photos
from inspect_core.runner import Runner
from inspect_core.runtime.graph import IMAGES, session_of
from inspect_core.study.study import Study

START = "import sys; from inspect_core.runner import Runner; Runner(sys.argv[1])"


def figures() -> dict:
    """Of each detector the ratio to the backbone and the largest difference of a score; the cold start."""
    results: dict = {}
    with tempfile.TemporaryDirectory(prefix="loupe-line-") as folder:
        for name in (*FITTED, LOOSE):
            backbone, taps = with_taps(methods_of(name), BACKBONE, size=FULL.size, device="cpu")
            study = Study.from_photos(
                taught(FULL), backbone, FeatureStore(Path(folder) / "store"), method=name, taps=taps
            ).fit()
            recipe = study.recipe()
            path = Path(folder) / name
            parity = export(recipe, path, check_images=find_photos(recipe).paths)
            graph = (path / recipe_package.MODEL).read_bytes()
            results[name] = _against_backbone(backbone, graph) | {
                "photos": len(parity.table),
                "flips": parity.flips,
                "largest_difference": parity.largest_difference,
                "allowed": parity.allowed,
            }
            if name == "mahalanobis":
                few = line_network.export_graphs(replace(recipe, live_values=recipe.live_values | {"k": 20}), backbone)[
                    recipe_package.MODEL
                ]
                results["mahalanobis at k = 20"] = _against_backbone(backbone, few)
            if name in {"mahalanobis", LOOSE}:
                results[name] |= _verdicts(recipe, backbone, path)
            if name == LOOSE:
                results[name] |= {"cold_start": _cold_start(path)}
            print(name, results[name], file=sys.stderr, flush=True)
    return results


def _against_backbone(backbone: Backbone, graph: bytes) -> dict:
    image = squash(read(sample().good[0].path).pixels, FULL.size)[None]
    session = session_of(graph, threads=2)
    watch = Stopwatch()
    for _ in range(FULL.repeats + 2):
        watch.start()
        session.run(None, {IMAGES: image})
        watch.lap("graph")
        backbone.tap_maps(image)
        watch.lap("backbone")
    timings = {part: np.array(values[2:]) for part, values in watch.took.items()}
    return {
        "model_mb": len(graph) / 1e6,
        "graph": spread(timings["graph"].tolist(), "ms"),
        "backbone": spread(timings["backbone"].tolist(), "ms"),
        "graph_to_backbone": spread((timings["graph"] / timings["backbone"]).tolist(), "ratio"),
    }


def _verdicts(recipe: Recipe, backbone: Backbone, path: Path) -> dict:
    """Pixels to verdict: in the runner and in the app, one photo at a time, each followed by the network alone."""
    runner = Runner(path)
    pixels = [read(photo.path).pixels for photo in taught(FULL).test]
    watch = Stopwatch()
    for number in range(FULL.repeats + 2):
        image = pixels[number % len(pixels)]
        watch.start()
        runner.inspect(image)
        watch.lap("runner")
        inspect(image, recipe, backbone=backbone)
        watch.lap("app")
        backbone.tap_maps(squash(image, FULL.size)[None])
        watch.lap("network")
    timings = {part: np.array(values[2:]) for part, values in watch.took.items()}
    parts = ("app", "runner")
    verdicts = {f"verdict_in_{part}": spread(timings[part].tolist(), "ms") for part in parts}
    return verdicts | {
        f"verdict_in_{part}_to_backbone": spread((timings[part] / timings["network"]).tolist(), "ratio")
        for part in parts
    }


def _cold_start(path: Path) -> dict:
    watch = Stopwatch()
    for _ in range(FULL.runs):
        watch.start()
        subprocess.run([sys.executable, "-c", START, path], check=True)
        watch.lap("start")
    return spread(watch.took["start"], "ms")


def main() -> None:
    name = parser("line", __doc__).parse_args().name
    on = machine()
    warnings.simplefilter("ignore", UserWarning)
    write(name, figures(), measured_on=on)


if __name__ == "__main__":
    main()
