"""Areas on Inspect: drawn on the part in the browser, checked and put into force here."""

from pathlib import Path

import numpy as np
import streamlit as st

from inspect_core.images.areas import InspectionAreas
from inspect_core.images.boxes import downscale
from inspect_core.line.html_page import data_url
from inspect_core.runtime.json_record import from_table, to_table
from inspect_core.scoring.anomaly_map import AREA
from inspect_core.scoring.hot_spot import bright_place
from inspect_core.scoring.verdict_rule import ACCEPTED
from inspect_core.ui import shell
from inspect_core.ui.bench import pixels as bytes_of
from inspect_core.ui.bench.bench import MALFORMED, NEVER, ignore_callback, stamp_of
from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.ui.inspect.shown_photo import ShownPhoto
from inspect_core.ui.session import SessionSettings, settings_of
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

SIDE = 1024
"""Pixels of the longer side of the picture that is drawn on."""
FEWEST = 6
"""Fewest good parts that are looked at for a place at which they light up."""
MOST = 10
"""Most of them."""
_FRONTEND = Path(__file__).with_name("areas")
_DRAWING = st.components.v2.component(
    "loupe_areas",
    html=(_FRONTEND / "areas.html").read_text(encoding="utf-8"),
    css=(_FRONTEND / "areas.css").read_text(encoding="utf-8"),
    js=(_FRONTEND / "areas.js").read_text(encoding="utf-8"),
)


def take(product: TaughtProduct, settings: SessionSettings) -> TaughtProduct:
    """The product with the last drawing in force; for invalid areas a message, and the drawing stays."""
    drawn = (st.session_state.get(_key(product)) or {}).get("areas") or {}
    if stamp_of(drawn) in (NEVER, settings.areas_stamp):
        return product
    settings.areas_stamp = stamp_of(drawn)
    settings.areas_problem = ""
    scored, alignment = product.scored, product.extractor.alignment
    reference = alignment.digest if alignment else ""
    try:
        rows = drawn["areas"]
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
        file, size = bytes_of.photo_file(downscale(photo.pixels, SIDE))
        _DRAWING(
            key=_key(product),
            data={
                "photo": data_url(file, "png"),
                "size": size,
                "areas": [] if areas is None else to_table(areas)["areas"],
                "in_force": settings_of(product).areas_stamp,
                "name": product.scored.photos[photo.position].name,
                "offer": offer,
            },
            on_areas_change=ignore_callback,
        )


def _bright_place(product: TaughtProduct, drawn: BenchState) -> dict | None:
    """{words, outlines} of the place at which the good parts above the review limit, or nearest to it, light up."""
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
    return {"words": words, "outlines": [[(x0, y0), (x1, y0), (x1, y1), (x0, y1)] for x0, y0, x1, y1 in place.boxes]}


def _key(product: TaughtProduct) -> str:
    return f"areas-{product.id}"
