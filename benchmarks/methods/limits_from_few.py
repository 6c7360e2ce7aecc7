"""Whether the limits suggested from few good photos hold on new parts, and what they give away.

From the good photos of a folder, wherever they lie in it, COUNT are drawn by group with a seed and taught as a new
folder would be, within the tolerances of a careful station, in ten folds; at most SHOWN other good ones and DEFECTS
defects are judged. For every detector, and for the one preferred on these photos: good parts above the limit stated as
5 and as 1 in 100, and regret (balanced accuracy given away against the best limit there could be; review counts as
found), image AUROC and AUPRO. Other rules are applied to the same scores: moments (Gumbel by mean and standard
deviation), quartiles (Gumbel through .25, .5, .75 without regard for their number), empirical (the 95 % point).

python -m benchmarks.methods.limits_from_few --store DIR [--counts 25 50 100] [--seeds 2] [NAME=FOLDER ...]
"""

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.measure import folder_parser, kept, sets, write
from inspect_core.datasets.dataset import Dataset
from inspect_core.datasets.folders import scan
from inspect_core.datasets.grouping import propose_groups
from inspect_core.datasets.splitting import Split
from inspect_core.features.store import FeatureStore
from inspect_core.images.tolerances import DEFAULT_TOLERANCES, Tolerances
from inspect_core.methods.fitted_method import with_taps
from inspect_core.methods.registry import CANDIDATES, methods_in, methods_of
from inspect_core.scoring.limits import limits_from_good
from inspect_core.study.evaluation import evaluate_photos
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.study import FittedStudy, Study
from inspect_core.tuning.place import place_of, preferred

LEFT, SHOWN, DEFECTS = 20, 100, 60
"""Good parts that a case must leave to judge, and the most good and defective ones that it judges."""


def _reduced(share: float) -> float:
    return -math.log(-math.log(share))


def _moments(scores: np.ndarray, share: float) -> float:
    scale = scores.std(ddof=1) * math.sqrt(6) / math.pi
    return float(scores.mean() + scale * (_reduced(1 - share) - np.euler_gamma))


def _quartiles(scores: np.ndarray, share: float) -> float:
    low, middle, high = np.quantile(scores, (0.25, 0.5, 0.75))
    scale = (high - low) / (_reduced(0.75) - _reduced(0.25))
    return float(middle + scale * (_reduced(1 - share) - _reduced(0.5)))


RULES: dict[str, Callable[[np.ndarray, float], float]] = {
    "suggested": lambda scores, share: limits_from_good(scores, review=share, reject=min(share, 0.01))[0],
    "moments": _moments,
    "quartiles": _quartiles,
    "empirical": lambda scores, share: float(np.quantile(scores, 1 - share)),
}


def drawn(name: str, samples: Dataset, count: int, seed: int) -> Split | None:
    """At most so many good photos to learn from, by whole groups, and others to judge; None when fewer than LEFT good
    ones are left to judge. name: of the set, so that two with the same file names are not drawn alike.
    """
    good = sorted(samples.good, key=lambda sample: sample.name)
    everywhere = replace(samples, good=tuple(replace(sample, split_side="train") for sample in good))
    groups = dict(propose_groups(everywhere))
    rng = np.random.default_rng([seed, count, *name.encode()])
    members = defaultdict(list)
    for sample in good:
        members[groups[sample.name]].append(sample)
    training, rest = [], []
    for group in (members[name] for name in rng.permutation(sorted(members))):
        (training if len(training) + len(group) <= count else rest).extend(group)
    if len(rest) < LEFT:
        return None
    defects = sorted(samples.defects, key=lambda sample: sample.name)
    test = [
        [pool[i] for i in sorted(rng.permutation(len(pool))[:most])]
        for pool, most in ((rest, SHOWN), (defects, DEFECTS))
    ]
    together = {name: group for name, group in groups.items() if len(members[group]) > 1}
    fit = tuple(sorted(training, key=lambda sample: sample.name))
    return Split(fit, (), (*test[0], *test[1]), groups=together)


def case(
    photos: Split,
    store: FeatureStore,
    seed: int,
    *,
    detectors: Sequence[str] = CANDIDATES,
    tolerances: Tolerances | None = DEFAULT_TOLERANCES,
) -> dict:
    """The figures of one draw by detector."""
    methods = methods_in(detectors)
    backbone, taps = with_taps(methods, "efficientnet_lite0")
    study = Study.from_photos(
        photos, backbone, store, method=methods, taps=taps, seed=seed, tolerances=tolerances
    ).fit()
    place = place_of(study)
    masks = truth_masks(study.scored)
    results = {name: _figures(study, methods, name, masks) for name in detectors}
    return {"place": place, "default": preferred(place, detectors), "detectors": results}


def _figures(study: FittedStudy, methods: Sequence[str], detector: str, masks: list[np.ndarray | None]) -> dict:
    scored = study.scored.of_views([methods.index(name) for name in methods_of(detector)])
    scores = scored.scores().astype(float)
    setting = scored.calibration_scores().astype(float)
    good, defect = scored.good_and_defect()
    judge = scored.of_subset("test")
    fine, bad = scores[judge & good], scores[judge & defect]

    def balanced(limit: float) -> float:
        return float((fine <= limit).mean() + (bad > limit).mean()) / 2

    best = max(balanced(limit) for limit in [-np.inf, *fine, *bad])
    shown = evaluate_photos(scored, scored.default_limits(), masks)
    results = {"image_auroc": shown.image_auroc, "aupro": shown.aupro}
    for name, rule in RULES.items():
        review = rule(setting, 0.05)
        results[name] = {
            "regret": best - balanced(review),
            "above_5_percent": 100 * float((fine > review).mean()),
            "above_1_percent": 100 * float((fine > rule(setting, 0.01)).mean()),
            "missed_percent": 100 * float((bad <= review).mean()),
        }
    return results


def summary(cases: dict[str, dict]) -> dict:
    """By rule, over all cases and detectors, and over the default of each: means and the worst."""
    results = {}
    for rule in RULES:
        for which in ("all", "default"):
            rows = [
                figures[rule] for case_figures in cases.values() for name, figures in case_figures["detectors"].items()
                if which == "all" or name == case_figures["default"]
            ]  # fmt: skip
            results[f"{rule}, {which}"] = {"rows": len(rows)} | {
                f"{word}_{figure}": float(reduce([row[figure] for row in rows]))
                for word, reduce in (("mean", np.mean), ("worst", np.max))
                for figure in ("regret", "above_5_percent", "above_1_percent", "missed_percent")
            }
    return results


def by_set(cases: dict[str, dict]) -> dict[str, dict]:
    """Mean image AUROC and AUPRO of each set and over the sets, of every detector and of the one that places prefer."""
    results = {}
    for name in (*CANDIDATES, "preferred"):
        drawn = defaultdict(list)
        for key, case_figures in cases.items():
            row = case_figures["detectors"][case_figures["default"] if name == "preferred" else name]
            drawn[key.split(",")[0]].append((row["image_auroc"], row["aupro"]))
        means = {key: np.mean(rows, axis=0).tolist() for key, rows in drawn.items()}
        results[name] = means | {"mean": np.nanmean(list(means.values()), axis=0).tolist()}
    return results


def main() -> None:
    asked = folder_parser("limits_from_few", __doc__)
    asked.add_argument("--counts", type=int, nargs="+", default=[25, 40, 60])
    asked.add_argument("--seeds", type=int, default=2)
    options = asked.parse_args()
    warnings.simplefilter("ignore")
    store = FeatureStore(options.store, limit=40 << 30)
    cases = kept(options.name).get("cases", {})
    for seed in range(options.seeds):
        for count in options.counts:
            for name, folder in sets(options.sets).items():
                if (photos := drawn(name, scan(folder), count, seed)) is None:
                    continue
                results = case(photos, store, seed)
                cases[f"{name}, {count} photos, seed {seed}"] = results
                case_row = results["detectors"][results["default"]]
                print(f"{name:8} {count:4} seed {seed} place {results['place']:.2f} {results['default']:24}",
                      *(f"{key} {value:.3f}" for key, value in case_row["suggested"].items()), flush=True)  # fmt: skip
                write(options.name, {"summary": summary(cases), "by_set": by_set(cases), "cases": cases})
    for row, figures in summary(cases).items():
        print(f"{row:20}", *(f"{key} {value:.3f}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
