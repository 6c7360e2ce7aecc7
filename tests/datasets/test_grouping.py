"""Groups found in folders and names, and, as important, not found."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.datasets.dataset import Dataset, PhotoFile
from inspect_core.datasets.grouping import burst_gap, propose_groups, ungrouped
from tests.examples import examples

pytestmark = pytest.mark.slow


def samples_of(names):
    good = []
    for name in names:
        *folders, _ = name.split("/")
        side = folders.pop(0) if folders[:1] in (["train"], ["test"]) else None
        good.append(PhotoFile(Path("/parts", name), name, "good", (64, 64), None, side, "/".join(folders) or None))
    return Dataset(Path("/parts"), tuple(good), ())


def proposed(names):
    """The proposed groups as a partition, and the reason."""
    grouping = propose_groups(samples_of(names))
    assert set(grouping) == set(names)
    groups = [[name for name in names if grouping[name] == label] for label in set(grouping.values())]
    assert grouping.count == len(groups)
    return partition(*groups), grouping.reason


def partition(*groups):
    return sorted(map(sorted, groups))


@pytest.mark.parametrize("seed", range(5))
def test_consecutive_and_random_numbers_group_nothing(seed):
    rng = np.random.default_rng(seed)
    left = [[f"{number:04}.png" for number in range(600) if rng.random() < share] for share in (1.0, 0.9, 0.5, 0.1)]
    cuts = np.sort(rng.choice(400, 6, replace=False))
    blocks = [f"img_{n:04}.png" for n in range(400) if not any(a <= n < b for a, b in cuts.reshape(3, 2))]
    serial = [f"SN{number}.png" for number in rng.choice(10**6, 150, replace=False)]
    for names in (*left, blocks, serial):
        groups, reason = proposed(names)
        assert len(groups) == len(names)
        assert reason == "Each photo is treated as a separate part."


@pytest.mark.parametrize(
    "names",
    [
        [f"part_{number}.png" for number in range(60)],
        [f"lot_{number}.png" for number in range(60)],
        [f"img{number}.png" for number in range(60)],
        [f"{prefix}_{number:02}.png" for prefix in "ABC" for number in range(30)],
        [f"{1_700_000_000 + 5 * number + number % 3}.png" for number in range(100)],
        ["a.png", "b.png", "c.png"],
        ["1.png"],
    ],
)
def test_independent_parts_stay_apart(names):
    assert len(proposed(names)[0]) == len(names)


LOTS, PARTS, VIEWS = range(12), range(10), (1, 2, 3)


@pytest.mark.parametrize(
    ("groups", "why"),
    [
        (
            [[f"Lot{lot}_part{part}_view{view}.png" for part in PARTS for view in VIEWS] for lot in LOTS],
            "File names give lots or days: 12 groups among 360 good photos.",
        ),
        ([[f"lot{lot}_part{part}_view{view}.png" for view in VIEWS] for lot in (1, 2) for part in PARTS], "File names"),
        ([[f"A_{part:03}_cam{view}.png" for view in VIEWS] for part in PARTS], "File names give several views"),
        ([[f"{part:03}_view-{view}.png" for view in VIEWS] for part in PARTS], "File names give several views"),
        ([[f"{part:03}exp{view}.png" for view in VIEWS] for part in PARTS], "File names give several views"),
        ([[f"{part:03}_{view}.png" for view in VIEWS] for part in PARTS], "File names differ only in their ending"),
        ([[f"{part:03}{view}.png" for view in "abc"] for part in PARTS], "File names differ only in their ending"),
        ([[f"lot{lot}/{part:03}.png" for part in PARTS] for lot in LOTS], "Folders look like lots: 12 groups"),
        ([[f"cam{view}/{part:03}.png" for view in VIEWS] for part in PARTS], "File names give several views"),
        ([[f"lot{lot}/cam{view}/{part}.png" for view in VIEWS for part in PARTS] for lot in LOTS], "Folders look"),
    ],
)
def test_lots_and_views_come_from_names_and_lots_win(groups, why):
    proposal, reason = proposed(list(chain(*groups)))
    assert proposal == partition(*groups)
    assert reason.startswith(why)


def test_days():
    names = [f"2024-05-{day:02}_{number:03}.png" for day in range(1, 10) for number in range(5)]
    names += [f"20240510101{number}30_x.png" for number in range(4)]
    assert sorted(map(len, proposed(names)[0])) == [4, *[5] * 9]


def test_few_groups_or_large_ones_are_offered_and_not_taken():
    """Sixty boards of four kinds, named by kind: a fold that leaves a kind out says nothing of it."""
    kinds = [[f"lot{kind}/{number:03}.png" for number in range(15)] for kind in range(4)]
    names = list(chain(*kinds))
    grouping = propose_groups(samples_of(names))
    assert grouping.count == 60
    assert "4 groups, which stay together only if you say so" in grouping.reason
    assert partition(
        *([name for name in names if grouping.offered[name] == lot] for lot in set(grouping.offered.values()))
    ) == partition(*kinds)
    large = [f"lot{min(number // 5, 9)}/{number:03}.png" for number in range(80)]
    assert propose_groups(samples_of(large)).count == 80


def test_near_duplicates_stay_together_where_they_are_few():
    names = [f"part {number}.png" for number in (3, 14, 15, 92, 65, 35)]
    samples = replace(samples_of(names), copies=(("part 3.png", "part 92.png", "gone.png"),))
    grouping = propose_groups(samples)
    assert grouping["part 3.png"] == grouping["part 92.png"]
    assert (grouping.count, "nearly the same" in grouping.reason) == (5, True)
    assert propose_groups(replace(samples, copies=(tuple(names),))).count == 6, "a part in a jig"
    sides = samples_of([f"train/{name}" for name in names] + [f"test/{name}" for name in names])
    across = replace(sides, copies=(("train/part 3.png", "test/part 3.png"),))
    assert propose_groups(across) == propose_groups(sides), "train/ and test/ are apart as their author has them"


def test_nearby_numbers_across_exposures_are_one_part():
    """Names as in the magnetic tile data set: exposures of one tile tens apart, tiles hundreds apart or more."""
    rng = np.random.default_rng(3)
    start, tiles = 700, []
    for _ in range(80):
        views = rng.integers(1, 6)
        numbers = start + np.cumsum(rng.integers(10, 45, views))
        tiles.append([f"exp{rng.integers(1, 7)}_num_{number}.jpg" for number in numbers])
        start = int(numbers[-1] + rng.integers(400, 5000))
    groups, reason = proposed(list(chain(*tiles)))
    assert groups == partition(*tiles)
    assert reason.startswith("Numbers at most ")


def test_train_and_test_are_not_mixed():
    names = [f"{side}/{part:03}_{view}.png" for side in ("train", "test") for part in range(5) for view in "ab"]
    groups = proposed(names)[0]
    assert len(groups) == 10
    assert all(len({name.split("/")[0] for name in group}) == 1 for group in groups)


def test_two_lots_are_too_few_to_keep_apart_and_said_so():
    names = [f"lot{lot}/{number:03}.png" for lot in (1, 2) for number in range(5)]
    groups, reason = proposed(names)
    assert len(groups) == 10
    assert "With only two lots, none can be reserved" in reason
    assert dict(ungrouped(samples_of(names))) == {name: name for name in names}


@pytest.mark.parametrize("gaps", [[], [1], [1, 100, 1, 100], [1] * 50, [1, 2] * 30, [5, 6, 7] * 20, [0] * 10])
def test_no_bursts(gaps):
    assert burst_gap(gaps) is None


@pytest.mark.parametrize(("count", "most"), [(10, 6), (30, 2), (100, 0)])
def test_independent_arrivals_are_hardly_ever_bursts(count, most):
    """Geometric gaps, as of numbers drawn at random. Without the information criterion, 10 to 22 of 50 are taken."""
    draws = (np.random.default_rng(seed).geometric(1 / 500, count) for seed in range(50))
    assert sum(burst_gap(gaps) is not None for gaps in draws) <= most


@given(st.integers(0, 10**6), st.floats(2, 50), st.floats(1.8, 4))
@settings(deadline=None, max_examples=examples(40), derandomize=True)
def test_the_gap_lies_between_the_heaps(seed, within, decades):
    rng = np.random.default_rng(seed)
    inner, outer = rng.lognormal(np.log(within), 0.3, 120), rng.lognormal(np.log(within * 10**decades), 0.3, 80)
    gaps = rng.permutation(np.ceil(np.concatenate([inner, outer])).astype(int))
    gap = burst_gap(gaps)
    assert gap == burst_gap(np.sort(gaps))
    assert str(gap).rstrip("0") in ("1", "2", "5")
    assert np.quantile(inner, 0.97) <= gap <= np.quantile(outer, 0.03)
