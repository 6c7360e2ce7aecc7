from pathlib import Path
from types import SimpleNamespace

import pytest

from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.workbench import defect_labels


def hand_with(*defect_types: str, product: str = "flange") -> SimpleNamespace:
    photos = tuple(
        ScoredPhoto(f"{i}.png", f"digest {i}", (8, 8), kind, "test", Path(f"{i}.png"))
        for i, kind in enumerate(defect_types)
    )
    return SimpleNamespace(product=product, scored=SimpleNamespace(photos=photos))


def test_the_folder_names_the_kind_until_she_does():
    product = hand_with("good", "dent", "unknown", "scratch")
    assert defect_labels.labels_of(product) == {1: "dent", 3: "scratch"}
    defect_labels.set_label(product, [2, 3], "  deep   scratch ")
    assert defect_labels.labels_of(product) == {1: "dent", 2: "deep scratch", 3: "deep scratch"}


def test_a_kind_can_be_taken_away_even_the_folders():
    product = hand_with("dent", "dent")
    defect_labels.set_label(product, [0], "")
    assert defect_labels.labels_of(product) == {1: "dent"}


def test_words_follow_the_photo_not_its_place():
    first, second = hand_with("unknown", "dent"), hand_with("unknown")
    defect_labels.set_label(first, [0], "stain")
    assert defect_labels.labels_of(second) == {0: "stain"}


def test_a_label_says_nothing_of_another_product():
    defect_labels.set_label(hand_with("unknown"), [0], "stain")
    assert defect_labels.labels_of(hand_with("unknown", product="board")) == {}
    defect_labels.set_label(hand_with("unknown", product="board"), [0], "scratch")
    assert defect_labels.labels_of(hand_with("unknown")) == {0: "stain"}


def test_labels_go_along_with_a_new_name_and_replace_none():
    defect_labels.set_label(hand_with("unknown", "unknown"), [0, 1], "stain")
    defect_labels.set_label(hand_with("unknown", product="board"), [0], "scratch")
    defect_labels.rename("flange", "board")
    defect_labels.rename("nothing", "board")
    assert defect_labels.labels_of(hand_with("unknown", "unknown", product="board")) == {0: "scratch", 1: "stain"}
    assert defect_labels.labels_of(hand_with("unknown")) == {0: "stain"}, "another part may still be called so"


def test_a_word_has_a_longest():
    assert len(defect_labels.normalise_label("x" * 100)) == defect_labels.LONGEST


DAMAGED = ['{"flange": {"digest 0": "dent"}, "flange": {}}', "{", "[1, 2]", '{"flange": "dent"}', "\udcff"]


@pytest.mark.parametrize("content", DAMAGED)
def test_damaged_labels_are_not_written_over(workspace, content):
    path = workspace / "kinds.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    product = hand_with("dent")
    assert defect_labels.labels_of(product) == {0: "dent"}
    with pytest.raises(OSError, match=r"kinds\.json is damaged .* the labels of all products"):
        defect_labels.set_label(product, [0], "bump")
    assert path.read_bytes() == content.encode("utf-8", "surrogateescape")
