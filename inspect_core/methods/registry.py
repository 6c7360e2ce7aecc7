"""Every method by name: each other file of this folder that holds a METHOD is a row. Which detectors are tried: what
each method declares, in one order, and those to begin with.
"""

import pkgutil
from collections.abc import Iterable, Sequence
from importlib import import_module

from inspect_core import methods
from inspect_core.images.tiles import TilePlan
from inspect_core.methods.method import Control, Method, Option, Parameters
from inspect_core.methods.patch_sampling import PatchSampleMethod


def _rows() -> dict[str, Method]:
    modules = {
        row.name: import_module(f"{methods.__name__}.{row.name}")
        for row in pkgutil.iter_modules(methods.__path__)
        if row.name not in ("registry", "fitted_method")  # which read the rows
    }
    rows = {name: module.METHOD for name, module in modules.items() if hasattr(module, "METHOD")}
    return dict(sorted(rows.items(), key=lambda row: row[1].rank))


METHODS = _rows()
OFFERED = tuple(name for name, method in METHODS.items() if method.is_offered)
"""What the Teach page offers; the others are for comparison only."""
FIELDS = {name: method.rules() for name, method in METHODS.items()}
"""What recipe.json may hold for each method's detector."""
DETECTORS = {name: method.detector_class for name, method in METHODS.items()}
"""The class of each method's detector, which says what its arrays may be in a recipe."""
CONTROLS: dict[str, Control] = {name: control for row in METHODS.values() for name, control in row.controls.items()}
OPTIONS: dict[str, Option] = {name: option for row in METHODS.values() for name, option in row.options.items()}
"""Parameters of the fit that a user may set, of all methods."""

JOIN = "+"
"""Between the methods of a detector that adds their maps: "mahalanobis+quadrics"."""


def methods_of(detector: str) -> tuple[str, ...]:
    """The methods whose maps a detector adds; usually one.

    Raises ValueError for a name that is no method, and for methods that move the same live parameter.
    """
    names = tuple(detector.split(JOIN))
    for name in names:
        if name not in METHODS:
            raise ValueError(
                f"detector is {detector!r}; choose one of {', '.join(METHODS)}, or several joined by {JOIN!r}"
            )
    live = [METHODS[name].live_parameter for name in names if METHODS[name].live_parameter]
    if len(set(live)) < len(live) or len(set(names)) < len(names):
        raise ValueError(f"detector is {detector!r}, whose methods move the same parameter; join methods that differ")
    return names


def methods_in(detectors: Iterable[str]) -> tuple[str, ...]:
    """The methods of several detectors, each once."""
    return tuple(dict.fromkeys(name for detector in detectors for name in methods_of(detector)))


def patch_sample_method(count: int) -> tuple[str, Parameters]:
    """A method whose statistics are drawn patches, and the parameters with which it draws this many."""
    return next(name for name, method in METHODS.items() if isinstance(method, PatchSampleMethod)), {"patches": count}


def known_parameters(detector: str) -> set[str]:
    """Names of the parameters that the detector's methods take at the fit."""
    return {name for method in methods_of(detector) for name in METHODS[method].defaults}


def parameters_of(
    methods: Sequence[str], values: Parameters, tiles: TilePlan | None = None
) -> tuple[dict[str, float | None], ...]:
    """For each method, its defaults overlaid with the given values, None for the default; with tiles, k comes
    from the plan.

    Raises ValueError for a name that none of them knows, and for a k that is too large for the tiles.
    """
    defaults = [METHODS[name].defaults for name in methods]
    if tiles is not None:
        defaults = [
            {**method_defaults, "k": tiles.k} if "k" in method_defaults else method_defaults
            for method_defaults in defaults
        ]
        tiles.require(int(values.get("k") or tiles.k))
    known = {name for method_defaults in defaults for name in method_defaults}
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(
            f"{JOIN.join(methods)} has no parameter {unknown[0]!r}; it takes {', '.join(sorted(known)) or 'none'}"
        )
    chosen = {name: value for name, value in values.items() if value is not None}
    return tuple({name: chosen.get(name, value) for name, value in known.items()} for known in defaults)


def title_of(detector: str, *, as_published: bool = False) -> str:
    """The name of a detector on the pages."""
    titles = f" {JOIN} ".join(METHODS[name].title for name in methods_of(detector))
    return f"{titles} (as published)" if as_published else titles


def fitted_detector(detector: str) -> str:
    """The methods of a detector that are fitted, without what known defects taught."""
    return JOIN.join(name for name in methods_of(detector) if name != LEARNED_FROM_DEFECTS)


_JOINED = sorted(
    (name for name in METHODS if METHODS[name].ensemble_rank), key=lambda name: METHODS[name].ensemble_rank
)
DEFAULT_METHOD, *SECOND = _JOINED
"""The detector taught without a comparison, for few photos and for large photos in tiles; what Teach joins to it."""
FITTED = tuple(name for name, method in METHODS.items() if not method.learns_from_defects)
"""The methods that good photos teach, of which a detector is made."""
LEARNED_FROM_DEFECTS = next(name for name in METHODS if name not in FITTED)
"""The method that known defects teach, which is joined to any detector."""
SCREENING_METHODS = (DEFAULT_METHOD, "corp")
"""Methods for a first look: one sees each place of the part, one the surface wherever it lies."""
FIXED = f"{DEFAULT_METHOD}{JOIN}nearby{JOIN}shade"
LOOSE = f"corp{JOIN}nearest{JOIN}shade"
ANYWHERE = "corp"
"""Preferred for parts that show much the same at each place of every photo, for others, and for those whose places have
nothing in common (MEASUREMENTS section 3).
"""
IN_TILES = (DEFAULT_METHOD, "nearest", ANYWHERE)
"""The detectors of large photos in tiles, from fixed places to none in common; two together take too much memory."""
_DECLARED = [detector for name in dict.fromkeys((*_JOINED, *METHODS)) for detector in METHODS[name].candidates]
CANDIDATES = tuple(dict.fromkeys((FIXED, LOOSE, *sorted(_DECLARED, key=lambda detector: detector.count(JOIN)))))
"""For a new folder."""
_FURTHER = [detector for row in METHODS.values() for detector in row.comparison_detectors]
ALL = (*CANDIDATES, *sorted(_FURTHER, key=lambda detector: detector.count(JOIN), reverse=True))
"""For a comparison."""
