"""Naming five kinds of defect on magnetic tiles, and what is said of a kind that was never seen.

python -m benchmarks.methods.kinds_magnetic_tile --folder DATA

Embeddings of EfficientNet-Lite0 of whole parts, and of the square around every part's largest true region. Photos
of one tile stay together. Every example is judged once in five folds; with each kind left out in turn, the kinds are
learned from the other four and asked about the fifth.
"""

from pathlib import Path

import numpy as np

from benchmarks.measure import SAMPLES, parser, write
from benchmarks.studies.calibrated_parents import calibrated, of_unseen
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.extraction import embed
from inspect_core.images.boxes import crop_square
from inspect_core.images.folders import scan
from inspect_core.images.grouping import propose_groups
from inspect_core.images.photo_reader import read, read_mask
from inspect_core.images.samples import Dataset, PhotoFile
from inspect_core.scoring.metrics import accuracy, expected_calibration_error, ood_calibration_error
from inspect_core.whole_part import defect_type_training
from inspect_core.whole_part.training_crops import boxes_of_mask

SEEDS = (0, 1, 2)
KERNEL = {defect_type_training.FOREST: "KDF", defect_type_training.NETWORK: "KDN"}


def main() -> None:
    asked = parser("kinds_magnetic_tile", __doc__)
    asked.add_argument("--folder", type=Path, required=True)
    options = asked.parse_args()
    samples = scan(options.folder)
    backbone = load("efficientnet_lite0")
    labels = [sample.label for sample in samples.defects]
    grouping = propose_groups(Dataset(samples.root, samples.defects, ()))
    groups = [grouping[sample.name] for sample in samples.defects]
    others = [sample for name in ("flange", "board", "linen") for sample in scan(SAMPLES / name).defects]
    figures: dict[str, object] = {"examples": len(labels), "groups": len(set(groups)), "seeds": SEEDS}
    print(f"{len(labels)} examples, {len(set(groups))} groups, seeds {SEEDS}; medians")
    print(f"{'':26}{'':18}{'kind left out':^18}{'named':^18}{'other':>9}")
    print(f"{'':26}{'accuracy':>9}{'ECE':>9}{'OCE':>9}{'refused':>9}{'known':>9}{'others':>9}{'OCE':>9}")
    for grain, by_region in (("whole", False), ("region", True)):
        points = embeddings(samples.defects, backbone, by_region=by_region)
        foreign = embeddings(others, backbone, by_region=by_region)
        for parent in defect_type_training.FITS:
            runs = [measured(points, labels, groups, foreign, parent, seed) for seed in SEEDS]
            for model in runs[0]:
                row = {key: float(np.median([run[model][key] for run in runs])) for key in runs[0][model]}
                figures[f"{grain}, {model}"] = row
                print(f"{grain:8}{model:18}" + "".join(f"{value:9.3f}" for value in row.values()))
    write(options.name, figures)


def embeddings(samples: tuple[PhotoFile, ...] | list[PhotoFile], backbone: Backbone, *, by_region: bool) -> np.ndarray:
    """(n, d) embeddings of whole parts, or of the square around the largest piece of the true mask."""
    vectors = []
    for sample in samples:
        pixels = read(sample.path).pixels
        box = boxes_of_mask(read_mask(sample.mask, pixels.shape[:2]))[0] if by_region else None
        vectors.append(embed(crop_square(pixels, box), backbone))
    return np.stack(vectors)


def measured(points, labels, groups, foreign, parent, seed) -> dict[str, dict[str, float]]:
    """Figures of the parent, its two calibrations and KDF or KDN, each under the limit that the same rule gives it.

    accuracy and ECE on known kinds; OCE and the share refused on the kind left out, means over kinds; the shares of
    known and of other products' defects that are named.
    """
    whole = defect_type_training.fit(points, labels, groups=groups, parent=parent, seed=seed)
    known = judged(whole, parent)
    far = posteriors(whole, foreign, parent)
    limits = limits_of(whole, parent)
    left_out: dict[str, list[tuple[float, float]]] = {model: [] for model in known}
    for kind in sorted(set(labels)):
        rows = np.array([label != kind for label in labels])
        rest = defect_type_training.fit(
            points[rows], [label for label in labels if label != kind],
            groups=[group for group, row in zip(groups, rows, strict=True) if row], parent=parent, seed=seed,
        )  # fmt: skip
        own_limits = limits_of(rest, parent)
        prior = rest.defect_types.classifier.prior
        for model, proba in posteriors(rest, points[~rows], parent).items():
            refused = float((proba.max(axis=1) < own_limits[model]).mean())
            left_out[model].append((ood_calibration_error(proba, prior), refused))
    return {
        model: {
            "accuracy": accuracy(proba, whole.unseen.y),
            "ece": expected_calibration_error(proba, whole.unseen.y),
            "oce_left_out": float(np.mean([oce for oce, _ in left_out[model]])),
            "refused_left_out": float(np.mean([refused for _, refused in left_out[model]])),
            "named_known": float((proba.max(axis=1) >= limits[model]).mean()),
            "named_foreign": float((far[model].max(axis=1) >= limits[model]).mean()),
            "oce_foreign": ood_calibration_error(far[model], whole.defect_types.classifier.prior),
        }
        for model, proba in known.items()
    }


def judged(learned: defect_type_training.TypeTraining, parent: str) -> dict[str, np.ndarray]:
    """What every model says of the examples it had not seen."""
    unseen = learned.unseen
    return {
        parent: unseen.parent,
        f"{parent}, isotonic": of_unseen(unseen, "isotonic"),
        f"{parent}, sigmoid": of_unseen(unseen, "sigmoid"),
        KERNEL[parent]: unseen.kernel(),
    }


def limits_of(learned: defect_type_training.TypeTraining, parent: str) -> dict[str, float]:
    """The probability from which every model names a kind."""
    prior, y = learned.defect_types.classifier.prior, learned.unseen.y
    return {model: defect_type_training.suggested_limit(p, y, prior) for model, p in judged(learned, parent).items()}


def posteriors(learned: defect_type_training.TypeTraining, points: np.ndarray, parent: str) -> dict[str, np.ndarray]:
    """What every model says of new points."""
    classifier, unseen = learned.defect_types.classifier, learned.unseen
    from_parent = classifier.parent_proba(points)
    behind = {method: calibrated(unseen.parent, unseen.y, method=method) for method in ("isotonic", "sigmoid")}
    return {
        parent: from_parent,
        **{f"{parent}, {method}": curves.predict_proba(from_parent) for method, curves in behind.items()},
        KERNEL[parent]: classifier.predict_proba(points),
    }


if __name__ == "__main__":
    main()
