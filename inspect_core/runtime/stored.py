"""A fitted value as named arrays and JSON-able parameters, which are its fields, and made from them again."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Self, get_args, get_type_hints


class Stored:
    """What a recipe keeps of a dataclass: its fields by name, arrays and tensors apart from all others."""

    def arrays(self) -> dict[str, Any]:
        """The fields declared as arrays or tensors, without those that are None."""
        named = {name: getattr(self, name) for name in _names(type(self))[0]}
        return {name: value for name, value in named.items() if value is not None}

    def params(self) -> dict[str, Any]:
        """All other fields."""
        return {name: getattr(self, name) for name in _names(type(self))[1]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], params: Mapping[str, Any]) -> Self:
        """The inverse of `arrays` and `params`, to the bit; names that are no fields are ignored.

        Raises KeyError for a parameter that is missing, and ValueError as the class does.
        """
        of_arrays, others = _names(cls)
        return cls(**{name: arrays.get(name) for name in of_arrays}, **{name: params[name] for name in others})


@cache
def _names(kind: Any) -> tuple[list[str], list[str]]:
    hints = get_type_hints(kind)
    named: tuple[list[str], list[str]] = ([], [])
    for field in fields(kind):
        hint = hints[field.name]
        is_array = any(hasattr(member, "__array__") for member in get_args(hint) or (hint,))
        named[0 if is_array else 1].append(field.name)
    return named
