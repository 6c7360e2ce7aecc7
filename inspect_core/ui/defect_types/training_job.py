"""Learning defect types as a background job: crops, embeddings, the fit, and its confidence on unknown types."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from inspect_core.features.extraction import embed
from inspect_core.images.boxes import cropped
from inspect_core.images.folders import scan
from inspect_core.images.photo_reader import read, read_mask
from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.runtime.progress import stage
from inspect_core.ui import crops, open_product_store, result_cache, teaching_job
from inspect_core.ui.taught_product import TaughtPart
from inspect_core.whole_part import defect_type_training
from inspect_core.whole_part.cross_validation import CrossValidation
from inspect_core.whole_part.training_crops import Example, boxes_of_mask

AWAY = tuple(np.round(np.geomspace(0.5, 8, 33), 3).tolist())


@dataclass(frozen=True)
class TypeTrainingConfig:
    """What to learn: the examples, the group of each, and every choice of the page."""

    examples: tuple[Example, ...]
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


def start(taught: TaughtPart, order: TypeTrainingConfig) -> None:
    """Learn in the background and attach the result to the part. Raises Busy as `Jobs.submit`."""
    title = f"Training defect types for {taught.product}"
    result_cache.start(title, about(taught), lambda job: _learn(taught, order, job))


def last(taught: TaughtPart) -> TypeTrainingResult | None:
    """How the part's defect types were learned; None when they were not learned here."""
    found = result_cache.kept().get(about(taught))
    return found if found is not None and taught.defect_types is not None else None


def rename(taught_id: str, old: str, new: str) -> None:
    """Rename one of the part's defect types, if it exists; nothing is learned again."""
    taught = open_product_store.find(taught_id)
    names = () if taught is None or taught.defect_types is None else taught.defect_types.names
    if taught is None or old not in names or new in names:
        return

    def renamed(held: TaughtPart) -> TaughtPart:
        return replace(held, defect_types=held.defect_types and held.defect_types.renamed(old, new))

    open_product_store.change(taught.id, renamed)
    if (found := last(taught)) is not None:
        known = found.order.examples
        examples = tuple(replace(one, defect_type=new) if one.defect_type == old else one for one in known)
        result_cache.kept().put(about(taught), replace(found, order=replace(found.order, examples=examples)))


def about(taught: TaughtPart) -> tuple[str, str]:
    return "kinds", taught.id


def _learn(taught: TaughtPart, order: TypeTrainingConfig, job: Job) -> TypeTrainingResult:
    points = []
    with device_lock(taught.preparation.backbone.device):
        for done, example in enumerate(order.examples):
            job.report(0.3 * done / len(order.examples), f"processing example {done + 1} of {len(order.examples)}")
            points.append(crops.embedding(taught, example.position, example.box))
        foreign = _foreign(taught, order.by_region, job)
    embeddings = np.stack(points)
    settings = {
        "labels": [example.defect_type for example in order.examples],
        "groups": order.groups,
        "judged": [example.as_inspected for example in order.examples],
        "parent": order.parent,
        "seed": order.seed,
    }

    learned = defect_type_training.fit(
        embeddings, by_region=order.by_region, **settings, report=stage(job.report, 0.4, 0.6)
    )
    left_out = defect_type_training.leave_types_out(embeddings, **settings, report=stage(job.report, 0.6, 1.0))
    classifier = learned.defect_types.classifier
    away = defect_type_training.confidence_away(classifier, embeddings, AWAY)
    nothing = np.empty((0, len(classifier.classes)))
    ways = classifier.predict_proba, classifier.parent_proba
    posteriors = [way(foreign) if len(foreign) else nothing for way in ways]
    open_product_store.change(taught.id, lambda held: replace(held, defect_types=learned.defect_types))
    return TypeTrainingResult(order, learned.unseen, left_out, *posteriors, *away)


def _foreign(taught: TaughtPart, by_region: bool, job: Job) -> np.ndarray:
    """(m, d) embeddings of the bundled products' defects, except those of the part's own product."""
    own = {photo.digest for photo in taught.scored.photos}
    photos = [sample for name in teaching_job.samples() for sample in scan(teaching_job.SAMPLES / name).defects]
    found = []
    for done, sample in enumerate(photos):
        job.report(0.3 + 0.1 * done / len(photos), "processing other products")
        picture = read(sample.path, sample.depth)
        if picture.digest in own:
            continue
        pieces = boxes_of_mask(read_mask(sample.mask, sample.size)) if by_region and sample.mask else ()
        found.append(embed(cropped(picture.pixels, pieces[0] if pieces else None), taught.preparation.backbone))
    return np.stack(found) if found else np.empty((0, 0))
