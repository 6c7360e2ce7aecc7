"""Teaching, the same for the page and the command line: photos and choices in, a study and a product check out.

`teaching_plan` decides; the steps here follow it, each once: parts located, detector chosen, photos read, fit and
limits, product check.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.splitting import Split, folds
from inspect_core.features.store import FeatureStore
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.progress import Cancelled, Report, stage
from inspect_core.runtime.wording import join_first_names
from inspect_core.study.study import FittedStudy, Study
from inspect_core.study.study_tasks import IN_PROCESS, Workers
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.alignment_training import aligned_first, alignment_notes
from inspect_core.tuning.detector_comparison import compare, fitted
from inspect_core.tuning.product_check_training import train_product_check
from inspect_core.tuning.second_product import second_product, two_products_sentence
from inspect_core.tuning.teaching_plan import BY_DEFECTS, BY_PLACE, TeachingPlan, seconds_with_product_check, study_of
from inspect_core.whole_part.product_check import OFF, ProductCheck

MOST_COMPARED = 300
"""Good photos that the candidates for a new folder are fitted on."""
FITTED = 0.97
"""Share of the progress for a comparison of all good photos; the product check takes the rest."""
COMPARED = 0.5
"""Share for one of some of them, after which all are fitted."""


@dataclass(frozen=True, eq=False)
class TeachingResult:
    """The result of teaching.

    order: as it was placed, with the detector and the alignment that were chosen; detector_reason: why this one, None
    when the order named it; notes: those of the order, then sentences on skipped photos, the fit and the limits;
    warnings: why the good photos may not be those of one product.
    """

    order: TeachingConfig
    study: FittedStudy
    detector_reason: str | None
    product_check: ProductCheck | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def teach(order: TeachingConfig, store: FeatureStore, report: Report, workers: Workers = IN_PROCESS) -> TeachingResult:
    """Load the backbone, extract, choose the detector unless named, fit, learn the product; the device is held.

    The same order on the same machine gives the same recipe to the bit, with or without workers (processes that process
    the photos in place of this one).
    Raises ValueError for a choice or photos that cannot be used, or are gone by now, and whatever `report` raises to
    stop.
    """
    require_photos(order)
    try:
        result = _teach(order, store, report, workers)
    except Cancelled:
        raise
    except Exception:
        require_photos(order)  # then that is why
        raise
    require_photos(order)
    return result


def require_photos(order: TeachingConfig) -> None:
    """Raise ValueError where photos are no longer where they were found: what is taught is what was chosen."""
    photos = order.photos
    samples = [sample for part in (photos.train, photos.calibration, photos.validation, photos.test) for sample in part]
    if missing := [sample for sample in samples if not sample.path.exists()]:
        folder, names = missing[0].root, join_first_names([sample.name for sample in missing])
        raise ValueError(
            f"{len(missing)} of the {len(samples)} photos of {order.product} are gone from {folder} ({names}): the "
            "folder was moved, renamed or changed since it was chosen; choose it again, then teach"
        )


def _teach(order: TeachingConfig, store: FeatureStore, report: Report, workers: Workers) -> TeachingResult:
    order, report = aligned_first(order, report)
    report(0.0, "loading the network (can take a minute the first time)")
    plan = TeachingPlan.from_order(order, store, workers)
    study, reason = plan.study, plan.reason
    if plan.chosen_by == BY_DEFECTS:
        study, reason, compared = _chosen_by_defects(plan, report)
        report = stage(report, compared, 1.0)
    with device_lock(study.extractor.backbone.device):
        learned = 0.0
        if not isinstance(study, FittedStudy):
            if plan.chosen_by == BY_PLACE and order.tiles is not None:
                study, reason = plan.chosen_by_place(study)
            expected = study.expected()
            read = expected.extract / seconds_with_product_check(study, expected)
            study.extract(stage(report, 0.0, read), embed=study.order.product_check != OFF)
            if plan.chosen_by == BY_PLACE and order.tiles is None:
                study, reason = plan.chosen_by_place(study)
                expected = study.expected()
            whole = seconds_with_product_check(study, expected)
            learned = expected.total / whole
            study = study.fit(stage(report, expected.extract / whole, learned), expected=expected)
        study, _ = study.with_known_defects(study.scored)
        product_check, warnings = _learn_product(study, stage(report, learned, 1.0))
    skipped = tuple(f"{name} was skipped: {why}" for name, why in study.skipped)
    known = () if study.known_defects is None else (study.known_defects.sentence(),)
    notes = order.notes + skipped + alignment_notes(study) + study.remarks({}) + known
    order = replace(order, method=study.order.method, parameters=plan.order.parameters)
    return TeachingResult(order, study, reason, product_check, notes, warnings)


def _chosen_by_defects(plan: TeachingPlan, report: Report) -> tuple[Study, str, float]:
    """The study that best separates the known defects, fitted where all good photos were compared; why it is this one;
    and the share of the progress that this took.
    """
    order, store, workers = plan.order, plan.study.store, plan.study.workers
    photos = order.photos
    step = -(-len(photos.train) // MOST_COMPARED)
    share = FITTED if step == 1 else COMPARED
    thinned = order if step == 1 else replace(order, photos=replace(photos, train=photos.train[::step], test=()))
    comparison = compare(
        thinned,
        store,
        stage(report, 0.0, share),
        plan.detectors,
        workers=workers,
        with_test_photos=False,
        pasted=False,
        embed=order.product_check != OFF,
    )
    chosen = comparison.chosen()
    reason = " ".join(filter(None, (comparison.reason(), plan.shortlist.sentence())))
    study = fitted(chosen) if step == 1 else study_of(order, chosen.detector, store, workers)
    return study, reason, share


def _learn_product(study: FittedStudy, report: Report) -> tuple[ProductCheck | None, tuple[str, ...]]:
    """The product check of the photos that a study learned from, and why these may not show one product."""
    order = study.order
    if order.product_check == OFF:
        return None, ()
    product_check = train_product_check(
        study.extractor.backbone,
        *_for_product_check(order.photos),
        fused=order.fused_product_check,
        mode=order.product_check,
        alignment=order.alignment,
        report=report,
        workers=study.workers,
        known=study.photo_features,
    )
    return product_check, _on_products(study)


def _on_products(study: Study) -> tuple[str, ...]:
    """A note where the photos learned from look like two products; most were embedded for the product check."""
    features = study.photo_features
    rows = features.embed_and_classify(study.split.train, known=features.embedding)
    embeddings = [row[0] for row in rows if row is not None]
    second = int(second_product(np.stack(embeddings)).sum()) if embeddings else 0
    words = "Check the good photos on Teach, and exclude those of the other product."
    return (f"{two_products_sentence(len(embeddings), second)} {words}",) if second else ()


def _for_product_check(photos: Split) -> tuple[Sequence[PhotoFile], Sequence[PhotoFile]]:
    """Good photos to learn the product from, and others to set its limit: those kept apart, else every fifth group."""
    if photos.calibration or not (apart := folds(photos.train, photos.groups, seed=0, count=5)):
        return photos.train, photos.calibration
    held_out = {sample.name for sample in apart[0]}
    return [sample for sample in photos.train if sample.name not in held_out], apart[0]
