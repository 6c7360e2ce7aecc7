"""Recipes whose every field and array was changed, one at a time: refused by name, or they inspect with finite scores.

Nothing in between: no other exception, and no verdict that rests on what is not a number.
"""

import copy
import lzma
import zipfile
import zlib

import numpy as np
import pytest
import safetensors

from inspect_core.methods.table import METHODS
from inspect_core.package import fields, manifest
from inspect_core.package.fields import RESIZE_RULE
from inspect_core.package.manifest import RecipeError
from inspect_core.recipe import inspect
from inspect_core.records.recipe_file import load

PHOTO = np.random.default_rng(1).integers(0, 255, (50, 40, 3), np.uint8)
FIELD_VALUES = (
    float("nan"), "@1e400@", "@-1e400@", 10**400, 2**40, 1e308, -1e308, 1e-300, -1, 0, 0.5, 2,
    None, True, "x", "", [], [0], {}, {"x": 1},
)  # fmt: skip
FIELDS_TRIED = 3
METHOD_NAMES = (*METHODS, "mahalanobis+quadrics")
ONE_BY_ONE = [
    pytest.param(name, marks=() if name in ("cop", "mahalanobis+quadrics") else pytest.mark.slow)
    for name in METHOD_NAMES
]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def one_changed(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.astype(np.float64)
    changed.flat[0] = value
    with np.errstate(all="ignore"):
        return changed.astype(array.dtype)


ARRAY_CHANGES = {
    "nan": lambda a: one_changed(a, np.nan) if a.dtype.kind == "f" else None,
    "infinite": lambda a: one_changed(a, np.inf) if a.dtype.kind == "f" else None,
    "largest": lambda a: one_changed(a, np.finfo(a.dtype).max) if a.dtype.kind == "f" else None,
    "all large": lambda a: np.full_like(a, 1e11 if a.dtype.kind == "f" else 100),
    "tiny": lambda a: np.full_like(a, np.finfo(a.dtype).tiny) if a.dtype.kind == "f" else None,
    "zero": np.zeros_like,
    "negative": lambda a: -np.abs(a) - 1 if a.dtype.kind in "fi" else None,
    "empty": lambda a: a[:0],
    "flat": lambda a: a.reshape(-1) if a.ndim > 1 else a[None],
    "transposed": lambda a: a.T if a.ndim > 1 else None,
    "one short": lambda a: a[1:],
    "one long": lambda a: np.concatenate([a, a[:1]]),
    "doubled": lambda a: np.concatenate([a, a], axis=-1),
    "of another type": lambda a: a.astype(np.float64 if a.dtype == np.float32 else np.float32),
    "whole": lambda a: a.astype(np.int64),
    "shuffled": lambda a: np.random.default_rng(0).permutation(a.ravel()).reshape(a.shape),
}


WIDTHS = {"one short", "one long", "doubled"}
"""Changes after which a recipe may be that of another network: only features show that theirs is another width."""


def paths(value: object, here: tuple = ()):
    """Every path to something in a document: fields, tables, and the first entry of lists."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, below in inside:
        yield (*here, key)
        yield from paths(below, (*here, key))


def at(document: dict, path: tuple) -> object:
    for key in path:
        document = document[key]
    return document


def keys(path: str) -> tuple:
    return tuple(int(key) if key.isdecimal() else key for key in path.split("."))


def changed(document: dict, path: tuple, value: object) -> dict:
    other = copy.deepcopy(document)
    at(other, path[:-1])[path[-1]] = value
    return other


def loaded(path):
    """The recipe, or None when it is refused by name."""
    try:
        return load(path)
    except RecipeError as error:
        name = str(error).split(": ")[0]
    assert name == path.name
    return None


def outcome(folder, network) -> str:
    """What becomes of a recipe: "refused", "stated" (it loads, and the photo gets an error) or a sound verdict."""
    if (found := loaded(folder)) is None:
        return "refused"
    try:
        verdict = inspect(PHOTO, found, backbone=network)
    except ValueError:
        return "stated"
    assert np.isfinite(verdict.score)
    assert np.isfinite(verdict.anomaly_map).all()
    assert (verdict.verdict == "accept") <= (verdict.score <= found.limits.review)
    return verdict.verdict


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_what_was_not_changed_loads_and_inspects_the_same(recipes, package, network, method):
    again = load(package.save(recipes[method]).folder)
    ours, theirs = (inspect(PHOTO, recipe, backbone=network) for recipe in (again, recipes[method]))
    assert (ours.score, ours.verdict, ours.guard, ours.kind) == (
        theirs.score, theirs.verdict, theirs.guard, theirs.kind
    )  # fmt: skip
    assert np.array_equal(ours.anomaly_map, theirs.anomaly_map)


@pytest.mark.parametrize("method", ONE_BY_ONE)
def test_every_field_changed(recipes, package, network, method):
    document, rng = package.save(recipes[method]).document(), np.random.default_rng(len(method))
    outcomes = []
    for path in paths(document):
        for choice in rng.permutation(len(FIELD_VALUES))[:FIELDS_TRIED]:
            folder = package.with_document(changed(document, path, FIELD_VALUES[choice]))
            outcomes.append(outcome(folder, network))
        removed = changed(document, path, None)
        if isinstance(path[-1], str):
            del at(removed, path[:-1])[path[-1]]
        outcomes.append(outcome(package.with_document(removed), network))
    assert outcomes.count("refused") > 0.8 * len(outcomes)
    assert "stated" not in outcomes


@pytest.mark.parametrize("method", ONE_BY_ONE)
def test_every_array_changed(recipes, package, network, method):
    arrays = package.save(recipes[method]).arrays()
    outcomes = {}
    for name, array in arrays.items():
        for what, change in ARRAY_CHANGES.items():
            if (other := change(array)) is not None:
                outcomes[name, what] = outcome(package.with_arrays(arrays | {name: other}), network)
        if not name.endswith(".columns"):
            without = {other: value for other, value in arrays.items() if other != name}
            assert outcome(package.with_arrays(without), network) == "refused"
    assert outcome(package.with_arrays(arrays | {"view0.more": np.zeros(3)}), network) == "refused"
    said = list(outcomes.values())
    assert said.count("refused") > 0.5 * len(said)
    assert {what for (_, what), each in outcomes.items() if each == "stated"} <= WIDTHS


@pytest.mark.parametrize(
    ("method", "path", "value", "reason"),
    [
        ("mahalanobis", "live.k", 0, "k is 0"),
        ("mahalanobis", "live.k", 6, "live.k is 6, above 5"),
        ("cop", "live.q", 0, "q is 0"),
        ("cop", "live.q", 11, "live.q is 11"),
        ("kernel_pca", "live.q", 99, "live.q is 99"),
        ("kernel_pca", "views.0.params.q", 99, "q is 99"),
        ("quadrics", "live.m", 4, "live.m is 4"),
        ("nearest", "views.0.params.k", 21, "k is 21 of"),
        ("mahalanobis", "geometry.grid", [3, 4], "view0.mean"),
        ("cop", "geometry.grid", [4], "geometry.grid"),
        ("cop", "views.0.pool", 2, "views.0.pool"),
        ("cop", "views.0.pool", True, "views.0.pool"),
        ("cop", "geometry.size", [64], "geometry.size"),
        ("cop", "geometry.size", [64, 65], "geometry.size"),
        ("cop", "geometry.size", [64.0, 96.0], "geometry.size"),
        ("cop", "geometry.sigma", 1.0, "geometry.sigma"),
        ("cop", "geometry.resize", RESIZE_RULE.upper(), "geometry.resize"),
        ("kernel_pca", "views.0.params.sigma", 1e-300, "views.0.params.sigma"),
        ("corp", "views.0.params.gamma", 1e300, "views.0.params.gamma"),
        ("cop", "views.0.params.explained_variance", 1.5, "views.0.params.explained_variance"),
        ("cop", "views.0.name", "os.system", "views.0.name"),
        ("cop", "limits.review", "@1e400@", "limits.review"),
        ("cop", "limits.reject", 10**400, "limits.reject"),
        ("cop", "limits.review", 9.0, "review is 9.0, above reject"),
        ("mahalanobis", "live.area", 0, "live.area is 0"),
        ("mahalanobis", "live.area", 308, "live.area is 308, outside 1..307"),
        ("mahalanobis", "views", [], "views"),
        ("mahalanobis", "views.0.taps", ["blocks.9"], "a tap that the backbone does not have"),
        ("mahalanobis", "views.0.scales", [4], "view0.scale"),
        ("mahalanobis+quadrics", "views.1.scales", [], "view1.scale"),
        ("mahalanobis+quadrics", "views.1.scales", [1, 2], "view1.scale_centre has shape"),
        ("mahalanobis+quadrics", "views.1.scales", [7, 8, 9], "the detector cannot be used.*no local scale"),
        ("mahalanobis+quadrics", "views.1.name", "mahalanobis", "views.1.params"),
        ("mahalanobis", "guard.mode", "maybe", "the product check.*mode is 'maybe'"),
        ("mahalanobis", "guard.limit", "@1e400@", "guard.limit"),
        ("kernel_pca", "guard.smallest", "@-1e400@", "guard.smallest"),
        ("mahalanobis", "gallery.limit", -1, "gallery.limit"),
        ("kernel_pca", "kinds.known_from", 1.5, "kinds.known_from"),
        ("kernel_pca", "kinds.classifier.parent", "tree", "kinds.classifier.parent"),
        ("quadrics", "kinds.classifier.with_output", False, "the naming of defects"),
    ],
)  # fmt: skip
def test_what_fits_nothing_is_refused_by_its_name(recipes, package, method, path, value, reason):
    document = package.save(recipes[method]).document()
    with pytest.raises(RecipeError, match=f"part: .*{reason}"):
        load(package.with_document(changed(document, keys(path), value)))


@pytest.mark.parametrize(("name", "value"), [("x", -2.5), ("y", 1e9), ("angle", 721.0), ("angle", "10")])
def test_a_part_is_searched_for_within_bounds(name, value):
    ranges = {own: {"low": -0.5, "high": 1.0} for own in fields.ALIGNMENT["ranges"]}
    document = {"photo": [8, 8], "scale": True, "ranges": ranges, "turns": [], "seen": 4, "lost": 0}
    fields._check(document, fields.ALIGNMENT, "alignment")
    ranges[name]["high"] = value
    with pytest.raises(ValueError, match=rf"alignment\.ranges\.{name}\.high"):
        fields._check(document, fields.ALIGNMENT, "alignment")


@pytest.mark.parametrize(
    ("name", "at_node", "value"),
    [("left", 0, 0), ("right", 0, 0), ("left", 0, 10**6), ("feature", 0, 8), ("feature", 0, -2), ("roots", 0, 10**6)],
)
def test_trees_that_go_round_or_astray(recipes, package, name, at_node, value):
    arrays = package.save(recipes["kernel_pca"]).arrays()
    arrays[f"kinds.{name}"][at_node] = value
    with pytest.raises(RecipeError, match=r"the naming of defects cannot be used.*a tree leads outside"):
        load(package.with_arrays(arrays))


def test_factors_that_overflow_when_inverted(recipes, package):
    """Every entry is in its range; the inverse is not."""
    arrays = package.save(recipes["mahalanobis"]).arrays()
    rows, columns = np.tril_indices(5)
    arrays["view0.cholesky"][:] = np.where(rows == columns, np.float32(1e-9), np.float32(1e11))
    with pytest.raises(RecipeError, match=r"the detector cannot be used.*not finite"):
        load(package.with_arrays(arrays))


@pytest.mark.parametrize("raised", [
    zlib.error("x"), lzma.LZMAError("x"), OverflowError("x"), TypeError("x"), IndexError("x"), KeyError("x"),
    ZeroDivisionError("x"), RecursionError("x"), MemoryError(), AssertionError(), RuntimeError("x"), EOFError(),
    safetensors.SafetensorError("x"), zipfile.BadZipFile("x"), OSError(5, "x"), UnicodeDecodeError("a", b"", 0, 1, "x"),
    type("InvalidProtobuf", (Exception,), {})("x"),
], ids=lambda error: type(error).__name__)  # fmt: skip
def test_whatever_is_raised_is_a_refusal(recipes, package, monkeypatch, raised):
    def fail(data):
        raise raised

    package.save(recipes["cop"])
    monkeypatch.setattr(manifest.Package, "arrays", fail)
    with pytest.raises(RecipeError, match=r"^part: .*\(.*\);"):
        load(package.folder)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_with_a_byte_changed(recipes, package, tmp_path, method):
    package.save(recipes["cop"])
    whole = tmp_path / "part.zip"
    with zipfile.ZipFile(whole, "w", method) as archive:
        for name, data in package.files.items():
            archive.writestr(name, data)
    assert load(whole).product == "tile"
    data, rng = whole.read_bytes(), np.random.default_rng(2)
    for place in rng.choice(len(data), 40, replace=False):
        broken = bytearray(data)
        broken[place] ^= 1 << int(rng.integers(8))
        whole.write_bytes(broken)
        loaded(whole)


@pytest.mark.parametrize("table", [
    b"name,digest,score\na,b\nc,d,1\n", b"name,digest,score\na,b,1e400\nc,d,1\n", b"name,digest,score\na,b,x\nc,d,1\n",
    b"name,digest,score\n" + b"a" * 200_000 + b",b,1\nc,d,1\n", b"name,digest\na,b\nc,d\n", b"\xff\xfe", b"",
    b'name,digest,score\n"a,b,1\n', b"name,digest,score\na,b,nan\nc,d,1\n", b"name,digest,score\n\0,b,1\n",
], ids=range(10))  # fmt: skip
def test_a_calibration_table_that_is_none(recipes, package, table):
    package.save(recipes["cop"])
    with pytest.raises(RecipeError, match=r"^part: .*calibration"):
        load(package.with_file(manifest.CALIBRATION, table))


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b'{"schema": 1' + b"0" * 5000 + b"}", b'{"schema": 1e400}', b"\xff", b""]
)
def test_json_that_no_parser_takes(recipes, package, text):
    package.save(recipes["cop"])
    with pytest.raises(RecipeError, match=r"^part: .{10,300}$"):
        load(package.with_file(manifest.RECIPE, text))
