"""The map of the Explore page: patches or photos that look alike side by side, and the part behind a point."""

import math

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from inspect_core import explore, figures, patch_frame
from inspect_core.figures import Look, Marks
from inspect_core.ui import explore_panels, exploring, inspect_panels, shell
from inspect_core.ui.exploring import DrawnMap, MapOrder
from inspect_core.ui.in_hand import InHand
from inspect_core.verdict import Limits

PATCHES, PHOTOS = "Patches", "Whole photos"
BEFORE, AFTER = "As the network gives them", "As the detector sees them"
KIND, SCORE, PHOTO, LOT = "Good or defect", "Score", "Photo", "Lot"
PICKED_SIDE = 512
FRAME = (194, 65, 12)


def patch_map(hand: InHand) -> None:
    """t-SNE of patches or photos, with a click leading to the part and the patch."""
    if not hand.tray.photos:
        st.info("There are no photos on the bench yet. Add some on Inspect, and they appear here.")
        return
    live, limits = explore_panels.in_force(hand)
    what, how, many = st.columns([2, 4, 2])
    whole = (
        what.segmented_control("Points are", [PATCHES, PHOTOS], default=PATCHES, required=True, key="map_of") == PHOTOS
    )
    mapped = (
        how.segmented_control(
            "Features", [BEFORE, AFTER], default=BEFORE, required=True, key="map_mapped",
            help=explore.view_in_words(hand.tray.method, whole=whole),
        ) == AFTER
    )  # fmt: skip
    count = many.select_slider("Patches shown", [1000, 2000, 4000], 2000, key="map_count", disabled=whole)
    order = MapOrder(whole, mapped, count)
    key = ("map", hand.id, len(hand.tray.photos), order, tuple(live.items()))
    drawn = exploring.kept().get(key)
    if mapped:
        st.caption(explore.view_in_words(hand.tray.method, whole=whole))
    if drawn is None:
        limit = _suggested_limit(hand, live)
        explore_panels.offer(
            "Draw the map", f"Drawing the map of {'photos' if whole else 'patches'}", key,
            lambda job: exploring.draw_map(hand, order, live, limit, job),
            "Puts points that look alike to the network side by side (t-SNE). Takes some ten seconds.",
        )  # fmt: skip
        return
    _scatter(hand, drawn, f"{abs(hash(key))}", live, limits)


@st.fragment
def _scatter(hand: InHand, drawn: DrawnMap, token: str, live: dict[str, int], limits: Limits | None) -> None:
    points, chart = drawn.points, f"map-{token}"
    lots = [KIND, SCORE, PHOTO] + ([LOT] if any(photo.group for photo in hand.tray.photos) else [])
    colour = st.segmented_control("Colour by", lots, default=KIND, required=True, key="map_colour")
    picked = _picked(chart, len(points))
    left, right = st.columns([3, 1.4], gap="medium")
    with left:
        figure = _coloured_scatter(hand, drawn, colour, limits, explore_panels.look())
        if picked is not None:
            figures.ring_point(figure, drawn.positions[picked], explore_panels.look())
        st.plotly_chart(
            figure, theme=None, key=chart, on_select="rerun", selection_mode="points", config=explore_panels.NO_BAR,
            alt=f"Map of {len(points)} points; points that look alike lie side by side.",
        )  # fmt: skip
        st.caption(_how_to_read(points, limits))
    with right:
        if picked is None:
            st.markdown("**Click a point** to see the part and the patch behind it.")
        else:
            _show_picked(hand, drawn, picked, live, limits)


def _coloured_scatter(hand: InHand, drawn: DrawnMap, colour: str, limits: Limits | None, look: Look) -> go.Figure:
    points, photos = drawn.points, hand.tray.photos
    limit = limits.review if limits is not None else None
    marks = Marks(points.defect, points.peak > (math.inf if limit is None else limit))
    hover = [_name_point(hand, drawn, i) for i in range(len(points))]
    if colour == SCORE:
        return figures.scatter_of_values(
            drawn.positions, points.peak, marks, hover, look, title="score on the heatmap", limit=limit
        )
    if colour == PHOTO:
        return figures.scatter_of_values(
            drawn.positions, points.photo.astype(float), marks, hover, look, title="photo, in the order of the bench"
        )
    if colour == LOT:
        words = [photos[i].group or "no lot" for i in points.photo]
        return figures.scatter_of_words(drawn.positions, words, figures.colours_of_groups(words), marks, hover, look)
    colours = figures.colours_of_kinds(points.truth, look)
    return figures.scatter_of_words(drawn.positions, list(points.truth), colours, marks, hover, look)


def _show_picked(hand: InHand, drawn: DrawnMap, i: int, live: dict[str, int], limits: Limits | None) -> None:
    """The part behind a point, its patch framed, and the way to the bench."""
    points, position = drawn.points, int(drawn.points.photo[i])
    photo, pixels = hand.tray.photos[position], hand.pixels(position)
    st.markdown(f"**{shell.plain(photo.name)}** · {shell.plain(photo.kind)}")
    if points.whole:
        st.image(patch_frame.reduced(pixels, PICKED_SIDE), alt=photo.name, output_format="PNG", width="stretch")
    else:
        place = tuple(int(at) for at in points.place[i])
        small = patch_frame.reduced(pixels, PICKED_SIDE)
        box = patch_frame.patch_box(place, hand.tray.grid, small.shape[:2])
        st.image(
            patch_frame.outlined(small, box, FRAME), output_format="PNG", width="stretch",
            alt=f"{photo.name} with the patch in row {place[0] + 1}, column {place[1] + 1} framed",
        )  # fmt: skip
        box = patch_frame.patch_box(place, hand.tray.grid, pixels.shape[:2])
        around = patch_frame.cut(pixels, patch_frame.surroundings(box, pixels.shape[:2]))
        st.image(
            patch_frame.enlarged(around), output_format="PNG", width="stretch", alt="The patch and what is around it"
        )
        st.caption(
            f"Row {place[0] + 1}, column {place[1] + 1} of the patch grid: "
            f"{_scored(float(points.peak[i]), limits, 'the heatmap reaches')}."
        )
    st.caption(f"The part: {_scored(float(hand.scores(live)[position]), limits, 'score')}.")
    if st.button("Show on the bench", key="to_bench", icon=":material/center_focus_strong:", width="stretch"):
        inspect_panels._settings(hand)["position"] = position
        st.switch_page("pages/inspect.py")


def _picked(chart: str, count: int) -> int | None:
    """The point clicked last; it stays when a click meets no point or the colours change."""
    event = st.session_state.get(chart) or {}
    chosen = (event.get("selection") or {}).get("points") or []
    held = f"picked-{chart}"
    for point in chosen:
        if point.get("customdata"):
            st.session_state[held] = int(point["customdata"][0])
    picked = st.session_state.get(held)
    return picked if picked is not None and picked < count else None


def _name_point(hand: InHand, drawn: DrawnMap, i: int) -> str:
    points = drawn.points
    photo, (row, column) = hand.tray.photos[points.photo[i]], points.place[i]
    name = photo.name.replace("<", "‹")
    if points.whole:
        return f"{name}<br>{points.truth[i]}<br>score {points.score[i]:.3g}"
    return f"{name}<br>{points.truth[i]}, row {row + 1}, column {column + 1}<br>heatmap reaches {points.peak[i]:.3g}"


def _how_to_read(points: explore.Points, limits: Limits | None) -> str:
    defect = int(points.defect.sum())
    above = int((points.peak > limits.review).sum()) if limits is not None else 0
    what = "photos" if points.whole else f"patches of {len(np.unique(points.photo))} photos"
    shown = "" if points.whole else " Striking patches are drawn more often than they occur."
    return (
        f"{len(points)} {what}. Diamonds: {defect} {'defects' if points.whole else 'under a true mask'}. "
        f"Ringed: {above} above the limit.{shown} "
        "Neighbours look alike; sizes of groups and the gaps between them mean nothing."
    )


def _scored(value: float, limits: Limits | None, words: str) -> str:
    return f"{words} {value:.3g}" + (f", limit {limits.reject:.3g}" if limits is not None else "")


def _suggested_limit(hand: InHand, live: dict[str, int]) -> float:
    """Above it a patch is worth a point of the map; moving one's own limit leaves the map as it is."""
    try:
        return hand.suggested_limits(live).review
    except ValueError:
        return math.inf
