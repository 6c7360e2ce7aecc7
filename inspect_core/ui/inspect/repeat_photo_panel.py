"""What if the part shown is photographed again: noise, light, focus and place moved, and how far its verdict holds."""

from collections.abc import Callable
from functools import partial

import numpy as np
import streamlit as st

from inspect_core.images import boxes, heatmap
from inspect_core.images.tolerances import AS_TAKEN, CaptureVariation
from inspect_core.scoring.anomaly_map import image_score
from inspect_core.ui import shell
from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.ui.inspect.shown_photo import ShownPhoto
from inspect_core.workbench.taught_product import TaughtProduct

SIDE = 480
HELD = "again-held"
"""Where the session keeps the last answer to how far a verdict holds."""
DONE = {"accept": "accepted", "review": "sent to review", "reject": "rejected"}
NOISE, LIGHT, FOCUS, SHIFT = "noise", "light", "focus", "shift"
MOVES: dict[str, Callable[[float], CaptureVariation]] = {
    NOISE: lambda value: CaptureVariation(noise=value),
    LIGHT: lambda value: CaptureVariation(light=1 + value / 100),
    FOCUS: lambda value: CaptureVariation(focus=value),
    SHIFT: lambda value: CaptureVariation(right=value),
}
ENDS = {
    NOISE: ("noise {:g}", (12.0,), 0.5),
    LIGHT: ("light {:+g} to {:+g}%", (-20.0, 20.0), 1.0),
    FOCUS: ("blur {:g} px", (3.0,), 0.1),
    SHIFT: ("shift {:+g} to {:+g} px", (-8.0, 8.0), 0.5),
}  # fmt: skip
"""Of each move: its words, the farthest values tried, and the step to which the last one that holds is found."""


def show(photo: ShownPhoto) -> None:
    """Show an expander below the bench."""
    with st.expander("Simulate a repeat photo", key=f"again-{photo.product.id}", on_change="rerun") as opened:
        if opened.open and photo.busy:
            st.caption("Available when the job in the sidebar finishes.")
        elif opened.open:
            _show_simulation(photo.product, photo.view)


def _show_simulation(product: TaughtProduct, drawn: BenchState) -> None:
    position = drawn.position
    columns = st.columns(4)
    key = f"{product.id}-{position}"
    noise = columns[0].slider("Noise, grey levels", 0.0, 12.0, 0.0, step=0.5, key=f"again_noise-{key}")
    light = columns[1].slider("Brightness, %", -20.0, 20.0, 0.0, step=1.0, key=f"again_light-{key}")
    focus = columns[2].slider("Blur, pixels", 0.0, 3.0, 0.0, step=0.1, key=f"again_focus-{key}")
    right = columns[3].slider(
        "Shift, pixels", -8.0, 8.0, 0.0, step=0.5, key=f"again_shift-{key}",
        help="To the right, in pixels of the network input.",
    )  # fmt: skip
    variation = CaptureVariation(noise=noise, light=1 + light / 100, focus=focus, right=right)
    picture, moved = _map(product, position, variation)
    before = _map(product, position, AS_TAKEN)[1]
    score, before = (float(image_score(anomaly_map, area=drawn.area)) for anomaly_map in (moved, before))
    word, was = (_verdict(drawn, position, value) for value in (score, before))
    left, middle, right_side = st.columns([2, 2, 3])
    left.image(boxes.downscale(picture, SIDE), caption="Simulated repeat photo", width="stretch")
    shown = heatmap.overlay(boxes.downscale(picture, SIDE), moved, drawn.limits.reject)
    middle.image(shown, caption="Heatmap", width="stretch")
    with right_side:
        st.markdown(f"**{word.capitalize()}** with score {score:.4g}; original photo: {was}, score {before:.4g}.")
        study = product.study
        if study is not None and product.scored.photos[position].name in {sample.name for sample in study.split.train}:
            st.caption(
                "This is a training photo, so it scores lower here than in the gallery, where its score is "
                "cross-validated. Try a test photo instead."
            )
        if word != was:
            st.warning("The verdict changes.", icon=":material/warning:")
        asked = (product.fit, position, product.live, drawn.limits)
        result = st.session_state.get(HELD)
        if st.button("How stable is this verdict?", key=f"again_range-{key}", icon=":material/straighten:"):
            with st.spinner("Simulating repeat photos…"):
                result = st.session_state[HELD] = asked, _verdict_range(product, drawn, was)
        if result is not None and result[0] == asked:
            st.markdown(shell.escape(result[1]))


def _map(product: TaughtProduct, position: int, variation: CaptureVariation) -> tuple[np.ndarray, np.ndarray]:
    """Show the picture that the network sees, (h, w, 3) uint8, and its (H, W) float32 map."""
    photo = product.scored.photos[position]
    extractor = product.extractor
    picture = extractor.network_input(product.photo(position), photo.placed)
    if variation != AS_TAKEN:
        picture = variation.apply(picture, photo.placed.photo_size, np.random.default_rng(0))
    with shell.device_held(extractor.backbone.device):
        features = extractor.features_of_inputs([picture])
        return picture, product.scored.map_from_features(features, photo.placed, **product.live)


def _verdict(drawn: BenchState, position: int, score: float) -> str:
    """The verdict on a photo of the bench if this were its score, in words."""
    return DONE[drawn.evidence.verdict(position, drawn.limits, score)]


def _verdict_range(product: TaughtProduct, drawn: BenchState, was: str) -> str:
    """Up to where the verdict stays as it is, each way by itself: "Stays accepted up to noise 4, light -9 to +9 %."""

    def same(name: str, value: float) -> bool:
        _, moved = _map(product, drawn.position, MOVES[name](value))
        return _verdict(drawn, drawn.position, float(image_score(moved, area=drawn.area))) == was

    ranges = [
        words.format(*(farthest(partial(same, name), end, step) for end in ends))
        for name, (words, ends, step) in ENDS.items()
    ]
    return f"Stays {was} up to " + ", ".join(ranges) + "."


def farthest(holds: Callable[[float], bool], end: float, step: float) -> float:
    """The last of 0, step, 2 step, ... towards `end` up to which `holds` is True, found by halving."""
    sure = 0
    count = round(abs(end) / step)
    if holds(end):
        return end
    failing = count
    while failing - sure > 1:
        middle = (sure + failing) // 2
        sure, failing = (middle, failing) if holds(np.sign(end) * middle * step) else (sure, middle)
    return float(np.sign(end) * round(sure * step, 6)) + 0.0  # no -0
