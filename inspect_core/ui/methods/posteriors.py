"""Forest, KDF, net, KDN: how sure each is among the examples and far from them, and how sure under a shift."""

import numpy as np
import streamlit as st

from inspect_core.playgrounds import posteriors as learned
from inspect_core.playgrounds.fields import Box, grid, isoline
from inspect_core.playgrounds.shifted_shapes import SHIFTS, centres, shifted
from inspect_core.playgrounds.simulated_classes import SIMULATIONS
from inspect_core.plots import defect_type_plots, playgrounds
from inspect_core.scoring.metrics import mean_max_confidence
from inspect_core.ui import charts
from inspect_core.ui.methods import plane
from inspect_core.ui.methods.plane import Group, Panel

AS_PUBLISHED = (
    "The paper's constant b, as we read it, and the network's paths up to its output: far away the confidence falls "
    "later or not at all. Else Loupe's: a constant calibrated on held-out examples, and hidden layers alone."
)
_KEY = "posteriors"
_BOX = (-2.5, -2.5, 2.5, 2.5)
_COLUMNS = 40
_EXAMPLES = 120
_IMAGES = 50
_AMONG = 1.0
_FAR = 2.0
_WORDS = {
    "intensity": "grey level (taught 127)",
    "blend": "circle share of the blend",
    "ellipse": "half width of the ellipse (taught 10)",
}


@st.fragment
def posteriors() -> None:
    st.markdown(
        "A forest and a neural net stay confident far from their training data: their colours extend to the border. "
        "Their kernel density versions place a Gaussian on every cell that holds examples and become uncertain "
        "elsewhere."
    )
    st.caption(
        "Dey et al., “Simple calibration via geodesic kernels” (TMLR 2025); the shifts are those of its Fig. 5. Drawn "
        "with smaller forests and nets."
    )
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    say = {name: name.replace("_", " ") for name in SIMULATIONS}.__getitem__
    name = row.selectbox("Examples", list(SIMULATIONS), 3, key="posterior_set", format_func=say, width=260)
    as_published = row.toggle("As published", key="posterior_published", help=AS_PUBLISHED)
    begun = np.column_stack(SIMULATIONS[name](_EXAMPLES, np.random.default_rng(0)))
    shown = plane.points(_KEY, name, begun)
    theme = charts.current_theme()
    colours = theme.defect_types[0], theme.defect_types[2]
    groups = [Group(f"class {'AB'[i]}", colour, adds=True) for i, colour in enumerate(colours)]
    x = shown[:, :2]
    classes = shown[:, 2].astype(int)
    enough = np.bincount(classes, minlength=2).min() >= learned.LEAST_OF_A_CLASS
    models = learned.fitted(x, classes, as_published=as_published) if enough else {}
    panels = [_panel(title, proba, theme.ink) for title, proba in models.items()]
    panels = panels or [Panel("Too few points", f"Each class needs at least {learned.LEAST_OF_A_CLASS} points.")]
    plane.draw(_KEY, name, shown, groups, panels, _BOX, colours=colours, across=4)
    with st.expander("Reliability diagram", on_change="rerun", key="posterior_reliability") as opened:
        if opened.open and models:
            figure = defect_type_plots.reliability(learned.calibration(models, name), theme)
            charts.show(figure, key="methods_reliability", alt="Fraction correct against stated confidence.")
            st.caption("Measured on 1,000 new points from the selected set, not on the points you moved.")


@st.fragment
def shifts() -> None:
    st.subheader("Photos outside the training range")
    st.markdown(
        "The net and KDN were trained on 200 discs and 200 rectangles, all at grey level 127. Each slider moves new "
        "photos away from these, so the confidence should drop. With so few examples it does not drop for blends; "
        "see METHODS, section 8."
    )
    with st.spinner("Training on circles and rectangles…"):
        product = _taught_shapes()
    theme = charts.current_theme()
    for column, (shift, values) in zip(st.columns(3, gap="medium"), SHIFTS.items(), strict=True):
        with column:
            steps = [float(value) for value in values]
            value = st.select_slider(_WORDS[shift].capitalize(), steps, steps[len(steps) // 2], key=f"shift-{shift}")
            middle = centres(_IMAGES, np.random.default_rng(1))
            images = shifted(shift, value, np.full((2, 2), 50.0))
            st.image(images.astype(np.uint8)[0], width=100, output_format="PNG", alt="Example photo at this shift")
            curves = _curves(shift, middle, product)
            figure = playgrounds.confidence(steps, curves, value, theme, title=_WORDS[shift])
            charts.show(figure, key=f"shift-curve-{shift}", alt=f"Mean probability of net and KDN against {shift}.")


@st.cache_resource(show_spinner=False)
def _taught_shapes() -> dict[str, learned.Posterior]:
    return learned.taught_shapes()


@st.cache_data(show_spinner=False)
def _curves(shift: str, middle: np.ndarray, _taught: dict[str, learned.Posterior]) -> dict[str, list[float]]:
    photos = [shifted(shift, float(value), middle) for value in SHIFTS[shift]]
    return {name: [mean_max_confidence(proba(images)) for images in photos] for name, proba in _taught.items()}


def _panel(title: str, proba: learned.Posterior, ink: str) -> Panel:
    box: Box = _BOX
    places = grid(box, _COLUMNS)
    posterior = proba(places.reshape(-1, 2))
    sure = posterior.max(axis=1)
    reach = np.abs(places).max(axis=2).ravel()
    words = (
        f"confidence {sure[reach <= _AMONG].mean():.0%} near the examples, {sure[reach >= _FAR].mean():.0%} far away"
    )
    second = posterior[:, 1].reshape(places.shape[:2])
    return Panel(title, words, 2 * second - 1, [(isoline(second, box, 0.5), ink, 1.5)])
