"""Recipes that were cut, changed, or made to harm: each is refused by name and reason, before its arrays are read."""

import hashlib
import json
import struct
import zipfile

import pytest
import safetensors.numpy

from inspect_core.package import manifest
from inspect_core.package.manifest import RecipeError
from inspect_core.records.recipe_file import load, save


@pytest.fixture
def folder(recipe, tmp_path):
    save(recipe, tmp_path / "part")
    return tmp_path / "part"


@pytest.fixture(autouse=True)
def nothing_is_read_into_memory(monkeypatch, request):
    """Refusals must come before the array file is loaded, unless the test says that it is a matter of content."""
    if "content" in request.keywords:
        return
    monkeypatch.setattr(safetensors.numpy, "load", lambda data: pytest.fail("arrays were read"))


def rewrite(folder, name, data: bytes) -> None:
    """Change one file and put its digest right, as someone who means harm would."""
    (folder / name).write_bytes(data)
    names = [path.name for path in folder.iterdir() if path.name != manifest.SUMS]
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    (folder / manifest.SUMS).write_bytes(manifest.listing_of(sums))


def edit(folder, **fields) -> None:
    document = json.loads((folder / manifest.RECIPE).read_text())
    rewrite(folder, manifest.RECIPE, json.dumps(document | fields).encode())


def zip_of(folder, extra=()) -> object:
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, file.name)
        for name, data in extra:
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("name", manifest.REQUIRED)
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    with pytest.raises(RecipeError, match=name):
        load(folder)


@pytest.mark.parametrize("name", [manifest.RECIPE, manifest.ARRAYS, manifest.CALIBRATION])
def test_a_file_cut_short_or_changed(folder, name):
    data = bytearray((folder / name).read_bytes())
    data[-2] ^= 1
    (folder / name).write_bytes(data)
    with pytest.raises(RecipeError, match=rf"{name}.*digest"):
        load(folder)
    (folder / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(RecipeError, match=name):
        load(folder)


def test_a_zip_cut_short(folder):
    path = zip_of(folder)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(RecipeError, match=r"part\.zip: not a complete recipe zip"):
        load(path)


def test_no_recipe_there(tmp_path):
    with pytest.raises(RecipeError, match="no recipe at"):
        load(tmp_path / "gone")


@pytest.mark.parametrize("version", [0, 2, 5, "1", 1.0, True, None])
def test_a_wrong_schema_version(folder, version):
    edit(folder, schema=version)
    with pytest.raises(RecipeError, match=r"schema version.*reads 1 only; open it with the version that wrote it"):
        load(folder)


@pytest.mark.parametrize("name", ["notes.txt", "model.pkl", "recipe.py", "golden/run.sh"])
def test_an_extra_file(folder, name):
    with pytest.raises(RecipeError, match="does not belong"):
        load(zip_of(folder, [(name, b"x")]))


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "golden/../../x.png", "C:\\x", "a\\b"])
def test_a_name_that_leads_out(folder, name):
    with pytest.raises(RecipeError, match=r"leads out|does not belong"):
        load(zip_of(folder, [(name, b"x")]))


def test_a_link(folder):
    target = folder / manifest.CALIBRATION
    target.rename(folder.parent / "elsewhere.csv")
    target.symlink_to(folder.parent / "elsewhere.csv")
    with pytest.raises(RecipeError, match="link"):
        load(folder)


def test_a_name_twice_in_a_zip(folder):
    path = folder.with_suffix(".zip")
    with pytest.warns(UserWarning, match="Duplicate name"):
        zip_of(folder, [(manifest.RECIPE, b"{}")])
    with pytest.raises(RecipeError, match="twice"):
        load(path)


def test_a_zip_that_would_explode(folder):
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(manifest.ARRAYS, bytes(50_000_000))
    with pytest.raises(RecipeError, match="would grow"):
        load(path)


def test_a_listed_file_that_is_missing_and_a_file_that_is_not_listed(folder):
    listing = (folder / manifest.SUMS).read_text()
    (folder / manifest.SUMS).write_text(listing + "0" * 64 + "  parity.csv\n")
    with pytest.raises(RecipeError, match=r"parity\.csv is listed but missing"):
        load(folder)
    (folder / manifest.SUMS).write_text("".join(line for line in listing.splitlines(True) if "calib" not in line))
    with pytest.raises(RecipeError, match="is not listed"):
        load(folder)


def header(entries: dict) -> bytes:
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 200) + b"{}",
        b"\x01",
        header({"a": {"dtype": "F32", "shape": [2**40, 2**40], "data_offsets": [0, 8]}}) + bytes(8),
        header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}) + bytes(9),
        header({"a": {"dtype": "OBJ", "shape": [2], "data_offsets": [0, 8]}}) + bytes(8),
        header({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 8]}}) + bytes(8),
        header({"a": []}),
    ],
    ids=["huge header", "header past the end", "no header", "shape", "slack", "type", "negative", "no table"],
)
def test_an_array_file_that_lies(folder, data):
    rewrite(folder, manifest.ARRAYS, data)
    with pytest.raises(RecipeError, match=r"arrays\.safetensors"):
        load(folder)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"colour": "red"}, "unknown field 'colour'"),
        ({"product": 7}, "'product'"),
        ({"limits": {"review": 1.0}}, r"limits\.reject"),
        ({"limits": {"review": True, "reject": 1.0}}, r"limits\.review"),
    ],
)
@pytest.mark.content
def test_fields_that_do_not_fit(folder, fields, reason):
    edit(folder, **fields)
    with pytest.raises(RecipeError, match=reason):
        load(folder)


@pytest.mark.content
@pytest.mark.parametrize("text", ['{"schema": 1, "x": NaN}', "[1]", "{"])
def test_json_that_is_not_a_recipe(folder, text):
    rewrite(folder, manifest.RECIPE, text.encode())
    with pytest.raises(RecipeError, match=r"recipe\.json"):
        load(folder)


@pytest.mark.content
@pytest.mark.parametrize(
    ("live", "reason"),
    [
        ({}, "live parameters"),
        ({"k": 3}, "live parameters"),
        ({"k": -1}, "live"),
        ({"k": 3.5}, "live"),
        ({"q": 3}, "live parameters"),
    ],
)
def test_a_live_value_outside_the_fit(folder, live, reason):
    edit(folder, live=live)
    with pytest.raises(RecipeError, match=reason):
        load(folder)


@pytest.mark.content
def test_arrays_that_are_not_numbers_or_are_missing(folder):
    arrays = safetensors.numpy.load((folder / manifest.ARRAYS).read_bytes())
    broken = {name: value.copy() for name, value in arrays.items()}
    broken["view0.mean"].flat[0] = float("nan")
    rewrite(folder, manifest.ARRAYS, safetensors.numpy.save(broken))
    with pytest.raises(RecipeError, match=r"view0\.mean holds values outside"):
        load(folder)
    del arrays["view0.mean"]
    rewrite(folder, manifest.ARRAYS, safetensors.numpy.save(arrays))
    with pytest.raises(RecipeError, match=r"view0\.mean is missing"):
        load(folder)
