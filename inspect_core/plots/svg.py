"""A Plotly figure of lines and marks as a still SVG, for a report that opens anywhere."""

import html
from collections.abc import Iterator

import numpy as np
import plotly.graph_objects as go

from inspect_core.plots.chart_theme import ChartTheme
from inspect_core.runtime.fonts import SANS

LEFT = 52
TOP = 26
BOTTOM = 44
ROW = 18
MARKS = {
    "circle": "M-{r} 0a{r} {r} 0 1 0 {r} -{r}a{r} {r} 0 0 0 -{r} {r}z",
    "diamond": "M0 -{r}L{r} 0L0 {r}L-{r} 0z",
    "x": "M-{r} -{r}L{r} {r}M-{r} {r}L{r} -{r}",
}
DASHES = {"solid": "none", "dash": "7 4", "dot": "2 3"}


def svg(figure: go.Figure, theme: ChartTheme, *, width: int, height: int, legend: int) -> str:
    """The lines and marks of a figure whose axes have ranges; sizes in pixels.

    legend: share of the width at its right for the names of the lines.
    """
    across, up = figure.layout.xaxis, figure.layout.yaxis
    left, right = across.range
    low, high = up.range
    wide, high_px = width - LEFT - legend - 12, height - TOP - BOTTOM

    def x(value: float) -> float:
        return round(LEFT + wide * (float(value) - left) / (right - left), 1)

    def y(value: float) -> float:
        return round(TOP + high_px * (high - float(value)) / (high - low), 1)

    def drawn() -> Iterator[str]:
        floor = y(low)
        yield f'<path d="M{LEFT} {TOP}V{floor}H{LEFT + wide}" fill="none" stroke="{theme.faint}"/>'
        for value in _ticks(left, right):
            yield _text(x(value), floor + 16, format(value, across.tickformat or ".3g"), "middle", theme.unknown)
        for value in _ticks(low, high):
            yield _text(LEFT - 6, y(value) + 4, format(value, up.tickformat or ".3g"), "end", theme.unknown)
        yield _text(LEFT + wide / 2, height - 8, across.title.text, "middle", theme.ink)
        yield _text(4, 14, up.title.text, "start", theme.ink)
        for number, trace in enumerate(figure.data):
            at, row = LEFT + wide + 10, TOP + ROW * number + 8
            if trace.mode == "markers":
                colour = trace.marker.color
                shape = MARKS[trace.marker.symbol].format(r=trace.marker.size / 2)
                drawn_as = f'd="{shape}" fill="{colour}" stroke="{colour}"'
                for a, b in zip(trace.x, trace.y, strict=True):
                    yield f'<path transform="translate({x(a)} {y(b)})" {drawn_as} opacity="{trace.marker.opacity}"/>'
                yield f'<path transform="translate({at + 9} {row})" {drawn_as}/>'
            else:
                points = " ".join(f"{x(a)},{y(b)}" for a, b in zip(trace.x, trace.y, strict=True) if left <= a <= right)
                stroke = f'stroke="{trace.line.color}" stroke-width="2" stroke-dasharray="{DASHES[trace.line.dash]}"'
                yield f'<polyline points="{points}" fill="none" {stroke}/>'
                yield f'<path d="M{at} {row}h18" {stroke}/>'
            yield _text(at + 24, row + 4, html.unescape(trace.name), "start", theme.ink)

    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{SANS}" font-size="12">{"".join(drawn())}</svg>'
    )


def _ticks(low: float, high: float) -> np.ndarray:
    """About five round numbers from low to high."""
    raw = (high - low) / 5
    power = 10 ** np.floor(np.log10(raw))
    step = power * next(digit for digit in (1, 2, 5, 10) if digit * power >= raw)
    return np.arange(np.ceil(low / step), np.floor(high / step + 1e-9) + 1) * step + 0.0  # no -0


def _text(x: float, y: float, words: str, anchor: str, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{html.escape(words)}</text>'
