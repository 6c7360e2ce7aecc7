"""Groups found in folders and names, and, as important, not found."""

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.images.grouping import burst_gap, propose_groups, ungrouped
from inspect_core.images.samples import Sample, Samples


def samples_of(names):
    good = []
    for name in names:
        first, *rest = name.split("/")
        side = first if first in ("train", "test") else None
        folders = (rest if side else [first, *rest])[:-1]
        group = "/".join(folders) or None
        good.append(Sample(Path("/parts", name), name, "good", (64, 64), None, side, group))
    return Samples(Path("/parts"), tuple(good), ())


def proposed(names):
    """Return the proposed groups as a partition, and the reason."""
    grouping = propose_groups(samples_of(names))
    assert set(grouping) == set(names)
    groups = {}
    for name, label in grouping.items():
        groups.setdefault(label, set()).add(name)
    assert grouping.count == len(groups)
    return sorted(map(sorted, groups.values())), grouping.reason


def partition(*groups):
    return sorted(map(sorted, groups))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kept", [1.0, 0.9, 0.5, 0.1])
def test_consecutive_numbers_group_nothing_whatever_is_left_out(seed, kept):
    rng = np.random.default_rng(seed)
    names = [f"{number:04}.png" for number in range(600) if rng.random() < kept]
    groups, reason = proposed(names)
    assert len(groups) == len(names)
    assert reason == "Every image counts as a part of its own."


@pytest.mark.parametrize("seed", range(5))
def test_neither_blocks_left_out_of_numbers_nor_random_serial_numbers_group_anything(seed):
    cuts = np.sort(np.random.default_rng(seed).choice(400, 6, replace=False))
    blocks = [f"img_{n:04}.png" for n in range(400) if not any(a <= n < b for a, b in cuts.reshape(3, 2))]
    serial = [f"SN{number}.png" for number in np.random.default_rng(seed).choice(10**6, 150, replace=False)]
    for names in (blocks, serial):
        assert len(proposed(names)[0]) == len(names)


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


def test_lots_in_names_win_over_parts_and_views():
    names = [f"Lot{lot}_part{part}_view{view}.png" for lot in range(3) for part in range(4) for view in range(2)]
    groups, reason = proposed(names)
    assert groups == partition(*([n for n in names if n.startswith(f"Lot{lot}_")] for lot in range(3)))
    assert reason.startswith("File names give lots or days: 3 groups among 24 good images.")


def test_too_few_lots_fall_back_to_views_of_a_part():
    names = [f"lot{lot}_part{part}_view{view}.png" for lot in (1, 2) for part in range(4) for view in range(2)]
    assert proposed(names)[0] == partition(
        *([f"lot{lot}_part{part}_view{view}.png" for view in range(2)] for lot in (1, 2) for part in range(4))
    )


def test_days():
    names = [f"2024-05-{day:02}_{number:03}.png" for day in (3, 4, 9) for number in range(5)]
    names += [f"20240510101{number}30_x.png" for number in range(4)]
    assert sorted(map(len, proposed(names)[0])) == [4, 5, 5, 5]


@pytest.mark.parametrize("pattern", ["A_{:03}_cam{}.png", "{:03}_view-{}.png", "{:03}exp{}.png", "{:03}_{}.png"])
def test_views_of_a_part(pattern):
    parts = [[pattern.format(part, view) for view in (1, 2, 3)] for part in range(10)]
    assert proposed(list(chain(*parts)))[0] == partition(*parts)


def test_letters_right_at_the_end_are_views():
    parts = [[f"{part:03}{view}.png" for view in "abc"] for part in range(10)]
    assert proposed(list(chain(*parts)))[0] == partition(*parts)


def test_a_folder_for_each_lot():
    lots = [[f"lot{lot}/{number:03}.png" for number in range(5)] for lot in range(3)]
    groups, reason = proposed(list(chain(*lots)))
    assert groups == partition(*lots)
    assert reason.startswith("Folders look like lots: 3 groups")


def test_a_folder_for_each_camera_groups_by_part():
    names = [f"cam{camera}/{part:03}.png" for camera in (1, 2) for part in range(5)]
    assert proposed(names)[0] == partition(*([f"cam1/{part:03}.png", f"cam2/{part:03}.png"] for part in range(5)))


def test_a_folder_for_each_camera_in_each_lot_groups_by_lot():
    names = [f"lot{lot}/cam{camera}/{part}.png" for lot in range(3) for camera in (1, 2) for part in range(4)]
    assert proposed(names)[0] == partition(*([n for n in names if n.startswith(f"lot{lot}/")] for lot in range(3)))


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
    groups, reason = proposed([f"lot{lot}/{number:03}.png" for lot in (1, 2) for number in range(5)])
    assert len(groups) == 10
    assert "two lots, too few" in reason


def test_ungrouped_keeps_every_image_alone():
    samples = samples_of([f"lot{lot}/{number}.png" for lot in range(3) for number in range(4)])
    assert dict(ungrouped(samples)) == {sample.name: sample.name for sample in samples.good}


def test_clear_bursts():
    assert burst_gap([1, 1, 100] * 20) in (5, 10, 20)
    assert burst_gap([3, 2, 4000, 3, 3500] * 10) in (50, 100, 200)


@pytest.mark.parametrize("gaps", [[], [1], [1, 100, 1, 100], [1] * 50, [1, 2] * 30, [5, 6, 7] * 20, [0] * 10])
def test_no_bursts(gaps):
    assert burst_gap(gaps) is None


@pytest.mark.parametrize(("count", "most"), [(10, 6), (30, 2), (100, 0)])
def test_independent_arrivals_are_hardly_ever_bursts(count, most):
    """Geometric gaps, as of numbers drawn at random. Without the information criterion, 10 to 22 of 50 are taken."""
    draws = (np.random.default_rng(seed).geometric(1 / 500, count) for seed in range(50))
    assert sum(burst_gap(gaps) is not None for gaps in draws) <= most


@given(st.integers(0, 10**6), st.floats(2, 50), st.floats(1.8, 4))
@settings(deadline=None, max_examples=40, derandomize=True)
def test_the_gap_lies_between_the_heaps(seed, within, decades):
    rng = np.random.default_rng(seed)
    inner, outer = rng.lognormal(np.log(within), 0.3, 120), rng.lognormal(np.log(within * 10**decades), 0.3, 80)
    gaps = rng.permutation(np.ceil(np.concatenate([inner, outer])).astype(int))
    gap = burst_gap(gaps)
    assert np.quantile(inner, 0.97) <= gap <= np.quantile(outer, 0.03)


def test_order_does_not_matter():
    gaps = np.array([2, 3, 2, 500, 4, 800, 3, 2, 900, 2] * 5)
    assert burst_gap(gaps) == burst_gap(np.sort(gaps)) == burst_gap(list(gaps[::-1]))
