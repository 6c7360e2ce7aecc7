"""Why many parts in a row are stopped: what most of their photos have in common, in one sentence each."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from inspect_core.images.photo_quality import DEVIATION_SEPARATOR
from inspect_core.runtime.wording import pluralise

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


class Remark(NamedTuple):
    """What is known of one photo: how it differs from those taught, and where its most anomalous region lies, as shares
    of the photo; None where nothing stands out.
    """

    photo_deviation: str
    region_x: float | None
    region_y: float | None


def common_causes(remarks: Iterable[Remark]) -> list[str]:
    """A sentence for each way in which at least half of the photos differ from those taught, most frequent
    first, and one for parts in a row that stand out at one place; none for fewer than FEWEST photos.
    """
    remarks = list(remarks)
    if len(remarks) < FEWEST:
        return []
    ways = Counter(way for remark in remarks for way in remark.photo_deviation.split(DEVIATION_SEPARATOR) if way)
    sentences = [
        f"{_these(count, len(remarks))}: {way}{_question(way)}"
        for way, count in ways.most_common()
        if count >= max(FEWEST, _MOST * len(remarks))
    ]
    return [*sentences, *_one_place(remarks)]


def _these(count: int, total: int) -> str:
    return f"All {pluralise(total, 'photo')}" if count == total else f"{count} of {total} photos"


def _question(way: str) -> str:
    question = next((question for word, question in _QUESTIONS.items() if re.search(rf"\b{word}\b", way)), "")
    return f"; {question}" if question else "."


def _one_place(remarks: Sequence[Remark]) -> list[str]:
    """A sentence on the longest run of parts that stand out near the place of its first, if it is long."""
    longest: list[Remark] = []
    run: list[Remark] = []
    for remark in remarks:
        if remark.region_x is None or remark.region_y is None:
            run = []
            continue
        if run and not _is_near(run[0], remark):
            run = []
        run.append(remark)
        longest = max(longest, run[:], key=len)
    if len(longest) < IN_A_ROW or longest[0].region_x is None or longest[0].region_y is None:
        return []
    where = _where(longest[0].region_x, longest[0].region_y)
    place = f"{len(longest)} parts in a row stand out at the same place, {where}"
    return [f"{place}: dust on the lens, or a mark in the fixture?"]


def _is_near(first: Remark, other: Remark) -> bool:
    return all(
        before is not None and after is not None and abs(before - after) <= NEAR
        for before, after in zip(first[1:], other[1:], strict=True)
    )


def _where(x: float, y: float) -> str:
    """A place in words: "near the lower left corner"."""
    down = "upper" if y < 1 / 3 else "lower" if y > 2 / 3 else ""
    across = "left" if x < 1 / 3 else "right" if x > 2 / 3 else ""
    if down and across:
        return f"near the {down} {across} corner"
    if down or across:
        return f"near the {down or across} edge"
    return "near the middle"
