"""Tiles in teaching: whether large photos are cut, by the choice made on the page or the command line."""

import math
from collections import Counter
from collections.abc import Sequence

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.images.shape import Size
from inspect_core.images.tiles import CELLS, TilePlan, proposed, recommendation

OFF, AUTO, ON = "off", "auto", "on"
CHOICES = (OFF, AUTO, ON, *map(str, CELLS))
"""Never; if the smallest defect that matters needs it; always, with cells as fine as memory allows or of so many px."""


def plan_tiles(
    choice: str, photos: Sequence[PhotoFile], smallest_defect: float | None, size: Size, *, tile: Size
) -> tuple[TilePlan | None, tuple[str, ...]]:
    """The plan for these photos, None when they are squashed to `size`; and sentences about it.

    choice: one of CHOICES; smallest_defect: the smallest that matters, in pixels of the photos, None if not known;
    tile: the size of one.
    Raises ValueError, with figure and remedy, for a plan that takes too much memory, and for AUTO without a defect.
    """
    (photo_size, _), *_ = Counter(sample.size for sample in photos).most_common(1)
    if smallest_defect is not None and not 0 < smallest_defect < math.inf:
        raise ValueError(f"the smallest defect is {smallest_defect:g} px; give its length, above 0")
    pays = False
    sentences = ()
    if smallest_defect is not None:
        pays, sentence = recommendation(photo_size, smallest_defect, size)
        sentences = (sentence,)
    elif choice == AUTO:
        raise ValueError("automatic tiling needs the smallest relevant defect; give its length in photo pixels")
    if choice == OFF or (choice == AUTO and not pays):
        return None, sentences
    plan = proposed(photo_size, smallest_defect, tile=tile, cell=int(choice) if choice.isdecimal() else None)
    return plan, (*sentences, plan.sentence())
