"""Why many parts in a row are stopped: what most of their photos have in common, in one sentence each."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from inspect_core.images.photo_quality import DEVIATION_SEPARATOR
from inspect_core.inspection import Inspection
from inspect_core.runtime.wording import pluralise

Place = tuple[float, float]

FEWEST = 5
"""Parts of which something can be said."""
_MOST = 0.5  # least share of the photos that differ in the same way
IN_A_ROW = 8
"""Parts in a row that stand out at one place, to be said: defects of parts rarely do."""
NEAR = 0.06
"""Most distance of two places that are one, as a share of the photo."""
_QUESTIONS = {
    "size": "was the camera or its resolution changed?",
    "frame": "was the camera or its crop changed?",
    "light comes": "was a lamp moved, or did one fail?",
    "darker": "has the lamp aged, or was the exposure changed?",
    "brighter": "was the lamp or the exposure changed?",
    "noisier": "was the gain raised, or does the lamp need more light?",
    "less sharp": "has the focus moved, or is the lens dirty?",
    "compressed": "was the quality of the camera's JPEG lowered?",
    "redder": "was the white balance changed?",
    "less red": "was the white balance changed?",
    "bluer": "was the white balance changed?",
    "less blue": "was the white balance changed?",
    "blurred by motion": "do the parts move while they are photographed?",
    "upside down": "was the camera turned, or are the parts fed the other way round?",
    "mirrored": "does the camera mirror its picture?",
    "shifted": "has the fixture or the camera moved?",
}
"""What to look at, by the beginning of what is said of a photo, or a word in it."""


def common_causes(rows: Iterable[Inspection]) -> list[str]:
    """A sentence for each way in which at least half of the photos differ from those taught, most frequent
    first, and one for parts in a row that stand out at one place; none for fewer than FEWEST photos.
    """
    rows = list(rows)
    if len(rows) < FEWEST:
        return []
    ways = Counter(way for row in rows for way in row.photo_deviation.split(DEVIATION_SEPARATOR) if way)
    sentences = [
        f"{_these(count, len(rows))}: {way}{_question(way)}"
        for way, count in ways.most_common()
        if count >= max(FEWEST, _MOST * len(rows))
    ]
    return [*sentences, *_one_place(rows)]


def _these(count: int, total: int) -> str:
    return f"All {pluralise(total, 'photo')}" if count == total else f"{count} of {total} photos"


def _question(way: str) -> str:
    question = next((question for word, question in _QUESTIONS.items() if re.search(rf"\b{word}\b", way)), "")
    return f"; {question}" if question else "."


def _one_place(rows: Sequence[Inspection]) -> list[str]:
    """A sentence on the longest run of parts that stand out near the place of its first, if it is long."""
    longest = count = 0
    first = first_of_longest = (math.nan, math.nan)
    for row in rows:
        if row.region_x is None or row.region_y is None:
            count = 0
            continue
        place = row.region_x, row.region_y
        if not count or not _is_near(first, place):
            first, count = place, 0
        count += 1
        if count > longest:
            longest, first_of_longest = count, first
    if longest < IN_A_ROW:
        return []
    place = f"{longest} parts in a row stand out at the same place, {_where(*first_of_longest)}"
    return [f"{place}: dust on the lens, or a mark in the fixture?"]


def _is_near(first: Place, other: Place) -> bool:
    return all(abs(before - after) <= NEAR for before, after in zip(first, other, strict=True))


def _where(x: float, y: float) -> str:
    """A place in words: "near the lower left corner"."""
    down = "upper" if y < 1 / 3 else "lower" if y > 2 / 3 else ""
    across = "left" if x < 1 / 3 else "right" if x > 2 / 3 else ""
    if down and across:
        return f"near the {down} {across} corner"
    if down or across:
        return f"near the {down or across} edge"
    return "near the middle"
