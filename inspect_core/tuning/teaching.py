"""Teaching, the same for the page and the command line: photos and choices in, a study and a product check out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspect_core.features.store import Store
from inspect_core.images.samples import Sample
from inspect_core.images.splitting import Split, folds
from inspect_core.methods.table import FIRST, METHODS, methods_of
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.progress import Report, stage
from inspect_core.study.order import Order
from inspect_core.study.study import Study
from inspect_core.study.workers import Workers
from inspect_core.tuning.aligning import aligned, on_alignment
from inspect_core.tuning.compare import compare, fitted
from inspect_core.tuning.comparison import Comparison, Shortlist
from inspect_core.tuning.product_check_training import train_product_check
from inspect_core.whole_part.product_check import OFF, ProductCheck

MOST_COMPARED = 300
"""Good photos that the candidates for a new folder are fitted on."""
FITTED = 0.8
"""Share of the progress for the fit; the product check takes the rest."""


@dataclass(frozen=True, eq=False)
class Taught:
    """The result of teaching.

    choice: why this detector, None when the order named it; notes: those of the order, then sentences on skipped
    photos, the fit and the limits.
    """

    study: Study
    choice: str | None
    product_check: ProductCheck | None
    notes: tuple[str, ...]


def teach(order: Order, store: Store, report: Report, workers: Workers | None = None) -> Taught:
    """Load the backbone, extract, find values to begin with, fit, learn the product; holds the device all the while.

    The same order on the same machine gives the same recipe to the bit, with or without workers (processes that process
    the photos in place of this one).
    Raises ValueError for a choice or photos that cannot be used, and whatever `report` raises to stop.
    """
    order = aligned(order, report)
    report(0.0, "loading the network, which can take a minute the first time")
    comparison, choice = _compared(order, store, stage(report, 0.0, FITTED), workers)
    method = order.method or (FIRST if comparison is None else comparison.chosen().detector)
    backbone, taps = order.network(methods_of(method))
    with device_lock(backbone.device):
        if comparison is not None and comparison.rows[0].study.split is order.photos:
            study = fitted(comparison.chosen())
        else:
            study = Study(order, backbone, store, taps=taps, workers=workers, method=method)
            study.fit(stage(report, 0.0, FITTED))
        product_check = None
        if order.product_check != OFF:
            product_check = train_product_check(
                backbone,
                *_for_product_check(order.photos),
                fused=order.fused_product_check,
                mode=order.product_check,
                alignment=order.alignment,
                report=stage(report, FITTED, 1.0),
                workers=workers,
            )
    skipped = tuple(f"{name} was skipped: {reason}" for name, reason in study.skipped)
    on_fit = study.remarks({})
    return Taught(study, choice, product_check, order.notes + skipped + on_alignment(study) + on_fit)


def _for_product_check(photos: Split) -> tuple[Sequence[Sample], Sequence[Sample]]:
    """Good photos to learn the product from, and others to set its limit: those kept apart, else every fifth group."""
    if photos.calibrate or not (apart := folds(photos.fit, photos.groups, seed=0, count=5)):
        return photos.fit, photos.calibrate
    held_out = {sample.name for sample in apart[0]}
    return [sample for sample in photos.fit if sample.name not in held_out], apart[0]


def _compared(
    order: Order, store: Store, report: Report, workers: Workers | None
) -> tuple[Comparison | None, str | None]:
    """The candidates for a new folder compared, and why the chosen one is; None when the order names the detector."""
    if order.method is not None:
        return None, None
    if order.tiles is not None:
        return None, f"Large photos in tiles are learned {METHODS[FIRST].title.lower()}."
    photos, shortlist = order.photos, Shortlist.of_order(order)
    if not order.setters:
        return None, f"Too few photos to compare detectors; {METHODS[FIRST].title} needs the fewest."
    step = -(-len(photos.fit) // MOST_COMPARED)
    some = photos if step == 1 else replace(photos, fit=photos.fit[::step], judge=())
    detectors = tuple(shortlist.candidates)
    comparison = compare(replace(order, photos=some), store, report, detectors, workers=workers, judged=False)
    return comparison, " ".join(filter(None, (comparison.reason(), shortlist.sentence())))
