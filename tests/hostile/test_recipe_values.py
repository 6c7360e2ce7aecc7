"""Recipes whose every field and array was changed, one at a time: refused by name, or they inspect with finite scores.

Nothing in between: no other exception, and no verdict that rests on what is not a number.
"""

import copy
import json
import lzma
import zipfile
import zlib

import numpy as np
import pytest
import safetensors

from inspect_core.images.alignment import Alignment
from inspect_core.methods.registry import DETECTORS, FIELDS, METHODS
from inspect_core.recipe import inspect
from inspect_core.recipe_format import arrays as recipe_arrays
from inspect_core.recipe_format import fields, recipe_package
from inspect_core.recipe_format.fields import RESIZE_RULE
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_io.recipe_file import load
from inspect_core.runtime.json_record import check
from tests.hostile.files import loaded

PHOTO = np.random.default_rng(1).integers(0, 255, (50, 40, 3), np.uint8)
FIELD_VALUES = (float("nan"), "@1e400@", "@-1e400@", 10**400, 2**40, 1e308, -1e308, 1e-300, -1, 0, 0.5, 2)
FIELD_VALUES += (None, True, "x", "", [], [0], {}, {"x": 1})
FIELDS_TRIED = 3
METHOD_NAMES = (*METHODS, "mahalanobis+quadrics")
THROUGH_FILES = ("quadrics", "mahalanobis+quadrics")
"""Changed in their files and loaded; those of all methods are checked in memory."""

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")


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
    members = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, below in members:
        yield (*here, key)
        yield from paths(below, (*here, key))


def changed(document: dict, path: tuple, *value: object) -> dict:
    """The document with another value there, or, for a field, without it when none is given."""
    other = inner = copy.deepcopy(document)
    for key in path[:-1]:
        inner = inner[key]
    if value or isinstance(path[-1], int):
        inner[path[-1]] = value[0] if value else None
    else:
        del inner[path[-1]]
    return other


def documents(document: dict, seed: int):
    """Each with one field changed or removed."""
    rng = np.random.default_rng(seed)
    for path in paths(document):
        chosen = rng.permutation(len(FIELD_VALUES))[:FIELDS_TRIED]
        yield from (changed(document, path, FIELD_VALUES[choice]) for choice in chosen)
        yield changed(document, path)


def tables(arrays: dict[str, np.ndarray]):
    """(how, arrays), each with one array changed, removed or added."""
    for name, array in arrays.items():
        others = {what: change(array) for what, change in ARRAY_CHANGES.items()}
        yield from ((what, arrays | {name: other}) for what, other in others.items() if other is not None)
        if not name.endswith(".columns"):
            yield "removed", {other: value for other, value in arrays.items() if other != name}
    yield "added", arrays | {"view0.more": np.zeros(3)}


CODES = {np.dtype(code): name for name, code in recipe_arrays.DTYPES.items()}


def is_refused(document: dict, arrays: dict[str, np.ndarray]) -> bool:
    """Whether the checks before anything is built refuse it; they raise nothing but ValueError."""
    header = {name: (CODES.get(value.dtype, ""), value.shape) for name, value in arrays.items()}
    try:
        fields.check_document(document, FIELDS)
        recipe_arrays.check(document, header, DETECTORS)
        recipe_arrays.check_values(document, arrays, DETECTORS)
    except ValueError:
        return True
    return False


def outcome(folder, network) -> str:
    """What becomes of a recipe: "refused", "stated" (it loads, and the photo gets an error) or a sound verdict."""
    if (recipe := loaded(folder)) is None:
        return "refused"
    try:
        verdict = inspect(PHOTO, recipe, backbone=network)
    except ValueError:
        return "stated"
    assert np.isfinite(verdict.score)
    assert np.isfinite(verdict.anomaly_map).all()
    assert (verdict.verdict == "accept") <= (verdict.score <= recipe.limits.review)
    return verdict.verdict


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_what_was_not_changed_loads_and_inspects_the_same(recipes, package, network, method):
    restored = load(package.save(recipes[method]).folder)
    ours, theirs = (inspect(PHOTO, recipe, backbone=network) for recipe in (restored, recipes[method]))
    for name in ("score", "verdict", "product_check", "defect_type"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert np.array_equal(ours.anomaly_map, theirs.anomaly_map)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_every_field_and_array_changed_is_checked_in_memory(recipes, package, method):
    saved = package.save(recipes[method])
    document, arrays = saved.document(), saved.arrays()
    assert not is_refused(document, arrays)
    field_refusals = [
        is_refused(json.loads(package.text_of(other)), arrays) for other in documents(document, len(method))
    ]
    assert sum(field_refusals) > 0.75 * len(field_refusals)
    array_refusals = [(what, is_refused(document, other)) for what, other in tables(arrays)]
    assert sum(refused for _, refused in array_refusals) > 0.4 * len(array_refusals)
    assert all(refused for what, refused in array_refusals if what in ("removed", "added"))


@pytest.mark.parametrize("method", THROUGH_FILES)
def test_every_field_changed_in_its_file(recipes, package, network, method):
    document = package.save(recipes[method]).document()
    outcomes = [outcome(package.with_document(other), network) for other in documents(document, len(method))]
    assert outcomes.count("refused") > 0.8 * len(outcomes)
    assert "stated" not in outcomes


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
@pytest.mark.parametrize("method", THROUGH_FILES)
def test_every_array_changed_in_its_file(recipes, package, network, method):
    changed = tables(package.save(recipes[method]).arrays())
    outcomes = [(what, outcome(package.with_arrays(arrays), network)) for what, arrays in changed]
    message = [message for _, message in outcomes]
    assert message.count("refused") > 0.5 * len(message)
    assert {what for what, message in outcomes if message == "stated"} <= WIDTHS
    assert {message for what, message in outcomes if what in ("removed", "added")} == {"refused"}


@pytest.mark.parametrize(
    ("method", "path", "value", "reason"),
    [
        ("mahalanobis", "live_values.k", 0, "k is 0"),
        ("mahalanobis", "live_values.k", 6, "live_values.k is 6, above 5"),
        ("cop", "live_values.q", 0, "q is 0"),
        ("cop", "live_values.q", 11, "live_values.q is 11"),
        ("kernel_pca", "live_values.q", 99, "live_values.q is 99"),
        ("kernel_pca", "views.0.params.q", 99, "q is 99"),
        ("quadrics", "live_values.m", 4, "live_values.m is 4"),
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
        ("mahalanobis", "live_values.area", 0, "live_values.area is 0"),
        ("mahalanobis", "live_values.area", 308, "live_values.area is 308, outside 1..307"),
        ("mahalanobis", "views", [], "views"),
        ("mahalanobis", "views.0.taps", ["blocks.9"], "a tap that the backbone does not have"),
        ("mahalanobis", "views.0.scale_stops", [4], "view0.scale"),
        ("mahalanobis+quadrics", "views.1.scale_stops", [], "view1.scale"),
        ("mahalanobis+quadrics", "views.1.scale_stops", [1, 2], "view1.scale_centre has shape"),
        ("mahalanobis+quadrics", "views.1.scale_stops", [7, 8, 9], "the detector cannot be used.*no local scale"),
        ("mahalanobis+quadrics", "views.1.name", "mahalanobis", "views.1.params"),
        ("mahalanobis", "product_check.mode", "maybe", "the product check.*mode is 'maybe'"),
        ("mahalanobis", "product_check.limit", "@1e400@", "product_check.limit"),
        ("kernel_pca", "product_check.min_energy", "@-1e400@", "product_check.min_energy"),
        ("mahalanobis", "known_cases.limit", -1, "known_cases.limit"),
        ("kernel_pca", "defect_types.minimum_confidence", 1.5, "defect_types.minimum_confidence"),
        ("kernel_pca", "defect_types.classifier.parent", "tree", "defect_types.classifier.parent"),
        ("quadrics", "defect_types.classifier.with_output", False, "the defect type classifier"),
    ],
)
def test_what_fits_nothing_is_refused_by_its_name(recipes, package, method, path, value, reason):
    document = package.save(recipes[method]).document()
    keys = tuple(int(key) if key.isdecimal() else key for key in path.split("."))
    with pytest.raises(RecipeError, match=f"part: .*{reason}"):
        load(package.with_document(changed(document, keys, value)))


@pytest.mark.parametrize(("name", "value"), [("x", -2.5), ("y", 1e9), ("angle", 721.0), ("angle", "10")])
def test_a_part_is_searched_for_within_bounds(name, value):
    ranges = {name: {"low": -0.5, "high": 1.0} for name in Alignment.rules()["ranges"]}
    document = {"photo_size": [8, 8], "scale": True, "ranges": ranges, "symmetry_angles": [], "outlined": False}
    document |= {"photos_seen": 4, "photos_not_located": 0}
    check(document, Alignment.rules(), "alignment", fields.FILE)
    ranges[name]["high"] = value
    with pytest.raises(ValueError, match=rf"alignment\.ranges\.{name}\.high"):
        check(document, Alignment.rules(), "alignment", fields.FILE)


@pytest.mark.parametrize(
    ("name", "at_node", "value"),
    [("left", 0, 0), ("right", 0, 0), ("left", 0, 10**6), ("feature", 0, 8), ("feature", 0, -2), ("roots", 0, 10**6)],
)
def test_trees_that_go_round_or_astray(recipes, package, name, at_node, value):
    arrays = package.save(recipes["kernel_pca"]).arrays()
    arrays[f"defect_types.{name}"][at_node] = value
    with pytest.raises(RecipeError, match=r"the defect type classifier cannot be used.*a tree leads outside"):
        load(package.with_arrays(arrays))


def test_factors_that_overflow_when_inverted(recipes, package):
    """Every entry is in its range; the inverse is not."""
    arrays = package.save(recipes["mahalanobis"]).arrays()
    rows, columns = np.tril_indices(5)
    arrays["view0.cholesky"][:] = np.where(rows == columns, np.float32(1e-9), np.float32(1e11))
    with pytest.raises(RecipeError, match=r"the detector cannot be used.*not finite"):
        load(package.with_arrays(arrays))


KINDS = (zlib.error, lzma.LZMAError, OverflowError, TypeError, IndexError, KeyError, ZeroDivisionError, RecursionError)
KINDS += (MemoryError, AssertionError, RuntimeError, EOFError, safetensors.SafetensorError, zipfile.BadZipFile)
RAISED = [kind("x") for kind in (*KINDS, type("InvalidProtobuf", (Exception,), {}))]
RAISED += [OSError(5, "x"), UnicodeDecodeError("a", b"", 0, 1, "x")]


@pytest.mark.parametrize("raised", RAISED, ids=lambda error: type(error).__name__)
def test_whatever_is_raised_is_a_refusal(recipes, package, monkeypatch, raised):
    def fail(data):
        raise raised

    package.save(recipes["cop"])
    monkeypatch.setattr(recipe_package.Package, "arrays", fail)
    with pytest.raises(RecipeError, match=r"^part: .*\(.*\);"):
        load(package.folder)
