"""Arrays to line plots and maps of the Explore page."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from inspect_core.plots.chart_theme import ChartTheme, label, mark_value, new_figure, with_opacity

FEW = 8  # up to so many values each get a tick of their own
TICK_DISTANCE = 0.15  # of the axis, between two of those ticks
LABEL_WIDTH = 16  # characters of a line's name before it is wrapped
LINE_HEIGHT = 15.0  # pixels of a line of such a name
VANISHED = 1e-7  # of an eigenvalue: the rounding that float32 statistics leave where nothing varies
COUNTS = ((0.0, "#c2410c"), (0.5, "#e6dfd3"), (1.0, "#0f766e"))


def eigenvalues(fractions: np.ndarray, q: int, explained: float, theme: ChartTheme) -> go.Figure:
    """Shares of variance (r,) on log scales, largest first, cut at the q components that explain that much."""
    figure = new_figure(theme, height=380)
    number = np.arange(1, len(fractions) + 1)
    line = {"color": theme.good, "width": 2}
    hover = "component %{x}: %{y:.2%} of the variance<br>up to here: %{customdata:.1%}<extra></extra>"
    so_far = np.cumsum(fractions)
    figure.add_scatter(x=number, y=fractions, mode="lines", line=line, customdata=so_far, hovertemplate=hover)
    figure.add_vrect(x0=max(q, 1), x1=len(fractions), fillcolor=theme.defect, opacity=0.08, line_width=0, layer="below")
    across = [0, np.log10(len(fractions)) + 0.02]
    figure.update_xaxes(title="component, largest first", type="log", dtick=1, range=across)
    figure.update_yaxes(title="fraction of the variance", type="log", dtick=1, exponentformat="power")
    mark_value(figure, max(q, 1), f"q = {q} explains {explained:.1%}; components to the right are scored", theme)
    return figure


def local_spectra(
    bands: Mapping[str, np.ndarray], theme: ChartTheme, *, level: tuple[str, float] | None = None, k: int | None = None
) -> go.Figure:
    """Median eigenvalue over all locations with its 10 to 90 % band, (3, k) each by name, on a log scale.

    Colours as in `curves`; a line ends where nothing varies any more. level: words and variance of a line across; k:
    the value in force, marked.
    """
    figure = new_figure(theme, height=380)
    longest = k or 1
    for (name, band), colour in zip(bands.items(), (theme.good, *theme.defect_types), strict=False):
        low, median, high = np.maximum(band[:, band[1] > VANISHED], VANISHED)
        number = np.arange(1, len(median) + 1)
        longest = max(longest, len(median))
        ring = {"x": np.r_[number, number[::-1]], "y": np.r_[high, low[::-1]], "fill": "toself", "line": {"width": 0}}
        figure.add_scatter(**ring, fillcolor=with_opacity(colour, 0.15), hoverinfo="skip")
        line = {"color": colour, "width": 2}
        hover = "eigenvalue %{x}: %{y:.2g}<extra>" + name + "</extra>"
        figure.add_scatter(x=number, y=median, mode="lines", line=line, name=name, hovertemplate=hover)
        if len(number):
            label(figure, name, colour, x=number[-1], y=np.log10(median[-1]), xanchor="left", xshift=6)
    if level is not None:
        words, variance = level
        figure.add_hline(y=variance, line={"color": theme.unknown, "width": 1})
        at_axis = {"x": 0, "xref": "paper", "xanchor": "left", "xshift": 4}
        label(figure, words, theme.unknown, **at_axis, y=np.log10(variance), yanchor="top")
    figure.update_xaxes(title="eigenvalue, largest first", range=[0, 1.25 * longest])
    figure.update_layout(margin={"r": 48})
    figure.update_yaxes(title="variance", type="log", exponentformat="power", dtick=1)
    if k is not None:
        mark_value(figure, k, f"k = {k}", theme)
    return figure


def variance_decay(variances: np.ndarray, theme: ChartTheme) -> go.Figure:
    """-log of eigenvalues (d,) over the largest, as far as they stand above rounding."""
    figure = new_figure(theme, height=380)
    positive = variances[variances > VANISHED * variances.max()]
    hover = "eigenvalue %{x}: %{y:.2f}<extra></extra>"
    line = {"color": theme.good, "width": 2}
    across = np.arange(1, len(positive) + 1)
    figure.add_scatter(x=across, y=-np.log(positive / variances.max()), mode="lines", line=line, hovertemplate=hover)
    figure.update_xaxes(title="n, eigenvalues largest first")
    figure.update_yaxes(title="−log λₙ / λ₁", rangemode="tozero")
    return figure


def location_map(counts: np.ndarray, possible: int, theme: ChartTheme) -> go.Figure:
    """(h, w) number of eigenvalues that stand above a threshold at every location, of those that could."""
    figure = new_figure(theme, height=380)
    bar = {"thickness": 10, "outlinewidth": 0, "title": {"text": f"of {possible} possible", "side": "right"}}
    hover = "row %{y}, column %{x}: %{z}<extra></extra>"
    figure.add_heatmap(z=counts, colorscale=COUNTS, zmin=0, zmax=possible, colorbar=bar, hovertemplate=hover)
    figure.update_yaxes(autorange="reversed", scaleanchor="x", constrain="domain", visible=False)
    figure.update_xaxes(constrain="domain", visible=False)
    return figure


def curves(
    values: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    theme: ChartTheme,
    *,
    parameter: str,
    in_force: float | None,
    suggested: float | None = None,
    title: str,
    notes: Sequence[str] | None = None,
    fractions: bool = True,
) -> go.Figure:
    """Figures against a parameter (log scale), lines labelled at the right, value in force and suggested marked.

    notes: what the hover adds at every value; fractions: the axis runs from 0 to 100 %.
    """
    figure = new_figure(theme, height=340)
    ends: list[tuple[float, str, str]] = []
    figures = "%{y:.1%}" if fractions else "%{y:.2f}"
    for (name, ys), colour in zip(lines.items(), (theme.good, *theme.defect_types), strict=False):
        y = np.asarray(ys, float)
        if not np.isfinite(y).any():
            continue
        hover = f"{parameter} = %{{x:.4~g}}%{{customdata}}<br>{figures}<extra>{name}</extra>"
        style = {"mode": "lines+markers", "line": {"color": colour, "width": 2}, "marker": {"size": 6}}
        added = list(notes or [""] * len(values))
        figure.add_scatter(x=list(values), y=y, name=name, customdata=added, hovertemplate=hover, **style)
        ends.append((float(y[np.isfinite(y)][-1]), name, colour))
    if len(ends) > 1:
        ends.sort()
        gap = LINE_HEIGHT * max(len(textwrap.wrap(name, LABEL_WIDTH)) for _, name, _ in ends)
        for (y, name, colour), shift in zip(ends, _apart([end[0] for end in ends], least=gap), strict=True):
            words = "<br>".join(textwrap.wrap(name, LABEL_WIDTH))
            label(figure, words, colour, x=1, xref="paper", xanchor="left", xshift=6, y=y, yshift=shift, align="left")
        figure.update_layout(margin={"r": 112})
    least, most = np.log10(min(values)), np.log10(max(values))
    margin = 0.05 * max(most - least, 0.1)
    figure.update_xaxes(title=parameter, type="log", dtick=1, range=[least - margin, most + margin])
    if len(values) <= FEW:
        ticks = [values[0]]
        for value in values:
            if np.log10(value / ticks[-1]) >= TICK_DISTANCE * (most - least):
                ticks.append(value)
        figure.update_xaxes(tickvals=ticks, ticktext=[figure_of(value) for value in ticks], tickangle=0)
    figure.update_yaxes(title=title, rangemode="tozero")
    if fractions:
        figure.update_yaxes(range=[-0.02, 1.02], tickformat=".0%")
    if in_force is not None:
        words = "current and suggested" if suggested == in_force else "current"
        mark_value(figure, in_force, f"{words}: {figure_of(in_force)}", theme)
    if suggested not in (None, in_force):
        figure.add_vline(x=suggested, line={"color": theme.unknown, "width": 1.5, "dash": "dash"})
        words = f"suggested: {figure_of(suggested)}"
        at = np.log10(suggested)
        label(figure, words, theme.unknown, x=at, xanchor="center", y=0, yref="paper", yanchor="bottom")
    return figure


def figure_of(value: float) -> str:
    """A value of a parameter as text, to three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _apart(values: Sequence[float], *, height: float = 240.0, least: float = LINE_HEIGHT) -> list[float]:
    """Upward shifts in pixels that keep labels at these shares, ascending, `least` pixels apart."""
    shifts = []
    reached = -np.inf
    for value in values:
        reached = max(value * height, reached + least)
        shifts.append(reached - value * height)
    return shifts
