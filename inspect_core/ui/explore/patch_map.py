"""The map of the Explore page: patches or photos that look alike side by side, and the part behind a point."""

import hashlib
import math

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from inspect_core.images import boxes
from inspect_core.images.photo_reader import ImageError
from inspect_core.plots import scatter
from inspect_core.plots.chart_theme import ChartTheme, as_text
from inspect_core.plots.scatter import PointMarkers
from inspect_core.tuning import scatter_points as explore
from inspect_core.ui import charts, open_product_store, result_cache, shell
from inspect_core.ui.explore import explore_jobs, variance_panels
from inspect_core.ui.explore.explore_jobs import DrawnMap, MapOrder
from inspect_core.ui.session import in_force, show_on_bench
from inspect_core.ui.taught_product import TaughtPart
from inspect_core.verdict import Limits

PATCHES, PHOTOS = "Patches", "Whole photos"
BEFORE, AFTER = "Raw network features", "After the detector's mapping"
KIND, SCORE, PHOTO, LOT = "Defect type", "Score", "Photo", "Lot"
PICKED_SIDE, NEAR_SIDE = 512, 128
FRAME = (194, 65, 12)


@open_product_store.redrawn
def patch_map(taught: TaughtPart) -> None:
    """t-SNE of patches or photos, with a click leading to the part and the patch."""
    if not taught.scored.photos:
        st.info("No photos yet. Photos you add on Inspect appear here.")
        return
    live, limits = in_force(taught)
    order, colour = _choose(taught)
    key = map_key(taught, order, live)
    drawn = result_cache.kept().get(key)
    if drawn is not None:
        _show(taught, drawn, colour, chart_name(key), live, limits)
        return
    limit = _suggested_limit(taught, live)
    result_cache.offer(
        "Compute map", "Places similar points close together (t-SNE). Takes about ten seconds on an idle machine.",
        f"Computing the map of {('photos' if order.whole else 'patches')}", key,
        lambda job: explore_jobs.draw_map(taught, order, live, limit, job),
    )  # fmt: skip


def map_key(taught: TaughtPart, order: MapOrder, live: dict[str, int]) -> tuple:
    """Key of a drawn map: everything that determines it. The limit in force does not, so moving it redraws nothing."""
    seen = taught.id, len(taught.scored.photos), taught.scored.areas
    return "map", *seen, order.whole, order.mapped, order.view, *live.values()


def chart_name(key: tuple) -> str:
    """Key of the widget that shows a map: a new map has a new selection."""
    return f"map-{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}"


def _choose(taught: TaughtPart) -> tuple[MapOrder, str]:
    lots = any(photo.group for photo in taught.scored.photos)
    with st.container(horizontal=True, gap="medium"):
        view = variance_panels.chosen_view(taught)
        points = st.segmented_control("Points show", [PATCHES, PHOTOS], default=PATCHES, required=True, key="map_of")
        colour = st.segmented_control(
            "Colour by", [KIND, SCORE, PHOTO, *([LOT] if lots else [])], default=KIND, required=True, key="map_colour"
        )
        words = explore.view_in_words(taught.scored.views[view].method, whole=points == PHOTOS)
        seen = st.segmented_control(
            "Features", [BEFORE, AFTER], default=BEFORE, required=True, key="map_features", help=f"{AFTER}: {words}"
        )
    if seen == AFTER:
        st.caption(words)
    return MapOrder(points == PHOTOS, seen == AFTER, view), colour


def _show(
    taught: TaughtPart, drawn: DrawnMap, colour: str, chart: str, live: dict[str, int], limits: Limits | None
) -> None:
    picked, look = _picked(chart, len(drawn.points)), charts.look()
    left, right = st.columns([3, 1.3], gap="medium")
    with left:
        figure = _coloured_scatter(taught, drawn, colour, limits, look)
        if picked is not None:
            scatter.ring_point(figure, drawn.positions[picked], look)
        alt = f"Map of {len(drawn.points)} points; similar points lie close together."
        charts.show(figure, key=chart, alt=alt, on_select="rerun", selection_mode="points")
        st.caption(_how_to_read(drawn.points, limits))
    with right:
        if picked is None:
            st.markdown("**Click a point** to see its part and patch.")
        else:
            _show_picked(taught, drawn, picked, live, limits)


def _coloured_scatter(
    taught: TaughtPart, drawn: DrawnMap, colour: str, limits: Limits | None, look: ChartTheme
) -> go.Figure:
    points, photos = drawn.points, taught.scored.photos
    limit = limits.review if limits is not None else None
    marks = PointMarkers(points.defect, points.peak > (math.inf if limit is None else limit))
    hover = [_name_point(taught, drawn, i) for i in range(len(points))]
    if colour == SCORE:
        title = "score on the heatmap"
        return scatter.scatter_of_values(drawn.positions, points.peak, marks, hover, look, title=title, limit=limit)
    if colour == PHOTO:
        values = points.photo.astype(float)
        return scatter.scatter_of_values(drawn.positions, values, marks, hover, look, title="photo number")
    if colour == LOT:
        words = [photos[i].group or "no lot" for i in points.photo]
        colours = scatter.colours_of_groups(words, look)
    else:
        words, colours = list(points.truth), scatter.type_colours(points.truth, look)
    return scatter.scatter_of_words(drawn.positions, words, colours, marks, hover, look)


def _show_picked(taught: TaughtPart, drawn: DrawnMap, i: int, live: dict[str, int], limits: Limits | None) -> None:
    """The part behind a point, its patch framed, and the way to the bench."""
    points, position = drawn.points, int(drawn.points.photo[i])
    photo = taught.scored.photos[position]
    try:
        pixels = taught.pixels(position)
    except ImageError as error:
        st.error(shell.plain(error), icon=":material/broken_image:")
        return
    small = boxes.reduced(pixels, PICKED_SIDE)
    score = f"The part: {_scored(float(taught.scored.scores(**live)[position]), limits, 'score')}."
    st.markdown(f"**{shell.plain(photo.name)}** · {shell.plain(photo.kind)}")
    if points.whole:
        st.image(small, alt=photo.name, output_format="PNG", width="stretch")
        st.caption(score)
    else:
        row, column = (int(at) for at in points.place[i])
        box = boxes.patch_box((row, column), taught.scored.grid, small.shape[:2])
        st.image(
            boxes.outlined(small, box, FRAME), output_format="PNG", width="stretch",
            alt=f"{photo.name} with the patch in row {row + 1}, column {column + 1} framed",
        )  # fmt: skip
        box = boxes.patch_box((row, column), taught.scored.grid, pixels.shape[:2])
        around = boxes.cut(pixels, boxes.surroundings(box, pixels.shape[:2]))
        beside = st.container(horizontal=True, gap="small")
        beside.image(boxes.enlarged(around), output_format="PNG", width=NEAR_SIDE, alt="The patch, enlarged")
        beside.container(width=NEAR_SIDE).caption(
            f"Patch in row {row + 1}, column {column + 1}: "
            f"{_scored(float(points.peak[i]), limits, 'peak score')}.  \n{score}"
        )
    if st.button("Show on Inspect", key="to_bench", width="stretch"):
        show_on_bench(taught, position, None if points.whole else (row, column))


def _picked(chart: str, count: int) -> int | None:
    """The point clicked last; it stays when a click meets no point or the colours change."""
    event = st.session_state.get(chart) or {}
    chosen = (event.get("selection") or {}).get("points") or []
    held = f"picked-{chart}"
    if chosen:
        st.session_state[held] = int(chosen[0]["customdata"])
    picked = st.session_state.get(held)
    return picked if picked is not None and picked < count else None


def _name_point(taught: TaughtPart, drawn: DrawnMap, i: int) -> str:
    points = drawn.points
    photo, (row, column) = taught.scored.photos[points.photo[i]], points.place[i]
    name, truth = as_text(photo.name), as_text(points.truth[i])
    if points.whole:
        return f"{name}<br>{truth}<br>score {points.score[i]:.3g}"
    return f"{name}<br>{truth}, row {row + 1}, column {column + 1}<br>peak score {points.peak[i]:.3g}"


def _how_to_read(points: explore.Points, limits: Limits | None) -> str:
    defect = int(points.defect.sum())
    above = int((points.peak > limits.review).sum()) if limits is not None else 0
    what = "photos" if points.whole else f"patches of {len(np.unique(points.photo))} photos"
    shown = "" if points.whole else " Anomalous patches are over-represented."
    return (
        f"{len(points)} {what}. Diamonds: {defect} {('defects' if points.whole else 'inside a ground-truth mask')}. "
        f"Ringed: {above} above the limit.{shown} Neighbouring points are similar; group sizes and gaps carry no "
        "meaning."
    )


def _scored(value: float, limits: Limits | None, words: str) -> str:
    return f"{words} {value:.3g}" + (f", limit {limits.reject:.3g}" if limits is not None else "")


def _suggested_limit(taught: TaughtPart, live: dict[str, int]) -> float:
    """The limit above which patches are preferred as points; independent of a limit set by hand."""
    try:
        return taught.suggested_limits(live).review
    except ValueError:
        return math.inf
