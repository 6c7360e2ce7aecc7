"""Whether the overkill that Loupe states holds, where few good photos set their own limits by cross-fitting.

From all good photos of a folder, LEFT are drawn and kept out, again and again; the others are taught as a new folder
would be, and what the suggested limits do to those kept out is compared with what was stated for as many parts.

python -m benchmarks.methods.stated_overkill --store DIR [--splits 200] [NAME=FOLDER ...]
"""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.measure import folder_parser, sets, write
from inspect_core.features.store import FeatureStore
from inspect_core.images.folders import scan, split
from inspect_core.images.splitting import Split, train_on_all
from inspect_core.methods.fitted_method import with_taps
from inspect_core.scoring.limits import overkill_at
from inspect_core.study.study import Study

LEFT = 20


def held(folder: Path, store: FeatureStore, method: str, splits: int) -> dict:
    """Shares of splits in which the number kept out above each limit lies in the interval stated for it, and means."""
    samples = scan(folder)
    good = samples.good
    backbone, taps = with_taps((method,), "efficientnet_lite0")
    rows = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(good))
        out, rest = (tuple(good[i] for i in sorted(part)) for part in (order[:LEFT], order[LEFT:]))
        photos = split(replace(samples, good=tuple(replace(s, split_side="train") for s in rest), defects=()), seed=0)
        photos = Split((*photos.train, *photos.test), photos.calibration, out, groups={})
        study = Study(train_on_all(photos), backbone, store, method=method, taps=taps, parameters={}).fit()
        scores = study.scores()
        setting = study.calibration_scores()
        shown = scores[study.results.of_subset("test")]
        limits = study.default_limits()
        for name, limit in (("review", limits.review), ("reject", limits.reject)):
            stated = overkill_at(limit, setting, sample_size=LEFT, ceiling=study.results.ceiling())
            above = int((shown > limit).sum())
            rows.append((name, stated.low <= above <= stated.high, above / LEFT, stated.expected / LEFT))
    return {
        limit: dict(zip(
            ("held", "above", "stated"),
            np.mean([row[1:] for row in rows if row[0] == limit], axis=0).tolist(), strict=True,
        ))
        for limit in ("review", "reject")
    }  # fmt: skip


def main() -> None:
    asked = folder_parser("stated_overkill", __doc__)
    asked.add_argument("--splits", type=int, default=200)
    asked.add_argument("--method", default="mahalanobis")
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    store = FeatureStore(options.store, limit=20 << 30)
    results = {}
    for name, folder in sets(options.sets).items():
        results[name] = held(folder, store, options.method, options.splits)
        print(name, results[name], flush=True)
    write(options.name, {"splits": options.splits, "method": options.method, "sets": results})


if __name__ == "__main__":
    main()
