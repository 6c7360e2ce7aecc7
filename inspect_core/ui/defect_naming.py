"""The defect type of the part on the bench, and the live limit from which one is named."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from inspect_core.scoring.anomaly_map import Region
from inspect_core.ui import crops, shell
from inspect_core.verdict import UNKNOWN_TYPE, Verdict
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct


def name_type(product: TaughtProduct, position: int, regions: Sequence[Region]) -> tuple[str, float] | None:
    """(defect type, probability) of one photo on the bench with these regions, the same as in inspection.

    Its embedding is stored. Raises ImageError for a photo that can no longer be read.
    """
    if (defect_types := product.defect_types) is None:
        return None
    return defect_types.of_embedding(crops.embedding(product, position, defect_types.box_of(regions)))


def in_words(verdict: Verdict) -> str | None:
    """The text under the verdict: "scratch, 87 %", "unknown defect type", a stopped photo's reason, or None."""
    if verdict.defect_type is not None:
        return f"{verdict.defect_type[0]}, {100 * verdict.defect_type[1]:.0f}%"
    return UNKNOWN_TYPE if verdict.of_unknown_type else verdict.reason


def limit_slider(product: TaughtProduct, page: str) -> None:
    """Show the slider of the least probability that names a defect type; nothing while none was learned."""
    if product.defect_types is None:
        return
    key = f"minimum_confidence-{page}-{product.id}"
    percent = shell.set_widget(key, round(100 * product.defect_types.minimum_confidence))
    st.slider(
        "Minimum confidence", 0, 100, percent, format="%d%%", key=key, on_change=_set_limit, args=(product.id, key),
        help="A part whose most likely defect type is below this confidence is reported as “unknown defect type”. "
            "Raise it to name fewer unknown defects by mistake; fewer known defects are then named as well.",
    )  # fmt: skip


def _set_limit(taught_id: str, key: str) -> None:
    limit = st.session_state[key] / 100
    shelf().change(
        taught_id,
        lambda current: replace(current, defect_types=current.defect_types and current.defect_types.with_limit(limit)),
    )
