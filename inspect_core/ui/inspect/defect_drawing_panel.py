"""Where a known defect is, drawn on its photo in the browser; what the drawn ones teach is put in force at once."""

from functools import partial

import numpy as np
import streamlit as st

from inspect_core.images.areas import InspectionArea, Outline
from inspect_core.images.peak_outlines import peak_outlines
from inspect_core.runtime.json_record import from_table
from inspect_core.runtime.wording import pluralise
from inspect_core.study.known_defects import FEWEST
from inspect_core.ui import shell
from inspect_core.ui.bench.bench import MALFORMED
from inspect_core.ui.inspect import outline_editor
from inspect_core.ui.inspect.shown_photo import ShownPhoto
from inspect_core.ui.session import SessionSettings
from inspect_core.workbench import defect_export, transitions
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

MODE = "defect"
PROPOSED = 4
"""Peaks of the map that are proposed as the defect."""


def take(product: TaughtProduct, settings: SessionSettings, position: int) -> TaughtProduct:
    """The product with what was drawn on the photo at this position, and what that teaches."""
    if product.is_fixed or not 0 <= position < len(product.scored.photos):
        return product
    photo = product.scored.photos[position]
    rows = outline_editor.drawn_since(_key(product, photo.digest), settings)
    if rows is None:
        return product
    try:
        drawn = [from_table(InspectionArea, {**row, "mode": "ignore", "strictness": 1.0}) for row in rows]
    except MALFORMED:
        return product
    outlines = tuple(area.outline for area in drawn)
    with st.spinner("Learning from the drawn defects"):
        changed = shelf().change(product.id, partial(transitions.drawn, digest=photo.digest, outlines=outlines))
    if changed is None:  # closed since this run began
        st.rerun()
    return changed


def show(shown: ShownPhoto) -> None:
    """Show an expander on a defective part: the photo to draw on, what was learned, and the drawings as files."""
    product = shown.product
    photo = product.scored.photos[shown.position]
    if product.is_fixed or not photo.is_defect:
        return
    with st.expander("Draw the defect", key=f"drawing-open-{product.id}", on_change="rerun") as opened:
        if not opened.open:
            return
        st.caption(_progress(product))
        picture = product.photo(shown.position)
        offer = None if photo.drawn else outline_editor.offer_of(
            "Dashed: where the map is highest. Click one that is the defect, or draw it.", "Take all", MODE,
            _peaks(shown),
        )  # fmt: skip
        rows = [{"mode": MODE, "outline": outline, "strictness": 1} for outline in photo.drawn]
        key = _key(product, photo.digest)
        outline_editor.show(key, picture, photo.name, {MODE: "Draw the defect"}, rows, offer)
        st.download_button(
            "Labels and masks", partial(defect_export.exported, product), f"{product.product}-labels.zip",
            "application/zip", f"drawn-{product.id}", on_click="ignore", icon=":material/download:",
            help="All labels in COCO's format, and a mask for each defect whose place is known, as MVTec AD has them.",
        )  # fmt: skip


def _progress(product: TaughtProduct) -> str:
    """How many defects teach, and what is known of that."""
    known = product.own_study.known_defects
    if known is not None:
        return shell.escape(known.sentence())
    count = sum(photo.teaches for photo in product.scored.photos)
    so_far = f"{pluralise(count, 'defect')} so far. " if count else ""
    teaches = f"From {FEWEST} drawn defects on, they teach a map of their own. {so_far}"
    return f"{teaches}A test part with a drawn defect is no longer counted."


def _peaks(shown: ShownPhoto) -> list[Outline]:
    """The outlines of the highest peaks of the map, over the photo as taken."""
    scored = shown.product.scored
    placed = scored.photos[shown.position].placed
    over_photo = placed.over_photo(np.asarray(shown.view.anomaly_map, np.float32))
    return peak_outlines(over_photo, scored.typical_score(**shown.live), most=PROPOSED)


def _key(product: TaughtProduct, digest: str) -> str:
    return f"drawing-{product.id}-{digest[:16]}"
