"""Labels of whole trees: by folders at any depth, names, lists, annotations and masks; nothing that any of them calls
defective is taught.
"""

import contextlib
import csv
import json
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from inspect_core.datasets.dataset import GOOD, ScanError
from inspect_core.datasets.folders import labels_at, scan, split
from inspect_core.datasets.photo_labels import UnclearLabels, reading_of
from inspect_core.datasets.splitting import train_on_all
from tests.examples import examples

SIZE = (24, 32)
COCO_BOX = {"category_id": 1, "iscrowd": 0, "bbox": [4, 4, 8, 6], "segmentation": []}


def photo(path: Path) -> Path:
    """Write a photo like no other, with more grey levels than a mask."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng([*str(path).encode()])
    Image.fromarray(rng.integers(0, 256, (*SIZE, 3), dtype=np.uint8)).save(path)
    return path


def photos(root: Path, *names: str) -> None:
    for name in names:
        photo(root / name)


def mask(path: Path, *, value: int = 255) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros(SIZE, np.uint8)
    pixels[4:10, 4:12] = value
    Image.fromarray(pixels).save(path)


def table(path: Path, *rows: tuple[str, ...]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


def coco(names: list[str], defective: list[str]) -> str:
    images = [{"id": n, "file_name": name, "width": SIZE[1], "height": SIZE[0]} for n, name in enumerate(names)]
    annotations = [{"id": n, "image_id": names.index(name), **COCO_BOX} for n, name in enumerate(defective)]
    return json.dumps({"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "scratch"}]})


def labels(dataset) -> dict[str, str]:
    return {sample.name: sample.label for sample in (*dataset.good, *dataset.defects)}


def masked(dataset) -> list[str]:
    return sorted(sample.name for sample in dataset.defects if sample.mask is not None)


def readings(place: Path) -> dict[str, tuple[int, int]]:
    """The counts of the readings of which one has to be chosen."""
    with pytest.raises(UnclearLabels, match="Nothing is taught") as error:
        scan(place)
    assert all(reading.sentence() in str(error.value) for reading in error.value.readings)
    return {reading.key: (len(reading.good), len(reading.defective)) for reading in error.value.readings}


NESTED = {
    "below dates": {"2026-11-24/OK/a.png": GOOD, "2026-11-25/OK/b.png": GOOD, "2026-11-24/NG/c.png": "NG"},
    "below lots": {"lot 17/good/a.png": GOOD, "lot 18/good/b.png": GOOD, "lot 17/scratch/c.png": "scratch"},
    "type below a lot": {"lot 17/a.png": GOOD, "lot 17/scratch/b.png": "scratch", "lot 17/odd/c.png": "odd"},
    "below cameras": {"cam1/Gutteile/a.png": GOOD, "cam2/Gutteile/b.png": GOOD, "cam2/n.i.O./c.png": "n.i.O."},
    "a part of a folder's name": {"day 1/a.png": GOOD, "day 1/NG rest/b.png": "NG rest"},
    "types below NG": {"2026/11/OK/a.png": GOOD, "2026/11/NG/Kratzer/b.png": "Kratzer", "2026/12/OK/c.png": GOOD},
    "in Chinese": {"11月/良品/a.png": GOOD, "11月/不良/b.png": "不良"},
    "parts of folders' names": {"ok_front/a.png": GOOD, "def_front/b.png": "def_front"},
    "plain folders": {"images/good/a.png": GOOD, "images/bad/b.png": "bad"},
    "no good word": {"a.png": GOOD, "NG/b.png": "NG", "lot 3/c.png": GOOD},
}  # fmt: skip


@pytest.mark.parametrize("expected", NESTED.values(), ids=NESTED)
def test_folders_say_it_at_any_depth(tmp_path, expected):
    photos(tmp_path / "part", *expected)
    dataset = scan(tmp_path / "part")
    by_file = {sample.path: sample.label for sample in (*dataset.good, *dataset.defects)}
    assert {path.relative_to(tmp_path / "part").as_posix(): label for path, label in by_file.items()} == expected
    by_path = labels_at([tmp_path / "part"])
    assert {path.relative_to(tmp_path / "part").as_posix(): label for path, label in by_path.items()} == expected


LEFT_GOOD = '{"left": "good", "right": "defect"}'
UNCLEAR = {
    "bad file names alone": (["1.png", "2.png", "3_Kratzer.png"], {"names": (2, 1), "none": (3, 0)}),
    "a file that its folder contradicts": (["OK/1.png", "OK/2_nok.png"], {"names": (1, 1), "none": (2, 0)}),
    "folders of unknown meaning": (["left/a.png", "right/b.png"], {"none": (2, 0), LEFT_GOOD: (1, 1)}),
    "words in names": (["1.png", "2.png", "3_xy.png", "4_xy.png"], {'{"xy": "defect"}': (2, 2), "none": (4, 0)}),
    "products": (["nut/good/a.png", "bolt/good/b.png", "bolt/bad/c.png"],
                 {"only:bolt": (1, 1), "only:nut": (1, 0), "together": (2, 1)}),
    "a product whose name is in another's": (["nut/good/a.png", "nut/scratch/b.png", "old/nut m4/good/c.png"],
                                              {"only:nut": (1, 1), "only:old/nut m4": (1, 0), "together": (2, 1)}),
    "a product and parts of none": (["good/a.png", "bad/b.png", "bolt/good/c.png"],
                                    {"only:": (1, 1), "only:bolt": (1, 0), "together": (2, 1)}),
    "products in train": (["nut/train/good/a.png", "bolt/train/good/b.png"],
                          {"only:bolt": (1, 0), "only:nut": (1, 0), "together": (2, 0)}),
}  # fmt: skip


@pytest.mark.parametrize(("names", "expected"), UNCLEAR.values(), ids=UNCLEAR)
def test_what_may_mean_two_things_is_asked(tmp_path, names, expected):
    photos(tmp_path / "part", *names)
    counts = readings(tmp_path / "part")
    assert {key: counts[key] for key in expected} == expected
    for key, (good, defective) in counts.items():
        dataset = scan(tmp_path / "part", labels=key)
        assert (len(dataset.good), len(dataset.defects)) == (good, defective)
    with pytest.raises(ScanError, match="no reading of labels is called 'x'"):
        scan(tmp_path / "part", labels="x")


def test_a_folder_called_defective_is_not_taught_as_good(tmp_path):
    photos(tmp_path / "NG", "a.png", "b.png")
    assert readings(tmp_path / "NG") == {"none": (2, 0)}
    photos(tmp_path / "good", "a.png", "b.png")
    assert labels(scan(tmp_path / "good")) == {"a.png": GOOD, "b.png": GOOD}


def test_photos_of_a_private_test_are_never_taught(tmp_path):
    photos(tmp_path, "train/good/a.png", "validation/good/b.png", "test_public/good/c.png", "test_public/bad/d.png")
    photos(tmp_path, "test_private/e.png", "test_private_mixed/f.png")
    mask(tmp_path / "test_public/ground_truth/bad/d_mask.png")
    dataset = scan(tmp_path)
    assert {sample.name: sample.split_side for sample in dataset.good} == {
        "train/good/a.png": "train", "validation/good/b.png": "train", "test_public/good/c.png": "test",
    }  # fmt: skip
    assert masked(dataset) == ["test_public/bad/d.png"]
    assert [skipped.name for skipped in dataset.skipped] == ["test_private/e.png", "test_private_mixed/f.png"]
    assert "never taught" in dataset.skipped[0].reason


def test_masks_beside_photos_label_them(tmp_path):
    photos(tmp_path / "ended", "1.jpg", "2.jpg", "3.jpg")
    for number, value in ((1, 0), (2, 255), (3, 1)):
        mask(tmp_path / f"ended/{number}_label.bmp", value=value)
    dataset = scan(tmp_path / "ended")
    assert labels(dataset) == {"1.jpg": GOOD, "2.jpg": "defect", "3.jpg": "defect"}
    assert masked(dataset) == ["2.jpg", "3.jpg"]
    photos(tmp_path / "twins", "OK/S1/a_OK_C1.jpg", "NG/HS/S9/b_NG_C1.jpg", "OK/S2/both.jpg", "OK/S2/both.png")
    mask(tmp_path / "twins/NG/HS/S9/b_NG_C1.png")
    dataset = scan(tmp_path / "twins")
    assert labels(dataset) == {
        "OK/S1/a_OK_C1.jpg": GOOD, "OK/S2/both.jpg": GOOD, "OK/S2/both.png": GOOD, "NG/HS/S9/b_NG_C1.jpg": "HS",
    }  # fmt: skip
    assert masked(dataset) == ["NG/HS/S9/b_NG_C1.jpg"]


def test_several_masks_of_one_photo_are_joined(tmp_path):
    photos(tmp_path, "train/good/a.png", "test/logical/000.png", "test/structural/000.png")
    for kind, value in (("logical", 255), ("structural", 200)):
        mask(tmp_path / f"ground_truth/{kind}/000/000.png", value=value)
    pixels = np.zeros(SIZE, np.uint8)
    pixels[20:22, 20:22] = 255
    Image.fromarray(pixels).save(tmp_path / "ground_truth/logical/000/001.png")
    dataset = scan(tmp_path)
    assert masked(dataset) == ["test/logical/000.png", "test/structural/000.png"]
    joined = next(sample.mask for sample in dataset.defects if sample.label == "logical")
    assert np.count_nonzero(np.asarray(Image.open(joined))) == 6 * 8 + 4


def beside_coco(root: Path) -> None:
    photos(root, "images/default/a.png", "images/default/b.png")
    (root / "annotations").mkdir()
    (root / "annotations/instances_default.json").write_text(coco(["a.png", "b.png"], ["b.png"]))


def labelme(root: Path) -> None:
    photos(root, "a.jpg", "b.jpg")
    shape = {"label": "scratch", "points": [[4, 4], [12, 10]], "shape_type": "rectangle", "flags": {}}
    document = {"shapes": [shape], "imagePath": "b.jpg", "imageHeight": SIZE[0], "imageWidth": SIZE[1]}
    (root / "b.json").write_text(json.dumps(document))


def yolo(root: Path) -> None:
    photos(root, "images/a.png", "images/b.png")
    (root / "labels").mkdir()
    (root / "labels/a.txt").write_text("")
    (root / "labels/b.txt").write_text("0 0.25 0.25 0.25 0.25\n0 .5 .5 .75 .5 .75 .75\n")
    (root / "data.yaml").write_text("names: [scratch]\n")


def voc(root: Path) -> None:
    photos(root, "JPEGImages/a.jpg", "JPEGImages/b.jpg")
    box = "<bndbox><xmin>4</xmin><ymin>4</ymin><xmax>12</xmax><ymax>10</ymax></bndbox>"
    text = f"<annotation><filename>b.jpg</filename><object><name>scratch</name>{box}</object></annotation>"
    (root / "Annotations").mkdir()
    (root / "Annotations/b.xml").write_text(text)


def cvat(root: Path) -> None:
    photos(root, "images/a.png", "images/b.png")
    box = '<box label="scratch" xtl="4" ytl="4" xbr="12" ybr="10"/>'
    rows = f'<image name="a.png" width="32" height="24"/><image name="b.png" width="32" height="24">{box}</image>'
    (root / "annotations.xml").write_text(f"<annotations>{rows}</annotations>")


def label_studio(root: Path) -> None:
    photos(root, "a.png", "b.png")
    value = {"x": 10, "y": 10, "width": 20, "height": 20, "rectanglelabels": ["scratch"]}
    rows = [("a.png", []), ("1a2b3c4d-b.png", [{"type": "rectanglelabels", "value": value}])]
    tasks = [{"data": {"image": f"/data/upload/1/{n}"}, "annotations": [{"result": result}]} for n, result in rows]
    (root / "export.json").write_text(json.dumps(tasks))


def supervisely(root: Path) -> None:
    photos(root, "ds/img/a.png", "ds/img/b.png")
    (root / "ds/ann").mkdir()
    rectangle = {"classTitle": "scratch", "geometryType": "rectangle", "points": {"exterior": [[4, 4], [12, 10]]}}
    corners = {"exterior": [[14, 4], [20, 4], [20, 10]], "interior": []}
    outline = {"classTitle": "scratch", "geometryType": "polygon", "points": corners}
    for name, objects in (("a", []), ("b", [rectangle, outline, {"geometryType": "bitmap", "bitmap": {}}])):
        document = {"tags": [], "size": {"height": SIZE[0], "width": SIZE[1]}, "objects": objects}
        (root / f"ds/ann/{name}.png.json").write_text(json.dumps(document))


def via(root: Path) -> None:
    photos(root, "a.png", "b.png")
    shapes = [
        {"name": "rect", "x": 4, "y": 4, "width": 8, "height": 6},
        {"name": "circle", "cx": 14, "cy": 14, "r": 4},
        {"name": "polygon", "all_points_x": [4, 10, 10], "all_points_y": [14, 14, 20]},
        {"name": "point", "cx": 4, "cy": 4},
    ]
    regions = [{"shape_attributes": shape, "region_attributes": {"defect": "scratch"}} for shape in shapes]
    photo = {"size": 1, "file_attributes": {}}
    rows = {"a.png1": {"filename": "a.png", "regions": []}, "b.png1": {"filename": "b.png", "regions": regions}}
    (root / "via_region_data.json").write_text(json.dumps({name: photo | row for name, row in rows.items()}))


FORMATS = [beside_coco, labelme, yolo, voc, cvat, label_studio, supervisely, via]


@pytest.mark.parametrize("write", FORMATS, ids=[write.__name__ for write in FORMATS])
def test_annotations_beside_photos_are_read(tmp_path, write):
    write(tmp_path)
    dataset = scan(tmp_path)
    assert {Path(name).stem: label for name, label in labels(dataset).items()} == {"a": GOOD, "b": "scratch"}
    assert [Path(name).stem for name in masked(dataset)] == ["b"]
    assert not [skipped for skipped in dataset.skipped if skipped.role != "other"]
    if (tmp_path / "images").is_dir() and (tmp_path / "labels").is_dir():
        assert labels(scan(tmp_path / "images")) == labels(dataset)


def test_a_tag_or_an_attribute_of_a_photo_says_defective(tmp_path):
    photos(tmp_path, "ds/img/a.png", "ds/img/b.png")
    (tmp_path / "ds/ann").mkdir()
    for name, tag in (("a", "checked"), ("b", "NG")):
        document = {"tags": [{"name": tag}], "size": {}, "objects": []}
        (tmp_path / f"ds/ann/{name}.png.json").write_text(json.dumps(document))
    photos(tmp_path / "via", "c.png", "d.png", "e.png")
    region = {"shape_attributes": {"name": "point", "cx": 4, "cy": 4}, "region_attributes": {"type": {"dent": True}}}
    ticked = {"result": {"OK": False, "NG": True}}
    rows = {
        "c": {"filename": "c.png", "regions": {"0": region}, "file_attributes": {}},
        "d": {"filename": "d.png", "regions": {}, "file_attributes": ticked},
        "e": {"filename": "e.png", "regions": {}, "file_attributes": {"result": {"OK": True}}},
    }
    (tmp_path / "via/project.json").write_text(json.dumps({"_via_img_metadata": rows, "_via_settings": {}}))
    assert labels(scan(tmp_path / "ds")) == {"img/a.png": GOOD, "img/b.png": "NG"}
    assert labels(scan(tmp_path / "via")) == {"c.png": "dent", "d.png": "NG", "e.png": GOOD}


def test_no_photos_of_neighbours_of_the_chosen_folder_are_read(tmp_path):
    yolo(tmp_path)
    photos(tmp_path, "other/c.png", "d.png", "previews/NG/e.png")
    dataset = scan(tmp_path / "images")
    assert labels(dataset) == {"images/a.png": GOOD, "images/b.png": "scratch"}
    assert not [skipped for skipped in dataset.skipped if skipped.role != "other"]


@pytest.mark.parametrize("write", FORMATS, ids=[write.__name__ for write in FORMATS])
def test_damaged_annotations_are_refused_or_left(tmp_path, write):
    write(tmp_path)
    for path in [path for path in tmp_path.rglob("*") if path.suffix in (".json", ".xml", ".txt")]:
        content = path.read_text()
        for changed in (content[: len(content) // 2], content.replace("4", '"x"'), content.replace("scratch", "")):
            path.write_text(changed)
            with contextlib.suppress(ScanError):
                scan(tmp_path)
        path.write_text(content)


def test_lists_of_the_sides_of_a_split_are_read_together(tmp_path):
    for side, names, defective in (("train", ["a", "b"], ["b"]), ("valid", ["c"], []), ("test", ["d", "e"], ["e"])):
        names, defective = ([f"part_{side}_{name}.png" for name in several] for several in (names, defective))
        photos(tmp_path / side, *names)
        (tmp_path / side / "_annotations.coco.json").write_text(coco(names, defective))
    dataset = scan(tmp_path)
    assert {sample.name[-5]: sample.split_side for sample in dataset.good} == {"a": "train", "c": "train", "d": "test"}
    assert sorted(sample.name[-5] for sample in dataset.defects) == ["b", "e"]


def test_a_list_of_defects_alone_leaves_the_others_to_the_user(tmp_path):
    photos(tmp_path, "a.png", "b.png", "c.png")
    table(tmp_path / "defects.csv", ("file", "label"), ("c.png", "scratch"))
    assert readings(tmp_path) == {"unlisted-good": (2, 1), "none": (3, 0)}
    table(tmp_path / "defects.csv", ("file", "label"), ("c.png", "scratch"), ("a.png", "good"))
    dataset = scan(tmp_path)
    assert labels(dataset) == {"a.png": GOOD, "c.png": "scratch"}
    assert [skipped.reason for skipped in dataset.skipped] == ["it is not named in defects.csv; add it there"]


def test_a_list_that_contradicts_names_is_asked_about(tmp_path):
    photos(tmp_path, "OK/a.png", "NG/b.png")
    table(tmp_path / "labels.csv", ("file", "label"), ("OK/a.png", "good"), ("NG/b.png", "good"))
    assert readings(tmp_path) == {"names": (1, 1), "none": (2, 0)}
    table(tmp_path / "labels.csv", ("file", "label"), ("OK/a.png", "good"), ("NG/b.png", "good"))
    assert readings(tmp_path / "labels.csv") == {"names": (1, 1), "none": (2, 0)}


COLUMNS = {
    "yes or no": (("image", "is_defect"), ("False", "True")),
    "1 or 0": (("image", "is_defect"), ("0", "1")),
    "good or not": (("image", "is_good"), ("yes", "no")),
    "a count": (("filename", "defects"), ("0", "2")),
    "type or none": (("image", "defect_type"), ("none", "scratch")),
    "in German": (("Datei", "Ergebnis"), ("i.O.", "n.i.O.")),
}


@pytest.mark.parametrize(("header", "cells"), COLUMNS.values(), ids=COLUMNS)
def test_columns_of_tables_by_their_usual_names(tmp_path, header, cells):
    photos(tmp_path, "a.png", "b.png")
    table(tmp_path / "labels.csv", header, ("a.png", cells[0]), ("b.png", cells[1]))
    for place in (tmp_path, tmp_path / "labels.csv"):
        assert {name: label == GOOD for name, label in labels(scan(place)).items()} == {"a.png": True, "b.png": False}


def test_split_mask_and_unused_columns(tmp_path):
    photos(tmp_path, "img/a.png", "img/b.png", "img/c.png", "img/d.png")
    mask(tmp_path / "msk/c.png")
    header = ("file", "label", "split", "mask", "exposure")
    rows = [("img/a.png", "good", "train", "", "3"), ("img/b.png", "good", "test", "", "3")]
    rows += [("img/c.png", "scratch,bent", "test", "msk/c.png", "4"), ("img/d.png", "good", "query", "", "4")]
    table(tmp_path / "split.csv", header, *rows)
    dataset = scan(tmp_path / "split.csv")
    assert {sample.name: sample.split_side for sample in dataset.good} == {
        "img/a.png": "train", "img/b.png": "test", "img/d.png": "test",
    }  # fmt: skip
    assert (labels(dataset)["img/c.png"], masked(dataset)) == ("scratch", ["img/c.png"])
    assert "split.csv: 1 column not used: exposure." in dataset.warnings


def test_a_table_of_other_things_is_named(tmp_path):
    photos(tmp_path, "a.png", "b.png")
    table(tmp_path / "shots.csv", ("file", "exposure", "gain"), ("a.png", "3", "1.5"), ("b.png", "3", "1.5"))
    dataset = scan(tmp_path)
    assert len(dataset.good) == 2
    assert "shots.csv: it names photos and holds no label (file, exposure, gain)." in dataset.warnings
    table(tmp_path / "shots.csv", ("file", "left", "right"), ("a.png", "OK", "OK"), ("b.png", "NG", "OK"))
    assert readings(tmp_path) == {'{"left NG, right OK": "defect"}': (1, 1), "none": (2, 0)}
    assert labels(scan(tmp_path, labels=reading_of({"left NG, right OK": "OK"}))) == {"a.png": GOOD, "b.png": GOOD}
    table(tmp_path / "shots.csv", ("file", "left", "lamp"), ("a.png", "OK", "1.5"), ("b.png", "NG", "1.5"))
    assert labels(scan(tmp_path)) == {"a.png": GOOD, "b.png": "NG"}, "the one column in which each cell is a verdict"


def test_empty_labels_are_asked_about_without_a_good_one(tmp_path):
    photos(tmp_path, "a.png", "b.png", "c.png")
    table(tmp_path / "labels.csv", ("file", "defect_type"), ("a.png", ""), ("b.png", ""), ("c.png", "dent"))
    assert readings(tmp_path)["blank-good"] == (2, 1)
    assert labels(scan(tmp_path, labels="blank-good")) == {"a.png": GOOD, "b.png": GOOD, "c.png": "dent"}


def test_products_of_a_list_are_taught_apart(tmp_path):
    photos(tmp_path, "a.png", "b.png", "c.png")
    rows = [("a.png", "good", "left"), ("b.png", "good", "right"), ("c.png", "dent", "left")]
    table(tmp_path / "labels.csv", ("file", "label", "product"), *rows)
    assert readings(tmp_path) == {"only:left": (1, 1), "only:right": (1, 0), "together": (2, 1)}
    assert labels(scan(tmp_path, labels="only:right")) == {"b.png": GOOD}


def test_sources_of_labels_are_counted_and_stand_in_the_recipe(tmp_path):
    photos(tmp_path, *(f"good/{number}.png" for number in range(8)), "NG/b.png", "good/c.png")
    table(tmp_path / "labels.csv", ("file", "label"), ("good/c.png", "dent"), ("good/0.png", "good"))
    dataset = scan(tmp_path)
    assert [tuple(source) for source in dataset.sources()] == [("folder", 7, 1), ("labels.csv", 1, 1)]
    note = split(dataset, seed=0).label_note()
    assert note == "labels from folder: 7 good, 1 defective; labels.csv: 1 good, 1 defective"


GOOD_WORDS = ["good", "OK", "i.O.", "Gutteile", "良品", "conforme"]
BAD_WORDS = ["bad", "NG", "n.i.O.", "Ausschuss", "不良", "difettoso", "scratch", "not ok"]
SILENT = ["2026-11-24", "lot 17", "cam1", "images", "left", "part A"]


@st.composite
def trees(draw) -> tuple[dict[str, bool], dict[str, bool]]:
    """Draw photos by path and whether something in the path is a bad word; and a list, which photos are good by it."""
    paths = {}
    for number in range(draw(st.integers(2, 9))):
        parts = draw(st.lists(st.sampled_from([*SILENT, *GOOD_WORDS, *BAD_WORDS]), max_size=3))
        word = draw(st.sampled_from(["", "", "", *GOOD_WORDS, *BAD_WORDS]))
        name = f"{number}_{word}".rstrip("_") if draw(st.booleans()) else f"{word}_{number}".lstrip("_")
        is_bad = any(part in BAD_WORDS for part in parts) or word in BAD_WORDS
        paths["/".join([*parts, f"{name}.png"])] = is_bad
    listed = draw(st.lists(st.sampled_from(list(paths)), unique=True))
    return paths, {path: draw(st.booleans()) for path in listed}


@pytest.mark.usefixtures("unhurried")
@given(trees())
@settings(deadline=None, max_examples=examples(150))
def test_no_photo_called_defective_anywhere_is_ever_taught(folders, tree):
    paths, listed = tree
    root = next(folders) / "part"
    photos(root, *paths)
    if listed:
        rows = [(path, "good" if is_good else "dent") for path, is_good in listed.items()]
        table(root / "labels.csv", ("file", "label"), *rows)
    bad = {path for path, is_bad in paths.items() if is_bad} | {path for path, good in listed.items() if not good}
    packed = root.parent / "part.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in root.rglob("*.*"):
            if path.is_file():
                archive.write(path, path.relative_to(root.parent))
    for place in (root, packed):
        try:
            dataset = scan(place)
        except UnclearLabels as unclear:
            dataset = scan(place, labels="names") if any(r.key == "names" for r in unclear.readings) else None
        except ScanError:
            continue
        if dataset is not None:
            train = [sample.path.as_posix() for sample in train_on_all(split(dataset, seed=0)).train]
            assert not {name for name in bad if any(path.endswith(f"/part/{name}") for path in train)}
    try:
        known = labels_at([root])
    except UnclearLabels:
        return
    assert not {path for path in bad if known.get(root / path) == GOOD}


def meant(tree: Path, *words: str) -> dict[str, str]:
    return labels(scan(tree, labels=reading_of(dict(word.split("=") for word in words))))


def test_words_that_a_person_gives_a_meaning(tmp_path):
    names = {"A": "0", "B": "1", "C": "2", "D": "3"}
    photos(tmp_path, *(f"Serie {name}/{number}.png" for name, number in names.items()))
    chosen = scan(
        tmp_path,
        labels=reading_of({"Serie A": "OK", "Serie B": "Riss", "Serie C": "leave out", "Serie D": "test only"}),
    )
    assert labels(chosen) == {"Serie A/0.png": GOOD, "Serie B/1.png": "Riss", "Serie D/3.png": GOOD}
    assert {photo.name: photo.split_side for photo in chosen.good} == {
        "Serie A/0.png": "train",
        "Serie D/3.png": "test",
    }
    assert [file.name for file in chosen.skipped] == ["Serie C/2.png"]
    with pytest.raises(ValueError, match="WORD=MEANING"):
        reading_of({"Serie A": " "})


def test_a_word_of_a_person_never_hides_a_known_defect(tmp_path):
    photos(tmp_path, "Serie A/0.png", "Serie A/1.png", "Serie B/2.png")
    table(tmp_path / "labels.csv", ("file", "label"), ("0.png", "OK"), ("1.png", "NG"), ("2.png", "OK"))
    assert meant(tmp_path, "Serie A=good", "Serie B=good")["Serie A/1.png"] == "NG"


def test_two_products_in_numbered_folders_are_asked_about(tmp_path):
    photos(tmp_path, "01/train/ok/a.png", "02/train/ok/b.png")
    assert readings(tmp_path) == {"only:01": (1, 0), "only:02": (1, 0), "together": (2, 0)}


def test_a_reject_beside_train_good_is_asked_about(tmp_path):
    photos(tmp_path, "train/good/a.png", "train/good/b.png", "Ausschuss/x1.png")
    table(tmp_path / "labels.csv", ("file", "label"), ("a.png", "OK"), ("b.png", "OK"), ("x1.png", "OK"))
    with pytest.raises(UnclearLabels, match="calls photos good whose names say"):
        scan(tmp_path)


def test_labels_beside_the_chosen_side_are_read(tmp_path):
    yolo(tmp_path)
    for path in (tmp_path / "images").iterdir():
        (tmp_path / "images/train").mkdir(exist_ok=True)
        if path.is_file():
            path.rename(tmp_path / "images/train" / path.name)
    (tmp_path / "labels/train").mkdir()
    (tmp_path / "labels/val").mkdir()
    for path in [*(tmp_path / "labels").glob("*.txt")]:
        (tmp_path / "labels/val" / path.name).write_text("0 0.5 0.5 0.2 0.2\n")
        path.rename(tmp_path / "labels/train" / path.name)
    by_path = labels(scan(tmp_path / "images/train"))
    assert {PurePosixPath(name).name: label for name, label in by_path.items()} == {"a.png": GOOD, "b.png": "scratch"}


def test_masks_mark_in_palettes_in_alpha_and_under_other_cases(tmp_path):
    photos(tmp_path, "A.jpg", "b.jpg", "c.jpg")
    indices = np.zeros(SIZE, np.uint8)
    indices[4:10, 4:12] = 1
    black = Image.fromarray(indices, "P")
    black.putpalette([0] * 768)
    black.save(tmp_path / "a_MASK.png")
    clear = np.zeros((*SIZE, 4), np.uint8)
    clear[4:10, 4:12, 3] = 255
    Image.fromarray(clear).save(tmp_path / "b_mask.png")
    mask(tmp_path / "c_mask.png", value=0)
    assert labels(scan(tmp_path)) == {"A.jpg": "defect", "b.jpg": "defect", "c.jpg": GOOD}


def test_masks_of_one_folder_belong_to_photos_in_lots(tmp_path):
    photos(tmp_path, "lot 1/0001.png", "lot 2/0002.png")
    mask(tmp_path / "masks/0002.png")
    assert labels(scan(tmp_path)) == {"lot 1/0001.png": GOOD, "lot 2/0002.png": "defect"}
    photos(tmp_path, "lot 1/0002.png")
    with pytest.raises(UnclearLabels, match="mask without a matching photo"):
        scan(tmp_path)


FLAGS = {
    "a flag nobody knows": ({"Lunkerchen": True}, "which of these are good parts: Lunkerchen"),
    "a good flag that is off": ({"good": False}, "which of these are good parts: good: false"),
}


@pytest.mark.parametrize(("flags", "question"), FLAGS.values(), ids=FLAGS)
def test_flags_that_do_not_say_it_are_asked_about(tmp_path, flags, question):
    photos(tmp_path, "a.png", "b.png")
    for name, of_photo in (("a", {}), ("b", flags)):
        document = {"shapes": [], "imagePath": f"{name}.png", "flags": of_photo}
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    with pytest.raises(UnclearLabels, match=question):
        scan(tmp_path)


UNCLEAR_FILES = {
    "a key twice": '{"label": "NG", "label": "OK"}',
    "two labels": '{"label": "OK", "camera": {"label": "NG"}}',
    "the photo of another": '{"shapes": [], "imagePath": "b.png"}',
}


@pytest.mark.parametrize("content", UNCLEAR_FILES.values(), ids=UNCLEAR_FILES)
def test_files_of_one_photo_that_say_two_things_are_asked_about(tmp_path, content):
    photos(tmp_path, "a.png", "b.png", "c.png")
    (tmp_path / "a.json").write_text(content)
    for name in "bc":
        (tmp_path / f"{name}.json").write_text('{"label": "OK"}')
    with pytest.raises(UnclearLabels):
        scan(tmp_path)
    assert "a.png" not in {photo.name for photo in scan(tmp_path, labels="names").good}


def test_an_attribute_of_a_defect_outweighs_the_label_ok(tmp_path):
    photos(tmp_path, "a.png", "b.png")
    box = '<box label="OK" xtl="1" ytl="1" xbr="4" ybr="4"><attribute name="defect">{}</attribute></box>'
    images = "".join(
        f'<image id="{number}" name="{name}.png" width="{SIZE[1]}" height="{SIZE[0]}">{box.format(value)}</image>'
        for number, (name, value) in enumerate((("a", "false"), ("b", "true")))
    )
    (tmp_path / "annotations.xml").write_text(f"<annotations>{images}</annotations>")
    assert labels(scan(tmp_path)) == {"a.png": GOOD, "b.png": "defect"}
    (tmp_path / "annotations.xml").write_text('<annotations><track id="0" label="NG"/></annotations>')
    with pytest.raises(UnclearLabels, match="tracks of a video"):
        scan(tmp_path)


def test_the_second_choice_of_an_annotation_counts(tmp_path):
    photos(tmp_path, "a.png", "b.png")
    tasks = [
        {"data": {"image": f"{name}.png"}, "annotations": [{"result": [{"value": {"choices": choices}}]}]}
        for name, choices in (("a", ["OK"]), ("b", ["OK", "NG"]))
    ]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    assert labels(scan(tmp_path)) == {"a.png": GOOD, "b.png": "NG"}


def test_settings_with_aliases_are_refused_at_once(tmp_path):
    yolo(tmp_path)
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    (tmp_path / "data.yaml").write_text(f"l0: &l0 [x]\n{levels}\nnames: *l11\n")
    for path in tmp_path.rglob("classes.txt"):
        path.unlink()
    with pytest.raises(UnclearLabels, match="it is no plain YAML"):
        scan(tmp_path)


def test_a_class_that_a_person_calls_the_part_marks_no_defect(tmp_path):
    photos(tmp_path, "a.png", "b.png", "c.png")
    document = json.loads(coco(["a.png", "b.png", "c.png"], ["a.png", "b.png"]))
    document["categories"] = [{"id": 1, "name": "bracket"}]
    (tmp_path / "coco.json").write_text(json.dumps(document))
    with pytest.raises(UnclearLabels, match="which of these are good parts: bracket"):
        scan(tmp_path)
    assert meant(tmp_path, "bracket=good") == {"a.png": GOOD, "b.png": GOOD, "c.png": GOOD}
    assert meant(tmp_path, "bracket=Riss") == {"a.png": "Riss", "b.png": "Riss", "c.png": GOOD}


def test_painted_masks_outlive_the_process(tmp_path, workspace):
    beside_coco(tmp_path)
    [mask_path] = [photo.mask for photo in scan(tmp_path).defects]
    assert mask_path.is_relative_to(workspace.resolve())
    code = "import inspect_core.datasets.folders as f, sys; print(f.scan(sys.argv[1]).defects[0].mask)"
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert Path(ended.stdout.strip()) == mask_path
    assert mask_path.is_file(), "the other process ended"
    mask_path.unlink()
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=True)
    assert mask_path.is_file(), "an ended process leaves the masks that it painted"
