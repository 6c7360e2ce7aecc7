"""Teaching, the same for the page and the command line: photos and choices in, a study and a product check out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.splitting import Split, folds
from inspect_core.features.store import FeatureStore
from inspect_core.methods.registry import DEFAULT_METHOD, METHODS, methods_in, methods_of, title_of
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.progress import Cancelled, Report, stage
from inspect_core.runtime.wording import join_first_names
from inspect_core.study.study import FittedStudy, Study
from inspect_core.study.study_tasks import IN_PROCESS, Workers
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.study.time_estimates import StepTimes
from inspect_core.tuning.alignment_training import aligned_first, alignment_notes
from inspect_core.tuning.comparison_result import Shortlist
from inspect_core.tuning.detector_comparison import compare, fitted
from inspect_core.tuning.place import in_words, place_of, preferred
from inspect_core.tuning.product_check_training import train_product_check
from inspect_core.tuning.second_product import second_product, two_products_sentence
from inspect_core.whole_part.product_check import OFF, ProductCheck

MOST_COMPARED = 300
"""Good photos that the candidates for a new folder are fitted on."""
FITTED = 0.97
"""Share of the progress for a comparison; the product check takes the rest."""


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
    placed, report = aligned_first(order, report)
    order = placed.as_fitted()
    report(0.0, "loading the network (can take a minute the first time)")
    by_defects = _by_known_defects(order, store, stage(report, 0.0, FITTED), workers)
    chosen, choice = by_defects or _unfitted(order, store, workers)
    learned = FITTED
    product_check, on_products = None, ()
    with device_lock(chosen.extractor.backbone.device):
        if isinstance(chosen, FittedStudy):
            study = chosen
        else:
            expected, whole = _estimates(chosen)
            chosen.extract(stage(report, 0.0, expected.extract / whole), embed=order.product_check != OFF)
            if not isinstance(chosen.method, str):
                chosen, choice = _by_place(order, chosen)
                expected, whole = _estimates(chosen)
            learned = expected.total / whole
            study = chosen.fit(stage(report, expected.extract / whole, learned), expected=expected)
        if order.product_check != OFF:
            product_check = train_product_check(
                study.extractor.backbone,
                *_for_product_check(order.photos),
                fused=order.fused_product_check,
                mode=order.product_check,
                alignment=order.alignment,
                report=stage(report, learned, 1.0),
                workers=workers,
                known=study.photo_features,
            )
            on_products = _on_products(study)
    skipped = tuple(f"{name} was skipped: {reason}" for name, reason in study.skipped)
    notes = order.notes + skipped + alignment_notes(study) + study.remarks({})
    placed = replace(placed, method=study.order.method)
    return TeachingResult(placed, study, choice, product_check, notes, on_products)


def _on_products(study: Study) -> tuple[str, ...]:
    """A note where the photos learned from look like two products; most were embedded for the product check."""
    features = study.photo_features
    rows = features.embed_and_classify(study.split.train, known=features.embedding)
    embeddings = [row[0] for row in rows if row is not None]
    second = int(second_product(np.stack(embeddings)).sum()) if embeddings else 0
    words = "Check the good photos on Teach, and exclude those of the other product."
    return (f"{two_products_sentence(len(embeddings), second)} {words}",) if second else ()


def _estimates(study: Study) -> tuple[StepTimes, float]:
    """The seconds that the steps of a study are expected to take, and those of all with the product check."""
    expected = study.expected()
    order = study.order
    return expected, expected.total + (len(order.photos.train) * expected.photo if order.product_check != OFF else 0.0)


def _for_product_check(photos: Split) -> tuple[Sequence[PhotoFile], Sequence[PhotoFile]]:
    """Good photos to learn the product from, and others to set its limit: those kept apart, else every fifth group."""
    if photos.calibration or not (apart := folds(photos.train, photos.groups, seed=0, count=5)):
        return photos.train, photos.calibration
    held_out = {sample.name for sample in apart[0]}
    return [sample for sample in photos.train if sample.name not in held_out], apart[0]


def _by_known_defects(
    order: TeachingConfig, store: FeatureStore, report: Report, workers: Workers
) -> tuple[Study, str] | None:
    """The study that best separates the known defects, and why; None without any or with a named detector."""
    shortlist = Shortlist.of_order(order)
    if not shortlist.candidates or not order.photos.validation:
        return None
    photos = order.photos
    step = -(-len(photos.train) // MOST_COMPARED)
    thinned = photos if step == 1 else replace(photos, train=photos.train[::step], test=())
    order_of_some = replace(order, photos=thinned)
    candidates = tuple(shortlist.candidates)
    comparison = compare(
        order_of_some, store, report, candidates, workers=workers, with_test_photos=False, pasted=False
    )
    chosen = comparison.chosen()
    reason = " ".join(filter(None, (comparison.reason(), shortlist.sentence())))
    if step == 1:
        return fitted(chosen), reason
    return _study(order, chosen.detector, store, workers), reason


def _unfitted(order: TeachingConfig, store: FeatureStore, workers: Workers) -> tuple[Study, str | None]:
    """The study of the detector that is named or has to be taken, else of that which places name, and why."""
    if order.method is not None:
        return _study(order, order.method, store, workers), None
    if order.tiles is not None:
        reason = f"Large photos in tiles use the detector {METHODS[DEFAULT_METHOD].title}."
        return _study(order, DEFAULT_METHOD, store, workers), reason
    if either := Shortlist.of_order(order).to_begin_with:
        return _study(order, methods_in(either), store, workers), None
    reason = f"Too few photos to choose a detector by; {METHODS[DEFAULT_METHOD].title} needs the fewest."
    return _study(order, DEFAULT_METHOD, store, workers), reason


def _by_place(order: TeachingConfig, study: Study) -> tuple[Study, str]:
    """The unfitted study of the detector that suits how the parts of extracted photos lie, and why."""
    shortlist = Shortlist.of_order(order)
    either = shortlist.to_begin_with
    place = place_of(study) if len(either) > 1 else None
    detector = preferred(place, either)
    lies = in_words(place)
    reason = f"Detector: {title_of(detector)}.\n{lies}Compare tries all others on your photos. {shortlist.sentence()}"
    return study.with_method(detector, *order.network(methods_of(detector))), reason.strip()


def _study(order: TeachingConfig, method: str | tuple[str, ...], store: FeatureStore, workers: Workers) -> Study:
    methods = methods_of(method) if isinstance(method, str) else method
    backbone, taps = order.network(methods)
    order = replace(order, parameters=order.parameters_for(methods))
    return Study.from_order(order, backbone, store, taps=taps, workers=workers, method=method)
