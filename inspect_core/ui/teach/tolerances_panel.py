"""How far photos of the same good part may differ: sliders in plain units, and pictures of the extremes."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from inspect_core.images.read import ImageError, read, squash
from inspect_core.images.samples import Sample
from inspect_core.images.tolerances import CAREFUL, Tolerances
from inspect_core.ui import shell

SLIDERS = {
    "noise": ("Noise, grey levels", 0.0, 10.0, 0.5, "Grain of the camera: the spread of a grey value from photo to "
              "photo. It grows as a lamp ages or gain goes up."),
    "light": ("Light, ± %", 0.0, 15.0, 1.0, "How much brighter or darker a photo may be."),
    "shift": ("Shift, ± pixels", 0.0, 8.0, 0.5, "How far the fixture may shift a part, in pixels of the picture that "
              "the network sees."),
    "focus": ("Blur, pixels", 0.0, 2.0, 0.1, "How far out of focus a photo may be: the spread of the blur, in pixels "
              "of the picture that the network sees."),
    "jpeg": ("JPEG quality, at least", 50, 100, 5, "The camera's or the archive's compression; 100 is none."),
}  # fmt: skip


def choose_tolerances(good: Sequence[Sample], key: str, size: tuple[int, int]) -> Tolerances | None:
    """The tolerances to teach; None for photos that are taken as they are.

    key: of the files; it changes when they do. size: (height, width) of the picture that the network sees.
    """
    on = st.toggle(
        "Tolerate how a careful station differs from photo to photo", value=True, key="tolerate",
        help="Copies of every good photo with a little noise, other light, a shift, blur and compression are learned "
        "from too, so that the same part photographed again keeps its verdict. Teaching takes about twice as long.",
    )  # fmt: skip
    if not on:
        return None
    with st.expander("Tolerances", key="tolerances", on_change="rerun") as opened:
        chosen = {}
        for column, (name, (label, least, most, step, words)) in zip(st.columns(5), SLIDERS.items(), strict=True):
            chosen[name] = column.slider(
                label, least, most, getattr(CAREFUL, name), step=step, key=f"tolerance_{name}", help=words
            )
        tolerances = Tolerances(**chosen)
        if opened.open and good:
            _extremes(good[0], key, size, tolerances)
    return tolerances


def _extremes(sample: Sample, key: str, size: tuple[int, int], tolerances: Tolerances) -> None:
    try:
        pictures = _pictures(key, sample, size, str(tolerances))
    except ImageError as error:
        st.error(shell.plain(error), icon=":material/broken_image:")
        return
    captions = "As taken", "At the tolerances, darker", "At the tolerances, brighter"
    for column, picture, caption in zip(st.columns(3), pictures, captions, strict=True):
        column.image(picture, caption=caption, width="stretch")


@st.cache_data(max_entries=16, show_spinner=False)
def _pictures(key: str, _sample: Sample, size: tuple[int, int], text: str) -> list[np.ndarray]:
    """The photo as taken, and photographed again at both ends of the tolerances."""
    photo, tolerances = read(_sample.path, _sample.depth).pixels, Tolerances.parse(text)
    picture = squash(photo, size)
    if tolerances is None:
        return [picture]
    rng = np.random.default_rng(0)
    return [picture, *(tolerances.edge(side).of(picture, photo.shape[:2], rng) for side in (-1, 1))]
