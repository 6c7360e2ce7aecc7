"""Every method by name: each other file of this folder that holds a METHOD is a row."""

import pkgutil
from importlib import import_module

from inspect_core import methods
from inspect_core.methods.method import Control, Method, Parameters


def _rows() -> dict[str, Method]:
    modules = {
        row.name: import_module(f"{methods.__name__}.{row.name}")
        for row in pkgutil.iter_modules(methods.__path__)
        if row.name != "table"
    }
    rows = {name: module.METHOD for name, module in modules.items() if hasattr(module, "METHOD")}
    return dict(sorted(rows.items(), key=lambda row: row[1].rank))


METHODS = _rows()
OFFERED = tuple(name for name, method in METHODS.items() if method.offered)
"""What the Teach page offers; the others are there to be compared with."""
FIELDS = {name: method.fields for name, method in METHODS.items()}
"""What recipe.json may say of each method's detector."""
CONTROLS: dict[str, Control] = {name: control for row in METHODS.values() for name, control in row.controls.items()}


def parameters_of(method: str, given: Parameters) -> dict[str, float | None]:
    """The method's defaults overlaid with what was given. Raises ValueError for a name the method does not know."""
    if method not in METHODS:
        raise ValueError(f"detector is {method!r}; choose one of {', '.join(METHODS)}")
    defaults = METHODS[method].defaults
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise ValueError(f"{method} has no parameter {unknown[0]!r}; it takes {', '.join(defaults) or 'none'}")
    return {**defaults, **given}
