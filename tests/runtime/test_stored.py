"""A field of a fitted value is declared in one line; a recipe's arrays and parameters follow from it."""

import json
from dataclasses import dataclass, fields
from typing import Annotated

import numpy as np
import pytest

from inspect_core.runtime.json_record import check, number, or_null
from inspect_core.runtime.stored import ArraySpec, Stored, floats, unit


@dataclass(frozen=True, eq=False)
class Axis(Stored):
    direction: Annotated[np.ndarray, unit("k")]
    reach: Annotated[float, number(0, 10)]


@dataclass(frozen=True, eq=False)
class Model(Stored):
    mean: Annotated[np.ndarray, floats("h w k", -1, 1)]
    axis: Axis
    name: str
    gamma: Annotated[float | None, or_null(number(0, 1))] = None
    weights: Annotated[np.ndarray | None, floats("k")] = None


@dataclass(frozen=True, eq=False)
class LongerModel(Model):
    spread: Annotated[np.ndarray | None, floats("h w", 0)] = None
    count: Annotated[float, number(1, 100)] = 1


def a_model(kind=Model, **more):
    return kind(np.zeros((2, 3, 4)), Axis(np.eye(4)[0], 2.5), "Guß", 0.5, **more)


@pytest.mark.parametrize("model", [a_model(), a_model(LongerModel, spread=np.ones((2, 3)), count=7)])
def test_what_is_written_is_read(model):
    params = json.loads(json.dumps(model.params()))
    check(params, model.rules(), "part", "recipe.json")
    reread = type(model).from_arrays(model.arrays(), params)
    assert reread.params() == model.params()
    assert reread.arrays().keys() == model.arrays().keys()
    for name, values in model.arrays().items():
        np.testing.assert_array_equal(reread.arrays()[name], values)


def test_one_more_field_is_one_more_line():
    added = {field.name for field in fields(LongerModel)} - {field.name for field in fields(Model)}
    longer, shorter = ({*kind.array_specs({"axis": {}}, ()), *kind.rules()} for kind in (LongerModel, Model))
    assert longer - shorter == added == {"spread", "count"}


def test_arrays_and_parameters_are_told_apart():
    model = a_model()
    assert model.params() == {"name": "Guß", "gamma": 0.5, "axis": {"reach": 2.5}}
    assert set(model.arrays()) == {"mean", "direction"}
    specs = Model.array_specs(model.params(), ())
    assert specs["mean"] == ArraySpec(("F32", "F64"), ("h", "w", "k"), -1, 1)
    assert specs["direction"].shape == ("k",)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"name": 1}, "part.name"),
        ({"gamma": 2}, "part.gamma"),
        ({"axis": {"reach": 11}}, "part.axis.reach"),
        ({"axis": {}}, "lacks the field 'part.axis.reach'"),
        ({"more": 1}, "unknown field 'part.more'"),
    ],
)
def test_what_is_not_declared_is_refused(params, words):
    with pytest.raises(ValueError, match=words):
        check(a_model().params() | params, Model.rules(), "part", "recipe.json")


def test_a_field_must_say_what_it_may_be():
    @dataclass(frozen=True)
    class Loose(Stored):
        count: int

    with pytest.raises(TypeError, match=r"Loose\.count"):
        Loose.rules()
