"""Fit, calibrate and judge: disjoint, by group, seeded."""

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.datasets.dataset import Dataset, PhotoFile
from inspect_core.datasets.grouping import ungrouped
from inspect_core.datasets.splitting import exchanged, folds, split, split_to_teach, train_on_all
from tests.examples import examples


def samples_of(good=0, defects=0, train=0, test=0):
    def make(count, folder, kind="good", side=None):
        names = [f"{folder}/{number:03}.png" for number in range(count)]
        return tuple(PhotoFile(Path("/parts", name), name, kind, (64, 64), None, side) for name in names)

    parts = make(good, "good"), make(test, "test/good", side="test"), make(train, "train/good", side="train")
    bad = make(defects, "scratch", "scratch", "test" if train or test else None)
    return Dataset(Path("/parts"), tuple(itertools.chain(*parts)), bad)


def sizes(parts):
    return [len(part) for part in parts]


def good_of(part):
    return [sample for sample in part if sample.label == "good"]


def test_sixty_twenty_twenty_and_few():
    few = {1: [1, 0, 0], 2: [1, 1, 0], 3: [2, 1, 0], 4: [2, 1, 1], 5: [3, 1, 1], 10: [6, 2, 2], 100: [60, 20, 20]}
    for good, expected in few.items():
        parts = split(samples_of(good, defects=7), seed=0)
        assert sizes((parts.train, parts.calibration, good_of(parts.test))) == expected
        assert bool(parts.notes) == (0 in expected)
        assert sum(sample.label == "scratch" for sample in parts.test) == 7
    missing = (
        "Only 1 group of good photos, so none is left for setting the limit or for testing; add more good parts or "
        "lots."
    )
    assert split(samples_of(1), seed=0).notes == (missing,)


def test_train_eighty_twenty_and_test_judges():
    samples = samples_of(train=50, test=9, defects=4)
    parts = split(samples, seed=3)
    assert sizes(parts) == [40, 10, 13]
    assert set(parts.test) == {sample for sample in samples.good + samples.defects if sample.split_side == "test"}
    assert sizes(split(samples_of(train=50), seed=3)) == [30, 10, 10], "without test/ some of train/ judge"


def test_calibrate_share_and_zero():
    assert sizes(split(samples_of(50), seed=0, calibrate=0.5)) == [15, 25, 10]
    assert sizes(split(samples_of(train=50, test=5), seed=0, calibrate=0)) == [50, 0, 5]
    none = split(samples_of(50, defects=3), seed=0, calibrate=0)
    assert (sizes(none), none.notes) == ([50, 0, 3], ())
    for fraction in (-0.1, 0.51, float("nan")):
        with pytest.raises(ValueError, match=r"calibrate is .*0 to 0.5"):
            split(samples_of(10), seed=0, calibrate=fraction)


@pytest.mark.parametrize("count", [12, 400])
def test_limit_photos_are_trained_on_and_set_limits_by_folds(count):
    parts = split(samples_of(train=count, test=4, defects=3), seed=0)
    assert parts.calibration
    assert parts.folds(0) == []
    from_all = train_on_all(parts)
    assert sizes((from_all.train, from_all.calibration)) == [count, 0]
    assert set(from_all.train) == {*parts.train, *parts.calibration}
    assert from_all.test == parts.test
    assert len(from_all.folds(0)) == 10
    assert train_on_all(from_all) == from_all
    two = split(samples_of(train=2), seed=0)
    assert train_on_all(two) is two, "two photos make no folds"


def test_all_good_photos_are_trained_on_by_default():
    for good, keep_test, test_count in ((22, False, 0), (60, False, 0), (400, False, 0), (60, True, 12)):
        parts = train_on_all(split(samples_of(good, defects=7), seed=0), keep_test=keep_test)
        assert sizes((parts.train, parts.calibration, good_of(parts.test))) == [good - test_count, 0, test_count]
        assert len(parts.test) == 7 + test_count
    parts = train_on_all(split(samples_of(train=22, test=4, defects=3), seed=0))
    assert (len(parts.train), len(good_of(parts.test))) == (22, 4)


def test_photos_left_out_are_gone_from_what_is_learned_and_named():
    parts = train_on_all(split(samples_of(train=30, test=4, defects=3), seed=0))
    names = [parts.train[3].name, parts.train[7].name]
    fewer = parts.without(names)
    assert {sample.name for sample in parts.train} - {sample.name for sample in fewer.train} == set(names)
    assert (fewer.test, fewer.left_out) == (parts.test, tuple(sorted(names)))
    with pytest.raises(ValueError, match="no good photos would remain for training;"):
        parts.without([sample.name for sample in parts.train])


@pytest.mark.parametrize(
    ("count", "lot_of", "expected"),
    [(30, lambda row: row % 3, [10, 10, 10]), (60, lambda row: min(row // 5, 2), [50, 5, 5])],
    ids=["alike", "one large"],
)
def test_of_three_lots_the_largest_is_fitted(count, lot_of, expected):
    samples = samples_of(count)
    groups = {sample.name: f"lot {lot_of(row)}" for row, sample in enumerate(samples.good)}
    for seed in range(10):
        assert sizes(split(samples, seed=seed, groups=groups)) == expected


GROUPED = st.lists(st.integers(1, 9), min_size=1, max_size=60)


@given(GROUPED, st.integers(0, 2**32), st.sampled_from([0, 0.1, 0.2, 0.5]), st.booleans())
@settings(deadline=None, max_examples=examples(50))
def test_disjoint_complete_whole_groups_near_the_shares(group_sizes, seed, calibrate, has_test):
    count = sum(group_sizes)
    samples = samples_of(train=count, test=3, defects=2) if has_test else samples_of(count, defects=2)
    teachable = [sample for sample in samples.good if sample.split_side != "test"]
    labels = np.repeat(np.arange(len(group_sizes)), group_sizes)
    groups = {sample.name: f"g{label}" for sample, label in zip(teachable, labels, strict=True)}
    groups |= {sample.name: "tested" for sample in samples.good if sample.split_side == "test"}
    parts = split(samples, seed=seed, groups=groups, calibrate=calibrate)
    assert Counter(itertools.chain(*parts)) == Counter(samples.good + samples.defects)
    sides = {}
    for side, part in enumerate(parts):
        assert list(part) == sorted(part, key=lambda sample: sample.name)
        for sample in good_of(part):
            assert sides.setdefault(groups[sample.name], side) == side
    if len(group_sizes) >= 30:
        test_share = 0 if has_test or calibrate == 0 else 0.2
        fractions = np.array(sizes(map(good_of, parts))) - [0, 0, 3 * has_test]
        assert np.abs(fractions - count * np.array([1 - calibrate - test_share, calibrate, test_share])).max() <= 2 * 9


@given(st.lists(st.integers(1, 5), max_size=300), st.integers(0, 2**32))
@settings(deadline=None, max_examples=examples(50))
def test_folds_hold_every_photo_once_and_split_no_group(group_sizes, seed):
    samples = samples_of(sum(group_sizes)).good if group_sizes else ()
    labels = np.repeat(np.arange(len(group_sizes)), group_sizes)
    groups = {sample.name: f"g{label}" for sample, label in zip(samples, labels, strict=True) if label % 2}
    parts = folds(samples, groups, seed=seed)
    names = [{groups.get(sample.name, sample.name) for sample in fold} for fold in parts]
    count = len({groups.get(sample.name, sample.name) for sample in samples})
    assert len(parts) == (0 if count < 3 else min(count, 10))
    assert sum(map(len, names)) == (count if parts else 0)
    assert Counter(itertools.chain(*parts)) == Counter(samples if parts else ())
    assert all(names)


@given(st.integers(0, 40), st.integers(0, 99))
@settings(deadline=None, max_examples=examples(30))
def test_half_of_ten_known_defects_choose_unless_blind(count, seed):
    samples = samples_of(10, defects=count)
    blind, seeing = (split(samples, seed=seed, blind=blind) for blind in (True, False))
    assert (blind.train, blind.calibration, blind.validation) == (seeing.train, seeing.calibration, ())
    assert not set(seeing.validation) & set(seeing.test)
    assert {*seeing.validation, *seeing.test} == set(blind.test)
    assert len(seeing.validation) == (0 if count < 10 else -(-count // 2))
    assert split(samples, seed=seed, blind=False) == seeing


def test_defects_of_one_part_stay_in_one_set():
    samples = samples_of(10, defects=24)
    ways = [{"label": ("dent", "scratch")[row % 2], "group": f"lot {row // 4}"} for row in range(24)]
    lots = tuple(replace(sample, **way) for sample, way in zip(samples.defects, ways, strict=True))
    parts = split(replace(samples, defects=lots), seed=3, blind=False)
    assert len(parts.validation) == 12
    assert not {sample.group for sample in parts.validation} & {sample.group for sample in parts.test if sample.group}
    samples = samples_of(10, defects=12)
    lots = tuple(replace(sample, group="lot 1" if row else "lot 2") for row, sample in enumerate(samples.defects))
    for seed in range(5):
        assert len(split(replace(samples, defects=lots), seed=seed, blind=False).validation) <= 1


def test_proposed_groups_are_the_default_and_order_is_irrelevant():
    names = [f"{part:03}_{view}.png" for part in range(20) for view in "abc"]
    good = tuple(PhotoFile(Path("/parts", name), name, "good", (64, 64)) for name in names)
    samples = Dataset(Path("/parts"), good, samples_of(defects=5).defects)
    together = split(samples, seed=0)
    assert together == split(Dataset(samples.root, good[::-1], samples.defects[::-1]), seed=0)
    assert together != split(samples, seed=2)
    assert all(len({sample.name[:3] for sample in good_of(part)}) * 3 == len(good_of(part)) for part in together)
    apart = split(samples, seed=0, groups=ungrouped(samples))
    assert any(len({sample.name[:3] for sample in good_of(part)}) * 3 != len(good_of(part)) for part in apart)


def test_group_with_a_test_image_is_all_test_and_reported():
    samples = samples_of(train=10, test=2)
    groups = dict(ungrouped(samples)) | {"train/good/004.png": "x", "train/good/005.png": "x", "test/good/000.png": "x"}
    parts = split(samples, seed=0, groups=groups)
    assert {"train/good/004.png", "train/good/005.png"} <= {sample.name for sample in parts.test}
    assert parts.notes == ("2 photos of train/ moved to the test photos: their group has photos in test/.",)
    with pytest.raises(ValueError, match="nothing is left for training"):
        split(samples, seed=0, groups=dict.fromkeys(groups, "all"))


def test_groups_may_go_by_bare_names_but_not_be_missing():
    samples = samples_of(4)
    groups = {f"{number:03}.png": f"{number // 2}" for number in range(4)}
    assert sizes(split(samples, seed=0, groups=groups)) == [2, 2, 0]
    del groups["003.png"]
    with pytest.raises(ValueError, match=r"groups has no entry for 'good/003.png'"):
        split(samples, seed=0, groups=groups)


@pytest.mark.parametrize("few", [samples_of(4, defects=9), samples_of(train=4, test=20)])
def test_fewer_than_five_good_photos_are_refused_with_what_to_do(few):
    with pytest.raises(ValueError, match=r"4 good photos cannot show .* at least 5"):
        split_to_teach(few)
    split_to_teach(samples_of(5))


def test_relabelled_photos_train_or_choose_and_leave_the_rest():
    parts = split(samples_of(20, defects=8), seed=0)
    bad, good = parts.train[0], next(sample for sample in parts.test if sample.label != "good")
    new = PhotoFile(Path("/uploads/1", parts.train[1].name), parts.train[1].name, "good", (64, 64))
    relabelled = parts.with_labels(iter([replace(bad, label="dent"), replace(good, label="good"), new]))
    assert [sample.label for sample in relabelled.validation] == ["dent"]
    assert {sample.path for sample in relabelled.train} == {photo.path for photo in (*parts.train[1:], good, new)}
    assert {sample.path for sample in relabelled.test} == {photo.path for photo in parts.test} - {good.path}
    names = [sample.name for part in (*relabelled, relabelled.validation) for sample in part]
    assert len(names) == len(set(names)), "names stay unique"
    with pytest.raises(ValueError, match="no good photos would remain for training;"):
        parts.with_labels(replace(sample, label="dent") for sample in (*parts.train, *parts.calibration))


def test_exchanged_labels_are_split_anew():
    parts = split_to_teach(samples_of(train=20, test=5, defects=12))
    other = exchanged(parts, seed=0)
    before, after = (
        {photo.name: photo.label for part in (*split_of, split_of.validation) for photo in part}
        for split_of in (parts, other)
    )
    assert {name: label == "good" for name, label in after.items()} == {
        name: label != "good" for name, label in before.items()
    }
    assert len(other.train) == 12
    assert not any(photo.split_side or photo.mask for part in other for photo in part)
