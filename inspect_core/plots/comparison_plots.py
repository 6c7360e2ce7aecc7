"""Detectors side by side: what each catches at which rate of false alarms, and its scores around its limits."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from inspect_core.plots.chart_theme import ChartTheme, as_text, mark_value, new_figure

DASHES = ("solid", "dash", "dot")
BINS = 30


def rates(
    lines: Mapping[str, tuple[np.ndarray, np.ndarray]], theme: ChartTheme, *, x: str, y: str, most: float = 1.0
) -> go.Figure:
    """A line (x (n,), y (n,)) for each name, from 0 to `most` across and to 1 up; x, y: axis titles."""
    figure = new_figure(theme, height=380 + 18 * len(lines))
    colours = (theme.good, *theme.defect_types)
    for number, (name, (across, up)) in enumerate(lines.items()):
        dash = DASHES[number // len(colours) % len(DASHES)]
        words = as_text(name)
        line = {"color": colours[number % len(colours)], "width": 2, "dash": dash}
        hover = "%{y:.1%} at %{x:.1%}<extra>" + words + "</extra>"
        figure.add_scatter(x=across, y=up, mode="lines", name=words, line=line, hovertemplate=hover)
    figure.update_xaxes(title=x, range=[-0.01 * most, most], tickformat=".0%")
    figure.update_yaxes(title=y, range=[-0.01, 1.02], tickformat=".0%")
    figure.update_layout(showlegend=True, legend={"orientation": "v", "x": 0, "y": -0.2, "yanchor": "top"})
    return figure


def separations(
    names: Sequence[str], estimates: Sequence[tuple[float, float, float]], groups: Sequence[int], theme: ChartTheme
) -> go.Figure:
    """A dot with its 95 % interval for each name, the first on top: (value, low, high), shares from 0 to 1.

    groups: of each, 0 for those that cannot be told from the recommended one, which are filled.
    """
    figure = new_figure(theme, height=70 + 24 * len(names))
    values, lows, highs = np.transpose(estimates)
    of_group = np.asarray(groups)
    for words, shown, colour in (
        ("not told apart from the recommended one", of_group == 0, theme.good),
        ("told apart from it", of_group > 0, theme.unknown),
    ):
        if shown.any():
            figure.add_scatter(
                x=values[shown], y=[as_text(names[i]) for i in np.flatnonzero(shown)], mode="markers", name=words,
                marker={"color": colour, "size": 10, "symbol": "circle" if colour == theme.good else "circle-open"},
                error_x={"array": (highs - values)[shown], "arrayminus": (values - lows)[shown], "thickness": 1.5},
                hovertemplate="%{x:.1%}<extra>%{y}</extra>",
            )  # fmt: skip
    figure.update_xaxes(title="how clearly defects separate from good parts", tickformat=".0%")
    figure.update_yaxes(categoryorder="array", categoryarray=[as_text(name) for name in reversed(names)])
    figure.update_layout(showlegend=True)
    return figure


def scores(good: np.ndarray, defects: np.ndarray, limits: tuple[float, float], theme: ChartTheme) -> go.Figure:
    """Counts of the scores of good parts (n,) and of defects (m,), with the limits (review, reject) marked."""
    figure = new_figure(theme, height=230)
    both = np.concatenate([good, defects])
    edges = np.histogram_bin_edges(np.concatenate([both, limits]), bins=BINS)
    for name, values, colour in (("good", good, theme.good), ("defect", defects, theme.defect)):
        marker = {"color": colour, "opacity": 0.65, "line": {"width": 0}}
        hover = "%{y} at %{x:.3g}<extra>" + name
        bars = {"x": (edges[:-1] + edges[1:]) / 2, "y": np.histogram(values, edges)[0], "width": np.diff(edges)}
        figure.add_bar(**bars, name=name, marker=marker, hovertemplate=hover + "</extra>")
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_xaxes(title="score", range=[edges[0], edges[-1]])
    figure.update_yaxes(title="parts")
    review, reject = limits
    if review < reject:
        mark_value(figure, review, "", theme)
    mark_value(figure, reject, "reject above" if review == reject else "review · reject above", theme)
    return figure
