"""Whether copies of the good photos are turned: where their outlines show that parts lie at any angle."""

from contextlib import suppress
from dataclasses import replace

import numpy as np

from inspect_core.images.outline import Outline
from inspect_core.images.photo_reader import ImageError, read, squash
from inspect_core.runtime.progress import Report
from inspect_core.study.teaching_config import TeachingConfig

ANY_ANGLE = 180.0
"""Degrees by which copies are turned, either way."""
MOST_READ, FEWEST_READ = 40, 10
"""Photos whose outlines tell."""
OUTLINED = 0.9
"""Share of them in which a long part lies wholly in view. Of ten sets one has more than .52: screws, in each."""
SPREAD = 0.5
"""Length of the mean direction (Mardia and Jupp 2000) of their middle lines, from 0 for all directions to 1 for one, up
to which parts lie at any angle; of screws .12.
"""


def with_turned_copies(order: TeachingConfig, report: Report) -> TeachingConfig:
    """The order, with its copies turned where its good photos show long parts at any angle, and a note that says so.

    Unchanged where copies are none or turned already, in tiles, and with fewer than FEWEST_READ photos. Raises whatever
    `report` raises to stop.
    """
    tolerances = order.tolerances
    photos = order.photos.train[:: -(-len(order.photos.train) // MOST_READ)]
    if tolerances is None or tolerances.turn or order.tiles is not None or len(photos) < FEWEST_READ:
        return order
    directions = []
    for done, sample in enumerate(photos):
        report(done / len(photos), f"reading photo {done + 1} of {len(photos)}")
        with suppress(ImageError):
            outline = Outline.from_picture(squash(read(sample.path, sample.depth).pixels, order.size))
            if outline is not None and outline.is_long:
                directions.append(outline.axis**2)  # a line has no head: its two directions count as one
    if len(directions) < OUTLINED * len(photos) or abs(np.mean(directions)) > SPREAD:
        return order
    note = "The parts lie at any angle, so copies of the good photos are turned too."
    return replace(order, tolerances=replace(tolerances, turn=ANY_ANGLE), notes=(*order.notes, note))
