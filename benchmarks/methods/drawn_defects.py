"""What a few drawn defects teach, by set and draw.

python -m benchmarks.methods.drawn_defects [NAME=FOLDER ...] --store S

Of each folder with masks so many good photos are learned from as a new folder is taught, all others are judged. Then so
many defects, drawn by chance, are drawn as their masks are; figures are of the others, before and after, at the
suggested review limit of the good photos. Writes after each set.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import figures_of_sets, folder_parser
from inspect_core.datasets.folders import scan, split
from inspect_core.features.store import FeatureStore
from inspect_core.images.areas import Outline
from inspect_core.images.peak_outlines import outlines_of
from inspect_core.images.photo_reader import read_mask
from inspect_core.runtime.progress import ignore_progress
from inspect_core.scoring.limits import limits_from_good
from inspect_core.scoring.ranking import auroc
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import FittedStudy
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.teaching import teach
from inspect_core.whole_part.product_check import OFF

PHOTOS = 60
DRAWS = 5
DRAWN = (5, 10, 20)


def taught(folder: Path, store: FeatureStore, photos: int) -> FittedStudy:
    """The study of a new folder, of so many of its good photos."""
    parts = split(scan(folder), seed=0, calibrate=0)
    order = np.random.default_rng(0).permutation(len(parts.train))[:photos]
    train = tuple(parts.train[i] for i in sorted(order))
    names = {sample.name for sample in train}
    groups = {name: group for name, group in parts.groups.items() if name in names}
    parts = replace(parts, train=train, groups=groups)
    return teach(TeachingConfig.from_photos(folder.name, parts, product_check=OFF), store, ignore_progress).study


def drawing(photo: ScoredPhoto) -> tuple[Outline, ...]:
    """The outlines of its mask."""
    assert photo.mask is not None
    return tuple(outlines_of(read_mask(photo.mask, photo.placed.photo_size)))


def figures(scored: ScoredPhotos, drawn: Mapping[str, tuple[Outline, ...]]) -> dict[str, float]:
    """Of the test photos that were not drawn."""
    _, defect = scored.good_and_defect()
    rest = defect & np.array([photo.digest not in drawn for photo in scored.photos])
    tested, scores = scored.tested_good(), scored.scores()
    review, _ = limits_from_good(scored.calibration_scores(), ceiling=scored.ceiling())
    counted = tested | rest
    return {
        "image_auroc": auroc(scores[counted], rest[counted]),
        "accepted_percent": 100 * float((scores[rest] <= review).mean()),
        "stopped_percent": 100 * float((scores[tested] > review).mean()),
    }


def of_set(folder: Path, store: FeatureStore, photos: int) -> dict:
    """By the number of drawn defects, means over draws before and after, and the most that one draw accepts more."""
    study = taught(folder, store, photos)
    known = [photo for photo in study.photos if photo.subset == "test" and photo.is_defect and photo.mask is not None]
    results: dict[str, dict] = {"detector": "+".join(study.methods), "defects": len(known)}
    for count in (count for count in DRAWN if count <= len(known) // 2):
        rows = []
        for draw in range(DRAWS):
            chosen = [known[i] for i in np.random.default_rng(100 + draw).permutation(len(known))[:count]]
            outlines = {photo.digest: drawing(photo) for photo in chosen}
            before = study.scored.drawn(outlines)
            learned, after = study.with_known_defects(before)
            joined = learned.bare is not None
            rows.append((figures(before, outlines), figures(after, outlines), joined))
        results[str(count)] = {
            "before": {name: float(np.mean([row[0][name] for row in rows])) for name in rows[0][0]},
            "after": {name: float(np.mean([row[1][name] for row in rows])) for name in rows[0][0]},
            "joined": sum(row[2] for row in rows),
            "most_accepted_more": max(row[1]["accepted_percent"] - row[0]["accepted_percent"] for row in rows),
        }
    return results


def main() -> None:
    arguments = folder_parser("drawn_defects", __doc__)
    arguments.add_argument("--photos", type=int, default=PHOTOS)
    options = arguments.parse_args()
    store = FeatureStore(options.store)
    for name, result in figures_of_sets(options, lambda folder: of_set(folder, store, options.photos)):
        print(name, result, flush=True)


if __name__ == "__main__":
    main()
