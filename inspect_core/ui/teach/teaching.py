"""Teaching as a background job: from the photos chosen to a part in hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from inspect_core.features.backbones import shared
from inspect_core.features.store import Store
from inspect_core.guard.training import train_guard
from inspect_core.images.folders import Split, scan, split
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.study.study import Study
from inspect_core.tuning.suggest import fit_as_suggested
from inspect_core.ui import shell, taught_part

SAMPLES = Path(__file__).resolve().parents[3] / "sample_data"
FIRST_SAMPLE = "flange"


@dataclass(frozen=True)
class Order:
    """What to teach: the photos as split, and every choice of the Teach page."""

    product: str
    photos: Split
    backbone: str = "efficientnet_lite0"
    taps: str = "expansions"
    size: tuple[int, int] = (256, 256)
    grid: tuple[int, int] = (32, 32)
    method: str = "mahalanobis"
    parameters: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    notes: tuple[str, ...] = ()
    fused_guard: bool = False


def start(order: Order) -> None:
    """Teach in the background; the part then lies in this session's hand. Raises Busy while another job runs."""
    shell.start(f"Teaching {order.product}", lambda job: taught_part.shelve(teach(order, job.report)))


def start_sample() -> None:
    """Teach the first sample part, so that nobody meets an empty app."""

    def work(job: Job) -> str:
        job.report(0.0, "looking at the sample photos")
        photos = split(scan(SAMPLES / FIRST_SAMPLE), seed=0)
        return taught_part.shelve(teach(Order(FIRST_SAMPLE, photos), job.report))

    shell.start("Teaching the sample part", work)


def samples() -> tuple[str, ...]:
    """The bundled sample parts by folder name."""
    return tuple(sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())) if SAMPLES.exists() else ()


def teach(order: Order, report: Callable[[float, str], None]) -> taught_part.TaughtPart:
    """Load, extract, find values to begin with, fit; holds the device all the while.

    Raises ValueError in words the page can show.
    """
    report(0.0, "loading the backbone")
    backbone = shared(order.backbone, taps=order.taps, size=order.size)
    study = Study(
        order.photos,
        backbone,
        feature_store(),
        method=order.method,
        parameters=order.parameters,
        grid=order.grid,
        seed=order.seed,
    )
    with device_lock(backbone.device):
        study, suggestion = fit_as_suggested(
            study, fixed=order.parameters, progress=lambda fraction, step: report(0.8 * fraction, step)
        )
        guard = train_guard(
            study.preparation.backbone,
            study.split.fit,
            study.split.calibrate,
            seed=study.seed,
            fused=order.fused_guard,
            report=lambda fraction, step: report(0.8 + 0.2 * fraction, step),
        )
    skipped = tuple(f"{name} was skipped: {reason}" for name, reason in study.skipped)
    return taught_part.of_study(order.product, study, order.notes + skipped, guard, suggestion)


def feature_store() -> Store:
    """The store of extracted features in the workspace, bounded."""
    return Store(workspace.features_folder(), limit=workspace.FEATURE_BYTES)
