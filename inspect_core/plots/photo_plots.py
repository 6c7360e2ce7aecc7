"""Figures of the photos themselves."""

from collections.abc import Sequence

import plotly.graph_objects as go

from inspect_core.plots.chart_theme import ChartTheme, new_figure


def grey_levels(first: Sequence[float], share: Sequence[float], theme: ChartTheme) -> go.Figure:
    """Bars of how many pixels have which values. first: (n,) lowest value of each bar; share: (n,) of pixels."""
    figure = new_figure(theme, height=180)
    bars = {"marker": {"color": theme.good, "line": {"width": 0}}, "hovertemplate": "%{x}: %{y:.1f}%<extra></extra>"}
    figure.add_bar(x=list(first), y=[100 * value for value in share], **bars)
    figure.update_xaxes(title="value")
    figure.update_yaxes(title="pixels, %", rangemode="tozero")
    return figure
