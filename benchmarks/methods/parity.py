"""The line against the app: every detector exported from every product, and every photo of it inspected by both.

`python -m benchmarks.methods.parity [NAME=FOLDER ...] [--detectors a,b] --store DIR` writes
benchmarks/results/parity.json; without a folder it takes the sample parts. Other results there are kept.
"""

import sys
import tempfile
import warnings
from pathlib import Path

from benchmarks.measure import folder_parser, kept, sets, write
from inspect_core.datasets.folders import scan
from inspect_core.features.store import FeatureStore
from inspect_core.methods.fitted_method import with_taps
from inspect_core.methods.registry import FITTED, LOOSE, methods_of
from inspect_core.recipe_io.onnx_export import export
from inspect_core.study.study import Study

DETECTORS = (*FITTED, LOOSE)


def figures(folder: Path, detector: str, store: FeatureStore) -> dict:
    """Photos, flips and the largest difference of a score, beside the largest allowed."""
    samples = scan(folder)
    backbone, taps = with_taps(methods_of(detector), "efficientnet_lite0", device="cpu")
    recipe = Study.from_photos(samples, backbone, store, method=detector, taps=taps).fit().recipe()
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
    asked = folder_parser("parity", __doc__)
    asked.add_argument("--detectors", default=",".join(DETECTORS))
    options = asked.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    results = kept(options.name)
    for name, folder in sets(options.sets).items():
        for detector in options.detectors.split(","):
            figure = figures(folder, detector, FeatureStore(options.store))
            results.setdefault(name, {})[detector] = figure
            print(name, detector, figure, file=sys.stderr, flush=True)
            write(options.name, results)


if __name__ == "__main__":
    main()
