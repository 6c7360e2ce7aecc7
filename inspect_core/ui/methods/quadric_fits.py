"""Quadrics: a cloud with an outlier and the surfaces that three fits put through it, in the plane and in space."""

import numpy as np
import streamlit as st

from inspect_core.playgrounds import quadric_clouds
from inspect_core.playgrounds.fields import Box, beyond, grid, isoline
from inspect_core.ui import charts
from inspect_core.ui.methods import plane
from inspect_core.ui.methods.plane import Group, Panel

_FLAT, _SPACE = "In the plane", "In space"
_BOX: Box = (-4.0, -3.0, 4.0, 3.0)
_NEAR: Box = (-2.8, -2.1, 2.8, 2.1)
_POINT, _OUTLIER, _CLOUD = range(3)
_REACH = 1.2


@st.fragment
def quadric_fits() -> None:
    st.markdown(
        "A quadric is a second-degree surface; good parts lie close to several at once. Drag the **outlier**: the "
        "algebraic least-squares fit follows it, the robust fit hardly moves. Drag the **whole cloud** by its "
        "centre point: eq. 7 normalises all coefficients, so its shape changes with position; eqs. 12 to 14 do not."
    )
    st.caption(
        "Pavutnitskiy et al., “Quadric hypersurface intersection for manifold learning in feature space” (AISTATS "
        "2022), eqs. 7 and 8, Figs. 1 to 3. In space: the toy curve of the paper, the intersection of two quadrics."
    )
    row = st.columns([1.2, 1, 1, 1.5], vertical_alignment="bottom")
    location = row[0].segmented_control("Cloud", [_FLAT, _SPACE], default=_FLAT, required=True, key="quadric_cloud")
    if location == _FLAT:
        _flat()
    else:
        turn = row[1].slider("Rotate", -180, 180, 20, 5, key="quadric_turn", format="%d°")
        tilt = row[2].slider("Tilt", -90, 90, 60, 5, key="quadric_tilt", format="%d°")
        _space(turn, tilt)


def _flat() -> None:
    begun = quadric_clouds.noisy_ellipse(0, 0.05)
    groups = np.array([*[_POINT] * (len(begun) - 1), _OUTLIER, _CLOUD])
    shown = plane.points("flat", "", np.column_stack([np.vstack([begun, [0, 0]]), groups]))
    theme = charts.current_theme()
    places = grid(_BOX)
    x, outlier = shown[shown[:, 2] != _CLOUD, :2], shown[shown[:, 2] == _OUTLIER, :2]
    panels = []
    for title, model in quadric_clouds.fits(x, 1).items():
        scores = model.score(places).numpy()
        limit = float(np.quantile(model.score(x).numpy(), 0.9))
        line = isoline(quadric_clouds.values(model, places)[..., 0], _BOX)
        words = f"the outlier lies {float(model.score(outlier)[0]):.2f} from the curve"
        panels.append(Panel(title, words, beyond(scores, limit), [(line, theme.ink, 2.0)]))
    _draw("flat", "", shown, panels, _BOX, len(begun) - 1, adds=True)


def _space(turn: int, tilt: int) -> None:
    """Keep the points in space; the browser moves them in the plane of the view, at their depth."""
    rotation = quadric_clouds.view(turn, tilt)
    version = f"{turn} {tilt}"
    begun = np.vstack([quadric_clouds.noisy_curve(5, 0.05, n=60), np.zeros(3)])
    groups = np.array([*[_POINT] * (len(begun) - 2), _OUTLIER, _CLOUD])
    rotated = st.session_state.setdefault("cloud-in-space", begun) @ rotation.T
    shown = plane.points("space", version, np.column_stack([rotated[:, :2], groups]))
    points = np.column_stack([shown[:, :2], rotated[:, 2]]) @ rotation
    st.session_state["cloud-in-space"] = points
    theme = charts.current_theme()
    middle = points[-1]
    truth = quadric_clouds.curve(np.linspace(0, 2 * np.pi, 121)) + middle
    panels = []
    for title, model in quadric_clouds.fits(points[:-1], 2).items():
        projected = quadric_clouds.onto(model, truth)
        lines = [
            ((pieces @ rotation.T)[..., :2], colour, 0.6)
            for pieces, colour in zip(quadric_clouds.slices(model, middle, _REACH), theme.defect_types, strict=False)
        ]
        flat = (projected @ rotation.T)[:, :2]
        lines.append((np.stack([flat[:-1], flat[1:]], axis=1), theme.ink, 2.5))
        words = f"the true curve lies {float(model.score(truth).mean()):.3f} from both surfaces on average"
        panels.append(Panel(title, words, None, lines))
    _draw("space", version, shown, panels, _NEAR, len(points) - 2)


def _draw(
    key: str, version: str, shown: np.ndarray, panels: list[Panel], box: Box, outlier: int, *, adds: bool = False
) -> None:
    theme = charts.current_theme()
    groups = [
        Group("part of the cloud", theme.good, adds=adds),
        Group("the outlier", theme.defect, 2.2),
        Group("the whole cloud", theme.ink, 2.2, leads=True),
    ]
    plane.draw(key, version, shown, groups, panels, box, colours=(theme.good, theme.defect), across=3, chosen=outlier)
