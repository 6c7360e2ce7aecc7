"""What a recipe keeps of a fitted value: named arrays and JSON-able parameters, which are the fields of its class.

    mean: Annotated[Tensor, floats("h w k")]
    ridge: Annotated[float, number(0, 1)]

says what a recipe may hold. One more field is one more line in its class: it is checked, written and read by this.
Shapes are written with named lengths; `recipe_format.arrays` says which are the same.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NamedTuple, Self, get_args, get_type_hints

from inspect_core.runtime.json_record import LARGEST, MANY, Rules, from_plain, rules_of_hints, to_plain

FLOATS, HALVES = ("F32", "F64"), ("F16", "F32")


@dataclass(frozen=True)
class ArraySpec:
    """types: allowed in the header; shape: names of its lengths, or numbers; low, high: bounds of every value."""

    types: tuple[str, ...]
    shape: tuple[str, ...]
    low: float
    high: float


def floats(shape: str, low: float = -LARGEST, high: float = LARGEST, types: tuple[str, ...] = FLOATS) -> ArraySpec:
    """Numbers of that shape, lengths separated by blanks: "h w k". Both bounds are allowed values."""
    return ArraySpec(types, tuple(shape.split()), low, high)


def fractions(shape: str) -> ArraySpec:
    """Numbers from 0 to 1, with room for rounding."""
    return floats(shape, 0, 1 + 1e-6)


def unit(shape: str) -> ArraySpec:
    """Entries of vectors of length 1, with room for rounding."""
    return floats(shape, -1.01, 1.01)


def integers(shape: str, low: int = 0) -> ArraySpec:
    """Whole numbers, such as indices and codes."""
    return floats(shape, low, MANY, ("I32", "I64"))


def subspace(width: str, mean: float) -> dict[str, ArraySpec]:
    """A mean, of entries up to `mean`, and principal components of features of the length by that name."""
    return {
        "mean": floats(width, -mean, mean),
        "components": unit(f"{width} r"),
        "eigenvalues": floats("r", 0, LARGEST**2),
    }


def fourier(width: str) -> dict[str, ArraySpec]:
    """Random Fourier features of such features, and their subspace."""
    return subspace("D", 1.01) | {"w0": floats(f"D {width}", -100, 100), "u": floats("D", 0, 7)}


class Stored:
    """A dataclass that a recipe keeps: its fields by name, arrays and tensors apart from all others.

    A field that is one itself gives its arrays beside those of the whole, and its parameters as a table.
    """

    def arrays(self) -> dict[str, Any]:
        """The fields declared as arrays or tensors, without those that are None."""
        arrays = {name: getattr(self, name) for name in _fields(type(self)).arrays}
        for name in _fields(type(self)).parts:
            arrays |= getattr(self, name).arrays()
        return {name: value for name, value in arrays.items() if value is not None}

    def params(self) -> dict[str, Any]:
        """All other fields, as JSON has them."""
        params = {name: to_plain(getattr(self, name)) for name in _fields(type(self)).others}
        return params | {name: getattr(self, name).params() for name in _fields(type(self)).parts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], params: Mapping[str, Any]) -> Self:
        """The inverse of `arrays` and `params`, to the bit; names that are no fields are ignored.

        Raises KeyError for a parameter that is missing, and ValueError as the class does.
        """
        by_kind = _fields(cls)
        parts = {name: kind.from_arrays(arrays, params[name]) for name, kind in by_kind.parts.items()}
        others = {name: from_plain(hint, params[name]) for name, hint in by_kind.others.items()}
        return cls(**{name: arrays.get(name) for name in by_kind.arrays}, **parts, **others)

    @classmethod
    def array_specs(cls, params: Mapping[str, Any], names: Collection[str]) -> dict[str, ArraySpec]:
        """What the arrays of a recipe must be, by name.

        params: those of the recipe, checked; names: of its arrays; for classes whose arrays depend on either.
        """
        specs = declared_specs(cls)
        for name, kind in _fields(cls).parts.items():
            specs |= kind.array_specs(params[name], names)
        return specs

    @classmethod
    def rules(cls) -> Rules:
        """What the parameters in recipe.json must be, by name."""
        hints, by_kind = get_type_hints(cls, include_extras=True), _fields(cls)
        rules = rules_of_hints(cls.__name__, {name: hints[name] for name in by_kind.others})
        return {**rules, **{name: kind.rules() for name, kind in by_kind.parts.items()}}


def declared_specs(kind: Any) -> dict[str, ArraySpec]:
    """What the fields of a class say that an array must be, by name."""
    declared = {
        name: getattr(hint, "__metadata__", ()) for name, hint in get_type_hints(kind, include_extras=True).items()
    }
    return {name: spec for name, of_field in declared.items() for spec in of_field if isinstance(spec, ArraySpec)}


class _Fields(NamedTuple):
    """Of a class, with their types."""

    arrays: dict[str, Any]
    parts: dict[str, Any]
    others: dict[str, Any]


@cache
def _fields(kind: Any) -> _Fields:
    hints, by_kind = get_type_hints(kind), _Fields({}, {}, {})
    for field in fields(kind):
        hint = hints[field.name]
        if any(hasattr(member, "__array__") for member in get_args(hint) or (hint,)):
            by_kind.arrays[field.name] = hint
        elif isinstance(hint, type) and issubclass(hint, Stored):
            by_kind.parts[field.name] = hint
        else:
            by_kind.others[field.name] = hint
    return by_kind
