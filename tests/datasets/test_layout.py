"""What folders and names mean; no file is touched."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.datasets.layout import classify_paths, looks_like_lot
from inspect_core.datasets.verdict_words import condition_sign
from tests.examples import examples


def places(*names):
    images = classify_paths([PurePosixPath(name) for name in names]).images
    return {str(path): (place.label, place.split_side, place.group) for path, place in images.items()}


WORDS = {
    ("good", True): ["good", "OK", "ok_parts", "01 Good", "i.O.", "Gut", "pass", "good images"],
    ("defective", True): ["not ok", "not_good", "n.i.O.", "NG", "no good", "bad"],
    ("type", True): ["scratch"],
    (None, None): ["goods in", "okra"],
}
LOTS = {
    True: ["lot1", "lot_A", "LotA", "2024-05-01", "0012", "A1", "batch 7", "cam2", "shift-3"],
    False: ["scratch", "crack2", "lot", "cut_inner", "B", "hole 3 mm"],
}


def test_words_for_good_for_defects_and_for_lots():
    for expected, words in WORDS.items():
        signs = {word: condition_sign(word) for word in words}
        read = {word: (sign and sign.condition, sign and sign.is_whole) for word, sign in signs.items()}
        assert read == dict.fromkeys(words, expected)
    for expected, names in LOTS.items():
        assert {name: looks_like_lot(name) for name in names} == dict.fromkeys(names, expected)


FOLDERS_SAY = (
    {
        "OK/a.png": ("good", None, None),
        "OK/lot1/a.png": ("good", None, "lot1"),
        "scratch/a.png": ("scratch", None, None),
        "bad/a.png": ("bad", None, None),
        "bad/dent/a.png": ("dent", None, None),
        "bad/lot2/a.png": ("bad", None, "lot2"),
    },
    {"a.png": ("good", None, None), "scratch/a.png": ("scratch", None, None), "lot1/b.png": ("good", None, "lot1")},
    {
        "train/good/a.png": ("good", "train", None),
        "Train/b.png": ("good", "train", None),
        "val/good/c.png": ("good", "train", None),
        "train/lot2/d.png": ("good", "train", "lot2"),
        "test/OK/a.png": ("good", "test", None),
        "test/x/a.png": ("x", "test", None),
    },
    {"test/good/a.png": ("good", None, None), "test/x/a.png": ("x", None, None)},
    {"face_mask.png": ("good", None, None), "other.png": ("good", None, None)},  # a mask of no image is an image
)


def test_folders_say_kinds_lots_and_sides():
    for expected in FOLDERS_SAY:
        assert places(*expected) == expected


def test_images_whose_kind_cannot_be_known_are_refused():
    layout = classify_paths(
        [PurePosixPath(name) for name in ("train/good/a.png", "test/b.png", "c.png", "test/x/a.png")]
    )
    assert [str(path) for path in layout.images] == ["test/x/a.png", "train/good/a.png"]
    assert "neither train/ nor test/" in layout.refused[PurePosixPath("c.png")]
    assert "in test/ itself" in layout.refused[PurePosixPath("test/b.png")]
    refused = classify_paths([PurePosixPath("good/a.png"), PurePosixPath("b.png")]).refused
    assert refused[PurePosixPath("b.png")].endswith("move it into that folder, or into a folder of defects")


@pytest.mark.parametrize(
    ("image", "mask"),
    [
        ("test/crack/000.jpg", "ground_truth/crack/000_mask.png"),
        ("test/crack/000.png", "ground_truth/crack/000.png"),
        ("crack/000.png", "masks/crack/000.png"),
        ("crack/000.png", "GroundTruth/000_mask.png"),
        ("crack/000.jpg", "crack/000_mask.png"),
        ("crack/000.png", "crack/masks/000.png"),
        ("crack/lot1/000.png", "ground_truth/crack/lot1/000-mask.png"),
        ("bad/dent/000.png", "ground_truth/bad/dent/000_mask.png"),
    ],
)
def test_masks_find_their_images_by_name_if_unambiguous(image, mask):
    good = "train/good/000.png" if image.startswith("test/") else "good/000.png"
    layout = classify_paths([PurePosixPath(name) for name in (image, mask, good)])
    assert layout.masks == {PurePosixPath(image): (PurePosixPath(mask),)}
    assert set(map(str, layout.images)) == {image, good}
    assert not layout.stray_masks
    two = classify_paths(
        [PurePosixPath(name) for name in ("good/a.png", "a/0.png", "b/0.png", "ground_truth/0_mask.png")]
    )
    assert (two.masks, [str(path) for path in two.stray_masks]) == ({}, ["ground_truth/0_mask.png"])


FOLDERS = ["good", "OK", "scratch", "bad", "train", "test", "ground_truth", "lot1", "masks", "cam2"]
NAMES = st.sampled_from([*FOLDERS, "000.png", "001.jpg", "000_mask.png", "a.bmp"])


@given(st.sets(st.lists(NAMES, min_size=1, max_size=4).map("/".join).map(PurePosixPath), max_size=12))
@settings(deadline=None, max_examples=examples(80))
def test_every_path_counts_once_and_no_mask_is_an_image(paths):
    layout = classify_paths(sorted(paths))
    lists = [
        list(layout.images),
        sorted({mask for masks in layout.masks.values() for mask in masks}),
        layout.stray_masks,
        list(layout.refused),
    ]
    assert sorted(path for group in lists for path in group) == sorted(paths)
    assert set(layout.masks) <= {*layout.images, *layout.refused}
    assert not any({"ground_truth", "masks"} & set(path.parts[:-1]) for path in layout.images)
    assert layout == classify_paths(sorted(paths, reverse=True))
