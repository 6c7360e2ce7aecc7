"""The template every figure is drawn with: thin axes, labels at the lines, the value in force marked.

Good parts and defects have the same two colours in every figure. A figure is drawn for a light or a dark page; its own
ground is transparent.
"""

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from inspect_core.runtime.fonts import SANS


@dataclass(frozen=True)
class ChartTheme:
    """Colours of one page theme: text, faint lines, good parts, defects, what is unknown, and defect types one by one.

    The last follow Okabe and Ito's palette without what stands for good and defect, apart for colour-blind eyes.
    """

    ink: str
    faint: str
    good: str
    defect: str
    unknown: str
    defect_types: tuple[str, ...]


_ON_LIGHT = ("#0072b2", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#999933", "#8c564b", "#444e86")
_ON_DARK = ("#4aa3df", "#e08fbd", "#f0b429", "#9bd4f5", "#b58ad6", "#c5c558", "#c49c94", "#8c98dd")
LIGHT = ChartTheme("#0f1716", "#d9e0df", good="#0f766e", defect="#c2410c", unknown="#6b7280", defect_types=_ON_LIGHT)
DARK = ChartTheme("#e6ecec", "#334145", good="#2dd4bf", defect="#fb7a3c", unknown="#9ca3af", defect_types=_ON_DARK)


def as_text(name: str) -> str:
    """A name escaped so that Plotly shows it literally: it would turn tags into links and breaks."""
    return html.escape(name, quote=False)


def new_figure(theme: ChartTheme, *, height: int = 320) -> go.Figure:
    """An empty figure in the shared template."""
    line = {"showgrid": False, "zeroline": False, "showline": True, "linewidth": 1, "linecolor": theme.faint}
    ticks = {"ticks": "outside", "ticklen": 4, "tickcolor": theme.faint, "automargin": True}
    axis = line | ticks | {"title": {"standoff": 8, "font": {"size": 13}}}
    template = go.layout.Template(
        layout={
            "font": {"family": SANS, "size": 13, "color": theme.ink},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 8, "r": 16, "t": 28, "b": 8},
            "xaxis": axis,
            "yaxis": axis,
            "showlegend": False,
            "hoverlabel": {"font": {"family": SANS, "size": 13}, "align": "left"},
            "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "itemsizing": "constant"},
        }
    )
    return go.Figure(layout={"template": template, "height": height, "uirevision": "kept"})


def with_opacity(colour: str, opacity: float) -> str:
    """A colour, "#rrggbb", that lets the ground through."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def label(figure: go.Figure, text: str, colour: str, **place: Any) -> None:
    """Words without an arrow; place: as Plotly's annotations take it."""
    figure.add_annotation(text=text, showarrow=False, font={"color": colour, "size": 12}, **place)


def mark_value(figure: go.Figure, value: float, text: str, theme: ChartTheme) -> None:
    """Draw the value in force as a thin upright line, its words at the top; inside an axis that has a range."""
    figure.add_vline(x=value, line={"color": theme.ink, "width": 1.5, "dash": "dot"})
    axis = figure.layout.xaxis
    at = np.log10(value) if axis.type == "log" else value
    fraction = 0.5
    if axis.range is not None:
        left, right = axis.range
        fraction = (at - left) / (right - left)
    side = "left" if fraction < 0.3 else "right" if fraction > 0.7 else "center"
    label(figure, text, theme.ink, x=at, xanchor=side, y=1, yref="paper", yanchor="bottom")
