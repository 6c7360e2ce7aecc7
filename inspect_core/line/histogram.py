"""Scores of a batch as a still SVG, coloured by verdict, with the limits in force."""

from collections.abc import Sequence

import numpy as np

from inspect_core.line.drawable import drawable, not_drawn
from inspect_core.line.row import Row

COLOURS = {"accept": "#15803d", "review": "#b45309", "reject": "#c2410c"}
BINS, WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 48, 760, 252, 44, 46, 40
WORDS = 130
"""Width left for the label of a limit."""


def histogram(rows: Sequence[Row], *, ink: str = "currentColor") -> str:
    """An SVG of how many photos have which score, stacked by verdict; "" when none has a score. ink: of its words."""
    scored = [row for row in rows if row.score is not None]
    judged = [row for row in scored if drawable(row.score or 0.0, row.review, row.reject)]
    note = _text(WIDTH - 12, HEIGHT - 6, not_drawn(len(scored) - len(judged)), "end")
    if not judged:
        return _svg(note, 0, ink) if scored else ""
    scores, words = np.array([row.score for row in judged], float), np.array([row.verdict for row in judged])
    review, reject = judged[0].review, judged[0].reject
    # One part far off would squeeze all others into one bar, so the last bar holds everything beyond.
    spread = float(np.quantile(scores, 0.99) - scores.min())
    low, high = min(scores.min(), review), max(np.quantile(scores, 0.99) + 0.1 * spread, reject)
    low, high = low - 0.03 * (high - low or 1), high + 0.03 * (high - low or 1)
    edges = np.linspace(low, high, BINS + 1)
    counts = {word: np.histogram(np.minimum(scores[words == word], high), edges)[0] for word in COLOURS}
    most = max(int(np.sum(list(counts.values()), axis=0).max()), 1)
    floor, wide, tall = HEIGHT - BOTTOM, WIDTH - LEFT - 12, HEIGHT - BOTTOM - TOP

    def x(value: float) -> float:
        return round(LEFT + wide * (value - low) / (high - low), 1)

    bars, base = [], np.zeros(BINS)
    for word, colour in COLOURS.items():
        for i in np.flatnonzero(counts[word]):
            y, own = floor - tall * (base[i] + counts[word][i]) / most, tall * counts[word][i] / most
            bars.append(
                f'<rect x="{x(edges[i]) + 0.5}" y="{y:.1f}" width="{wide / BINS - 1:.1f}" height="{own:.1f}" '
                f'fill="{colour}"><title>{counts[word][i]} {word}</title></rect>'
            )
        base += counts[word]
    return _svg(
        f'{"".join(bars)}<path d="M{LEFT} {TOP}V{floor}H{LEFT + wide}" fill="none" stroke="#8a9a98"/>'
        f"{_text(LEFT - 6, TOP + 4, str(most), 'end')}{_text(LEFT - 6, floor + 4, '0', 'end')}"
        f"{_limits(x, review, reject, floor)}{_text(LEFT, floor + 16, f'{low:.3g}', 'start')}"
        f"{_text(LEFT + wide, floor + 16, f'{high:.3g}', 'end')}"
        f"{_text(LEFT + wide / 2, HEIGHT - 6, 'score', 'middle')}{note}",
        len(judged),
        ink,
    )


def _svg(drawn: str, count: int, ink: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" '
        f'style="max-width:{WIDTH}px" role="img" aria-label="Scores of {count} photos" fill="{ink}" '
        f'font-family="system-ui, sans-serif" font-size="12">{drawn}</svg>'
    )


def _limits(x, review: float, reject: float, floor: float) -> str:
    marks = {"reject": reject} if review == reject else {"review": review, "reject": reject}
    # Labels one above the other, each on the side with room: two limits may lie anywhere, also close together.
    return "".join(
        f'<path d="M{x(value)} {TOP}V{floor}" stroke="#5b6b69" stroke-dasharray="3 3"/>'
        + _text(
            x(value), TOP - 22 + 15 * row, f"{name} above {value:.3g}", "end" if x(value) > WIDTH - WORDS else "start"
        )
        for row, (name, value) in enumerate(marks.items())
    )


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
