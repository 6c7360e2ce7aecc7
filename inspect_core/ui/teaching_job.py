"""Teaching as a background job: from the photos chosen to an open product."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import split_to_teach
from inspect_core.features.store import feature_store
from inspect_core.methods.registry import FIXED
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Job, JobRejected
from inspect_core.runtime.progress import Report
from inspect_core.study.teaching_config import NO_ALIGNMENT, TeachingConfig
from inspect_core.tuning import teaching
from inspect_core.tuning.teaching_plan import TeachingCost, TeachingPlan
from inspect_core.ui import shell
from inspect_core.workbench import fitted_product, taught_product, transitions
from inspect_core.workbench.shelf import shelf

SAMPLES = workspace.app_folder() / "sample_data"
FIRST_SAMPLE = "flange"
"""The product that the app begins with."""
SAMPLE_PHOTOS = 40
"""How many of its good photos are learned from: whoever opens it first waits."""
SAMPLE_CHOICES: dict[str, Any] = {"method": FIXED, "align": NO_ALIGNMENT, "tolerances": None}
"""What is chosen for it: its parts lie in a fixture, and are not photographed again."""
AS_PUBLISHED = (
    "As its paper has it, as far as the paper says: no local scale, a minimum area of 1 pixel, no augmented copies. "
    "For reproducing published figures; Loupe's defaults suit most parts better. "
)
SAMPLE = "Teaching the sample product"


def start(order: TeachingConfig, follows: str | None = None) -> None:
    """Teach in the background; this session then takes the product.

    follows: id of a product whose settings the new one keeps. Raises JobRejected as `Jobs.submit` and `require_room`,
    OSError.
    """

    def work(job: Job) -> str:
        product = teach(order, job.report)
        before = shelf().find(follows) if follows else None
        return shelf().put(product if before is None else transitions.refitted(before, product, before.chosen()))

    key = shelf().begin(order)
    try:
        shell.start(f"Teaching {order.product}", work, subject=order, on_end=partial(shelf().ended, key))
    except JobRejected:
        shelf().ended(key)
        raise


def start_sample(name: str = FIRST_SAMPLE) -> bool:
    """Teach a sample part, at the first start so that the app is never empty; False where it is missing.

    Raises JobRejected as `start`.
    """
    if name not in samples():
        return False

    def work(job: Job) -> str:
        job.report(0.0, "checking the sample photos")
        photos = split_to_teach(scan(SAMPLES / name))
        photos = replace(photos, train=photos.train[:SAMPLE_PHOTOS])
        order = TeachingConfig.from_photos(name, photos, **SAMPLE_CHOICES)
        return shelf().put(teach(order, job.report))

    shell.start(SAMPLE, work)
    return True


def samples() -> tuple[str, ...]:
    """The bundled sample parts by folder name."""
    return tuple(sorted(path.parent.name for path in SAMPLES.glob("*/train")))


@st.cache_data(max_entries=32, show_spinner="Timing one photo…", hash_funcs={TeachingConfig: repr})
def expected(order: TeachingConfig, detectors: Sequence[str] = ()) -> tuple[str, TeachingCost]:
    """How the detector of an order is chosen, and what teaching it costs, or comparing detectors on its photos.

    Raises ValueError as `TeachingPlan`.
    """
    plan = plan_of(order, detectors)
    return plan.sentence(), plan.cost()


def plan_of(order: TeachingConfig, detectors: Sequence[str] = ()) -> TeachingPlan:
    """The plan of teaching an order, or of comparing detectors on its photos. Raises ValueError as `TeachingPlan`."""
    if detectors:
        return TeachingPlan.to_compare(order, feature_store(), detectors)
    return TeachingPlan.from_order(order, feature_store())


def teach(order: TeachingConfig, report: Report) -> taught_product.TaughtProduct:
    """The product of an order. Raises ValueError in words the page can show."""
    result = teaching.teach(order, feature_store(), report)
    return fitted_product.product_from_study(
        order.product,
        result.study,
        result.notes,
        result.product_check,
        order=result.order,
        detector_reason=result.detector_reason,
        warnings=result.warnings,
    )
