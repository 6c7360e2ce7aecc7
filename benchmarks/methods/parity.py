"""The line against the app: every detector exported from every product, and every photo of it inspected by both.

`python -m benchmarks.methods.parity [NAME=FOLDER ...] [--detectors a,b] --store DIR` writes
benchmarks/results/parity.json; without a folder it takes the sample parts. Other results there are kept.
"""

import argparse
import json
import sys
import tempfile
import warnings
from pathlib import Path

from benchmarks.measure import RESULTS, machine, write
from inspect_core.features.store import Store
from inspect_core.images.folders import scan
from inspect_core.methods.table import METHODS, methods_of
from inspect_core.records.onnx_export import export
from inspect_core.study.study import Study
from inspect_core.tuning.comparison import DEFAULT
from inspect_core.view import with_taps

SAMPLES = Path(__file__).resolve().parents[2] / "sample_data"
DETECTORS = (*METHODS, DEFAULT)


def figures(folder: Path, detector: str, store: Store) -> dict:
    """Photos, flips and the largest difference of a score, beside the largest allowed."""
    samples = scan(folder)
    backbone, taps = with_taps(methods_of(detector), "efficientnet_lite0", device="cpu")
    recipe = Study(samples, backbone, store, method=detector, taps=taps).fit().recipe()
    with tempfile.TemporaryDirectory(prefix="loupe-parity-") as place:
        photos = [sample.path for sample in (*samples.good, *samples.defects)]
        parity = export(recipe, Path(place) / "line", check_images=photos)
    return {
        "photos": len(parity.table),
        "flips": parity.flips,
        "largest_difference": parity.largest_difference,
        "allowed": parity.allowed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="NAME=FOLDER")
    parser.add_argument("--detectors", default=",".join(DETECTORS))
    parser.add_argument("--store", type=Path, required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    given = [pair.split("=", 1) for pair in options.folders]
    products = {name: Path(folder) for name, folder in given} or {path.name: path for path in SAMPLES.glob("*/")}
    kept = RESULTS / "parity.json"
    found = json.loads(kept.read_text())["figures"] if kept.exists() else {}
    for name, folder in products.items():
        for detector in options.detectors.split(","):
            figure = figures(folder, detector, Store(options.store))
            found.setdefault(name, {})[detector] = figure
            print(name, detector, figure, file=sys.stderr, flush=True)
            write("parity", found, measured_on=machine())


if __name__ == "__main__":
    main()
