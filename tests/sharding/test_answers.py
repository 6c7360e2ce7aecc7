"""Results of a faulty worker, and of files that changed, are not believed."""

import math
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.images.placement import Placement
from inspect_core.line.map_folder import MapFolder
from inspect_core.runtime.serialisation import pack, unpack
from inspect_core.scoring.overlap_counts import OverlapCounts
from inspect_core.sharding import inspection_tasks
from inspect_core.sharding.checkpoints import ShardCheckpoints
from inspect_core.sharding.executor import attempt
from inspect_core.sharding.inspection_tasks import WorkerBatchInspector, opening_of
from inspect_core.sharding.shard_runner import ATTEMPTS
from inspect_core.sharding.study_workers import KINDS, ShardResult, fault
from inspect_core.study.evaluation_scores import EvaluationScores
from inspect_core.study.photo_features import PhotoNotes
from inspect_core.study.study_tasks import Shard
from tests.line.conftest import ByBrightness, photo  # noqa: F401

SHARD = Shard(0, [PhotoFile(Path(name), name, "good", (4, 4)) for name in "abc"])
ALL, WITHOUT_B = PhotoNotes(), PhotoNotes(placements={"a": ("a" * 64, Placement((4, 4)))}, damaged={"b": "cut short"})


class Faulty:
    """An executor whose answers are spoiled: `spoil(answer)` changes them, the first `times` times."""

    words, workers = "faulty", 1

    def __init__(self, spoil, times=ATTEMPTS):
        self.spoil, self.left = spoil, times

    def require(self, memory):
        """There is enough."""

    def map(self, task, payloads):
        for number, payload in payloads:
            drawn = attempt(task, payload)
            if self.left:
                self.left -= 1
                self.spoil(drawn)
            yield number, drawn


def first(row=lambda row: row):
    """Spoils the row of the first photo."""

    def spoil(drawn):
        drawn[0] = row(drawn[0][0]), *drawn[0][1:]

    return spoil


def spoiled(row, name, value):
    """The row with a value that its class would refuse: what comes from a worker was not made by it here."""
    row = copy(row)
    object.__setattr__(row, name, value)
    return row


VALUES = {
    "score": (math.nan, math.inf, None),
    "verdict": ("reject", "accepted", None),
    "name": ("b.png", "foreign.png", None),
    "recipe": ("e" * 64,),
    "release": ("f" * 64,),
    "decided_by": ("other product", "partly out of view", "none"),
    "reason": ("other product", "partly out of view", "none"),
}
SPOILED = {
    f"{name} {value}": first(partial(spoiled, name=name, value=value))
    for name, values in VALUES.items()
    for value in values
} | {
    "a row twice": lambda drawn: drawn.__setitem__(1, drawn[0]),
    "a row more": lambda drawn: drawn.append(drawn[0]),
    "a row less": lambda drawn: drawn.pop(),
    "rows exchanged": lambda drawn: drawn.reverse(),
    "no row": first(vars),
}


@pytest.fixture
def rows_of(photo, tmp_path, monkeypatch):  # noqa: F811
    """judged(spoil, times) is the rows of an accepted and a rejected photo."""
    monkeypatch.setattr(inspection_tasks, "zipped", lambda path: b"")
    monkeypatch.setattr(inspection_tasks, "_opened", lambda task: ByBrightness())
    photos = [(f"{name}.png", photo(tmp_path / f"{name}.png", level)) for name, level in (("a", 50), ("b", 220))]

    def judge(spoil, times=ATTEMPTS):
        judging = WorkerBatchInspector(Faulty(spoil, times), opening_of(ByBrightness(), tmp_path))
        together = judging(ByBrightness(), photos, MapFolder(tmp_path / "maps"))
        return [row for rows in together for row, _, _ in rows]

    return judge


@pytest.mark.parametrize("what", SPOILED)
def test_a_row_that_cannot_be_is_judged_again_or_not_judged(rows_of, what):
    assert [(row.name, row.verdict) for row in rows_of(SPOILED[what], 1)] == [("a.png", "accept"), ("b.png", "reject")]
    rows = rows_of(SPOILED[what])
    assert [(row.name, row.verdict, row.score) for row in rows] == [
        (f"{name}.png", "not judged", None) for name in "ab"
    ]
    assert all("its shard failed" in row.reason for row in rows)


@pytest.mark.parametrize(("reason", "word"), [("other product", "reject"), ("partly out of view", "review")])
def test_a_part_is_stopped_for_a_reason_whatever_its_score(rows_of, reason, word):
    against = reason if word == "review" else None
    change = {"verdict": word, "decided_by": reason, "reason": reason, "never_accepted": against}
    row, _ = rows_of(first(lambda row: replace(row, **change)))
    assert (row.verdict, row.decided_by, row.score) == (word, reason, 50.0)


def test_result_must_match_its_shard_and_be_finite():
    state = [{"images": np.array(3), "mean": np.zeros((4, 2))}]
    errors = [[np.zeros((3, 2, 2), np.float32)]]
    scored = [(sample.name, errors) for sample in SHARD.samples]
    counts = OverlapCounts(np.zeros(1, np.int32), np.zeros(1), np.zeros(1), np.zeros(1), 0)
    nowhere, never = np.full(3, np.nan), np.zeros(3, bool)
    no_place = EvaluationScores(np.zeros(3), nowhere, never, nowhere, never, counts)
    for sound in (ShardResult(ALL, state), ShardResult(WITHOUT_B, scored), ShardResult(ALL, [no_place])):
        assert fault(SHARD, sound) == ""
    for sound in (ShardResult(ALL, state), ShardResult(ALL, [no_place])):
        assert fault(SHARD, unpack(pack(sound), KINDS)) == "", "also from a file"
    infinite = "a", [[np.full((3, 2, 2), np.inf)]]
    for content in ([{"mean": np.array([np.nan])}], [scored[1], infinite]):
        assert "not finite" in fault(SHARD, ShardResult(ALL, content))
    foreign = ShardResult(PhotoNotes(not_located={"d": "gone"}), state), ShardResult(ALL, state, unreadable_masks=["d"])
    assert all("other photos" in fault(SHARD, foreign_result) for foreign_result in foreign)
    assert "no result" in fault(SHARD, None)


def test_shards_that_changed_places_are_missing():
    left, other = ShardCheckpoints([b"one"]), ShardCheckpoints([b"other"])
    for number in (0, 1):
        left.put(number, b"shard %d" % number)
    (left.folder / "0").replace(left.folder / "1")
    assert left.get(1) is None
    left.put(0, b"shard 0")
    (left.folder / "0").replace(other.folder / "0")
    assert other.get(0) is None
    for work in (left, other):
        work.remove()
