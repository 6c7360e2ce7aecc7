"""Photos sent to a worker: where they are and how they are read, as facts that JSON can hold."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.images.alignment import Alignment
from inspect_core.images.depth import Depth
from inspect_core.images.located import Located
from inspect_core.images.placement import Placement
from inspect_core.images.read import ImageError, read_mask
from inspect_core.images.samples import Sample


def facts_of(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """What a worker needs to know of each; stamps: size and time of photo and mask, so that a changed one is new."""
    found = []
    for sample in samples:
        found.append({
            "path": os.path.abspath(sample.path),
            "name": sample.name,
            "kind": sample.kind,
            "size": sample.size,
            "mask": sample.mask and os.path.abspath(sample.mask),
            "depth": None if sample.depth is None else asdict(sample.depth),
            "stamps": [_stamp(sample.path), sample.mask and _stamp(sample.mask)],
        })  # fmt: skip
    return found


def _stamp(path: Path) -> list[int] | None:
    try:
        facts = os.stat(path)
    except OSError:  # deleted since; the worker reports it
        return None
    return [facts.st_size, facts.st_mtime_ns]


def sample_of(facts: dict[str, Any]) -> Sample:
    """The photo that `facts_of` described."""
    depth = facts["depth"] and Depth(**facts["depth"])
    mask = facts["mask"] and Path(facts["mask"])
    return Sample(Path(facts["path"]), facts["name"], facts["kind"], tuple(facts["size"]), mask, depth=depth)


def has_mask(sample: Sample) -> bool:
    """Whether its mask can be read here."""
    try:
        return sample.mask is not None and read_mask(sample.mask, sample.size) is not None
    except ImageError:
        return False


def placement_facts(placement: Placement) -> dict[str, Any]:
    """How a photo was placed; both sides know the alignment."""
    located = placement.located
    return {
        "photo": placement.photo,
        "located": None if located is None else vars(located) | {"matrix": located.matrix.tolist()},
    }


def placement_of(facts: dict[str, Any], alignment: Alignment | None) -> Placement:
    """The placement that `placement_facts` described."""
    located = facts["located"]
    if located is not None:
        matrix, sizes = np.array(located["matrix"]), {name: tuple(located[name]) for name in ("photo", "reference")}
        located = Located(**located | sizes | {"matrix": matrix})
    return Placement(tuple(facts["photo"]), located, None if located is None else alignment)
