"""The map of the Explore page: patches or photos that look alike side by side, and the part behind a point."""

import hashlib
import math

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from inspect_core.audit.changes import limits_in_words
from inspect_core.images import boxes
from inspect_core.images.photo_reader import ImageError
from inspect_core.plots import scatter
from inspect_core.plots.chart_theme import ChartTheme, as_text
from inspect_core.plots.scatter import PointMarkers
from inspect_core.study.scored_photo import UNKNOWN
from inspect_core.tuning import scatter_points as explore
from inspect_core.ui import charts, in_hand, result_cache, shell
from inspect_core.ui.explore import explore_jobs, variance_panels
from inspect_core.ui.explore.explore_jobs import MapRequest, ScatterMap
from inspect_core.ui.session import settings_of, show_on_bench
from inspect_core.verdict import Limits
from inspect_core.workbench.taught_product import TaughtProduct

PATCHES, PHOTOS = "Patches", "Whole photos"
BEFORE, AFTER = "Raw network features", "After the detector's mapping"
KIND, SCORE, PHOTO, LOT = "Defect type", "Score", "Photo", "Lot"
PICKED_SIDE = 512
NEAR_SIDE = 128
FRAME = (194, 65, 12)


@in_hand.as_fragment
def patch_map(product: TaughtProduct) -> None:
    """t-SNE of patches or photos, with a click leading to the part and the patch."""
    if not product.scored.photos:
        st.info("No photos yet. Photos you add on Inspect appear here.")
        return
    live, limits = product.live, product.limits
    order, colour = _choose(product)
    key = map_key(product, order, live)
    drawn = result_cache.result_on_opening(
        "Compute map", "Places similar points close together (t-SNE). Takes under a minute.",
        f"Computing the map of {('photos' if order.photo_level else 'patches')}", key,
        lambda job: explore_jobs.draw_map(product, order, live, _suggested_limit(product, live), job),
    )  # fmt: skip
    if drawn is not None:
        _show(product, drawn, colour, chart_name(key), live, limits)


def map_key(product: TaughtProduct, order: MapRequest, live: dict[str, int]) -> tuple:
    """A drawn map's key: all that determines it. Not the limit in force: moving it redraws nothing."""
    shown = product.fit, len(product.scored.photos), product.scored.areas
    return "map", *shown, order.photo_level, order.after_mapping, order.view, *live.values()


def chart_name(key: tuple) -> str:
    """The key of the widget that shows a map: a new map has a new selection."""
    return f"map-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"


def _choose(product: TaughtProduct) -> tuple[MapRequest, str]:
    lots = any(photo.group for photo in product.scored.photos)
    with st.container(horizontal=True, gap="medium"):
        view = variance_panels.chosen_view(product)
        points = st.segmented_control("Points show", [PATCHES, PHOTOS], default=PATCHES, required=True, key="map_of")
        colour = st.segmented_control(
            "Colour by", [KIND, SCORE, PHOTO, *([LOT] if lots else [])], default=KIND, required=True, key="map_colour"
        )
        words = explore.view_in_words(product.scored.views[view].method, whole=points == PHOTOS)
        choice = st.segmented_control(
            "Features", [BEFORE, AFTER], default=BEFORE, required=True, key="map_features", help=f"{AFTER}: {words}"
        )
    if choice == AFTER:
        st.caption(words)
    return MapRequest(points == PHOTOS, choice == AFTER, view), colour


def _show(
    product: TaughtProduct, drawn: ScatterMap, colour: str, chart: str, live: dict[str, int], limits: Limits | None
) -> None:
    picked = _picked(chart, len(drawn.points))
    if picked is None:
        picked = _of_shown_photo(drawn.points, settings_of(product).position)
    theme = charts.current_theme()
    left, right = st.columns([3, 1.3], gap="medium")
    with left:
        figure = _coloured_scatter(product, drawn, colour, limits, theme)
        if picked is not None:
            scatter.ring_point(figure, drawn.positions[picked], theme)
        alt = f"Map of {len(drawn.points)} points; similar points lie close together."
        charts.show(figure, key=chart, alt=alt, on_select="rerun", selection_mode="points")
        st.caption(_how_to_read(drawn.points, limits))
    with right:
        st.caption("Click a point to see its part and patch.")
        if picked is not None:
            _show_picked(product, drawn, picked, live, limits)


def _coloured_scatter(
    product: TaughtProduct, drawn: ScatterMap, colour: str, limits: Limits | None, theme: ChartTheme
) -> go.Figure:
    points, photos = drawn.points, product.scored.photos
    limit = limits.review if limits is not None else None
    marks = PointMarkers(points.defect, points.peak > (math.inf if limit is None else limit))
    hover = [_name_point(product, drawn, i) for i in range(len(points))]
    if colour == SCORE:
        title = "score on the heatmap"
        return scatter.scatter_by_value(drawn.positions, points.peak, marks, hover, theme, title=title, limit=limit)
    if colour == PHOTO:
        values = points.photo.astype(float)
        return scatter.scatter_by_value(drawn.positions, values, marks, hover, theme, title="photo number")
    if colour == LOT:
        words = [photos[i].group or "no lot" for i in points.photo]
        colours = scatter.colours_of_groups(words, theme)
    else:
        unknown = explore.UNMARKED, UNKNOWN
        words = list(points.truth)
        colours = scatter.type_colours(points.truth, theme, unknown)
    return scatter.scatter_by_category(drawn.positions, words, colours, marks, hover, theme)


def _show_picked(
    product: TaughtProduct, drawn: ScatterMap, i: int, live: dict[str, int], limits: Limits | None
) -> None:
    """Show the part behind a point, its patch framed, and the way to the bench."""
    points = drawn.points
    position = int(drawn.points.photo[i])
    photo = product.scored.photos[position]
    try:
        pixels = product.pixels(position)
    except ImageError as error:
        st.error(shell.sentence(error), icon=":material/broken_image:")
        return
    small = boxes.downscale(pixels, PICKED_SIDE)
    score = f"The part: {_scored(float(product.scored.scores(**live)[position]), limits, 'score')}."
    st.markdown(f"**{shell.escape(photo.name)}** · {shell.escape(photo.label)}")
    if points.whole:
        st.image(small, alt=photo.name, output_format="PNG", width="stretch")
        st.caption(score)
    else:
        row, column = (int(at) for at in points.place[i])
        box = boxes.patch_box((row, column), product.scored.grid, small.shape[:2])
        st.image(
            boxes.draw_frame(small, box, FRAME), output_format="PNG", width="stretch",
            alt=f"{photo.name} with the patch in row {row + 1}, column {column + 1} framed",
        )  # fmt: skip
        box = boxes.patch_box((row, column), product.scored.grid, pixels.shape[:2])
        around = boxes.crop_box(pixels, boxes.context_box(box, pixels.shape[:2]))
        controls = st.container(horizontal=True, gap="small")
        controls.image(boxes.upscale(around), output_format="PNG", width=NEAR_SIDE, alt="The patch, enlarged")
        controls.container(width=NEAR_SIDE).caption(
            f"Patch in row {row + 1}, column {column + 1}: "
            f"{_scored(float(points.peak[i]), limits, 'peak score')}.  \n{score}"
        )
    if st.button("Show on Inspect", key="to_bench", width="stretch"):
        show_on_bench(product, position, None if points.whole else (row, column))


def _picked(chart: str, count: int) -> int | None:
    """The point clicked last; it stays when a click meets no point or the colours change."""
    event = st.session_state.get(chart) or {}
    chosen = (event.get("selection") or {}).get("points") or []
    picked_key = f"picked-{chart}"
    if chosen:
        st.session_state[picked_key] = int(chosen[0]["customdata"])
    picked = st.session_state.get(picked_key)
    return picked if picked is not None and picked < count else None


def _of_shown_photo(points: explore.ScatterPoints, position: int) -> int | None:
    """The point with the highest peak of the photo shown on Inspect; None where the map has none of it."""
    of_photo = np.flatnonzero(points.photo == position)
    return int(of_photo[points.peak[of_photo].argmax()]) if len(of_photo) else None


def _name_point(product: TaughtProduct, drawn: ScatterMap, i: int) -> str:
    points = drawn.points
    photo, (row, column) = product.scored.photos[points.photo[i]], points.place[i]
    name, truth = as_text(photo.name), as_text(points.truth[i])
    if points.whole:
        return f"{name}<br>{truth}<br>score {points.score[i]:.3g}"
    return f"{name}<br>{truth}, row {row + 1}, column {column + 1}<br>peak score {points.peak[i]:.3g}"


def _how_to_read(points: explore.ScatterPoints, limits: Limits | None) -> str:
    defect = int(points.defect.sum())
    above = int((points.peak > limits.review).sum()) if limits is not None else 0
    subject = "photos" if points.whole else f"patches of {len(np.unique(points.photo))} photos"
    shown = "" if points.whole else " Anomalous patches are over-represented."
    return (
        f"{len(points)} {subject}. Diamonds: {defect} {('defects' if points.whole else 'inside a ground-truth mask')}. "
        f"Ringed: {above} above the review limit.{shown} Neighbouring points are similar; group sizes and gaps carry "
        "no meaning."
    )


def _scored(value: float, limits: Limits | None, words: str) -> str:
    return f"{words} {value:.3g}" + (f", {limits_in_words(limits)}" if limits is not None else "")


def _suggested_limit(product: TaughtProduct, live: dict[str, int]) -> float:
    """The limit above which patches are preferred as points; independent of a limit set by hand."""
    try:
        return product.suggested_limits(live).review
    except ValueError:
        return math.inf
