"""Scores as a still SVG: how many have which value, by group, with the limits in force."""

import math
from collections.abc import Sequence

import numpy as np

from inspect_core.inspection import Inspection
from inspect_core.line.plot_range import is_plottable, omitted_sentence
from inspect_core.runtime.fonts import SANS

COLOURS = {"accept": "#15803d", "review": "#8f5f00", "reject": "#b91c1c"}
"""On white; as in ui/bench/frontend/bench.css."""
BINS = 48
WIDTH = 760
HEIGHT = 252
LEFT = 44
TOP = 46
BOTTOM = 40
FEWEST_TICKS = 4
WORDS = 130
"""Width left for the label of a limit."""


def histogram(rows: Sequence[Inspection], *, ink: str = "currentColor") -> str:
    """How many photos of a batch have which score, by verdict; "" when none has a score. ink: of its words."""
    scored = [row for row in rows if row.score is not None]
    drawn_rows = [row for row in scored if is_plottable(row.score or 0.0, row.review, row.reject)]
    note = _text(WIDTH - 12, HEIGHT - 6, omitted_sentence(len(scored) - len(drawn_rows)), "end")
    if not drawn_rows:
        return _svg(note, 0, ink, WIDTH, HEIGHT) if scored else ""
    scores, words = np.array([row.score for row in drawn_rows], float), np.array([row.verdict for row in drawn_rows])
    groups = [(word, colour, scores[words == word]) for word, colour in COLOURS.items()]
    return stacked(groups, (drawn_rows[0].review, drawn_rows[0].reject), ink=ink, note=note)


def stacked(
    groups: Sequence[tuple[str, str, np.ndarray]],
    limits: tuple[float, float],
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
    ink: str = "currentColor",
    note: str = "",
) -> str:
    """Bars of the groups, one upon the other. groups: (word, colour, scores (n,)), not all of them empty.

    limits: review, reject; width, height: pixels; ink: colour of the words; note: an SVG text to add.
    """
    scores = np.concatenate([values for _, _, values in groups])
    review, reject = limits
    # One part far off would squeeze all others into one bar, so the last bar holds everything beyond.
    spread = float(np.quantile(scores, 0.99) - scores.min())
    low = min(scores.min(), review)
    high = max(np.quantile(scores, 0.99) + 0.1 * spread, reject)
    low, high = low - 0.03 * (high - low or 1), high + 0.03 * (high - low or 1)
    edges = np.linspace(low, high, BINS + 1)
    counts = [np.histogram(np.minimum(values, high), edges)[0] for _, _, values in groups]
    most = max(int(np.sum(counts, axis=0).max()), 1)
    floor, wide, tall = height - BOTTOM, width - LEFT - 12, height - BOTTOM - TOP

    def x(value: float) -> float:
        return round(LEFT + wide * (value - low) / (high - low), 1)

    drawn = []
    round_values = ticks(low, high)
    base = np.zeros(BINS)
    for (word, colour, _), count in zip(groups, counts, strict=True):
        for i in np.flatnonzero(count):
            y, bar = floor - tall * (base[i] + count[i]) / most, tall * count[i] / most
            drawn.append(
                f'<rect x="{x(edges[i]) + 0.5}" y="{y:.1f}" width="{wide / BINS - 1:.1f}" height="{bar:.1f}" '
                f'fill="{colour}"><title>{count[i]} {word}</title></rect>'
            )
        base += count
    drawn += [
        f'<path d="M{LEFT} {TOP}V{floor}H{LEFT + wide}" fill="none" stroke="#8a9a98"/>',
        _text(LEFT - 6, TOP + 4, str(most), "end"),
        _text(LEFT - 6, floor + 4, "0", "end"),
    ]
    marks = {"reject": reject} if review == reject else {"review": review, "reject": reject}
    # Labels one above the other, each on the side with room: two limits may lie anywhere, also close together.
    for row, (name, value) in enumerate(marks.items()):
        anchor = "end" if x(value) > width - WORDS else "start"
        drawn += [
            f'<path d="M{x(value)} {TOP}V{floor}" stroke="#5b6b69" stroke-dasharray="3 3"/>',
            _text(x(value), TOP - 22 + 15 * row, f"{name} above {value:.3g}", anchor),
        ]
    drawn += [
        *(_text(x(tick), floor + 18, f"{tick:.4g}", "middle") for tick in round_values),
        *(f'<path d="M{x(tick)} {floor}v4" stroke="#8a9a98"/>' for tick in round_values),
        _text(LEFT + wide / 2, height - 6, "score", "middle"),
        note,
    ]
    return _svg("".join(drawn), len(scores), ink, width, height)


def ticks(low: float, high: float) -> list[float]:
    """The round numbers within a range, four to eleven of them: multiples of 1, 2 or 5 times a power of ten."""
    unit = 10.0 ** math.floor(math.log10((high - low) / FEWEST_TICKS))
    step = next(step for step in (5 * unit, 2 * unit, unit) if (high - low) / step >= FEWEST_TICKS)
    return [round(k * step, 12) + 0.0 for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _svg(drawn: str, count: int, ink: str, width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="100%" '
        f'style="max-width:{width}px" role="img" aria-label="Scores of {count} photos" fill="{ink}" '
        f'font-family="{SANS}" font-size="12">{drawn}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
