"""A batch judged by workers: shards of photos go out, rows and maps come back as they are done."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from inspect_core.line.batch import Drawn, Photo, judge_and_draw
from inspect_core.line.inspector import Inspector
from inspect_core.line.maps import Maps
from inspect_core.line.overlap import ranges
from inspect_core.line.row import Row
from inspect_core.package.zipped import zipped
from inspect_core.runner import Runner
from inspect_core.sharding import answers
from inspect_core.sharding.container import pack, unpack
from inspect_core.sharding.executor import ATTEMPTS, RESTING, RESTING_EXPORTED, Executor, Failure
from inspect_core.sharding.run import results
from inspect_core.verdict import NOT_JUDGED

PHOTOS = 16
"""Of one task: its maps are on their way together."""


@dataclass(frozen=True, eq=False)
class JudgedByWorkers:
    """A `line.batch.Judging`. path: of the saved recipe that the inspector was opened from."""

    executor: Executor
    path: Path

    def __call__(self, inspector: Inspector, photos: Sequence[Photo], maps: Maps | None) -> Iterator[Drawn]:
        """Every photo once, with the verdict that this process would give, to the bit; in any order.

        What a worker cannot judge is judged here; photos of a shard that failed in every attempt, or whose results
        could not be used, are not judged, and their rows say why. Raises ValueError for too little memory.
        """
        self.executor.require(RESTING_EXPORTED if isinstance(inspector, Runner) else RESTING)
        endings = () if maps is None else maps.endings
        parts = ranges(len(photos), PHOTOS)

        def payload(number: int) -> bytes:
            return pack({
                "photos": [(name, os.path.abspath(path)) for name, path in some_of(number)], "endings": endings
            })  # fmt: skip

        def some_of(number: int) -> Sequence[Photo]:
            return photos[parts[number].start : parts[number].stop]

        def check(number: Any, content: bytes) -> None:
            _check(content, some_of(number), endings, inspector)

        shared = (_packed(self.path, inspector), _weights(inspector))
        mapper = answers.checked(self.executor.map, check)
        for number, result in results(mapper, "inspect", shared, payload, range(len(parts))):
            some = some_of(number)
            if isinstance(result, Failure):
                yield from ((_failed(inspector, name, result.reason), "", {}) for name, _ in some)
                continue
            rows, files = unpack(result)
            for i, ((facts, file), photo) in enumerate(zip(rows, some, strict=True)):
                if facts["verdict"] == NOT_JUDGED:
                    yield judge_and_draw(inspector, *photo, endings)
                else:
                    drawn = {end: files[f"{i}{end}"].tobytes() for end in endings if f"{i}{end}" in files}
                    yield Row(**facts), file, drawn


def _check(content: bytes, photos: Sequence[Photo], endings: Sequence[str], inspector: Inspector) -> None:
    """Raise ValueError unless these are the rows of these photos, with their maps."""
    rows, files = unpack(content)
    wanted = set()
    for i, ((facts, file), (name, _)) in enumerate(zip(rows, photos, strict=True)):
        if answers.row(facts, name, file, inspector).verdict != NOT_JUDGED:
            wanted |= {f"{i}{ending}" for ending in endings}
    answers.require(files.keys() == wanted, "it has other maps than were asked for")
    answers.require(all(own.dtype == np.uint8 and own.ndim == 1 for own in files.values()), "its maps are not files")


def _failed(inspector: Inspector, name: str, reason: str) -> Row:
    limits = inspector.limits
    return Row(
        name=name, review=limits.review, reject=limits.reject, area=inspector.area, recipe=inspector.digest,
        release=inspector.release, reason=f"its shard failed {ATTEMPTS} times: {reason}",
    )  # fmt: skip


def _packed(path: Path, inspector: Inspector) -> bytes:
    """The recipe's package as a zip, and how it is opened."""
    exported = isinstance(inspector, Runner)
    device = "cpu" if exported else cast(Any, inspector).backbone.device.type
    facts = {"exported": exported, "device": device, "release": inspector.release}
    return pack(facts, {"package": np.frombuffer(zipped(path), np.uint8)})


def _weights(inspector: Inspector) -> bytes:
    if isinstance(inspector, Runner):
        return b""
    from inspect_core.sharding import plan  # which loads torch, as the recipe has

    return plan.pack_weights(cast(Any, inspector).backbone)
