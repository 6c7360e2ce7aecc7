"""Plots of the Methods page: errors of known and foreign, and how sure a posterior is as photos shift."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from inspect_core.plots.chart_theme import ChartTheme, label, mark_value, new_figure

BINS = 30


def error_histograms(errors: np.ndarray, foreign: np.ndarray, theme: ChartTheme) -> go.Figure:
    """Histograms of (n,) errors over each other, those of `foreign` (n,) bool in the colour of defects."""
    figure = new_figure(theme, height=220)
    size = float(errors.max() - errors.min()) / BINS or 1.0
    bins = {"start": float(errors.min()), "end": float(errors.max()) + size, "size": size}
    for name, mask, colour in (("known", ~foreign, theme.good), ("foreign", foreign, theme.defect)):
        figure.add_histogram(x=errors[mask], name=name, xbins=bins, marker_color=colour, opacity=0.6)
    figure.update_layout(barmode="overlay", showlegend=True, bargap=0.02)
    figure.update_xaxes(title="reconstruction error")
    figure.update_yaxes(title="digits")
    return figure


def confidence(
    values: Sequence[float], lines: Mapping[str, Sequence[float]], in_force: float, theme: ChartTheme, *, title: str
) -> go.Figure:
    """Mean largest probability, .5 to 1, against a shift; the value in force is marked."""
    figure = new_figure(theme, height=220)
    figure.update_xaxes(title=title, range=[min(values), max(values) + 0.16 * (max(values) - min(values))])
    figure.update_yaxes(title="mean probability", range=[0.45, 1.05], tickformat=".0%")
    for (name, ys), colour in zip(lines.items(), (theme.defect, theme.good), strict=True):
        hover = "%{x:.3~g}: %{y:.0%}<extra>" + name + "</extra>"
        line = {"color": colour, "width": 2}
        figure.add_scatter(x=list(values), y=list(ys), mode="lines", name=name, line=line, hovertemplate=hover)
        aside = 7 if ys[-1] == max(points[-1] for points in lines.values()) else -7
        label(figure, name, colour, x=values[-1], y=ys[-1], xanchor="left", xshift=4, yshift=aside)
    mark_value(figure, in_force, f"{in_force:g}", theme)
    return figure
