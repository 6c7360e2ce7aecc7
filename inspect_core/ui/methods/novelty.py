"""Normal or strange in the plane: the boundaries of eight detectors fitted to the same points."""

import numpy as np
import streamlit as st

from inspect_core.playgrounds import boundaries
from inspect_core.playgrounds.fields import beyond, grid, isoline
from inspect_core.ui import charts
from inspect_core.ui.methods import plane
from inspect_core.ui.methods.plane import Group, Panel

_KEY, _WIDE = "novelty", 104


@st.fragment
def novelty() -> None:
    st.markdown(
        "Eight detectors learn the same good points. A line encloses what each calls normal; the warmer the ground, "
        "the stranger. Move a point, add one far away, and see which boundary gives way and which holds."
    )
    st.caption(
        "Hoffmann, “Kernel PCA for novelty detection” (2007), his sets in fewer points; one-class SVM: Schölkopf et "
        "al. (2001); CoP, CoRP: Fang et al. (2024); quadrics: Pavutnitskiy et al. (2022)."
    )
    row = st.container(horizontal=True, gap="small", vertical_alignment="bottom")
    name = row.selectbox("Points", list(boundaries.STARTS), key="novelty_set", width=170)
    start = boundaries.STARTS[name]
    knobs = boundaries.Knobs(
        row.slider("σ", 0.05, 2.0, start.sigma, 0.05, key=f"sigma-{name}", width=_WIDE,
                   help="Width of the Gaussian kernel: kernel PCA, one-class SVM, Parzen window."),
        row.slider("q: kept", 0, 80, start.q, key=f"components-{name}", width=_WIDE,
                   help="Components of kernel PCA and CoRP. With 0, kernel PCA ranks as the Parzen window does."),
        row.slider("ν: outside", 0.01, 0.5, 0.05, 0.01, key="novelty_nu", width=_WIDE,
                   help="Share of the points that may lie outside their boundary."),
        row.slider("γ: CoRP", 0.1, 10.0, 1.0, 0.1, key="novelty_gamma", width=_WIDE,
                   help="CoRP approximates exp(−γ d²); larger sees finer."),
        row.select_slider("M: CoRP", (16, 32, 64, 128, 256, 512), 128, key="novelty_features", width=_WIDE,
                          help="Random Fourier features that approximate the kernel of CoRP."),
        m=row.slider("m: quadrics", 1, 3, 1, key="novelty_quadrics", width=_WIDE),
        cosine=row.toggle("Cosine", True, key="novelty_cosine", width=110,
                          help="CoRP divides points by their length first, as CoP does: both then see only the "
                          "direction from the origin. Without it CoRP sees distances."),
    )  # fmt: skip
    begun = start.draw()
    shown = plane.points(_KEY, name, np.column_stack([begun, np.zeros(len(begun))]))
    look = charts.look()
    places = grid(start.box)
    panels = [_panel(title, shown[:, :2], knobs, start, places, look.ink) for title in boundaries.FITS]
    groups = [Group("good", look.good, adds=True)]
    plane.draw(_KEY, name, shown, groups, panels, start.box, colours=(look.good, look.defect), across=4)


def _panel(
    title: str, x: np.ndarray, knobs: boundaries.Knobs, start: boundaries.Start, places: np.ndarray, ink: str
) -> Panel:
    if len(x) < boundaries.LEAST_POINTS:
        return Panel(title, f"Needs {boundaries.LEAST_POINTS} points; there are {len(x)}.")
    sight = boundaries.seen(x, title, knobs, places)
    line = isoline(sight.scores, start.box, sight.limit)
    words = f"{int(sight.outside.sum())} of {len(x)} points outside"
    return Panel(title, words, beyond(sight.scores, sight.limit), [(line, ink, 1.5)])
