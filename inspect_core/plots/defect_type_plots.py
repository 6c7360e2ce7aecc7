"""Plots about naming defect types: which are confused, whether stated probabilities are right, how far they reach."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from inspect_core.plots.chart_theme import ChartTheme, as_text, label, mark_value, new_figure, with_opacity
from inspect_core.scoring.metrics import ReliabilityCurve

FEW_IN_BIN = 5
DOUBLINGS = (0.5, 1, 2, 4, 8)


def confusion(counts: np.ndarray, names: Sequence[str], theme: ChartTheme) -> go.Figure:
    """(C, C + 1) counts, rows true types, columns the types named; the last column is "unknown defect type"."""
    figure = new_figure(theme, height=120 + 44 * len(names))
    names = [as_text(name) for name in names]
    called = [*names, "unknown"]
    fractions = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    diagonal = np.eye(*counts.shape, dtype=bool)
    wrong = ~diagonal
    wrong[:, -1] = False
    style = {"zmin": 0, "zmax": 1, "showscale": False, "xgap": 2, "ygap": 2, "hoverinfo": "skip"}
    for cells, colour in ((diagonal, theme.good), (wrong, theme.defect), (~diagonal & ~wrong, theme.unknown)):
        scale = [(0.0, with_opacity(colour, 0.04)), (1.0, with_opacity(colour, 0.62))]
        figure.add_heatmap(z=np.where(cells, fractions, np.nan), x=called, y=names, colorscale=scale, **style)
    for row, name in enumerate(names):
        for column, other in enumerate(called):
            if counts[row, column]:
                words = str(int(counts[row, column]))
                font = {"size": 15, "color": theme.ink}
                figure.add_annotation(x=other, y=name, text=words, showarrow=False, font=font)
    figure.update_xaxes(title="predicted type", side="top", showline=False, ticks="", type="category", tickangle=0)
    figure.update_yaxes(title="true type", autorange="reversed", showline=False, ticks="", type="category")
    figure.update_layout(margin={"t": 60})
    return figure


def reliability(curves: Mapping[str, ReliabilityCurve], theme: ChartTheme) -> go.Figure:
    """The share named correctly against stated probability; marks as large as bins' counts, the first bold.

    Lines lead through bins of `FEW_IN_BIN` examples or more only: the fraction of fewer is chance.
    """
    figure = new_figure(theme, height=380)
    bare = {"mode": "lines", "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=[0, 1], y=[0, 1], line={"color": theme.faint, "width": 2}, **bare)
    words = {"text": "well calibrated", "showarrow": False, "font": {"color": theme.unknown}}
    figure.add_annotation(x=0.12, y=0.12, yshift=-14, xanchor="left", **words)
    colours = (theme.good, *theme.defect_types)
    for number, ((name, curve), colour) in enumerate(zip(curves.items(), colours, strict=False)):
        filled, firm = curve.count > 0, curve.count >= FEW_IN_BIN
        line = {"color": colour, "width": 1 if number else 2}
        opacity = 0.7 if number else 1.0
        figure.add_scatter(x=curve.confidence[firm], y=curve.accuracy[firm], line=line, opacity=opacity, **bare)
        size = 5 + 14 * np.sqrt(curve.count[filled] / curve.count.max())
        marker = {"size": size, "color": colour, "opacity": np.where(firm[filled], opacity, 0.3), "line": {"width": 0}}
        hover = "confidence %{x:.0%}, correct %{y:.0%}, n = %{customdata}<extra>" + name + "</extra>"
        marks = {"mode": "markers", "marker": marker, "customdata": curve.count[filled], "hovertemplate": hover}
        figure.add_scatter(x=curve.confidence[filled], y=curve.accuracy[filled], name=name, **marks)
    figure.update_xaxes(title="stated confidence", range=[0, 1.03], tickformat=".0%", dtick=0.2)
    figure.update_yaxes(title="fraction named correctly", range=[-0.05, 1.05], tickformat=".0%", dtick=0.2)
    figure.update_layout(showlegend=True, margin={"t": 52}, legend={"y": 1.06})
    return figure


def confidence_decay(
    distances: Sequence[float],
    lines: Mapping[str, np.ndarray],
    prior: float,
    minimum_confidence: float,
    theme: ChartTheme,
) -> go.Figure:
    """Mean stated probability against distance from the examples (1 at them), with prior and limit."""
    figure = new_figure(theme, height=380)
    ticks = {"tickvals": DOUBLINGS, "ticktext": [f"{factor:g} ×" for factor in DOUBLINGS]}
    figure.update_xaxes(title="distance from the centre of the examples, × their spread", type="log", **ticks)
    figure.update_xaxes(range=np.log10([min(distances), max(distances)]))
    for (name, ys), colour in zip(lines.items(), (theme.good, *theme.defect_types), strict=False):
        line = {"color": colour, "width": 2}
        hover = "%{x:.1f} × as far: %{y:.0%}<extra>" + name + "</extra>"
        figure.add_scatter(x=list(distances), y=list(ys), mode="lines", name=name, line=line, hovertemplate=hover)
    # Beside their lines where a curve seldom runs: below at the near end, above at the far one.
    for level, text, dash, x, side, edge in (
        (prior, "guessing", "solid", 0, "left", "top"),
        (minimum_confidence, "reported above this", "dot", 1, "right", "bottom"),
    ):
        figure.add_hline(y=level, line={"color": theme.unknown, "width": 1, "dash": dash})
        label(figure, text, theme.unknown, x=x, xref="paper", xanchor=side, y=level, yanchor=edge)
    mark_value(figure, 1.0, "the examples", theme)
    figure.update_yaxes(title="mean confidence", range=[0, 1.05], tickformat=".0%", dtick=0.2)
    figure.update_layout(showlegend=True, margin={"t": 52}, legend={"y": 1.06})
    return figure
