"""Normal or strange in the plane: the boundaries of eight detectors fitted to the same points."""

import numpy as np
import streamlit as st

from inspect_core.playgrounds import boundaries
from inspect_core.playgrounds.fields import beyond, grid, isoline
from inspect_core.ui import charts
from inspect_core.ui.methods import plane
from inspect_core.ui.methods.plane import Group, Panel

_KEY = "novelty"
_WIDE = 104


@st.fragment
def novelty() -> None:
    st.markdown(
        "Eight detectors are fitted on the same good points. The line encloses what each calls normal; a warmer "
        "background means more anomalous. Move a point or add one far away to see which boundaries change."
    )
    st.caption(
        "Hoffmann, “Kernel PCA for novelty detection” (2007), his sets with fewer points; one-class SVM: Schölkopf "
        "et al. (2001); CoP, CoRP: Fang et al. (2024); quadrics: Pavutnitskiy et al. (2022)."
    )
    row = st.container(horizontal=True, gap="small", vertical_alignment="bottom")
    name = row.selectbox("Points", list(boundaries.STARTS), key="novelty_set", width=170)
    start = boundaries.STARTS[name]
    knobs = boundaries.PlaygroundSettings(
        row.slider("σ", 0.05, 2.0, start.sigma, 0.05, key=f"sigma-{name}", width=_WIDE,
                   help="Width of the Gaussian kernel: kernel PCA, one-class SVM, Parzen window."),
        row.slider("q: components", 0, 80, start.q, key=f"components-{name}", width=_WIDE + 24,
                   help="Components of kernel PCA and CoRP. With 0, kernel PCA ranks as the Parzen window does."),
        row.slider("ν: outliers", 0.01, 0.5, 0.05, 0.01, key="novelty_nu", width=_WIDE,
                   help="Maximum share of points outside the boundary."),
        row.slider("γ: CoRP", 0.1, 10.0, 1.0, 0.1, key="novelty_gamma", width=_WIDE,
                   help="CoRP approximates exp(−γ d²); larger resolves finer detail."),
        row.select_slider("M: CoRP", (16, 32, 64, 128, 256, 512), 128, key="novelty_features", width=_WIDE,
                          help="Random Fourier features that approximate the kernel of CoRP."),
        m=row.slider("m: quadrics", 1, 3, 1, key="novelty_quadrics", width=_WIDE),
        cosine=row.toggle("Cosine", True, key="novelty_cosine", width=110,
                          help="Scales points to unit length first, as CoP does, so that both use only the direction "
                              "from the origin. Without it, CoRP uses distances."),
    )  # fmt: skip
    begun = start.draw()
    shown = plane.points(_KEY, name, np.column_stack([begun, np.zeros(len(begun))]))
    theme = charts.current_theme()
    places = grid(start.box)
    panels = [_panel(title, shown[:, :2], knobs, start, places, theme.ink) for title in boundaries.FITS]
    groups = [Group("good", theme.good, adds=True)]
    plane.draw(_KEY, name, shown, groups, panels, start.box, colours=(theme.good, theme.defect), across=4)


def _panel(
    title: str,
    x: np.ndarray,
    knobs: boundaries.PlaygroundSettings,
    start: boundaries.PointSet,
    places: np.ndarray,
    ink: str,
) -> Panel:
    if len(x) < boundaries.LEAST_POINTS:
        return Panel(title, f"Needs {boundaries.LEAST_POINTS} points; there are {len(x)}.")
    sight = boundaries.fit_boundary(x, title, knobs, places)
    line = isoline(sight.scores, start.box, sight.limit)
    words = f"{int(sight.outside.sum())} of {len(x)} points outside"
    return Panel(title, words, beyond(sight.scores, sight.limit), [(line, ink, 1.5)])
