"""Quadrics on real features: robust against algebraic fits when some of the good photos to learn from show defects.

python -m benchmarks.methods.quadric_products [FOLDER] [--name NAME]
A share of the photos to fit is defects taken from the judge photos, which they leave; every fit is judged on the same
others, which are left when the largest share is taken. The sample parts without a folder, which is in MVTec AD layout.
"""

import argparse
import itertools
import time
import warnings
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.measure import write
from benchmarks.methods.comparison import SAMPLES
from inspect_core.detectors import quadrics
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.store import Store
from inspect_core.images.folders import Split, scan, split
from inspect_core.methods.method import Patches
from inspect_core.methods.table import METHODS
from inspect_core.runtime import workspace
from inspect_core.study.evaluation import evaluate
from inspect_core.study.judged import truth_masks
from inspect_core.study.study import Study

FRACTIONS = (0.0, 0.02, 0.05)
M, COMPONENTS, PATCHES = 100, 48, 16_384


def robust(patches: Patches, columns, seed: int, parameters) -> quadrics.Quadrics:
    return quadrics.fit(patches.sample(PATCHES), m=M, components=COMPONENTS, seed=seed)


def algebraic(patches: Patches, columns, seed: int, parameters) -> quadrics.Quadrics:
    return quadrics.fit_algebraic_hs(patches.sample(PATCHES), m=M, components=COMPONENTS)


FITS = {"d2": robust, "algebraic, HS": algebraic}


def contaminated(photos: Split, fraction: float, *, seed: int = 0) -> Split:
    """The split with `share` of the photos to fit replaced by defects; judge photos are the same at every share."""
    defects = [sample for sample in photos.judge if sample.kind != "good"]
    order = np.random.default_rng(seed).permutation(len(defects))
    most, count = (max(round(s * len(photos.fit)), s > 0) for s in (max(FRACTIONS), fraction))
    taken = [defects[i] for i in order[:most]]
    fit = (*photos.fit[count:], *taken[:count])
    return Split(fit, photos.calibrate, tuple(sample for sample in photos.judge if sample not in taken))


def table(folder: Path, backbone: Backbone, store: Store) -> list[dict]:
    """A row for every share and fit."""
    photos, rows, masks = split(scan(folder), seed=0), [], None
    for fraction, (title, fit) in itertools.product(FRACTIONS, FITS.items()):
        with patch.dict(METHODS, {"quadrics": replace(METHODS["quadrics"], fit=fit)}):
            study = Study(contaminated(photos, fraction), backbone, store, method="quadrics").extract()
            began = time.perf_counter()
            study.fit()
            seconds = time.perf_counter() - began
        masks = masks or truth_masks(study.scored)
        found = evaluate(study, study.default_limits(**study.live), masks, **study.live)
        row = {"product": folder.name, "contamination": fraction, "fit": title}
        row |= {"image_auroc": found.image_auroc, "pixel_auroc": found.pixel_auroc, "aupro": found.aupro}
        rows.append(row | {"fit_and_score_s": seconds, "kept_variance": study.scored.views[0].detector.kept_variance})
        print(*(f"{value:.3f}" if isinstance(value, float) else value for value in rows[-1].values()), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--name", default="quadric_products", help="of the file of results")
    options = parser.parse_args()
    # Penalties and few photos are expected here, and the figures show what they do.
    warnings.simplefilter("ignore", UserWarning)
    folders = [options.folder] if options.folder else sorted(path for path in SAMPLES.iterdir() if path.is_dir())
    backbone, store = load("efficientnet_lite0"), Store(workspace.features_folder(), limit=workspace.FEATURE_BYTES)
    rows = [row for folder in folders for row in table(folder, backbone, store)]
    write(options.name, {"m": M, "components": COMPONENTS, "rows": rows})


if __name__ == "__main__":
    main()
