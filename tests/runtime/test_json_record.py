"""A record's field is declared in one line; everything else follows from it."""

import json
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated

import pytest

from inspect_core.runtime.json_record import (
    ELSEWHERE,
    FieldRule,
    Least,
    check,
    from_table,
    list_of,
    number,
    one_of,
    rules_of,
    to_table,
    whole,
)


@dataclass(frozen=True)
class Lamp:
    name: str
    watts: Annotated[float, number(0, 500)]


@dataclass(frozen=True)
class Station:
    lamps: Annotated[tuple[Lamp, ...], Least(1)]
    is_dark: bool
    bits: Annotated[int, one_of(8, 12)]
    camera: str | None = None
    spare: Lamp | None = None
    angles: Annotated[tuple[float, ...], list_of(number(-180, 180))] = ()
    place: Annotated[int, ELSEWHERE] = 0


STATION = Station((Lamp("left", 40.0), Lamp("right", 0.1 + 0.2)), True, 12, None, Lamp("top", 5.5), (-90.0, 1e-7), 3)


def read(table: object, kind: type = Station, **elsewhere: object) -> object:
    check(table, rules_of(kind), "", "station.json")
    return from_table(kind, table, **elsewhere)


def test_what_is_written_is_read_to_the_bit():
    table = json.loads(json.dumps(to_table(STATION)))
    assert list(table) == ["lamps", "is_dark", "bits", "camera", "spare", "angles"]
    assert read(table, place=3) == STATION


def test_one_more_line_is_one_more_field():
    More = make_dataclass(
        "More", [("lens", Annotated[int, whole(1, 9)], field(default=4))], bases=(Station,), frozen=True
    )
    written = json.loads(json.dumps(to_table(More(STATION.lamps, False, 8, lens=7))))
    assert written["lens"] == 7
    assert read(written, More) == More(STATION.lamps, False, 8, lens=7)
    with pytest.raises(ValueError, match=r"field 'lens' of station.json is 10; it must be a whole number from 1 to 9"):
        read(written | {"lens": 10}, More)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bits": 12.0}, "field 'bits' of station.json is 12.0; it must be 8 or 12"),
        ({"lamps": []}, "field 'lamps' of station.json .*; it must be a list of 1 or more, each a table"),
        ({"lamps": [{"name": "x", "watts": 501}]}, "field 'lamps.0.watts' .* a number from 0 to 500"),
        ({"lamps": [{"name": "x"}]}, "station.json lacks the field 'lamps.0.watts'"),
        ({"spare": {"name": 3, "watts": 1}}, "field 'spare.name' .* text"),
        ({"is_dark": 1}, "field 'is_dark' .* true or false"),
        ({"camera": 1}, "field 'camera' .* text or null"),
        ({"angles": [float("nan")]}, "field 'angles'"),
        ({"place": 3}, "station.json has an unknown field 'place'"),
    ],
)
def test_what_no_record_can_hold_is_named(change, words):
    with pytest.raises(ValueError, match=words):
        read(to_table(STATION) | {"lamps": [vars(lamp) for lamp in STATION.lamps], "angles": []} | change)


def test_a_field_that_does_not_say_what_it_may_be_is_an_error():
    Vague = make_dataclass("Vague", [("width", float)])
    with pytest.raises(TypeError, match=r"Vague.width is declared as .*float.*; say what it may be"):
        rules_of(Vague)


def test_rules_have_words():
    assert all(isinstance(rule, FieldRule) and rule.words for rule in rules_of(Lamp).values())
