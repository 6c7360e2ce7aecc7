"""Comparisons in the background; only the last one is kept, for every session of this process."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from inspect_core.features.store import feature_store
from inspect_core.runtime.jobs import Job
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.comparison_result import Comparison, ComparisonRow
from inspect_core.tuning.detector_comparison import compare, fitted
from inspect_core.ui import shell
from inspect_core.ui.result_cache import ResultCache
from inspect_core.workbench.fitted_product import product_from_study
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct


@st.cache_resource(show_spinner=False)
def _last() -> ResultCache:
    return ResultCache(1)


def start(order: TeachingConfig, detectors: Sequence[str], as_published: bool) -> None:
    """Compare in the background; drops the previous comparison. Raises JobRejected as `Jobs.submit`."""
    last = _last()

    def work(job: Job) -> None:
        last.clear()
        last.put(order, compare(order, feature_store(), job.report, detectors, as_published=as_published))

    shell.start(f"Comparing detectors on {order.product}", work, subject=subject_of(order))


def subject_of(order: TeachingConfig) -> object:
    """What a comparison of this order is known by while it runs."""
    return "comparison", order


def last_comparison(order: TeachingConfig) -> Comparison | None:
    """The comparison of this order, if it was the last one made."""
    return _last().get(order)


def put_on_bench(product: TaughtProduct, row: ComparisonRow) -> None:
    """Open the product's photos under a detector as a comparison fitted it, with its product check and areas.

    Raises JobRejected as `Jobs.submit` and `require_room`.
    """
    shelf().require_room()
    order = replace(product.latest_order().to_compare(), method=row.detector, as_published=row.as_published)

    def work(job: Job) -> str:
        job.report(0.0, "loading the network")
        study = fitted(row)
        made = product_from_study(product.product, study, product.notes, product.product_check, order=order)
        return shelf().put(made.with_areas(order.areas))

    shell.start(f"Opening {row.title} on Inspect", work)
