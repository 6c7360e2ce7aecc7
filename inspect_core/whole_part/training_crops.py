"""From labelled photos to examples of defect types: which crop of which photo, how many, in which groups."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inspect_core.datasets.dataset import Dataset, PhotoFile
from inspect_core.datasets.grouping import propose_groups
from inspect_core.images.boxes import Box
from inspect_core.scoring.anomaly_map import regions

MIN_PARTS_PER_TYPE = 2
"""Parts of a type needed to learn it at all."""
ENOUGH = 5
"""Before its probability can be trusted."""
SPECKS = 0.1
"""Pieces of a true mask smaller than this fraction of its largest are no examples."""


@dataclass(frozen=True)
class TrainingCrop:
    """A crop to learn from: position of the photo, the box to crop around (None: the whole part), its type.

    as_inspected: whether inspection would look at this very crop; the others only help to learn.
    """

    position: int
    box: Box | None
    defect_type: str
    as_inspected: bool = True


def boxes_of_mask(mask: np.ndarray) -> tuple[Box, ...]:
    """Boxes of the pieces of a true mask, (H, W) bool, largest first, without specks."""
    pieces = sorted(regions(mask.astype(np.float32), 0.5), key=lambda piece: -piece.area)
    return tuple(piece.box for piece in pieces if piece.area >= SPECKS * pieces[0].area)


def examples_of(
    labels: Mapping[int, str], *, by_region: bool, boxes: Mapping[int, Box], true: Mapping[int, Sequence[Box]]
) -> tuple[TrainingCrop, ...]:
    """One example for every labelled photo, and with `by_region` one more for each piece of its true mask.

    labels: defect type by position; boxes: box of the largest region that the detector shows, if any; true: boxes of
    the pieces of the true mask, where it is known. A photo without a found region is judged by its largest true
    piece, or as a whole.
    """
    if not by_region:
        return tuple(TrainingCrop(position, None, name) for position, name in sorted(labels.items()))
    examples = []
    for position, name in sorted(labels.items()):
        pieces = list(true.get(position, ()))
        box = boxes.get(position) or (pieces.pop(0) if pieces else None)
        examples.append(TrainingCrop(position, box, name))
        examples += [TrainingCrop(position, piece, name, as_inspected=False) for piece in pieces]
    return tuple(examples)


def groups_of(photos: Sequence[PhotoFile]) -> dict[str, str]:
    """Group of each photo by its name: photos of one part or lot belong together. Guessed from folders and names."""
    return dict(propose_groups(Dataset(Path(), tuple(photos), ()), few=True))


def learnable(labels: Mapping[int, str], groups: Sequence[str]) -> tuple[str, ...]:
    """Defect types with examples of `MIN_PARTS_PER_TYPE` groups, sorted; groups: of every photo, by position."""
    owners = Counter(name for name, _ in {(name, groups[position]) for position, name in labels.items()})
    return tuple(sorted(name for name, count in owners.items() if count >= MIN_PARTS_PER_TYPE))


def advice(labels: Mapping[int, str], groups: Sequence[str]) -> list[tuple[str, int, str]]:
    """(defect type, labelled photos, advice on what else would help) for every type, sorted by name."""
    rows = []
    ready = learnable(labels, groups)
    for name, count in sorted(Counter(labels.values()).items()):
        if count < MIN_PARTS_PER_TYPE:
            remark = f"{MIN_PARTS_PER_TYPE - count} more needed for training"
        elif name not in ready:
            remark = "all show one part: add a photo of another"
        else:
            remark = f"{ENOUGH - count} more for useful confidence" if count < ENOUGH else "enough"
        rows.append((name, count, remark))
    return rows
