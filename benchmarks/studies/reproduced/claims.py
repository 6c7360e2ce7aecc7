"""A claim of a paper as a row: its figure, ours, and one word that follows from the two by an inequality."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.measure import kept
from benchmarks.studies.common import PICTURES

MISSING = "not measured yet"
FOLLOWS = 0.8
"""Overlap from which a boundary follows a set."""
RANDOM = "random covariances of 24 channels and 60 photos, float64"
HOLDS, FAILS, UNTESTED = "holds", "**fails**", "untested"
Rows = Mapping[str, Mapping[str, float]]


class Claim(NamedTuple):
    """A row: what the paper says and where, its figure, ours, HOLDS, FAILS or UNTESTED, and why or on what."""

    words: str
    paper: str
    ours: str
    verdict: str
    reason: str


@cache
def figures(name: str) -> dict:
    return kept(f"studies/{name}")


def number(value: float | None, digits: int = 3) -> str:
    if value is None or value != value:
        return "–"
    return f"{value:.{digits}f}".removeprefix("0") if 0 <= value < 1 else f"{value:.{digits}f}"


def listed(values: Mapping[str, float], digits: int = 3) -> str:
    return ", ".join(f"{name} {number(value, digits)}" for name, value in values.items())


def word(holds: bool) -> str:
    return HOLDS if holds else FAILS


def each(rows: Rows, better: str, worse: str) -> tuple[str, str]:
    """The verdict on "better scores above worse on every set", and the sets on which it does not."""
    against = [name for name, row in rows.items() if not row[better] > row[worse]]
    return word(not against), f"not on {', '.join(against)}" if against else f"on all of {', '.join(rows)}"


def by_mean(rows: Rows, better: str, worse: str) -> tuple[str, str, str]:
    """Ours, the verdict by the means over the sets, as the papers claim it, and on which sets it is so."""
    means = [float(np.mean([row[name] for row in rows.values()])) for name in (better, worse)]
    sets = "; ".join(f"{name} {number(row[better])}, {number(row[worse])}" for name, row in rows.items())
    return f"{number(means[0])} and {number(means[1])}; {sets}", word(means[0] > means[1]), each(rows, better, worse)[1]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def claims(rows: Iterable[Claim]) -> str:
    return table(("claim", "paper", "ours", "verdict", "why, on what"), rows)


def grid(corner: str, rows: Rows, columns: Sequence[str] | None = None, *, digits: int = 3) -> str:
    """A table of figures by row and column, all columns of the first row unless told."""
    columns = list(next(iter(rows.values()))) if columns is None else columns
    body = ([name, *(number(row.get(column), digits) for column in columns)] for name, row in rows.items())
    return table([corner, *columns], body)


def turned(rows: Rows) -> Rows:
    return {column: {name: row[column] for name, row in rows.items()} for column in next(iter(rows.values()))}


def ran(*names: str) -> str:
    """By what the parts were measured; the result files name the machines."""
    words = []
    for name in names:
        quick = [part for part, run in figures(name).get("runs", {}).items() if run["quick"]]
        words.append(f"`{name}`" + (f" ({', '.join(quick)} with `--quick`)" if quick else ""))
    return f"Measured by {', '.join(words)}."


def picture(name: str, words: str) -> str:
    return f"![{words}](pictures/studies/{name}.png)" if (PICTURES / f"{name}.png").exists() else ""
