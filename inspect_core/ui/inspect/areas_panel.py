"""Areas on Inspect: drawn on the part in the browser, checked and put into force here."""

import numpy as np
import streamlit as st

from inspect_core.images.areas import InspectionAreas
from inspect_core.runtime.json_record import from_table, to_table
from inspect_core.scoring.anomaly_map import AREA
from inspect_core.scoring.hot_spot import bright_place
from inspect_core.scoring.verdict_rule import ACCEPTED
from inspect_core.ui import shell
from inspect_core.ui.bench.bench import MALFORMED
from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.ui.inspect import outline_editor
from inspect_core.ui.inspect.shown_photo import ShownPhoto
from inspect_core.ui.session import SessionSettings, settings_of
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

MODES = {"inspect": "Inspect only here", "ignore": "Ignore here", "stricter": "Stricter here"}
FEWEST = 6
"""Fewest good parts that are looked at for a place at which they light up."""
MOST = 10
"""Most of them."""


def take(product: TaughtProduct, settings: SessionSettings) -> TaughtProduct:
    """The product with the last drawing in force; for invalid areas a message, and the drawing stays."""
    rows = outline_editor.drawn_since(_key(product), settings)
    if rows is None:
        return product
    settings.areas_problem = ""
    scored, alignment = product.scored, product.extractor.alignment
    reference = alignment.digest if alignment else ""
    try:
        areas = from_table(InspectionAreas, {"areas": rows, "reference": reference}) if rows else None
        if areas is not None:
            areas.check(scored.size, alignment, least=product.live[AREA])
    except MALFORMED as error:
        settings.areas_problem = str(error) if isinstance(error, ValueError) else "The drawing cannot be read."
        return product
    changed = shelf().change(product.id, lambda current: current.with_areas(areas))
    if changed is None:  # closed since this run began
        st.rerun()
    return changed


def show(photo: ShownPhoto) -> None:
    """Show an expander below the bench; above it, where good parts light up at one place, the offer to ignore it."""
    product = photo.product
    areas = product.scored.areas
    if product.is_fixed:
        if areas is not None:
            st.caption("Areas are fixed by the recipe. Teach again to change them.")
        return
    offer = _bright_place(product, photo.view)
    opening = f"areas-open-{product.id}"
    if offer is not None and not st.session_state.get(opening):
        row = st.container(horizontal=True, vertical_alignment="center")
        row.caption(f":material/flare: {shell.escape(offer['words'])}", width="content")
        row.button("Show area", key=f"bright-{product.id}", on_click=st.session_state.update, args=({opening: True},))
    with st.expander("Areas", key=opening, on_change="rerun") as opened:
        if not opened.open:
            return
        moves = "They move with the part." if product.extractor.alignment else "They stay fixed in the photo."
        st.caption(f"Limit inspection to certain areas, ignore areas, or apply a stricter limit. {moves}")
        if problem := settings_of(product).areas_problem:
            st.error(shell.escape(problem), icon=":material/error:")
        name = product.scored.photos[photo.position].name
        rows = [] if areas is None else to_table(areas)["areas"]
        outline_editor.show(_key(product), photo.pixels, name, MODES, rows, offer)


def _bright_place(product: TaughtProduct, drawn: BenchState) -> dict | None:
    """The offer to ignore the place at which the good parts above the review limit, or nearest to it, light up."""
    scored = product.scored
    good = np.flatnonzero(scored.good_and_defect()[0])
    highest = good[np.argsort(-drawn.scores[good], kind="stable")]
    above = int((drawn.evidence.ranks(drawn.limits)[good] > ACCEPTED).sum())
    highest = highest[: min(max(above, FEWEST), MOST)]
    maps = scored.maps(highest, **product.live)
    place = bright_place(maps, limit=drawn.limits.review, area=drawn.area)
    if place is None:
        return None
    location = "along the border" if place.at_border else "in one spot"
    words = (
        f"{place.peak_count} of the {len(highest)} highest-scoring good parts peak {location}. Ignoring this area "
        f"lowers their scores by {place.score_drop:.0%}, but defects there would be missed."
    )
    outlines = [((x0, y0), (x1, y0), (x1, y1), (x0, y1)) for x0, y0, x1, y1 in place.boxes]
    return outline_editor.offer_of(words, "Ignore this area", "ignore", outlines)


def _key(product: TaughtProduct) -> str:
    return f"areas-{product.id}"
