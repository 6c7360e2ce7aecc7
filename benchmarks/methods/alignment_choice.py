"""Whether alignment that is tried by itself is chosen where it gains: python -m benchmarks.methods.alignment_choice
[NAME=FOLDER ...] --store S

Of each folder in MVTec AD layout PHOTOS good ones are drawn to learn from and others to judge, groups kept together; so
of the sample parts as a conveyor brings them, shifted, turned a little, at any angle. Of each: what the trial says, and
image AUROC of the default taught as taken and aligned, a part that is not located above all others. Writes after each
set, so that what is done stays when it is stopped.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import folder_parser, kept, sets, write
from benchmarks.methods.limits_from_few import drawn
from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import Split
from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import NoAlignment
from inspect_core.runtime.progress import ignore_progress
from inspect_core.scoring.metrics import auroc
from inspect_core.study.study import FittedStudy
from inspect_core.study.teaching_config import NO_ALIGNMENT, RIGID, TeachingConfig
from inspect_core.tuning.alignment_training import try_alignment
from inspect_core.tuning.teaching import teach
from inspect_core.whole_part.product_check import OFF
from sample_data.make import products
from sample_data.make.conveyor import Conveyor

PHOTOS = 40
MOVES = {"shifted": Conveyor(shift=0.03, turn=0), "turned": Conveyor(shift=0.01, turn=3), "any": Conveyor(turn=180)}
MOVED = ("flange", "board")


def figures(name: str, photos: Split, store: FeatureStore) -> dict:
    """What the trial says of these photos, and what alignment then brings."""
    order = TeachingConfig.from_photos(name, photos, product_check=OFF)
    results: dict = {"good": len(photos.train)}
    try:
        trial = try_alignment(order, ignore_progress)
        results |= {"located": trial.located, "tried": trial.photos, "variance_left": trial.after / trial.before}
        results |= {"chosen": trial.is_worthwhile, "reason": trial.sentence()}
    except NoAlignment as error:
        results |= {"chosen": False, "reason": str(error)}
    for align in (NO_ALIGNMENT, RIGID):
        try:
            results[align] = judged(teach(replace(order, align=align), store, ignore_progress).study)
        except NoAlignment as error:
            results[align] = {"refused": str(error)}
    return results


def judged(study: FittedStudy) -> dict[str, float]:
    """Image AUROC over the test photos, with how many of either label are not located."""
    scored = study.scored
    good, defect = (scored.scores()[scored.of_subset("test") & chosen] for chosen in scored.good_and_defect())
    lost = [sample.label == GOOD for sample in study.order.photos.test if sample.name in study.not_located]
    above = np.full(len(lost), np.inf)
    scores = np.nan_to_num(np.concatenate([good, defect, above]), posinf=np.finfo(np.float32).max)
    is_defect = np.concatenate([np.zeros(len(good), bool), np.ones(len(defect), bool), ~np.array(lost, bool)])
    return {"image_auroc": auroc(scores, is_defect), "good_lost": sum(lost), "defects_lost": len(lost) - sum(lost)}


def main() -> None:
    options = folder_parser("alignment_choice", __doc__).parse_args()
    store = FeatureStore(options.store)
    results = kept(options.name)
    with tempfile.TemporaryDirectory() as folder:
        folders = dict(sets(options.sets))
        for product in MOVED:
            for move, conveyor in MOVES.items():
                products.write(Path(folder) / move, products=(product,), conveyor=conveyor)
                folders[f"{product}, {move}"] = Path(folder) / move / f"{product}{products.MOVED}"
        for name, photo_folder in folders.items():
            samples = scan(photo_folder)
            photos = drawn(name, samples, min(PHOTOS, len(samples.good) // 2), seed=0)
            if photos is not None:
                results[name] = figures(name, photos, store)
                write(options.name, results)
                print(name, results[name], flush=True)


if __name__ == "__main__":
    main()
