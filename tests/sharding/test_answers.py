"""What a faulty worker answers, or a changed file holds: worked again, and never believed."""

import copy
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from inspect_core.detectors import mahalanobis
from inspect_core.features.extraction import Look
from inspect_core.images.located import Located
from inspect_core.images.photo_quality import Quality
from inspect_core.images.placement import Placement
from inspect_core.images.samples import Sample
from inspect_core.images.tolerances import Tolerances
from inspect_core.judge.overlap_counts import OverlapCounts
from inspect_core.line.batch import judge_and_draw
from inspect_core.line.maps import Maps
from inspect_core.methods.method import Patches
from inspect_core.methods.view import View
from inspect_core.runtime.plain import pack, unpack
from inspect_core.sharding import inspecting
from inspect_core.sharding.answers import fault
from inspect_core.sharding.executor import attempt
from inspect_core.sharding.inspecting import JudgedByWorkers, check_drawn
from inspect_core.sharding.kept import MERGED, Kept
from inspect_core.sharding.on_workers import merged_states
from inspect_core.sharding.run import ATTEMPTS
from inspect_core.sharding.sent import Prepared
from inspect_core.sharding.teaching import KINDS, Describing, Fitting, Found, Judging, Scoring, Shard, states
from inspect_core.study.gathering import Fit
from inspect_core.study.judged import Judged
from inspect_core.study.photo_features import Unusable
from inspect_core.study.workers import Looked
from tests.line.conftest import ByBrightness, photo  # noqa: F401

SHARD = Shard(
    0, [Sample(Path(name), name, kind, (4, 4)) for name, kind in {"a": "good", "b": "dent", "c": "good"}.items()]
)
ALL, WITHOUT_B = Unusable([], []), Unusable([("b", "cut short")], [])
FOREIGN, UNNAMED = Unusable([("d", "foreign")], []), Unusable([("b", None)], [])
TWICE = Unusable([("b", "")], [("b", "")])
PREPARED = Prepared(None, {"alignment": None, "grid": (2, 2)})
VIEW = View("cop", None, Look(("tap",)), only=(1, 2, 3))


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


def first(row=lambda row: row, file=lambda file: file, maps=lambda maps: maps):
    """Spoils what was drawn of the first photo."""

    def spoil(drawn):
        own, digest, content = drawn[0]
        drawn[0] = row(own), file(digest), maps(content)

    return spoil


VALUES = {
    "score": (math.nan, math.inf, None, "50", True),
    "verdict": ("reject", "accepted", None, "not located"),
    "name": ("b.png", "foreign.png", None),
    "digest": (None, "a", "z" * 64),
    "percentile_among_good": (math.nan, 101.0),
    "regions": (-1, 0.5),
    "largest_region_pixels": ("9",),
    "review": (1e9,),
    "area": (1,),
    "recipe": ("e" * 64,),
    "defect_type_probability": (2.0,),
    "reason": ("other product", "partly out of view", "none", 3),
    "time": ("yesterday", "2026-11-21T10:00:00"),
    "milliseconds": (None, math.inf),
    "photo": ("a.png",),
}
SPOILED = {
    f"{name} {value}": first(lambda row, change={name: value}: replace(row, **change))
    for name, values in VALUES.items()
    for value in values
} | {
    "a file without digest": first(file=lambda file: ""),
    "a row twice": lambda drawn: drawn.__setitem__(1, drawn[0]),
    "a row more": lambda drawn: drawn.append(drawn[0]),
    "a row less": lambda drawn: drawn.pop(),
    "rows exchanged": lambda drawn: drawn.reverse(),
    "no row": first(vars),
    "no maps": first(maps=lambda maps: {}),
    "a map too many": first(maps=lambda maps: maps | {".gif": b""}),
    "a map of numbers": first(maps=lambda maps: maps | {".png": np.zeros(3)}),
}


@pytest.fixture
def judged(photo, tmp_path, monkeypatch):  # noqa: F811
    """judged(spoil, times) is the rows of an accepted and a rejected photo."""
    monkeypatch.setattr(inspecting, "zipped", lambda path: b"")
    monkeypatch.setattr(inspecting, "_opened", lambda task: ByBrightness())
    photos = [(f"{name}.png", photo(tmp_path / f"{name}.png", level)) for name, level in (("a", 50), ("b", 220))]

    def judge(spoil, times=ATTEMPTS):
        judging = JudgedByWorkers(Faulty(spoil, times), tmp_path)
        return [row for row, _, _ in judging(ByBrightness(), photos, Maps(tmp_path / "maps"))]

    return judge


@pytest.mark.parametrize("what", SPOILED)
def test_a_row_that_cannot_be_is_judged_again_or_not_judged(judged, what):
    assert [(row.name, row.verdict) for row in judged(SPOILED[what], 1)] == [("a.png", "accept"), ("b.png", "reject")]
    rows = judged(SPOILED[what])
    assert [(row.name, row.verdict, row.score) for row in rows] == [
        (f"{name}.png", "not judged", None) for name in "ab"
    ]
    assert all("its result cannot be used" in row.reason for row in rows)


@pytest.mark.parametrize(("reason", "word"), [("other product", "reject"), ("partly out of view", "review")])
def test_a_part_is_stopped_for_a_reason_whatever_its_score(judged, reason, word):
    row, _ = judged(first(lambda row: replace(row, verdict=word, reason=reason)))
    assert (row.verdict, row.reason, row.score) == (word, reason, 50.0)


def believed(task, sound, spoiled):
    """Positions of those spoiled results that the check takes; the sound ones must be taken, also from a file."""
    for own in sound:
        for found in (own, unpack(pack(own), KINDS)):
            assert fault(lambda _, result: task.check(SHARD, result), 0, found) == ""
    return [i for i, own in enumerate(spoiled) if not fault(lambda _, result: task.check(SHARD, result), 0, own)]


def changed(sound, change):
    """A copy of a result, changed in place."""
    found = copy.deepcopy(sound)
    change(found)
    return found


def fit_of(method, parameters):
    projection = mahalanobis.semi_orthogonal(4, 4) if method == "mahalanobis" else None
    return Fit((method,), (0,), (Patches(3, (2, 2), 4),), (projection,), (parameters,), 0)


FITS = {"mahalanobis": {"k": 4}, "nearest": {"patches": 6}, "cop": {}}


def state_of(fit, numbers=(0, 1, 2)):
    drawn = [(i, [(torch.rand((1, 2, 2, 4), generator=torch.Generator().manual_seed(i)),)]) for i in numbers]
    return states(fit.shard(drawn))


def not_finite(found):
    max(found.content[0].values(), key=lambda own: own.size).ravel()[0] = np.nan


def of_more(found):
    (state,) = found.content
    for name, own in state.items():
        state[name] = own + 1 if own.dtype == np.int64 else own[:, :, None] if name == "rows" else own


@pytest.mark.parametrize("method", FITS)
def test_statistics_are_finite_and_of_the_photos_asked_for(method):
    fit = fit_of(method, FITS[method])
    task, content, two = Fitting(PREPARED, fit, True), state_of(fit), state_of(fit, (0, 2))
    sound = Found(ALL, content)
    spoiled = [
        changed(sound, lambda found: found.content[0].clear()),
        *(changed(sound, change) for change in (not_finite, of_more)),
        *(Found(unusable, content) for unusable in (FOREIGN, (1, 2), None)),
        *([Found(WITHOUT_B, state_of(fit, (0, 1)))] if method == "nearest" else ()),
        *(Found(unusable, two) for unusable in (TWICE, UNNAMED)),
        *(Found(ALL, other) for other in ([], None, [None])),
        None,
    ]
    assert believed(task, [sound, Found(WITHOUT_B, two)], spoiled) == []


def test_errors_are_those_of_the_photos_and_stops_asked_for():
    quality, placement = Quality(*[1.0] * 5), Placement((4, 4))
    errors = [[np.zeros((3, 2, 2), np.float32)]] * 2
    sound = Found(ALL, [Looked(sample, "a" * 64, placement, errors, quality) for sample in SHARD.samples])
    zeros, located = np.zeros((3, 2, 2)), Located(np.zeros((2, 3)), (4, 4), (4, 4), 1.0, 1.0, 1.0)
    changes = [
        *({"errors": [[own]] * 2} for own in (zeros, zeros[:2].astype(np.float32), np.full_like(zeros, np.nan, "f4"))),
        *({"errors": own} for own in (errors[:1], [], [[], []], None)),
        *({"placement": own} for own in (Placement((0, 4)), Placement((4, 4), located), None)),
        {"digest": "../a"},
        {"quality": replace(quality, noise=np.nan)},
        {"sample": SHARD.samples[1]},
    ]
    spoiled = [
        *(replace(sound, content=[sound.content[0]._replace(**own), *sound.content[1:]]) for own in changes),
        *(replace(sound, content=own) for own in (sound.content[::-1], sound.content[:2])),
    ]
    task = Scoring(PREPARED, (VIEW,), Tolerances(copies=1))
    assert believed(task, [sound], spoiled) == []
    aligned = replace(task, prepared=Prepared(None, PREPARED.rest | {"alignment": object()}))
    placed = [own._replace(placement=Placement((4, 4), located)) for own in sound.content]
    far = replace(located, matrix=np.full((2, 3), np.inf))
    lost = [own._replace(placement=Placement((4, 4), far)) for own in sound.content]
    assert believed(aligned, [Found(ALL, placed)], [Found(ALL, lost), sound]) == []


def test_judged_photos_are_those_asked_for():
    counts = OverlapCounts(np.array([3, 4], np.int32), np.array([1, 2]), np.array([0, 1]), np.zeros(2), 1)
    scores, defect, found = np.zeros(3, np.float32), np.array([False, True, False]), np.array([np.nan, -1, np.nan])
    own = Judged(scores, scores * np.nan, defect, found, counts)
    sound = Found(ALL, [own, own])
    changes = [
        {"scores": np.full(3, np.nan, np.float32)},
        {"defect": np.ones(3, bool)},
        *({"found": values} for values in (np.array([np.nan, 0.5, np.nan]), np.full(3, -np.inf), np.zeros(2))),
        {"again": np.full(3, np.inf, np.float32)},
        *({"counts": replace(counts, **own)} for own in ({"normal": np.array([-1, 2])}, {"weight": np.zeros(3)})),
        *({"counts": replace(counts, **own)} for own in ({"classes": np.array([3.0, 4.0])}, {"regions": -1})),
    ]
    spoiled = [
        *(Found(ALL, [own, replace(own, **change)]) for change in changes),
        Found(ALL, [own]),
        replace(sound, unmasked=["a"]),
        Found(Unusable([], [("z", "gone")]), [own, own]),
    ]
    assert believed(Judging(PREPARED, (VIEW,), ({}, {}), True, None), [sound], spoiled) == []


def test_what_the_product_check_learns_from_is_of_the_photos_asked_for():
    sound = Found(ALL, list(np.zeros((2, 3, 4), np.float32)))
    spoiled = [
        replace(sound, unusable=WITHOUT_B),
        replace(sound, content=[]),
        changed(sound, lambda own: own.content.pop()),
    ]
    spoiled.append(changed(sound, lambda found: found.content[0].fill(np.nan)))
    assert believed(Describing(PREPARED), [sound], spoiled) == []


def test_shards_that_changed_places_are_missing():
    one, other = Kept([b"one"]), Kept([b"other"])
    for number in (0, 1):
        one.put(number, b"shard %d" % number)
    (one.folder / "0").replace(one.folder / "1")
    assert one.get(1) is None
    one.put(0, b"shard 0")
    (one.folder / "0").replace(other.folder / "0")
    assert other.get(0) is None
    for work in (one, other):
        work.remove()


@pytest.mark.parametrize("hollow", [(1, Found(ALL, [{}])), (1, Found(ALL, [])), Found(ALL, [{}]), b"", None])
def test_a_sealed_shard_that_cannot_be_is_missing(hollow):
    fit = fit_of("mahalanobis", {"k": 4})
    task, sound = Fitting(PREPARED, fit, True), Found(ALL, state_of(fit))

    def check(name, result):
        _, found = result
        task.check(SHARD, found)

    work = Kept([b"a run"], check, KINDS)
    work.put(MERGED, hollow)
    assert work.get(MERGED) is None
    gathered, _ = merged_states(fit, work, lambda first: iter([(first, sound)]), whole=True)
    assert gathered[0].images == 3


def test_rows_of_an_export_are_believed_when_they_are_of_its_release(photo, tmp_path):  # noqa: F811
    exported = ByBrightness(release="e" * 64)
    drawn = judge_and_draw(exported, "a.png", photo(tmp_path / "a.png", 150), ())
    check_drawn(drawn, "a.png", exported, ())
    with pytest.raises(ValueError, match=r"release of a\.png is"):
        check_drawn(drawn, "a.png", ByBrightness(release="f" * 64), ())
