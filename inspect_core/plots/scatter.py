"""Points of a map, coloured by words or by values: what lies side by side looks alike, and nothing else is meant."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from inspect_core.plots.chart_theme import ChartTheme, as_text, new_figure

COOL, HOT = ("#0f766e", "#2563eb"), ("#fab005", "#dc2626", "#7f0f3c")
CROWD = 300  # points from which a scatter draws them small


@dataclass(frozen=True)
class PointMarkers:
    """Which of the points are drawn differently: diamonds under a true mask, rings above the limit; (n,) bool each."""

    diamonds: np.ndarray
    rings: np.ndarray


def type_colours(
    defect_types: Iterable[str], theme: ChartTheme, unknown: Sequence[str] = ("unknown",)
) -> dict[str, str]:
    """Each type's colour: good and unknown have their own, a lone defect type that of defects."""
    others = sorted(set(defect_types) - {"good", *unknown})
    several = {label: theme.defect_types[i % len(theme.defect_types)] for i, label in enumerate(others)}
    return (
        dict.fromkeys(unknown, theme.unknown)
        | {"good": theme.good}
        | ({others[0]: theme.defect} if len(others) == 1 else several)
    )


def colours_of_groups(groups: Iterable[str], theme: ChartTheme) -> dict[str, str]:
    """Any words -> colours, in the order of the words; from the ninth on they repeat."""
    return {group: theme.defect_types[i % len(theme.defect_types)] for i, group in enumerate(sorted(set(groups)))}


def scatter_by_category(
    positions: np.ndarray,
    words: Sequence[str],
    colours: Mapping[str, str],
    marks: PointMarkers,
    hover: Sequence[str],
    theme: ChartTheme,
) -> go.Figure:
    """(n, 2) positions coloured by a word each; drawn in the order of `colours`, the last on top.

    The index of a point is its customdata, so a click on any trace leads to it.
    """
    figure = _field(theme)
    names = np.asarray(words, dtype=object)
    for word, colour in colours.items():
        at = np.flatnonzero(names == word)
        if len(at):
            name = f"{as_text(word)} ({len(at)})"
            figure.add_trace(_cloud(positions, at, marks, hover, theme, name, colour))
    figure.update_layout(showlegend=True)
    return figure


def scatter_by_value(
    positions: np.ndarray,
    values: np.ndarray,
    marks: PointMarkers,
    hover: Sequence[str],
    theme: ChartTheme,
    *,
    title: str,
    limit: float | None = None,
) -> go.Figure:
    """(n, 2) positions coloured by a number each; with a limit the colours turn hot exactly there."""
    figure = _field(theme)
    order = np.argsort(values, kind="stable")
    cloud = _cloud(positions, order, marks, hover, theme, title, values[order])
    low, high = float(values.min()), float(values.max())
    scale = "Viridis" if limit is None else _turning_hot(low, high, limit)
    cloud.marker.update(colorscale=scale, cmin=low, cmax=high)
    caption = title if limit is None else f"{title}, limit {limit:.3g}"
    cloud.marker.colorbar = {"title": {"text": caption, "side": "right"}, "thickness": 10, "outlinewidth": 0}
    figure.add_trace(cloud)
    return figure


def ring_point(figure: go.Figure, position: np.ndarray, theme: ChartTheme) -> None:
    """Draw a ring around the point that was picked."""
    ring = {"size": 20, "color": "rgba(0,0,0,0)", "line": {"color": theme.ink, "width": 2.5}}
    style = {"mode": "markers", "hoverinfo": "skip", "showlegend": False, "marker": ring}
    figure.add_scatter(x=position[:1], y=position[1:2], **style)


def _field(theme: ChartTheme) -> go.Figure:
    """An arrangement: no axes, for its directions and distances mean nothing."""
    figure = new_figure(theme, height=440)
    hidden = {"visible": False}
    figure.update_layout(xaxis=hidden, yaxis=hidden, margin={"l": 0, "r": 0, "t": 36, "b": 0}, clickmode="event+select")
    return figure


def _cloud(
    positions: np.ndarray,
    at: np.ndarray,
    marks: PointMarkers,
    hover: Sequence[str],
    theme: ChartTheme,
    name: str,
    colour: str | np.ndarray,
) -> go.Scatter:
    marked = marks.diamonds[at] | marks.rings[at]
    size = 6 if len(marks.rings) > CROWD else 10
    marker = {
        "color": colour,
        "opacity": np.where(marked, 1.0, 0.5),
        "size": np.where(marked, size + 3, size),
        "symbol": np.where(marks.diamonds[at], "diamond", "circle"),
        "line": {"color": theme.ink, "width": np.where(marks.rings[at], 1.5, 0.0)},
    }
    words = {"name": name, "text": [hover[i] for i in at], "hovertemplate": "%{text}<extra></extra>"}
    picked = {"selected": {"marker": {"opacity": 1.0}}, "unselected": {"marker": {"opacity": 0.7}}}
    x, y = positions[at].T
    return go.Scatter(x=x, y=y, mode="markers", customdata=at, marker=marker, **words, **picked)


def _turning_hot(low: float, high: float, limit: float) -> list[tuple[float, str]]:
    """The heatmap's colours from low to high: cool below the limit, hot above it, the break exactly there."""
    at = float(np.clip((limit - low) / max(high - low, 1e-30), 0.0, 1.0))
    places = [*np.linspace(0.0, at, len(COOL)), *np.linspace(at, 1.0, len(HOT))]
    return list(zip(places, COOL + HOT, strict=True))
