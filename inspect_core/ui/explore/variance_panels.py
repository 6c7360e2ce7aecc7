"""The parts of the Explore page except its map: where variance goes, how figures change with a parameter."""

import math
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from torch import Tensor

from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.registry import CONTROLS
from inspect_core.methods.spectrum import COLLAPSED, LocalSpectrum, variance_fractions
from inspect_core.plots import explore_plots
from inspect_core.runtime.wording import duration
from inspect_core.tuning.patch_sample import explained
from inspect_core.tuning.sensitivity import SensitivityPoint
from inspect_core.ui import charts, result_cache, shell
from inspect_core.ui.explore import explore_jobs
from inspect_core.workbench.taught_product import TaughtProduct

METRIC_HELP = {
    "image AUROC": "Image AUROC: the probability that a defective part scores higher than a good one; 50% is guessing.",
    "AUPRO": "AUPRO: how well the anomaly map covers the true defect areas, up to a pixel false-positive rate of 30%.",
    "false rejects at 95% detection": (
        "False rejects at 95% detection: share of good parts rejected by the limit that catches 95% of the defects; "
        "lower is better."
    ),
    "escapes at 95% acceptance": (
        "Escapes at 95% acceptance: share of defects accepted by the limit that keeps 95% of the good parts, the FPR95 "
        "of the papers; lower is better."
    ),
}
THRESHOLDS = (COLLAPSED, 1e-3, 1e-2, 1e-1)
FIT_SECONDS = 3.0  # of one value of γ, M or σ, measured on two cores
PHOTO_SECONDS = 0.06


def chosen_view(product: TaughtProduct) -> int:
    """The position of the view to show; a choice if the detector adds several."""
    views = product.scored.views
    if len(views) < 2:
        return 0
    return st.segmented_control(
        "Detector", range(len(views)), default=0, required=True, key=f"explored-{product.id}",
        format_func=lambda i: views[i].definition.title,
    )  # fmt: skip


def variance(product: TaughtProduct) -> None:
    """Show where the variance of good patches goes: eigenvalues, and the remaining rank at every place."""
    position = chosen_view(product)
    live = product.live
    view = product.scored.views[position]
    if view.variances is not None:
        _one_spectrum(view, view.variances, live[view.live_parameter])
        return
    with st.spinner("Computing spectra for all locations…"):
        spectrum = explore_jobs.spectrum(product, view)
    if isinstance(spectrum, str):
        st.caption(shell.escape(spectrum))
        _falling_variance(product, position)
    else:
        _local_variance(product, spectrum, live[view.live_parameter])


def _one_spectrum(view: FittedMethod, variances: Tensor, q: int) -> None:
    fractions = variance_fractions(variances)
    if not len(fractions):
        st.info("The good patches do not vary, so there is no spectrum to show.")
        return
    fraction = float(explained(view, [q])[0])
    st.markdown(
        f"Good patches vary in {len(fractions)} directions. The first **{q:d}** explain **{fraction:.1%}** of the "
        "variance and count as normal. A new patch is scored by its distance along the others."
    )
    alt = f"Fraction of variance of each component on a log scale; the first {q} hold {fraction:.1%}."
    charts.show(explore_plots.eigenvalues(fractions, q, fraction, charts.current_theme()), key="eigenvalues", alt=alt)
    st.caption(
        "A steep drop means that good patches are similar and few directions describe them. The flat curve to the "
        "right of the cut is noise; a defect must exceed it."
    )


def _falling_variance(product: TaughtProduct, position: int) -> None:
    if product.is_fixed:
        st.caption("This plot needs the good photos. Teach the product again to see it.")
        return
    variances = result_cache.result_on_opening(
        "Plot variance decay", "Uses a sample of good patches; takes seconds.", "Analysing good patches",
        ("fall", product.fit, position), lambda job: explore_jobs.patch_variances(product, position, job),
    )  # fmt: skip
    if variances is not None:
        alt = "Negative logarithm of each eigenvalue relative to the largest; higher means less variance."
        charts.show(explore_plots.variance_decay(variances, charts.current_theme()), key="fall", alt=alt)
        st.caption(
            "−log λₙ/λ₁ of the good patches (Pavutnitskiy et al. 2022). Where it is high, good patches hardly vary: "
            "they lie on surfaces, and a patch off a surface stands out."
        )


def learned_from(product: TaughtProduct, photo_count: int) -> str:
    """In words the good photos it learned from, `photo_count` with the copies that were made of them."""
    record = product.recipe.teaching if product.recipe else None
    originals = sum(photo.subset == "train" for photo in record.photos) if record else photo_count
    originals = len(product.study.split.train) if product.study else originals
    return f"{originals} good photos{' and copies of them' if originals < photo_count else ''}"


def _local_variance(product: TaughtProduct, local: LocalSpectrum, k: int) -> None:
    width = local.values.shape[-1]
    above = st.segmented_control(
        "Count directions with a variance of at least", THRESHOLDS, default=1e-2, required=True, key="rank_above",
        format_func=lambda value: f"{value:g}",
        help="At the ridge value (usually 0.01), half of the regularised variance is the ridge. 0.0001 is the "
            "threshold of Kim et al. (2021).",
    )  # fmt: skip
    counts = local.rank_map(above)
    st.markdown(
        f"At each location the detector keeps {width} mixed features, fitted on "
        f"{learned_from(product, local.photos)}. At a typical location, parts differ in "
        f"**{np.median(counts):.0f}** directions"
        + (f"; so few photos can show at most {local.possible}." if local.possible < width else ".")
    )
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.markdown("**Spectrum over all locations**")
        level = (f"ridge {local.ridge:g}", local.ridge)
        alt = "median and 10–90% band"
        figure = explore_plots.local_spectra({"typical location": local.band}, charts.current_theme(), level=level, k=k)
        charts.show(figure, key="local_spectrum", alt=f"Eigenvalues at each place on a log scale: {alt}.")
    with right:
        st.markdown("**Directions per location**")
        alt = f"Number of eigenvalues above {above:g} at each place, from {counts.min()} to {counts.max()}."
        charts.show(explore_plots.location_map(counts, local.possible, charts.current_theme()), key="rank_map", alt=alt)


def sensitivity(product: TaughtProduct) -> None:
    """Show how the figures change with a parameter, with the value in force marked; useful also without defects."""
    live = product.live
    at_once = [view.live_parameter for view in product.scored.views if view.live_parameter]
    offered = [*at_once, *product.fitted()]
    if not offered:
        st.info("This detector has no live parameter.")
        return
    if sum(photo.label == "good" for photo in product.scored.photos) < 2:
        st.info("A curve needs at least two good photos. Teach the product again to load them.")
        return
    name = offered[0]
    if len(offered) > 1:
        name = st.segmented_control(
            "Parameter", offered, default=name, required=True, key=f"followed-{product.id}",
            format_func=lambda name: CONTROLS[name].label,
        )  # fmt: skip
    known = live | product.fitted()
    key = ("curve", product.fit, len(product.scored.photos), name, tuple(live.items()), product.scored.areas)
    title = f"Computing sensitivity to {CONTROLS[name].label.split(':')[0]}"
    words = "One fit covers all values. Takes seconds, or up to a minute with hundreds of photos."
    work = partial(explore_jobs.follow_live, product, name, live)
    shown = result_cache.result_on_opening
    if name not in at_once:
        fits = len(explore_jobs.values_about(name, known[name]))
        took = duration(fits * (FIT_SECONDS + PHOTO_SECONDS * len(product.scored.photos)))
        words = f"Refits {fits} values on a sample of good patches; takes about {took}."
        work = partial(explore_jobs.follow_refits, product, name, known[name], live)
        shown = result_cache.result_or_button
    readings: list[SensitivityPoint] | None = shown("Plot curve", words, title, key, work)
    if readings is not None:
        _curves(product, name, known[name], readings)


def _curves(product: TaughtProduct, name: str, value: float, readings: list[SensitivityPoint]) -> None:
    values = [reading.value for reading in readings]
    notes = None
    view = next((view for view in product.scored.views if view.live_parameter == name), None)
    if view is not None and view.variances is not None:
        notes = [f" ({fraction:.1%} of the variance)" for fraction in explained(view, [int(v) for v in values])]
    lines = {
        "image AUROC": [reading.image_auroc for reading in readings],
        "AUPRO": [reading.aupro for reading in readings],
        "false rejects at 95% detection": [reading.good_rejected_at_95_caught for reading in readings],
        "escapes at 95% acceptance": [reading.fpr95 for reading in readings],
    }
    label = CONTROLS[name].sign
    suggested = view.start if view is not None else None
    facts: dict[str, Any] = {"parameter": label, "in_force": value, "suggested": suggested, "notes": notes}
    has_defects = any(math.isfinite(y) for ys in lines.values() for y in ys)
    left, right = st.columns(2, gap="medium")
    if has_defects:
        with left:
            st.markdown("**Good versus defect**", help=" ".join(METRIC_HELP.values()))
            figure = explore_plots.curves(values, lines, charts.current_theme(), title="fraction", **facts)
            charts.show(figure, key="figures_curve", alt=f"Image AUROC, AUPRO and good parts rejected against {label}.")
    with right if has_defects else left:
        st.markdown(
            "**Good parts alone**",
            help="How far the highest good score lies above the median good score, as a multiple of the median. The "
            "limit must lie above it, so a lower curve leaves more room to detect small defects. Needs no "
            "defects.",
        )
        spread = {"highest-scoring good part": [reading.spread for reading in readings]}
        figure = explore_plots.curves(
            values, spread, charts.current_theme(), title="above the median, × the median", fractions=False, **facts
        )
        charts.show(figure, key="spread_curve", alt=f"Spread of good scores against {label}.")
    if not has_defects:
        st.caption("Add photos of known defects to the test folder to see how well they are separated.")
    with st.expander("Data table"):
        st.dataframe({label: values, **lines, **spread}, hide_index=True)
