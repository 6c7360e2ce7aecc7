"""What recipe.json must hold: every field, and the values that a fit and its user can give it."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inspect_core.datasets.dataset import SUBSETS
from inspect_core.images.areas import MODES, STRICTEST
from inspect_core.images.depth import DEEPEST, DEPTHS
from inspect_core.images.photo_setup import LAYOUT, SLOPES
from inspect_core.images.tiles import CELLS
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED, OTHER_PRODUCT

SCHEMA = 3
"""Of recipe.json, the only one that is read; docs/ARCHITECTURE.md says how it may change."""
RESIZE_RULE = "squash, Pillow BILINEAR"
DIRECTION = "higher is more anomalous"

LARGEST = 1e12
"""Largest number in the unit of features or scores: its square, summed over a layer, still fits float32."""
SMALLEST = 1e-12
"""Smallest width or scale: a number divided by its square still fits float64."""
MANY = 2**31 - 1


@dataclass(frozen=True)
class FieldRule:
    """words: what a value has to be, for error messages; holds: whether a value is that."""

    words: str
    holds: Callable[[Any], bool]


def number(low: float, high: float) -> FieldRule:
    """The rule of a number; both bounds are allowed."""
    return FieldRule(f"a number from {low:g} to {high:g}", lambda value: _is_number(value) and low <= value <= high)


def whole(low: int, high: int = MANY) -> FieldRule:
    """A whole number; both bounds are allowed values."""
    return FieldRule(f"a whole number from {low} to {high}", lambda value: _is_whole(value) and low <= value <= high)


def one_of(*values: object) -> FieldRule:
    """The rule of one of these values, of the same type: 1 is neither 1.0 nor True."""
    allowed = [(type(value), value) for value in values]
    return FieldRule(" or ".join(map(json.dumps, values)), lambda value: (type(value), value) in allowed)


def _list_of(rule: FieldRule, *, least: int = 0) -> FieldRule:
    words = f"a list of {least} or more, each {rule.words}"
    return FieldRule(
        words, lambda value: isinstance(value, list) and len(value) >= least and all(map(rule.holds, value))
    )


def _table_of(rule: FieldRule) -> FieldRule:
    words = f"a table whose values are each {rule.words}"
    return FieldRule(words, lambda value: isinstance(value, dict) and all(map(rule.holds, value.values())))


def _pair(rule: FieldRule) -> FieldRule:
    sides = _list_of(rule, least=2)
    return FieldRule(f"height and width, each {rule.words}", lambda value: sides.holds(value) and len(value) == 2)


def _or_null(rule: FieldRule, words: str) -> FieldRule:
    return FieldRule(words, lambda value: value is None or rule.holds(value))


def _of_type(words: str, kind: type) -> FieldRule:
    return FieldRule(words, lambda value: isinstance(value, kind))


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, float)


_TEXT, _TABLE, FLAG = _of_type("text", str), _of_type("a table of fields", dict), _of_type("true or false", bool)
_OPTIONAL_TEXT, _OPTIONAL_TABLE = _or_null(_TEXT, "text or null"), _or_null(_TABLE, "a table of fields or null")
_BOUNDS = FieldRule(
    "two numbers, the smaller first",
    lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)) and value[0] <= value[1],
)
_LAYOUT = FieldRule(
    f"{LAYOUT**2} numbers",
    lambda value: isinstance(value, list) and len(value) == LAYOUT**2 and all(map(_is_number, value)),
)
_SPREADS = FieldRule(
    f"{LAYOUT**2} numbers above 0", lambda value: _LAYOUT.holds(value) and all(spread > 0 for spread in value)
)
_SLOPES = FieldRule(
    f"{SLOPES} numbers of 0 or more",
    lambda value: (
        isinstance(value, list) and len(value) == SLOPES and all(_is_number(slope) and slope >= 0 for slope in value)
    ),
)
_SIDE = FieldRule("a multiple of 32", lambda value: _is_whole(value) and 32 <= value <= MANY and value % 32 == 0)
_FINITE = FieldRule("a finite number", lambda value: _is_number(value) and abs(value) <= sys.float_info.max)
ANY, DISTANCE, WIDTH = number(-LARGEST, LARGEST), number(0, LARGEST), number(SMALLEST, LARGEST)
SCALE = number(1e-6, 100)
"""mm per pixel of the photos."""

VIEW = {
    "name": _TEXT,
    "params": _TABLE,
    "taps": _list_of(_TEXT, least=1),
    "pool": one_of(1, 3),
    "scale_stops": _list_of(whole(0)),
}
"""A method, its detector's parameters, what it sees, the live values it has local scales for."""

_LEVEL = whole(0, DEEPEST)
_SHIFT = number(-2, 2)
_TURN = number(-720, 720)
DEPTH = {"stored_bits": one_of(8, 16), "bits": one_of(8, *DEPTHS), "left_aligned": FLAG}
DEPTH |= {"black": _LEVEL, "white": _LEVEL, "min_peak": _LEVEL}
_SETUP = dict.fromkeys(("red", "blue", "light_x", "light_y", "drag_x", "drag_y", "blocks", "height", "width"), _BOUNDS)
_SETUP |= {"layout": _LAYOUT, "least_alike": _FINITE, "least_slopes": _SLOPES, "shade_spread": _SPREADS}
_SETUP |= {"shade_limit": _or_null(DISTANCE, f"null or {DISTANCE.words}")}
QUALITY = {"noise": _BOUNDS, "brightness": _BOUNDS, "sharpness": _BOUNDS, "setup": (_OPTIONAL_TABLE, _SETUP)}
TILES = {"size": _pair(_SIDE), "overlap": whole(0), "cell": one_of(*CELLS)}
_RANGES = {"x": _SHIFT, "y": _SHIFT, "angle": _TURN}
_RANGES |= dict.fromkeys(("scale", "share", "correlation", "visible"), _FINITE)
ALIGNMENT = {
    "photo_size": _pair(whole(1)),
    "scale": FLAG,
    "ranges": {name: {"low": rule, "high": rule} for name, rule in _RANGES.items()},
    "symmetry_angles": _list_of(one_of(90, 180, 270)),
    "photos_seen": whole(0),
    "photos_not_located": whole(0),
    "outlined": FLAG,
}
"""By which parts are located; its pictures are arrays."""
AREA = {
    "mode": one_of(*MODES),
    "outline": _list_of(_list_of(number(0, 1), least=2), least=3),
    "strictness": number(1, STRICTEST),
}
AREAS = {"areas": (_list_of(_TABLE, least=1), AREA), "reference": _TEXT}
_WORD, _REASON = one_of("accept", "review", "reject"), one_of("", OTHER_PRODUCT)
CHALLENGE_PART = {"name": _TEXT, "good": FLAG, "verdict": _WORD, "score": _FINITE, "reason": _REASON}
"""A challenge part."""

# Of detectors that several parts of a recipe share: subspaces after a cosine map, with or without Fourier features.
COSINE = {"cosine": one_of(True), "gamma": one_of(None), "explained_variance": number(SMALLEST, 1)}
FOURIER = COSINE | {"gamma": WIDTH}
QUADRICS = {"kept_variance": number(0, 1 + 1e-6), "penalty_value": DISTANCE, "start": one_of("closed form", "random")}
PRODUCT_CHECK = {
    "fused": FLAG,
    "min_energy": number(-LARGEST, 0),
    "limit": ANY,
    "mode": _TEXT,
    "detector": COSINE | {"gamma": _or_null(WIDTH, f"null or {WIDTH.words}")},
}
KNOWN_CASES = {
    "cases": {name: _list_of(_TEXT) for name in ("names", "defect_types", "notes")},
    "surface": QUADRICS,
    "limit": DISTANCE,
    "suggested": DISTANCE,
    "digests": _list_of(_TEXT),
    "by_region": FLAG,
}
_CLASSIFIER = {"classes": _list_of(_TEXT, least=1), "power": WIDTH, "lam": WIDTH, "euclidean": FLAG, "parent": _TEXT}
CLASSIFIERS = {"forest": _CLASSIFIER, "network": _CLASSIFIER | {"with_output": FLAG}}
"""The parameters of the defect types' classifier, by its parent."""
DEFECT_TYPES = {"by_region": FLAG, "minimum_confidence": number(0, 1), "classifier": _TABLE}

TEACHING_PHOTO = {"name": _TEXT, "digest": _TEXT, "label": _TEXT, "subset": one_of(*SUBSETS), "group": _TEXT}
TEACHING = {
    "photos": (_list_of(_TABLE, least=1), TEACHING_PHOTO),
    "taps": _or_null(_list_of(_TEXT, least=1), "null or a list of layers"),
    "parameters": _table_of(_or_null(ANY, f"null or {ANY.words}")),
    "align": one_of("none", "rigid", "similarity"),
    "align_turn": number(0, 180),
    "align_shift": number(0, 1),
    "tolerances": _or_null(_table_of(number(0, MANY)), "null or a table of numbers"),
}
"""What it was taught from, to be taught again."""

UNSCORED = {"name": _TEXT, "label": _TEXT, "subset": one_of(*SUBSETS), "reason": _TEXT}
UNSCORED |= {"verdict": one_of(NOT_LOCATED, NOT_JUDGED)}
"""A part of its teaching that has no score."""

FIELDS = {
    "schema": one_of(SCHEMA),
    "product": _TEXT,
    "created": _TEXT,
    "author": _TEXT,
    "reason": _TEXT,
    "parent": _OPTIONAL_TEXT,
    "backbone": {"name": _TEXT, "taps": _list_of(_TEXT, least=1), "weight_digest": _TEXT},
    "geometry": {
        "size": _pair(_SIDE),
        "grid": _pair(whole(1)),
        "resize": one_of(RESIZE_RULE),
        "colour_order": one_of("RGB"),
        "nearest_upsampling": FLAG,
        "sigma": number(0, LARGEST),
    },
    "views": (_list_of(_TABLE, least=1), VIEW),
    "live_values": _table_of(whole(0)),
    "depth": (_OPTIONAL_TABLE, DEPTH),
    "areas": (_OPTIONAL_TABLE, AREAS),
    "tiles": (_OPTIONAL_TABLE, TILES),
    "mm_per_pixel": _or_null(SCALE, f"null or {SCALE.words}"),
    "quality": (_OPTIONAL_TABLE, QUALITY),
    "as_published": FLAG,
    "limits": {"review": _FINITE, "reject": _FINITE},
    "score_direction": one_of(DIRECTION),
    "calibration": {"good": whole(0), "note": _TEXT},
    "photo_root": _OPTIONAL_TEXT,
    "photo_folders": _list_of(_TEXT),
    "teaching": (_OPTIONAL_TABLE, TEACHING),
    "unscored": (_list_of(_TABLE), UNSCORED),
    "challenge_parts": (_list_of(_TABLE), CHALLENGE_PART),
    "seeds": _table_of(whole(0, 2**63)),
    "versions": _table_of(_TEXT),
    "product_check": (_OPTIONAL_TABLE, PRODUCT_CHECK),
    "known_cases": (_OPTIONAL_TABLE, KNOWN_CASES),
    "defect_types": (_OPTIONAL_TABLE, DEFECT_TYPES),
    "alignment": (_OPTIONAL_TABLE, ALIGNMENT),
}
"""Every field and its rule; a pair: the rule of a table that may be missing, or of a list of tables, and its fields."""


def check(document: Any, detectors: Mapping[str, Mapping[str, FieldRule]] | None) -> None:
    """Raise ValueError naming the first field of recipe.json that is missing, unknown, or not what it must be.

    detectors: the parameters of each method's detector, by the method's name; None: the methods' own parameters are not
    checked, for a reader that uses the exported graph instead.
    """
    _check(document, FIELDS, "")
    if detectors is not None:
        for number, view in enumerate(document["views"]):
            _check(view["name"], one_of(*detectors), f"views.{number}.name")
            _check(view["params"], detectors[view["name"]], f"views.{number}.params")
    if document["defect_types"] is not None:
        classifier = document["defect_types"]["classifier"]
        _check(classifier.get("parent"), one_of(*CLASSIFIERS), "defect_types.classifier.parent")
        _check(classifier, CLASSIFIERS[classifier["parent"]], "defect_types.classifier")


def _check(value: Any, expected: Mapping | FieldRule | tuple[FieldRule, Mapping], path: str) -> None:
    if isinstance(expected, tuple):
        rule, inner = expected
        _check(value, rule, path)
        for name, table in enumerate(value) if isinstance(value, list) else ():
            _check(table, inner, f"{path}.{name}")
        if isinstance(value, dict):
            _check(value, inner, path)
        return
    rule = expected if isinstance(expected, FieldRule) else _TABLE
    if not rule.holds(value):
        text = repr(value)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        raise ValueError(f"field {path!r} of recipe.json is {text}; it must be {rule.words}")
    if isinstance(expected, FieldRule):
        return
    prefix = f"{path}." if path else ""
    if unknown := sorted(set(value) - set(expected)):
        raise ValueError(f"recipe.json has an unknown field {prefix + unknown[0]!r}")
    for name, below in expected.items():
        if name not in value:
            raise ValueError(f"recipe.json lacks the field {prefix + name!r}")
        _check(value[name], below, prefix + name)
