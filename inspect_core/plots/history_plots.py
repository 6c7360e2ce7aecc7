"""Plots of what was inspected: scores over time with the limits in force, and how often each defect type was found."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from inspect_core.plots.chart_theme import ChartTheme, as_text, new_figure
from inspect_core.verdict import VERDICT_PHRASES

MOST_POINTS = 3000
"""Drawn at most; of more, the accepted parts are thinned evenly."""
SYMBOLS = {"accept": "circle", "review": "diamond", "reject": "x"}


def scores_over_time(
    when: np.ndarray,
    scores: np.ndarray,
    verdicts: Sequence[str],
    limits: np.ndarray,
    names: Sequence[str],
    theme: ChartTheme,
    *,
    unit: str = "score",
) -> go.Figure:
    """One mark for each part, by verdict, and the limits as steps.

    when: (n,) ascending, datetime64 in local time or float hours; scores: (n,); verdicts: (n,) of SYMBOLS; limits:
    (n, 2), review and reject in force. A part far above the limit is drawn at the upper edge, with its score on hover.
    """
    figure = new_figure(theme, height=340)
    by_part = np.asarray(verdicts)
    limit = limits[:, 1].max()
    most = float(np.quantile(scores, 0.98))
    top = max(limit + abs(limit), most + 0.05 * abs(most))
    for word, colour in zip(SYMBOLS, (theme.good, theme.defect_types[2], theme.defect), strict=True):
        shown = _thinned(np.flatnonzero(by_part == word), room=MOST_POINTS if word == "accept" else len(verdicts))
        size, opacity = (5, 0.45) if word == "accept" else (8, 0.9)
        hover = f"{unit}%{{customdata[1]}}<extra>{VERDICT_PHRASES[word]}</extra>"
        marks = {
            "customdata": np.array([[as_text(names[i]), f"{scores[i]:.4g}"] for i in shown]) if len(shown) else None,
            "marker": {"color": colour, "size": size, "symbol": SYMBOLS[word], "opacity": opacity},
            "hovertemplate": "%{customdata[0]}<br>%{x}<br>" + hover,
        }
        figure.add_scatter(
            x=when[shown], y=np.minimum(scores[shown], top), mode="markers", name=VERDICT_PHRASES[word], **marks
        )
    two = bool((limits[:, 0] < limits[:, 1]).any())
    for column, name, dash in ((0, "review above", "dash"), (1, "reject above", "solid")):
        if column == 1 or two:
            x, y = _steps(when, limits[:, column])
            line = {"color": theme.ink, "width": 1.5, "dash": dash}
            hover = f"{name}%{{y:.4g}}<extra></extra>"
            figure.add_scatter(x=x, y=y, mode="lines", name=name, line=line, hovertemplate=hover)
    low = min(float(scores.min()), float(limits.min()), 0.0)
    figure.update_yaxes(title=unit, range=[1.05 * low, top + 0.04 * abs(top) or 1.0])
    figure.update_layout(showlegend=True)
    return figure


def levels_over_time(
    when: np.ndarray, levels: np.ndarray, alarms: Sequence[tuple[int, str]], theme: ChartTheme
) -> go.Figure:
    """A signal as a share of its limits, which are at 1 and -1, and what was said where it left them.

    when: (n,) ascending, datetime64 in local time; levels: (n,); alarms: (position, words).
    """
    figure = new_figure(theme, height=150)
    line = {"color": theme.ink, "width": 1.2}
    shown = np.clip(levels, -2, 2)
    figure.add_scatter(x=when, y=shown, mode="lines", line=line, hovertemplate="%{x}<br>%{y:.2f}<extra></extra>")
    for edge in (-1, 1):
        figure.add_hline(edge, line={"color": theme.defect, "width": 1, "dash": "dash"})
    if alarms:
        at, words = [i for i, _ in alarms], [as_text(words) for _, words in alarms]
        marks = {"color": theme.defect, "size": 9, "symbol": "x"}
        hover = "%{customdata}<br>%{x}<extra></extra>"
        figure.add_scatter(x=when[at], y=shown[at], mode="markers", marker=marks, customdata=words, hovertemplate=hover)
    figure.update_yaxes(range=[-2.1, 2.1], tickvals=[-1, 0, 1], ticktext=["limit", "as released", "limit"])
    figure.update_layout(showlegend=False)
    return figure


def frequencies(counts: Sequence[tuple[str, int]], theme: ChartTheme) -> go.Figure:
    """Bars of (defect type, parts), the most frequent first, each with its count and the share up to there."""
    figure = new_figure(theme, height=92 + 34 * len(counts))
    values = np.array([count for _, count in counts])
    so_far = np.cumsum(values) / values.sum()
    labels = [f"{count} · {share:.0%} cumulative" for count, share in zip(values, so_far, strict=True)]
    bars = {"orientation": "h", "marker": {"color": theme.defect, "line": {"width": 0}}, "cliponaxis": False}
    words = {"text": labels, "textposition": "outside", "hovertemplate": "%{y}: %{x}<extra></extra>"}
    figure.add_bar(x=values, y=[as_text(name) for name, _ in counts], **bars, **words)
    figure.update_yaxes(autorange="reversed", type="category", showline=False, ticks="")
    figure.update_xaxes(title="parts not accepted", range=[0, 1.8 * values.max()], rangemode="tozero")
    return figure


def _thinned(positions: np.ndarray, room: int) -> np.ndarray:
    return positions if len(positions) <= room else positions[np.linspace(0, len(positions) - 1, room).astype(int)]


def _steps(when: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The corners of a line that keeps each value until the next one."""
    changed = np.flatnonzero(np.diff(values)) + 1
    at = np.concatenate([[0], np.repeat(changed, 2), [len(values) - 1]])
    level = np.concatenate([[0], np.stack([changed - 1, changed], axis=1).ravel(), [len(values) - 1]])
    return when[at], values[level.astype(int)]
