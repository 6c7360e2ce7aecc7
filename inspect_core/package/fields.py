"""What recipe.json must say: every field, and the values that a fit and its user can give it."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

RESIZE_RULE = "squash, Pillow BILINEAR"
DIRECTION = "higher is more anomalous"

LARGEST = 1e12
"""Of a number in the unit of features or scores: its square, summed over a layer, still fits float32."""
SMALLEST = 1e-12
"""Of a width or scale: what is divided by its square still fits float64."""
MANY = 2**31 - 1


@dataclass(frozen=True)
class Rule:
    """words: what a value has to be, as an error says it; holds: whether a value is that."""

    words: str
    holds: Callable[[object], bool]


def _number(low: float, high: float) -> Rule:
    return Rule(f"a number from {low:g} to {high:g}", lambda value: _is_number(value) and low <= value <= high)


def _whole(low: int, high: int = MANY) -> Rule:
    return Rule(f"a whole number from {low} to {high}", lambda value: _is_whole(value) and low <= value <= high)


def _one_of(*values: object) -> Rule:
    allowed = [(type(value), value) for value in values]
    return Rule(" or ".join(map(json.dumps, values)), lambda value: (type(value), value) in allowed)


def _list_of(rule: Rule, *, least: int = 0) -> Rule:
    return Rule(
        f"a list of {least} or more, each {rule.words}",
        lambda value: isinstance(value, list) and len(value) >= least and all(map(rule.holds, value)),
    )


def _table_of(rule: Rule) -> Rule:
    return Rule(
        f"a table whose values are each {rule.words}",
        lambda value: isinstance(value, dict) and all(map(rule.holds, value.values())),
    )


def _pair(rule: Rule) -> Rule:
    sides = _list_of(rule)
    return Rule(f"height and width, each {rule.words}", lambda value: sides.holds(value) and len(value) == 2)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, float)


_TEXT = Rule("text", lambda value: isinstance(value, str))
_OPTIONAL_TEXT = Rule("text or null", lambda value: value is None or isinstance(value, str))
_TABLE = Rule("a table of fields", lambda value: isinstance(value, dict))
_OPTIONAL_TABLE = Rule("a table of fields or null", lambda value: value is None or isinstance(value, dict))
_FLAG = Rule("true or false", lambda value: isinstance(value, bool))
_SIDE = Rule("a multiple of 32", lambda value: _is_whole(value) and value >= 32 and value % 32 == 0)
_FINITE = Rule("a finite number", lambda value: _is_number(value) and abs(value) <= sys.float_info.max)
_ANY, _DISTANCE, _WIDTH = _number(-LARGEST, LARGEST), _number(0, LARGEST), _number(SMALLEST, LARGEST)
_SHARE = _number(0, 1)
_ANY_WIDTH = Rule(f"null or {_WIDTH.words}", lambda value: value is None or _WIDTH.holds(value))

FIELDS = {
    "schema": _whole(0),
    "product": _TEXT,
    "created": _TEXT,
    "author": _TEXT,
    "reason": _TEXT,
    "parent": _OPTIONAL_TEXT,
    "state": _TEXT,
    "backbone": {"name": _TEXT, "taps": _list_of(_TEXT, least=1), "weight_digest": _TEXT},
    "geometry": {
        "size": _pair(_SIDE),
        "grid": _pair(_whole(1)),
        "resize": _one_of(RESIZE_RULE),
        "colour_order": _one_of("RGB"),
        "pool": _one_of(1, 3),
        "nearest": _FLAG,
        "sigma": _number(0, LARGEST),
    },
    "detector": {"name": _TEXT, "params": _TABLE, "live": _table_of(_whole(0))},
    "limits": {"review": _FINITE, "reject": _FINITE},
    "score_direction": _one_of(DIRECTION),
    "calibration": {"good": _whole(0), "note": _TEXT},
    "seeds": _table_of(_whole(0, 2**63)),
    "versions": _table_of(_TEXT),
    "guard": _OPTIONAL_TABLE,
    "gallery": _OPTIONAL_TABLE,
    "kinds": _OPTIONAL_TABLE,
}

_GAUSSIANS = {"ridge": _ANY, "images": _whole(1), "storage": _one_of("float32", "float16")}
_COSINE = {"cosine": _one_of(True), "gamma": _one_of(None), "explained_variance": _number(SMALLEST, 1)}
_FOURIER = _COSINE | {"gamma": _WIDTH}
_QUADRICS = {
    "kept_variance": _number(0, 1 + 1e-6),
    "penalty_value": _DISTANCE,
    "start": _one_of("closed form", "random"),
}
DETECTORS = {
    "mahalanobis": _GAUSSIANS,
    "sampled": _GAUSSIANS,
    "cop": _COSINE,
    "corp": _FOURIER,
    "pca": _COSINE | {"cosine": _one_of(False)},
    "kernel_pca": {"sigma": _WIDTH, "q": _whole(0)},
    "quadrics": _QUADRICS,
    "nearest": {"k": _whole(1), "unit": _one_of(False)},
}
"""The parameters of each method's detector, by the method's name."""

GUARD = {
    "fused": _FLAG,
    "smallest": _number(-LARGEST, 0),
    "limit": _ANY,
    "mode": _TEXT,
    "detector": _COSINE | {"gamma": _ANY_WIDTH},
}
GALLERY = {
    "gallery": {name: _list_of(_TEXT) for name in ("names", "kinds", "notes")},
    "surface": _QUADRICS,
    "limit": _DISTANCE,
    "suggested": _DISTANCE,
    "digests": _list_of(_TEXT),
    "by_region": _FLAG,
}
KINDS = {"by_region": _FLAG, "known_from": _SHARE, "classifier": _TABLE}
_CLASSIFIER = {"classes": _list_of(_TEXT, least=1), "power": _WIDTH, "lam": _WIDTH, "euclidean": _FLAG, "parent": _TEXT}
CLASSIFIERS = {
    "forest": _CLASSIFIER,
    "network": _CLASSIFIER | {"with_output": _FLAG},
}
"""The parameters of the kinds' classifier, by its parent."""


def check(document: object) -> None:
    """Raises ValueError naming the first field of recipe.json that is missing, unknown, or not what it must be."""
    _check(document, FIELDS, "")
    detector = document["detector"]
    _check(detector["name"], _one_of(*DETECTORS), "detector.name")
    _check(detector["params"], DETECTORS[detector["name"]], "detector.params")
    for name, fields in (("guard", GUARD), ("gallery", GALLERY), ("kinds", KINDS)):
        if document[name] is not None:
            _check(document[name], fields, name)
    if document["kinds"] is not None:
        classifier = document["kinds"]["classifier"]
        _check(classifier.get("parent"), _one_of(*CLASSIFIERS), "kinds.classifier.parent")
        _check(classifier, CLASSIFIERS[classifier["parent"]], "kinds.classifier")


def _check(value: object, expected: Mapping | Rule, path: str) -> None:
    if isinstance(expected, Rule):
        if not expected.holds(value):
            raise ValueError(f"field {path!r} of recipe.json is {_shown(value)}; it must be {expected.words}")
        return
    if not isinstance(value, dict):
        raise ValueError(f"field {path!r} of recipe.json is {_shown(value)}; it must be a table of fields")
    inside = f"{path}." if path else ""
    unknown = sorted(set(value) - set(expected))
    if unknown:
        raise ValueError(f"recipe.json has an unknown field {inside + unknown[0]!r}")
    for name, rule in expected.items():
        if name not in value:
            raise ValueError(f"recipe.json lacks the field {inside + name!r}")
        _check(value[name], rule, inside + name)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
