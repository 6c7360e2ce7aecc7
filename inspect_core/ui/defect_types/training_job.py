"""Learning defect types as a background job: crops, embeddings, the fit, and its confidence on unknown types."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from inspect_core.datasets.folders import scan
from inspect_core.features.extraction import Crop, embeddings_of
from inspect_core.features.store import feature_store
from inspect_core.images.photo_reader import read, read_mask
from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.runtime.ordered_pool import in_order
from inspect_core.runtime.progress import stage
from inspect_core.ui import crops, result_cache, teaching_job
from inspect_core.whole_part import defect_type_training
from inspect_core.whole_part.cross_validation import CrossValidation
from inspect_core.whole_part.training_crops import TrainingCrop, boxes_of_mask
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

AWAY = tuple(np.round(np.geomspace(0.5, 8, 33), 3).tolist())


@dataclass(frozen=True)
class TypeTrainingConfig:
    """What to learn: the examples, the group of each, and every choice of the page."""

    examples: tuple[TrainingCrop, ...]
    groups: tuple[str, ...]
    parent: str
    by_region: bool
    seed: int


@dataclass(frozen=True, eq=False)
class TypeTrainingResult:
    """How well the current defect types were learned.

    unseen: judgements of the examples as inspected, in their order; left_out: (n,) confidence on each with its type
    left out, empty with two types; foreign, foreign_parent: (m, C) posteriors of other products' defects, by the model
    in use and by its parent; away_kernel, away_parent: mean probability at the distances `AWAY`.
    """

    order: TypeTrainingConfig
    unseen: CrossValidation
    left_out: np.ndarray
    foreign: np.ndarray
    foreign_parent: np.ndarray
    away_kernel: np.ndarray
    away_parent: np.ndarray

    @cached_property
    def posterior(self) -> np.ndarray:
        """(n, C) of every judged example by a model that had not seen it."""
        return self.unseen.kernel()


def start(product: TaughtProduct, order: TypeTrainingConfig) -> None:
    """Learn in the background and attach the result to the product. Raises JobRejected as `Jobs.submit`."""
    title = f"Training defect types for {product.product}"
    result_cache.start(title, subject_of(product), lambda job: _learn(product, order, job))


def last(product: TaughtProduct) -> TypeTrainingResult | None:
    """How the product's defect types were learned; None when they were not learned here."""
    result = result_cache.result_cache().get(subject_of(product))
    return result if result is not None and product.defect_types is not None else None


def rename(taught_id: str, old: str, new: str) -> None:
    """Rename one of the product's defect types, if it exists; nothing is learned again."""
    product = shelf().find(taught_id)
    names = () if product is None or product.defect_types is None else product.defect_types.names
    if product is None or old not in names or new in names:
        return

    def renamed(current: TaughtProduct) -> TaughtProduct:
        return replace(current, defect_types=current.defect_types and current.defect_types.renamed(old, new))

    shelf().change(product.id, renamed)
    if (result := last(product)) is not None:
        known = result.order.examples
        examples = tuple(
            replace(example, defect_type=new) if example.defect_type == old else example for example in known
        )
        result_cache.result_cache().put(
            subject_of(product), replace(result, order=replace(result.order, examples=examples))
        )


def subject_of(product: TaughtProduct) -> tuple[str, str]:
    return "kinds", product.id


def _learn(product: TaughtProduct, order: TypeTrainingConfig, job: Job) -> TypeTrainingResult:
    points = []
    with device_lock(product.extractor.backbone.device):
        pairs = [(example.position, example.box) for example in order.examples]
        job.report(0.0, f"processing {len(pairs)} examples")
        for done, point in enumerate(crops.embeddings(product, pairs), start=1):
            points.append(point)
            job.report(0.3 * done / len(pairs), f"processing example {done} of {len(pairs)}")
        foreign = _foreign(product, order.by_region, job)
    embeddings = np.stack(points)
    settings = {
        "labels": [example.defect_type for example in order.examples],
        "groups": order.groups,
        "is_tested": [example.as_inspected for example in order.examples],
        "parent": order.parent,
        "seed": order.seed,
    }

    learned = defect_type_training.fit(
        embeddings, by_region=order.by_region, **settings, report=stage(job.report, 0.4, 0.6)
    )
    left_out = defect_type_training.leave_types_out(embeddings, **settings, report=stage(job.report, 0.6, 1.0))
    classifier = learned.defect_types.classifier
    confidences = defect_type_training.confidence_by_distance(classifier, embeddings, AWAY)
    nothing = np.empty((0, len(classifier.classes)))
    ways = classifier.predict_proba, classifier.parent_proba
    posteriors = [way(foreign) if len(foreign) else nothing for way in ways]
    shelf().change(product.id, lambda current: replace(current, defect_types=learned.defect_types))
    return TypeTrainingResult(order, learned.unseen, left_out, *posteriors, *confidences)


def _foreign(product: TaughtProduct, by_region: bool, job: Job) -> np.ndarray:
    """(m, d) embeddings of the bundled products' defects, except those of this product."""
    digests = {photo.digest for photo in product.scored.photos}
    photos = [sample for name in teaching_job.samples() for sample in scan(teaching_job.SAMPLES / name).defects]

    def of_other_products() -> Iterator[Crop]:
        pictures = in_order(lambda sample: read(sample.path, sample.depth), photos)
        for done, (sample, picture) in enumerate(zip(photos, pictures, strict=True)):
            job.report(0.3 + 0.1 * done / len(photos), "processing other products")
            if picture.digest not in digests:
                pieces = boxes_of_mask(read_mask(sample.mask, sample.size)) if by_region and sample.mask else ()
                yield Crop(picture.digest, partial(getattr, picture, "pixels"), pieces[0] if pieces else None)

    embeddings = list(embeddings_of(of_other_products(), product.extractor.backbone, feature_store()))
    return np.stack(embeddings) if embeddings else np.empty((0, 0))
