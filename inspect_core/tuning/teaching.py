"""Teaching, the same for the page and the command line: photos and choices in, a fitted study and a guard out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inspect_core.features.store import Store
from inspect_core.guard.model import OFF, WARN, Guard
from inspect_core.guard.training import train_guard
from inspect_core.images.folders import Split
from inspect_core.methods.table import methods_of
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.progress import Report, stage
from inspect_core.study.study import Study
from inspect_core.tuning.suggest import Suggestion, fit_as_suggested
from inspect_core.view import with_taps


@dataclass(frozen=True)
class Order:
    """What to teach: the photos as split, and every choice; the defaults are those of the page and the command line.

    parameters: of the fit; a live one among them is the largest value that can be tried. fixed: names of parameters
    that the user has chosen and no suggestion changes, a live one included. taps: for all methods, None: those each
    works best on. area: the smallest that counts, in pixels of the map, None: .2 % of it. weights: a file to use
    instead of the one found on this machine. guard: its mode, "off" for none. notes: sentences on the photos, handed
    through.
    """

    product: str
    photos: Split
    backbone: str = "efficientnet_lite0"
    taps: str | tuple[str, ...] | None = None
    size: tuple[int, int] = (256, 256)
    grid: tuple[int, int] = (32, 32)
    method: str = "mahalanobis"
    parameters: Mapping[str, float] = field(default_factory=dict)
    fixed: Collection[str] = ()
    area: int | None = None
    seed: int = 0
    guard: str = WARN
    fused_guard: bool = False
    weights: Path | None = None
    device: str = "auto"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Taught:
    """What was learned.

    suggestion: None where there was nothing to suggest; notes: those of the order, then a sentence a skipped photo.
    """

    study: Study
    suggestion: Suggestion | None
    guard: Guard | None
    notes: tuple[str, ...]


def feature_store() -> Store:
    """The store of extracted features in the workspace, bounded."""
    return Store(workspace.features_folder(), limit=workspace.FEATURE_BYTES)


def teach(order: Order, store: Store, report: Report) -> Taught:
    """Load the backbone, extract, find values to begin with, fit, learn the product; holds the device all the while.

    The same order on the same machine gives the same recipe to the bit.
    Raises ValueError for a choice or photos that cannot be used, and whatever `report` raises to stop.
    """
    report(0.0, "loading the backbone")
    backbone, seen = with_taps(
        methods_of(order.method), order.backbone,
        taps=order.taps, size=order.size, device=order.device, weights=order.weights,
    )  # fmt: skip
    study = Study(
        order.photos,
        backbone,
        store,
        method=order.method,
        parameters=order.parameters,
        grid=order.grid,
        taps=seen,
        area=order.area,
        seed=order.seed,
    )
    with device_lock(backbone.device):
        study, suggestion = fit_as_suggested(study, fixed=order.fixed, progress=stage(report, 0.0, 0.8))
        guard = None
        if order.guard != OFF:
            guard = train_guard(
                backbone,
                study.split.fit,
                study.split.calibrate,
                seed=order.seed,
                fused=order.fused_guard,
                mode=order.guard,
                report=stage(report, 0.8, 1.0),
            )
    skipped = tuple(f"{name} was skipped: {reason}" for name, reason in study.skipped)
    return Taught(study, suggestion, guard, order.notes + skipped)
