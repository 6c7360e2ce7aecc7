"""Whether scores tell that labels are the wrong way round, and find defects that lie among good photos.

Of each folder GOOD_PHOTOS good photos and DEFECTS defective ones are taught three times by the defaults: rightly
labelled, with good and defective exchanged, and with HIDDEN of the defects among the good ones. Kept are the AUROC of
known defects against good photos, what `tuning.label_check` says, and how many of the hidden ones it suspects.

python -m benchmarks.methods.label_check --store DIR [NAME=FOLDER ...]
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import figures_of_sets, folder_parser
from inspect_core.datasets.dataset import GOOD, Dataset, PhotoFile
from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import exchanged, split_to_teach
from inspect_core.features.store import FeatureStore
from inspect_core.runtime.progress import ignore_progress
from inspect_core.study.teaching_config import NO_ALIGNMENT, TeachingConfig
from inspect_core.tuning.label_check import check_labels
from inspect_core.tuning.teaching import teach
from inspect_core.whole_part.product_check import OFF

GOOD_PHOTOS, DEFECTS, HIDDEN = 40, 24, 3
RIGHT, EXCHANGED, MIXED = "right", "exchanged", "a tenth hidden"


def of_set(folder: Path, store: FeatureStore) -> dict:
    """The figures of one folder, by how its photos are labelled."""
    photos = scan(folder)
    rng = np.random.default_rng(0)
    good, defects = (_drawn(several, count, rng) for several, count in ((photos.good, GOOD_PHOTOS),
                                                                       (photos.defects, DEFECTS)))  # fmt: skip
    hidden = [replace(photo, label=GOOD, mask=None) for photo in defects[:HIDDEN]]
    right = split_to_teach(Dataset(photos.root, tuple(good), tuple(defects)))
    mixed = split_to_teach(Dataset(photos.root, (*good, *hidden), tuple(defects[HIDDEN:])))
    several = {RIGHT: right, EXCHANGED: exchanged(right, seed=0), MIXED: mixed}
    names = {photo.name for photo in hidden}
    figures = {}
    for case, labelled in several.items():
        order = TeachingConfig.from_photos(folder.name, labelled, align=NO_ALIGNMENT, product_check=OFF)
        check = check_labels(teach(order, store, ignore_progress).study.scored)
        figures[case] = {
            "auroc": check.auroc,
            "is_doubtful": check.is_doubtful,
            "suspects": len(check.suspects),
            "hidden_found": len(names & {*check.suspects}),
        }
    return figures


def _drawn(photos: Sequence[PhotoFile], count: int, rng: np.random.Generator) -> list[PhotoFile]:
    """So many photos by chance, by name, without a side or group of their own."""
    chosen = rng.permutation(len(photos))[:count]
    return [replace(photos[position], split_side=None, group=None) for position in sorted(chosen)]


def main() -> None:
    options = folder_parser("label_check", __doc__).parse_args()
    warnings.simplefilter("ignore")
    store = FeatureStore(options.store, limit=40 << 30)
    for name, figures in figures_of_sets(options, partial(of_set, store=store)):
        for case in figures:
            print(f"{name}, {case}: {figures[case]}", flush=True)


if __name__ == "__main__":
    main()
