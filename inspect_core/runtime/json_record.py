"""Records: dataclasses that JSON keeps. A field says what it must be; this checks, writes and reads all of them.

    bits: Annotated[int, one_of(8, 12, 16)]

says what a file may hold. Texts, truth values, records and tuples of them need no rule. One more field is one more line
in its class: `rules_of` checks it, `to_table` writes it and `from_table` reads it; `read_record` reads a whole file.
"""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from inspect_core.runtime.json_text import from_json

T = TypeVar("T")
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


class Least(NamedTuple):
    """Declares how many entries a tuple has at least."""

    count: int


Rules = Mapping[str, Any]
"""By field: a FieldRule, the Rules of a table, or a pair, the rule of a table that may be missing or of a list of
tables, and their Rules."""
ELSEWHERE = "elsewhere"
"""Declares a field that a file states in another place: it is neither written nor read here."""


def number(low: float, high: float) -> FieldRule:
    """The rule of a number; both bounds are allowed."""
    return FieldRule(f"a number from {low:g} to {high:g}", lambda value: is_number(value) and low <= value <= high)


def whole(low: int, high: int = MANY) -> FieldRule:
    """A whole number; both bounds are allowed values."""
    return FieldRule(f"a whole number from {low} to {high}", lambda value: is_whole(value) and low <= value <= high)


def multiple_of(step: int) -> FieldRule:
    """A whole number of steps, one at least."""
    return FieldRule(
        f"a multiple of {step}", lambda value: is_whole(value) and step <= value <= MANY and value % step == 0
    )


def one_of(*values: object) -> FieldRule:
    """The rule of one of these values, of the same type: 1 is neither 1.0 nor True."""
    allowed = [(type(value), value) for value in values]
    return FieldRule(" or ".join(map(json.dumps, values)), lambda value: (type(value), value) in allowed)


def list_of(rule: FieldRule, *, least: int = 0) -> FieldRule:
    """A list, each entry of which keeps a rule."""
    words = f"a list of {least} or more, each {rule.words}"
    return FieldRule(
        words, lambda value: isinstance(value, list) and len(value) >= least and all(map(rule.holds, value))
    )


def numbers(count: int, rule: FieldRule, words: str) -> FieldRule:
    """A list of so many numbers, each of which keeps a rule."""
    return FieldRule(
        f"{count} {words}",
        lambda value: isinstance(value, list) and len(value) == count and all(map(rule.holds, value)),
    )


def table_of(rule: FieldRule) -> FieldRule:
    """A table, each value of which keeps a rule."""
    words = f"a table whose values are each {rule.words}"
    return FieldRule(words, lambda value: isinstance(value, dict) and all(map(rule.holds, value.values())))


def pair(rule: FieldRule) -> FieldRule:
    """Height and width."""
    sides = list_of(rule, least=2)
    return FieldRule(f"height and width, each {rule.words}", lambda value: sides.holds(value) and len(value) == 2)


def or_null(rule: FieldRule, words: str = "") -> FieldRule:
    """What keeps a rule, or null; words: by default those of the rule."""
    return FieldRule(words or f"null or {rule.words}", lambda value: value is None or rule.holds(value))


def is_whole(value: object) -> bool:
    """Whether it is a whole number, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether it is a number, and no truth value."""
    return is_whole(value) or isinstance(value, float)


def _of_type(words: str, kind: type) -> FieldRule:
    return FieldRule(words, lambda value: isinstance(value, kind))


TEXT, TABLE, FLAG = _of_type("text", str), _of_type("a table of fields", dict), _of_type("true or false", bool)
OPTIONAL_TEXT, OPTIONAL_TABLE = or_null(TEXT, "text or null"), or_null(TABLE, "a table of fields or null")
FINITE = FieldRule("a finite number", lambda value: is_number(value) and abs(value) <= sys.float_info.max)
ANY, DISTANCE, WIDTH = number(-LARGEST, LARGEST), number(0, LARGEST), number(SMALLEST, LARGEST)
BOUNDS = FieldRule(
    "two numbers, the smaller first",
    lambda value: isinstance(value, list) and len(value) == 2 and all(map(is_number, value)) and value[0] <= value[1],
)


@cache
def rules_of(record: Any) -> Rules:
    """What every field of a dataclass must be in JSON. Raises TypeError for a field that does not say."""
    hints = get_type_hints(record, include_extras=True)
    return rules_of_hints(record.__name__, {field.name: hints[field.name] for field in fields(record)})


def rules_of_hints(record: str, hints: Mapping[str, Any]) -> Rules:
    """As `rules_of`, of the fields with these types, Annotated, in a class of that name."""
    return {name: _rule(hint, f"{record}.{name}") for name, hint in hints.items() if not _is_elsewhere(hint)}


def to_table(record: Any) -> dict[str, Any]:
    """A record as JSON has it, in the order of its fields."""
    written = rules_of(type(record))
    return {name: value for name, value in asdict(record).items() if name in written}


def read_record(kind: type[T], content: str | bytes, file: str) -> T:
    """The record that a JSON text of `file` holds.

    Raises ValueError as `from_json`, `check` and the class do.
    """
    table = from_json(content)
    check(table, rules_of(kind), "", file)
    return from_table(kind, table)


def to_plain(value: Any) -> Any:
    """A value as JSON has it: records as tables, alone or in a tuple, any other as it is."""
    if isinstance(value, tuple):
        return [to_plain(entry) for entry in value]
    return to_table(value) if is_dataclass(value) else value


def from_table(kind: type[T], table: Mapping[str, Any], **elsewhere: Any) -> T:
    """The inverse of `to_table` for a table that was checked; elsewhere: the fields declared so.

    Raises ValueError as the class does.
    """
    hints = _hints(kind)
    return kind(**{name: from_plain(hints[name], value) for name, value in dict(table).items()}, **elsewhere)


def from_plain(hint: Any, value: Any) -> Any:
    """The inverse of `to_plain` for a value that was checked; hint: the type that it is declared as."""
    origin, inner = get_origin(hint), get_args(hint)
    if value is None:
        return None
    if origin in (Union, UnionType):
        [member] = [member for member in inner if member is not NoneType]
        return from_plain(member, value)
    if origin is tuple:
        hints = inner[:1] * len(value) if inner[1:] == (...,) else inner
        return tuple(from_plain(member, entry) for member, entry in zip(hints, value, strict=True))
    if is_dataclass(hint):
        return from_table(hint, value)
    return float(value) if hint is float else value


def check(value: Any, expected: Any, path: str, file: str) -> None:
    """Raise ValueError naming the first field of `file` below `path` that is missing, unknown, or not what it must be.

    expected: a FieldRule, Rules, or a pair of both.
    """
    if isinstance(expected, tuple):
        rule, inner = expected
        check(value, rule, path, file)
        for name, table in enumerate(value) if isinstance(value, list) else ():
            check(table, inner, f"{path}.{name}", file)
        if isinstance(value, dict):
            check(value, inner, path, file)
        return
    rule = expected if isinstance(expected, FieldRule) else TABLE
    if not rule.holds(value):
        text = repr(value)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        raise ValueError(f"field {path!r} of {file} is {text}; it must be {rule.words}")
    if isinstance(expected, FieldRule):
        return
    prefix = f"{path}." if path else ""
    if unknown := sorted(set(value) - set(expected)):
        raise ValueError(f"{file} has an unknown field {prefix + unknown[0]!r}")
    for name, below in expected.items():
        if name not in value:
            raise ValueError(f"{file} lacks the field {prefix + name!r}")
        check(value[name], below, prefix + name, file)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """Kept, since a recipe may list thousands of photos, and finding out takes longer than reading one."""
    return get_type_hints(kind)


def _is_elsewhere(hint: Any) -> bool:
    return ELSEWHERE in getattr(hint, "__metadata__", ())


def _rule(hint: Any, name: str) -> Any:
    declared = getattr(hint, "__metadata__", ())
    for rule in declared:
        if isinstance(rule, FieldRule):
            return rule
    hint = get_args(hint)[0] if declared else hint
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        [member] = [member for member in inner if member is not NoneType]
        rule = _rule(member, name)
        if not isinstance(rule, FieldRule):
            return OPTIONAL_TABLE, rule
        return OPTIONAL_TEXT if rule is TEXT else or_null(rule)
    if origin is tuple and inner[1:] == (...,):
        least = next((entry.count for entry in declared if isinstance(entry, Least)), 0)
        rule = _rule(inner[0], name)
        return list_of(rule, least=least) if isinstance(rule, FieldRule) else (list_of(TABLE, least=least), rule)
    if is_dataclass(hint):
        return rules_of(hint)
    if hint in (str, bool):
        return TEXT if hint is str else FLAG
    raise TypeError(f"{name} is declared as {hint}; say what it may be: Annotated[…, rule]")
