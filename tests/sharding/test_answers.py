"""What a faulty worker answers, or a changed file holds: worked again, and never believed."""

import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from inspect_core.detectors import mahalanobis
from inspect_core.features.extraction import Preparation
from inspect_core.images.samples import Sample
from inspect_core.line.batch import judge_and_draw
from inspect_core.line.maps import Maps
from inspect_core.methods.method import Patches
from inspect_core.sharding import answers, inspecting, plan, teaching_answers
from inspect_core.sharding.answers import fault
from inspect_core.sharding.container import pack, unpack
from inspect_core.sharding.executor import ATTEMPTS
from inspect_core.sharding.inspecting import JudgedByWorkers
from inspect_core.sharding.kept import MERGED, Kept
from inspect_core.sharding.on_workers import merged_states
from inspect_core.study.gathering import Fit
from inspect_core.study.photo_features import Unusable
from tests.line.conftest import ByBrightness, photo  # noqa: F401

SAMPLES = [
    Sample(Path(f"{name}.png"), name, kind, (4, 4)) for name, kind in zip("abc", ("good", "dent", "good"), strict=True)
]
NUMBERS = {"a": 0, "b": 1, "c": 2}
ALL, WITHOUT_B = Unusable([], []), Unusable([("b", "cut short")], [])


class Faulty:
    """An executor whose answers are spoiled: `spoil(rows, maps)` changes them, the first `times` times."""

    words, workers = "faulty", 1

    def __init__(self, spoil, times=ATTEMPTS):
        self.spoil, self.left = spoil, times

    def require(self, memory):
        """There is enough."""

    def map(self, task, shared, payloads):
        for number, payload in payloads:
            facts, _ = unpack(payload)
            each = [
                judge_and_draw(ByBrightness(), name, Path(path), facts["endings"]) for name, path in facts["photos"]
            ]
            rows = [[asdict(row), file] for row, file, _ in each]
            maps = {f"{i}{end}": np.frombuffer(own[end], np.uint8) for i, (*_, own) in enumerate(each) for end in own}
            if self.left:
                self.left -= 1
                self.spoil(rows, maps)
            yield number, pack(rows, maps)


def field(name, value):
    return lambda rows, maps: rows[0][0].update({name: value})


VALUES = {
    "score": (math.nan, math.inf, None, "50", True), "verdict": ("reject", "accepted", None, "not located"),
    "name": ("b.png", "foreign.png", None), "digest": (None, "a", "z" * 64), "percentile_among_good": (math.nan, 101),
    "regions": (-1, 0.5), "largest_region_pixels": ("9",), "review": (1e9,), "area": (1,), "recipe": ("e" * 64,),
    "defect_type_probability": (2.0,), "reason": ("other product", "partly out of view", "none", 3),
    "time": ("yesterday", "2026-11-21T10:00:00"), "milliseconds": (None, math.inf), "photo": ("a.png",),
}  # fmt: skip
SPOILED = {f"{name} {value}": field(name, value) for name, values in VALUES.items() for value in values} | {
    "a file without digest": lambda rows, maps: rows[0].__setitem__(1, ""),
    "a row twice": lambda rows, maps: rows.__setitem__(1, rows[0]),
    "a row more": lambda rows, maps: rows.append(rows[0]),
    "a row less": lambda rows, maps: rows.pop(),
    "rows exchanged": lambda rows, maps: rows.reverse(),
    "a field less": lambda rows, maps: rows[0][0].pop("name"),
    "no maps": lambda rows, maps: maps.clear(),
    "a map too many": lambda rows, maps: maps.update({"7.png": maps["0.png"]}),
    "a map of numbers": lambda rows, maps: maps.update({"0.png": np.zeros(3)}),
}


@pytest.fixture
def judged(photo, tmp_path, monkeypatch):  # noqa: F811
    """judged(spoil, times) is the rows of an accepted and a rejected photo."""
    monkeypatch.setattr(inspecting, "_packed", lambda *_: b"")
    monkeypatch.setattr(inspecting, "_weights", lambda *_: b"")
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


@pytest.mark.parametrize("reason", ["other product", "partly out of view"])
def test_a_part_is_stopped_for_a_reason_whatever_its_score(judged, reason):
    word = "reject" if reason == "other product" else "review"
    row, _ = judged(lambda rows, maps: rows[0][0].update({"verdict": word, "reason": reason}))
    assert (row.verdict, row.reason, row.score) == (word, reason, 50.0)


def fit_of(method, parameters):
    projection = mahalanobis.semi_orthogonal(4, 4) if method == "mahalanobis" else None
    return Fit((method,), (0,), (Patches(3, (2, 2), 4),), (projection,), (parameters,), 0)


FITS = {"mahalanobis": {"k": 4}, "nearest": {"patches": 6}, "cop": {}}


def state_of(fit, numbers=(0, 1, 2)):
    drawn = [(i, [(torch.rand((1, 2, 2, 4), generator=torch.Generator().manual_seed(i)),)]) for i in numbers]
    return fit.shard(drawn)


def changed(content, arrays=lambda arrays: None, facts=lambda facts: None):
    own, values = unpack(content)
    values = {name: value.copy() for name, value in values.items()}
    arrays(values)
    facts(own)
    return pack(own, values)


def not_finite(arrays):
    max(arrays.values(), key=lambda own: own.size).ravel()[0] = np.nan


def of_more(arrays):
    for own in arrays.values():
        if own.dtype == np.int64:
            own += 1
    if "0.rows" in arrays:
        arrays["0.rows"] = arrays["0.rows"][:, :, None]


@pytest.mark.parametrize("method", FITS)
def test_statistics_are_finite_and_of_the_photos_asked_for(method):
    fit = fit_of(method, FITS[method])
    sound, two = plan.pack_states(state_of(fit), ALL), plan.pack_states(state_of(fit, (0, 2)), WITHOUT_B)

    def why(content):
        return fault(lambda _, own: teaching_answers.check_fit(fit, NUMBERS, SAMPLES, own), 0, content)

    assert why(sound) == why(two) == ""
    spoiled = [
        changed(sound, dict.clear), changed(sound, not_finite), changed(sound, of_more), b"", b"\0" * 100,
        (2**62).to_bytes(8, "little"), pack(None), pack(ALL._asdict()), pack({"damaged": 1}),
        plan.pack_states(state_of(fit), Unusable([("d", "foreign")], [])),
        *([plan.pack_states(state_of(fit, (0, 1)), WITHOUT_B)] if method == "nearest" else ()),
        plan.pack_states(state_of(fit, (0, 2)), Unusable([("b", "")], [("b", "")])),
        plan.pack_states(state_of(fit, (0, 2)), Unusable([("b", None)], [])),
    ]  # fmt: skip
    assert [number for number, content in enumerate(spoiled) if not why(content)] == []


def test_errors_are_those_of_the_photos_and_stops_asked_for():
    preparation = Preparation(None, (2, 2), (), False)
    photos = [(name, "a" * 64, {"photo": [4, 4], "located": None}, [1.0] * 5) for name in "abc"]
    sound = pack({"photos": photos} | ALL._asdict(), {"errors": np.zeros((3, 2, 5, 2, 2), np.float32)})

    def why(content):
        return fault(lambda _, own: teaching_answers.check_score(preparation, 2, 5, SAMPLES, own), 0, content)

    assert why(sound) == ""
    spoiled = [
        changed(sound, not_finite), changed(sound, dict.clear),
        changed(sound, lambda arrays: arrays.update(errors=arrays["errors"][:, :, :4])),
        changed(sound, lambda arrays: arrays.update(errors=arrays["errors"][:, :1])),
        changed(sound, lambda arrays: arrays.update(errors=arrays["errors"].astype(float))),
        changed(sound, facts=lambda facts: facts["photos"].reverse()),
        changed(sound, facts=lambda facts: facts["photos"].pop()),
        changed(sound, facts=lambda facts: facts["photos"][0].__setitem__(1, "../a")),
        changed(sound, facts=lambda facts: facts["photos"][0][2].update(photo=[0, 4])),
        changed(sound, facts=lambda facts: facts["photos"][0][3].pop()),
        changed(sound, facts=lambda facts: facts["photos"][0][2].update(located={"matrix": []})),
    ]  # fmt: skip
    assert [number for number, content in enumerate(spoiled) if not why(content)] == []


def test_judged_photos_are_those_asked_for():
    counts = {
        "classes": np.array([3, 4], np.int32), "normal": np.array([1, 2]), "defect": np.array([0, 1]),
        "weight": np.zeros(2), "regions": np.array(1), "scores": np.zeros(3, np.float32),
        "is_defect": np.array([False, True, False]), "found": np.array([np.nan, -1, np.nan]),
        "again": np.full(3, np.nan, np.float32),
    }  # fmt: skip
    facts = ALL._asdict() | {"moves": 2, "unmasked": []}
    sound = pack(facts, {f"{i}.{name}": own for i in range(2) for name, own in counts.items()})

    def why(content):
        return fault(lambda _, own: teaching_answers.check_evaluate(2, SAMPLES, own), 0, content)

    assert why(sound) == ""
    changes = {
        "scores": np.full(3, np.nan, np.float32), "is_defect": np.ones(3, bool), "normal": np.array([-1, 2]),
        "weight": np.zeros(3), "classes": np.array([3.0, 4.0]), "regions": np.array(-1),
        "found": np.array([np.nan, 0.5, np.nan]), "again": np.full(3, np.inf, np.float32),
    }  # fmt: skip
    spoiled = [
        *(changed(sound, lambda arrays, own=own: arrays.update({f"1.{own}": changes[own]})) for own in changes),
        changed(sound, lambda arrays: arrays.update({"1.found": np.full(3, -np.inf)})),
        changed(sound, lambda arrays: arrays.update({"1.found": np.zeros(2)})),
        changed(sound, facts=lambda facts: facts.update(moves=1)),
        changed(sound, facts=lambda facts: facts.update(unmasked=["a"])),
        changed(sound, facts=lambda facts: facts["lost"].append(["z", "gone"])),
    ]
    assert [number for number, content in enumerate(spoiled) if not why(content)] == []


def test_what_the_product_check_learns_from_is_of_the_photos_asked_for():
    sound = pack(ALL._asdict(), {name: np.zeros((3, 4), np.float32) for name in ("embeddings", "logits")})

    def why(content):
        return fault(lambda _, own: teaching_answers.check_describe(SAMPLES, own), 0, content)

    assert why(sound) == ""
    assert why(pack(WITHOUT_B._asdict(), unpack(sound)[1]))
    assert why(changed(sound, not_finite))
    assert why(changed(sound, dict.clear))


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


def test_a_sealed_shard_that_cannot_be_is_missing():
    fit = fit_of("mahalanobis", {"k": 4})
    work = Kept([b"a run"], lambda name, content: teaching_answers.check_fit(fit, NUMBERS, SAMPLES, content))
    sound = plan.pack_states(state_of(fit), ALL, following=1)
    work.put(MERGED, pack(ALL._asdict() | {"following": 1}))
    assert work.get(MERGED) is None
    gathered, _ = merged_states(fit, work, lambda first: iter([(first, sound)]), whole=True)
    assert gathered[0].images == 3


def test_rows_of_an_export_are_believed_when_they_are_of_its_release(photo, tmp_path):  # noqa: F811
    exported = ByBrightness(release="e" * 64)
    judged = judge_and_draw(exported, "a.png", photo(tmp_path / "a.png", 150), ())
    facts, file = asdict(judged[0]), judged[1]
    assert answers.row(facts, "a.png", file, exported) == judged[0]
    with pytest.raises(ValueError, match=r"release of a\.png is"):
        answers.row(facts, "a.png", file, ByBrightness(release="f" * 64))
