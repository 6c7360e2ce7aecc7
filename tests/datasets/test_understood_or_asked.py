"""No photo that any source calls defective is taught without a question; what is plain is never asked about."""

import csv
import io
import json
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from inspect_core.datasets.dataset import ScanError
from inspect_core.datasets.photo_labels import UnclearLabels
from inspect_core.datasets.photo_tree import PhotoTree
from tests.examples import examples

WORDS = [
    ("OK", "NG"),
    ("i.O.", "n.i.O."),
    ("good", "scratch"),
    ("良品", "不良"),
    ("bonne", "rayée"),
    ("Gut", "Ausschuß"),
]
CODES = [("1", "0"), ("0", "1"), ("P", "F"), ("A", "C"), ("true", "false"), ("E00", "E17"), ("ok?", "not so good")]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "gb18030"]
DELIMITERS = ",;\t"
KINDS = ["table", "table", "records", "texts", "voc", "labelme", "yolo", "folders", "names"]
WAYS = ["exact", "name", "case", "no ending", "other ending", "drive", "number", "separator"]
DAMAGES = ["cut off", "empty", "doctype", "commas", "another encoding"]


@dataclass
class _Tree:
    """Photos by path, those that some file calls defective, and whether each file has one meaning."""

    root: Path
    paths: list[str]
    bad: set[str] = field(default_factory=set)
    is_plain: bool = True

    def write(self, name: str, content: str | bytes, encoding: str = "utf-8") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))


def _picture() -> bytes:
    content = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (12, 16, 3), np.uint8)
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()


PICTURE = _picture()


def _reference(path: str, way: str) -> str:
    name = PurePosixPath(path)
    if way == "number":
        return str(int(name.stem.split("_")[1]))
    return {
        "exact": path,
        "name": name.name,
        "case": name.name.upper(),
        "no ending": name.stem,
        "other ending": f"{name.stem}.bmp",
        "drive": f"D:\\Bilder\\{name.name}",
        "separator": name.name.replace("_", " "),
    }[way]


@st.composite
def _sources(draw) -> dict:
    """Draw what lies beside the photos of a folder: a list, a file a photo, folders or words in names."""
    return {
        "kind": draw(st.sampled_from(KINDS)),
        "words": draw(st.sampled_from(WORDS + CODES)),
        "encoding": draw(st.sampled_from(ENCODINGS)),
        "delimiter": draw(st.sampled_from(DELIMITERS)),
        "column": draw(st.sampled_from(["label", "result", "Ergebnis", "判定", "verdict", "Zustand"])),
        "way": draw(st.sampled_from(WAYS)),
        "place": draw(st.sampled_from(["", "", "annotations/", "../"])),
        "around": draw(st.sampled_from(["", "", "title", "comment", "footer"])),
        "damage": draw(st.sampled_from([None, None, *DAMAGES])),
        "flips": draw(st.sampled_from([0, 0, 0, 1])),
    }  # fmt: skip


def _files_of(source: dict) -> str:
    """What the files of a source are called, so that a second one writes others."""
    files = {
        "texts": "txt",
        "yolo": "txt",
        "folders": "names",
        "table": f"labels{DELIMITERS.index(source['delimiter'])}",
    }
    return files.get(source["kind"], source["kind"])


def _write_table(tree: _Tree, source: dict, bad: set[str]) -> None:
    good_word, bad_word = source["words"]
    rows = [["file", source["column"]]]
    rows += [[_reference(path, source["way"]), bad_word if path in bad else good_word] for path in tree.paths]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=source["delimiter"]).writerows(rows)
    around = {"title": ("Protokoll\n\n", ""), "comment": ("# 29.11.2026\n", ""), "footer": ("", "Summe\n")}
    before, after = around.get(source["around"], ("", ""))
    content = before + text.getvalue() + after
    if source["damage"] == "cut off":
        content = content[: content.rindex(source["delimiter"])]
    try:
        tree.write(f"{source['place']}{_files_of(source)}.csv", content.encode(source["encoding"]))
    except UnicodeEncodeError:
        tree.write(f"{source['place']}{_files_of(source)}.csv", content)
    tree.is_plain &= source["words"] in WORDS and source["way"] in ("exact", "name", "case", "no ending", "drive")
    tree.is_plain &= source["column"] != "Zustand" and source["damage"] != "cut off"
    tree.is_plain &= source["encoding"] in ("utf-8", "utf-8-sig", "utf-16")
    tree.is_plain &= source["way"] == "exact" or len({PurePosixPath(path).name for path in tree.paths}) == len(
        tree.paths
    )


def _write_records(tree: _Tree, source: dict, bad: set[str]) -> None:
    good_word, bad_word = source["words"]
    records = [
        {"camera": {"label": "cam 1"}, "image": _reference(path, source["way"]), "result": word}
        for path in tree.paths
        for word in [bad_word if path in bad else good_word]
    ]
    tree.write("records.json", json.dumps(records, ensure_ascii=False))
    tree.is_plain = False


def _annotation(kind: str, path: str, is_bad: bool, words: tuple[str, str]) -> tuple[str, str]:
    name = PurePosixPath(path)
    if kind == "texts":
        return ".txt", words[is_bad]
    if kind == "yolo":
        return ".txt", "0 0.5 0.5 0.2 0.2\n" if is_bad else ""
    if kind == "voc":
        box = "<bndbox><xmin>2</xmin><ymin>2</ymin><xmax>6</xmax><ymax>6</ymax></bndbox>"
        shape = f"<object><name>划痕</name>{box}</object>" if is_bad else ""
        return ".xml", f"<annotation><filename>{name.name}</filename>{shape}</annotation>"
    shapes = [{"label": "dent", "points": [[2, 2], [6, 6]], "shape_type": "rectangle"}] if is_bad else []
    return ".json", json.dumps({"shapes": shapes, "imagePath": name.name, "flags": {}})


def _damaged(text: str, damage: str) -> bytes:
    if damage == "another encoding":
        return text.encode("gb18030")
    changed = {
        "cut off": text[: len(text) // 2],
        "empty": "",
        "doctype": f"<!DOCTYPE x>{text}",
        "commas": text.replace(" ", ","),
    }[damage]
    return changed.encode()


def _write_annotations(tree: _Tree, source: dict, bad: set[str]) -> None:
    for number, path in enumerate(tree.paths):
        suffix, text = _annotation(source["kind"], path, path in bad, source["words"])
        is_damaged = source["damage"] is not None and (path in bad or number == 0) and text
        content = _damaged(text, source["damage"]) if is_damaged else text.encode()
        tree.write(str(PurePosixPath(path).with_suffix(suffix)), content)
    # An empty YOLO file says that nothing is marked: nobody can tell it from one that lost its content.
    if source["kind"] == "yolo" and source["damage"] in ("empty", "cut off"):
        tree.bad -= bad
    tree.is_plain &= source["damage"] is None and source["kind"] in ("voc", "labelme")


def _draw_tree(root: Path, count: int, lots: int, sources: list[dict], bad_numbers: set[int]) -> _Tree:
    names = [f"{f'lot {number % lots + 1}/' if lots > 1 else ''}img_{number:04d}.png" for number in range(count)]
    by_name = next((source for source in sources if source["kind"] in ("folders", "names")), None)
    bad = {number for number in bad_numbers if number < count}
    paths = []
    for number, name in enumerate(names):
        path = PurePosixPath(name)
        if by_name is not None:
            word = by_name["words"][number in bad].strip(" ?")
            path = (
                path.parent / word / path.name
                if by_name["kind"] == "folders"
                else path.with_stem(f"{path.stem}_{word}")
            )
        paths.append(str(path))
    tree = _Tree(root, paths)
    for path in paths:
        tree.write(path, PICTURE)
    if by_name is not None:
        # Where a list says what each photo shows, words that nobody knows say nothing against it.
        is_serial = "E00" in by_name["words"]  # as lots, cameras and serial numbers are called
        is_known = by_name["words"] in WORDS or (len(sources) == 1 and not is_serial)
        tree.bad |= {paths[number] for number in bad if is_known}
        tree.is_plain &= by_name["words"] in WORDS and by_name["kind"] == "folders"
    for source in sources:
        if source["kind"] in ("folders", "names"):
            continue
        shown = {paths[number] for number in bad}
        if source["flips"]:  # a second source that says otherwise of one photo
            shown ^= {paths[0]}
            tree.is_plain = False
        tree.bad |= shown
        writes = {"table": _write_table, "records": _write_records}.get(source["kind"], _write_annotations)
        writes(tree, source, shown)
    tree.is_plain &= len(sources) == 1 and 0 < len(bad) < count
    return tree


@given(
    st.integers(4, 9), st.sampled_from([1, 1, 2]), st.lists(_sources(), min_size=1, max_size=2, unique_by=_files_of),
    st.sets(st.integers(0, 8), max_size=5),
)  # fmt: skip
@settings(deadline=None, max_examples=examples(500))
def test_nothing_called_defective_is_taught_unasked(folders, count, lots, sources, bad_numbers):
    tree = _draw_tree(next(folders) / "above" / "part", count, lots, sources, bad_numbers)
    try:
        read = PhotoTree.open(tree.root).read_labels(None)
    except (UnclearLabels, ScanError):
        if tree.is_plain:
            raise
        return
    good = {str(path) for path in read.good}
    assert not good & tree.bad
    if tree.is_plain:
        assert good == set(tree.paths) - tree.bad


@pytest.mark.parametrize("codes", CODES)
@pytest.mark.parametrize("column", ["result", "label", "Ergebnis", "判定", "verdict"])
def test_codes_of_which_nobody_says_the_meaning_are_asked_about(tmp_path, codes, column):
    paths = [f"{number:03d}.png" for number in range(6)]
    tree = _Tree(tmp_path / "part", paths)
    for path in paths:
        tree.write(path, PICTURE)
    rows = "\n".join(f"{path},{codes[number > 3]}" for number, path in enumerate(paths))
    tree.write("labels.csv", f"file,{column}\n{rows}\n")
    with pytest.raises(UnclearLabels) as error:
        PhotoTree.open(tree.root).read_labels(None)
    directions = {(len(reading.good), len(reading.defective)) for reading in error.value.readings}
    assert (4, 2) in directions, "the reading that is right is offered"


@pytest.mark.parametrize("first", ["0000", "0"])
def test_a_list_of_one_of_the_numbers_in_names_is_asked_about(tmp_path, first):
    tree = _Tree(tmp_path / "part", [f"img_{number:04d}_E{17 * (number == 0):02d}.png" for number in range(4)])
    for path in tree.paths:
        tree.write(path, PICTURE)
    tree.write("labels.csv", f"file,label\n{first},0\n1,1\n2,1\n3,1\n")
    with pytest.raises(UnclearLabels):
        PhotoTree.open(tree.root).read_labels(None)
