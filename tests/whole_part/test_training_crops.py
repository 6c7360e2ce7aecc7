from pathlib import Path

import numpy as np
import pytest

from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.whole_part.training_crops import (
    TrainingCrop,
    advice,
    boxes_of_mask,
    examples_of,
    groups_of,
    learnable,
)


def photo(name: str, group: str | None = None) -> ScoredPhoto:
    return ScoredPhoto(name, name, (8, 8), "unknown", "test", Path(name), group=group)


def test_the_pieces_of_a_mask_come_largest_first_without_specks():
    mask = np.zeros((40, 60), bool)
    mask[2:6, 3:8] = True  # 20 pixels
    mask[20:30, 30:50] = True  # 200 pixels
    mask[38, 58] = True  # a speck: less than a tenth of the largest
    assert boxes_of_mask(mask) == ((30, 20, 50, 30), (3, 2, 8, 6))


def test_an_empty_mask_has_no_pieces():
    assert boxes_of_mask(np.zeros((4, 4), bool)) == ()


def test_whole_parts_are_one_example_each_in_tray_order():
    examples = examples_of({5: "dent", 2: "scratch"}, by_region=False, boxes={5: (0, 0, 2, 2)}, true={})
    assert examples == (TrainingCrop(2, None, "scratch"), TrainingCrop(5, None, "dent"))


def test_a_region_is_judged_as_found_and_true_pieces_only_help():
    region, pieces = (0, 0, 4, 4), [(10, 10, 20, 20), (30, 30, 34, 34)]
    examples = examples_of({0: "dent"}, by_region=True, boxes={0: region}, true={0: pieces})
    assert examples[0] == TrainingCrop(0, region, "dent", as_inspected=True)
    assert [(example.box, example.as_inspected) for example in examples[1:]] == [(box, False) for box in pieces]


def test_without_a_found_region_the_largest_true_piece_is_judged():
    pieces = [(10, 10, 20, 20), (30, 30, 34, 34)]
    examples = examples_of({0: "dent"}, by_region=True, boxes={}, true={0: pieces})
    assert [(example.box, example.as_inspected) for example in examples] == [(pieces[0], True), (pieces[1], False)]
    assert pieces == [(10, 10, 20, 20), (30, 30, 34, 34)]


def test_with_neither_the_whole_part_is_judged():
    assert examples_of({0: "dent"}, by_region=True, boxes={}, true={}) == (TrainingCrop(0, None, "dent"),)


def test_photos_of_one_lot_belong_together():
    photos = [photo(f"{i}.png", group=f"lot {i % 3}") for i in range(9)]
    groups = groups_of([photo.sample for photo in photos])
    assert groups["0.png"] == groups["3.png"] != groups["1.png"]
    assert len(set(groups.values())) == 3


def test_photos_without_a_pattern_stand_alone():
    groups = groups_of([photo(f"{word}.png").sample for word in ("ash", "elm", "oak", "fir")])
    assert len(set(groups.values())) == 4


@pytest.mark.parametrize(
    ("labels", "remark", "ready"),
    [
        (["dent"], "1 more needed for training", ()),
        (["dent", "dent"], "3 more for useful confidence", ("dent",)),
        (["dent"] * 5, "enough", ("dent",)),
    ],
)
def test_what_more_would_help_is_said(labels, remark, ready):
    by_position = dict(enumerate(labels))
    groups = [f"part {i}" for i in by_position]
    assert advice(by_position, groups) == [("dent", len(labels), remark)]
    assert learnable(by_position, groups) == ready


def test_photos_of_one_part_alone_do_not_make_a_kind():
    labels, groups = {0: "dent", 1: "dent", 2: "scratch", 3: "scratch"}, ["a", "a", "b", "c"]
    assert learnable(labels, groups) == ("scratch",)
    assert advice(labels, groups)[0] == ("dent", 2, "all show one part: add a photo of another")
