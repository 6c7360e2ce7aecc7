"""How the photos are taken, on Teach: their bit depth, how parts lie in them, tiles, and how far they may differ."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from inspect_core.datasets.dataset import Dataset, PhotoFile
from inspect_core.images.depth import DEPTHS
from inspect_core.images.photo_reader import ImageError, read, squash
from inspect_core.images.shape import SIDE, Size
from inspect_core.images.tiles import CELLS, TilePlan, smallest_seen
from inspect_core.images.tolerances import DEFAULT_TOLERANCES, Tolerances
from inspect_core.plots.photo_plots import grey_levels
from inspect_core.study.teaching_config import ALIGN, AUTOMATIC, NO_ALIGNMENT, ORDER_OPTIONS, TeachingConfig
from inspect_core.tuning.tile_planning import OFF, ON, plan_tiles
from inspect_core.ui import charts, shell

LARGE = 2
"""A photo this many times as large as the network's input loses detail when squashed."""
TO_DEPTH = (
    "The lowest option fits all values in the good photos. Choose more bits if your camera has more and the photos "
    "are dark."
)
TO_STRETCH = (
    "For photos that use only part of the value range. The black and white points are set once and stored in the "
    "recipe, so a dimming lamp is still noticed."
)
TO_LYING = (
    "If parts vary in position, each one is located and aligned to a reference learned from the good photos. A part "
    "that cannot be located is never accepted."
)
TO_CELLS = (
    "Loupe learns what is normal in each cell. Smaller cells localise defects better but need more memory or allow "
    "fewer features."
)
TO_TILES = (
    "Each photo is split into overlapping tiles, which the network processes one by one, and is inspected as a "
    "whole. Time grows with the number of tiles."
)
TO_TOLERATE = (
    "Also trains on copies of each good photo with slight changes in noise, brightness, position, focus and "
    "compression, so that a repeat photo of the same part gets the same verdict. Teaching takes about twice as long."
)
TO_NOISE = "Camera noise: how much a grey value varies between photos. It rises as the lamp ages or gain increases."
TO_SHIFT = "How far the fixture may shift a part, in pixels of the network input."
TO_FOCUS = "How far out of focus a photo may be: sigma of the blur, in pixels of the network input."
SLIDERS = {
    "noise": ("Noise, grey levels", 0.0, 10.0, 0.5, TO_NOISE),
    "light": ("Brightness, ± %", 0.0, 15.0, 1.0, "How much brighter or darker a photo may be."),
    "shift": ("Shift, ± pixels", 0.0, 8.0, 0.5, TO_SHIFT),
    "focus": ("Blur, pixels", 0.0, 2.0, 0.1, TO_FOCUS),
    "jpeg": ("Minimum JPEG quality", 50, 100, 5, "Compression by the camera or the archive; 100 means none."),
}


def choose_depth(samples: Dataset, key: str) -> Dataset:
    """The photos, read at the chosen depth; photos of 8 bits offer no choice and are returned unchanged.

    key: of the files; it changes when they do.
    """
    depth, values = samples.depth, samples.values
    if depth is None or values is None:
        return samples
    with st.expander("Bit depth", expanded=True):
        allowed = [bits for bits in DEPTHS if bits >= depth.bits]
        label = "Bit depth of the camera"
        bits = st.selectbox(
            label, allowed, format_func=lambda bits: f"{bits} bits", key="depth_bits", **shell.STAYS, help=TO_DEPTH
        )
        label = "Stretch contrast to the range of the good photos"
        narrow = samples.with_depth(bits=bits, learned=False).is_narrow
        learned = st.toggle(label, value=narrow, key=f"depth_learned-{key}", **shell.STAYS, help=TO_STRETCH)
        if narrow:
            st.caption("The good photos fill few of the values, so contrast is stretched unless you switch it off.")
        chosen = samples.with_depth(bits=bits, learned=learned)
        depth = chosen.depth or depth
        st.markdown(shell.escape(depth.sentence()))
        first, share = zip(*depth.histogram(values), strict=True)
        drawn = grey_levels(first, share, charts.current_theme())
        charts.show(drawn, key=f"depth_values-{key}", alt="Share of the pixels of good photos at each grey level.")
    return chosen


def choose_alignment(key: str) -> dict[str, Any]:
    """The fields of an order on alignment; key: of the files, it changes when they do."""
    at, begins, say = f"align-{key}", TeachingConfig.align, ALIGN.__getitem__
    label = "Part position"
    align = st.selectbox(
        label, list(ALIGN), list(ALIGN).index(begins), format_func=say, key=at, **shell.STAYS, help=TO_LYING
    )
    if align == AUTOMATIC:
        st.caption("Alignment is tried on good photos kept apart, and used only where it gains.")
    if align in (AUTOMATIC, NO_ALIGNMENT):
        return {"align": align}
    fields: dict[str, Any] = {"align": align}
    words = "The range found in the good photos applies if it is larger."
    for column, name in zip(st.columns(2), ("align_turn", "align_shift"), strict=True):
        option = ORDER_OPTIONS[name]
        begins = round(option.per * getattr(TeachingConfig, name))
        least, most = map(int, option.bounds)
        typed = column.number_input(option.label, least, most, begins, key=f"{name}-{key}", **shell.STAYS, help=words)
        fields[name] = typed / option.per
    return fields


def choose_tiles(photos: Sequence[PhotoFile], size: Size, tile: Size) -> TilePlan | None:
    """The plan as chosen, to see how much of the smallest defect is left after squashing; None for photos that
    are squashed to `size`. tile: the size of one. Small photos offer no choice.
    """
    if max(side / input_side for side, input_side in zip(photos[0].size, size, strict=True)) < LARGE:
        return None
    with st.expander("Small defects in large photos", expanded=True):
        left, right = st.columns(2)
        key, words = "smallest_defect", "Its longer side, in pixels of the original photos."
        smallest = left.number_input("Smallest relevant defect, px", 1, 2000, 20, key=key, **shell.STAYS, help=words)
        cells = {ON: "finest that fits in memory"} | {str(side): f"{side} px" for side in CELLS}
        cell = right.selectbox(
            "Cells", list(cells), key="tile_cell", **shell.STAYS, format_func=cells.__getitem__, help=TO_CELLS
        )
        with shell.errors_shown(ValueError):
            _, tile_notes = plan_tiles(OFF, photos, smallest, size, tile=tile)
            st.markdown(shell.escape(" ".join(tile_notes)))
            if st.toggle("Split photos into tiles", key="tiles", **shell.STAYS, help=TO_TILES):
                plan, tile_notes = plan_tiles(cell, photos, smallest, size, tile=tile)
                st.caption(shell.escape(tile_notes[-1]))
                return plan
    return None


def show_input(photos: Sequence[PhotoFile], size: Size, key: str) -> None:
    """Show what the network will see of the first photo, and the smallest defect to be seen; key: of the files."""
    height, width = size
    with shell.errors_shown(ImageError, icon=":material/broken_image:"):
        picture, words = st.columns((1, 3), vertical_alignment="center")
        picture.image(_squashed(key, photos[0], size), alt="A photo as the network sees it", width=min(width, SIDE))
        least = smallest_seen(photos[0].size, size)
        sentence = (
            f"What the network sees: {width} × {height} px, in the shape of your photos. Defects smaller than about "
            f"{least} px may be missed."
        )
        words.caption(shell.escape(sentence))


@st.cache_data(max_entries=16, show_spinner=False)
def _squashed(key: str, _sample: PhotoFile, size: Size) -> np.ndarray:
    return squash(read(_sample.path, _sample.depth).pixels, size)


def choose_tolerances(good: Sequence[PhotoFile], key: str, size: tuple[int, int]) -> Tolerances | None:
    """The tolerances to teach, with pictures of the extremes; None for photos that are taken as they are.

    key: of the files; it changes when they do. size: (height, width) of the picture that the network sees.
    """
    label = "Allow normal photo-to-photo variation"
    if not st.toggle(label, value=True, key="tolerate", **shell.STAYS, help=TO_TOLERATE):
        return None
    with st.expander("Tolerances", key="tolerances", on_change="rerun") as opened:
        chosen = {}
        cells = [cell for _ in range(-(-len(SLIDERS) // 2)) for cell in st.columns(2)]
        for column, (name, (label, least, most, step, words)) in zip(cells, SLIDERS.items(), strict=False):
            begins = getattr(DEFAULT_TOLERANCES, name)
            at = f"tolerance_{name}"
            chosen[name] = column.slider(label, least, most, begins, step=step, key=at, **shell.STAYS, help=words)
        tolerances = Tolerances(**chosen)
        if opened.open and good:
            with shell.errors_shown(ImageError, icon=":material/broken_image:"):
                pictures = _pictures(key, good[0], size, str(tolerances))
                captions = "Original photo", "Maximum variation, darker", "Maximum variation, brighter"
                for column, picture, caption in zip(st.columns(3), pictures, captions, strict=True):
                    column.image(picture, caption=caption, width="stretch")
    return tolerances


@st.cache_data(max_entries=16, show_spinner=False)
def _pictures(key: str, _sample: PhotoFile, size: tuple[int, int], text: str) -> list[np.ndarray]:
    """The photo as taken, and photographed again at both ends of the tolerances."""
    photo = read(_sample.path, _sample.depth).pixels
    tolerances = Tolerances.parse(text)
    picture = squash(photo, size)
    if tolerances is None:
        return [picture]
    rng = np.random.default_rng(0)
    pictures = [picture]
    for side in (-1, 1):
        variation = tolerances.extreme_variation(side)
        pictures.append(variation.apply(squash(variation.compress(photo), size), photo.shape[:2], rng))
    return pictures
