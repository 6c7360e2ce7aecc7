"""Recipes that were cut, changed, or made to harm: each is refused by name and reason, before its arrays are read."""

import json
import os
import struct
import zipfile

import numpy as np
import pytest

from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.fields import SCHEMA
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_io.recipe_file import load
from tests.hostile.files import loaded


@pytest.fixture
def saved(recipe, package):
    return package.save(recipe)


@pytest.fixture
def folder(saved):
    return saved.folder


@pytest.fixture(autouse=True)
def nothing_is_read_into_memory(monkeypatch, request):
    """Refusals must come before the array file is loaded, unless the test says that it is a matter of content."""
    if "content" not in request.keywords:
        monkeypatch.setattr(recipe_package.Package, "arrays", lambda *_: pytest.fail("arrays were read"))


def refused(path, reason: str) -> None:
    with pytest.raises(RecipeError, match=reason):
        load(path)


def zip_of(folder, extra=(), method=zipfile.ZIP_STORED):
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
        for name, data in extra:
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("name", recipe_package.REQUIRED)
def test_a_file_missing_cut_short_or_changed(folder, name):
    data = (folder / name).read_bytes()
    (folder / name).unlink()
    refused(folder, name)
    if name != recipe_package.SUMS:
        (folder / name).write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
        refused(folder, rf"{name}.*digest")
        (folder / name).write_bytes(data[: len(data) // 2])
        refused(folder, name)


def test_a_zip_cut_short_and_no_recipe_at_all(folder, tmp_path):
    path = zip_of(folder)
    path.write_bytes(path.read_bytes()[:-200])
    refused(path, r"part\.zip: not a complete recipe zip")
    refused(tmp_path / "gone", "no recipe at")


@pytest.mark.parametrize("version", [0, 1, SCHEMA - 1, SCHEMA + 1, str(SCHEMA), float(SCHEMA), True, None])
def test_a_wrong_schema_version(saved, version):
    changed = saved.with_document(saved.document() | {"schema": version})
    refused(changed, rf"schema version.*reads {SCHEMA} only; teach again, or open it with the version that wrote it")


@pytest.mark.parametrize(
    ("name", "reason"),
    [(name, "does not belong") for name in ("notes.txt", "model.pkl", "recipe.py", "golden/run.sh")]
    + [(name, "points outside") for name in ("../evil", "/etc/passwd", "golden/../../x.png", "C:\\x", "a\\b")],
)
def test_a_file_more_or_a_name_that_leads_out(folder, name, reason):
    refused(zip_of(folder, [(name, b"x")]), reason)


def test_a_link(folder):
    target = folder / recipe_package.CALIBRATION
    target.rename(folder.parent / "elsewhere.csv")
    target.symlink_to(folder.parent / "elsewhere.csv")
    refused(folder, "link")


@pytest.mark.parametrize(
    ("put", "reason"), [(os.mkfifo, "not a regular file"), (os.mkdir, "folder .* does not belong")]
)
def test_a_pipe_or_a_folder_for_a_file(folder, put, reason):
    (folder / recipe_package.CALIBRATION).unlink()
    put(folder / recipe_package.CALIBRATION)
    refused(folder, reason)


def test_a_name_twice_in_a_zip_and_one_that_would_explode(folder):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = zip_of(folder, [(recipe_package.RECIPE, b"{}")])
    refused(path, "twice")
    (folder / recipe_package.ARRAYS).unlink()
    refused(zip_of(folder, [(recipe_package.ARRAYS, bytes(50_000_000))], zipfile.ZIP_DEFLATED), "expands more than")


def test_missing_and_unlisted_files_are_refused(folder):
    listing = (folder / recipe_package.SUMS).read_text()
    (folder / recipe_package.SUMS).write_text(listing + "0" * 64 + "  parity.csv\n")
    refused(folder, r"parity\.csv is listed but missing")
    (folder / recipe_package.SUMS).write_text("".join(line for line in listing.splitlines(True) if "calib" not in line))
    refused(folder, "is not listed")


def header(content: object, data: int = 8) -> bytes:
    """An array file with this header and so many bytes."""
    text = json.dumps(content).encode()
    return struct.pack("<Q", len(text)) + text + bytes(data)


def array(**changed) -> dict:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changed}


LIES = {
    "huge header": struct.pack("<Q", 2**60) + b"{}",
    "header past the end": struct.pack("<Q", 200) + b"{}",
    "no header": b"\x01",
    "shape": header(array(shape=[2**40, 2**40])),
    "slack": header(array(), 9),
    "before the data": header(array(data_offsets=[-8, 0]), 0),
    "over another": header(array() | {"b": array()["a"]}),
    "type": header(array(dtype="OBJ")),
    "negative": header(array(shape=[-1])),
    "no table": header({"a": []}, 0),
}


@pytest.mark.parametrize("data", LIES.values(), ids=LIES)
def test_an_array_file_that_lies(saved, data):
    refused(saved.with_file(recipe_package.ARRAYS, data), r"arrays\.safetensors")


@pytest.mark.content
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"colour": "red"}, "unknown field 'colour'"),
        ({"product": 7}, "'product'"),
        ({"limits": {"review": 1.0}}, r"limits\.reject"),
        ({"limits": {"review": True, "reject": 1.0}}, r"limits\.review"),
        ({"live_values": {}}, "live values"),
        ({"live_values": {"k": 3}}, "live values"),
        ({"live_values": {"q": 3}}, "live values"),
        ({"live_values": {"k": -1}}, "live"),
        ({"live_values": {"k": 3.5}}, "live"),
    ],
)
def test_fields_that_do_not_fit(saved, fields, reason):
    refused(saved.with_document(saved.document() | fields), reason)


TEXTS = {
    "not a number": b'{"schema": 2, "x": NaN}',
    "no table": b"[1]",
    "unclosed": b"{",
    "deep": b"[" * 100_000,
    "long number": b'{"schema": 1' + b"0" * 5000 + b"}",
    "infinite": b'{"schema": 1e400}',
    "no text": b"\xff",
    "empty": b"",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_json_that_is_no_recipe(saved, text):
    refused(saved.with_file(recipe_package.RECIPE, text), r"^part: (?=.{10,300}$).*(recipe\.json|schema version)")


@pytest.mark.content
def test_arrays_that_are_not_numbers_or_are_missing(saved):
    arrays = saved.arrays()
    broken = arrays["view0.mean"].copy()
    broken.flat[0] = float("nan")
    refused(saved.with_arrays(arrays | {"view0.mean": broken}), r"view0\.mean holds values outside")
    del arrays["view0.mean"]
    refused(saved.with_arrays(arrays), r"view0\.mean is missing")


ROWS = {
    "a row cut short": "a,b\nc,d,1,,,calibration\n",
    "infinite": "a,b,1e400,,,calibration\nc,d,1,,,calibration\n",
    "not a number": "a,b,nan,,,calibration\nc,d,1,,,calibration\n",
    "a word": "a,b,x,,,calibration\nc,d,1,,,calibration\n",
    "a long name": "a" * 200_000 + ",b,1,,,calibration\nc,d,1,,,calibration\n",
    "a reason that there is none of": "a,b,1,,luck,calibration\nc,d,1,,,calibration\n",
    "another set": "a,b,1,,,judge\nc,d,1,,,calibration\n",
    "a row too few": "a,b,1,,,calibration\n",
    "an open quote": '"a,b,1,,,calibration\n',
    "nothing": "",
}


@pytest.mark.content
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_a_calibration_table_that_is_none(saved, rows):
    whole = b"name,digest,score,label,reason,subset\na,b,1,,,calibration\nc,d,1,,,calibration\n"
    load(saved.with_file(recipe_package.CALIBRATION, whole))
    table = b"name,digest,score,label,reason,subset\n" + rows.encode()
    for content in (table, table.replace(b"score,label", b"label"), b"\xff" + table):
        refused(saved.with_file(recipe_package.CALIBRATION, content), r"^part: .*calibration")


@pytest.mark.content
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_with_a_byte_changed(folder, method):
    path = zip_of(folder, method=method)
    assert load(path).product == "tile"
    data, rng = path.read_bytes(), np.random.default_rng(2)
    for place in rng.choice(len(data), 40, replace=False):
        broken = bytearray(data)
        broken[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        loaded(path)
