"""What the arrays of a recipe may be: type, shape and range of every one, and the memory that using them takes.

Types and shapes are in the header of the array file, so everything but the ranges is known before a number is read.
Shapes are written with named lengths; a length is the same wherever its name occurs: h, w and e in the whole recipe,
any other within its part. Every detector names k, the features of a patch; n and D are samples and mapped features that
each patch is compared with, which takes memory. tri(k) is k(k+1)/2, a lower triangle packed row by row.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from inspect_core.images.tiles import TilePlan
from inspect_core.recipe_format.fields import PARTS
from inspect_core.runtime.json_record import from_table
from inspect_core.runtime.stored import FLOATS, ArraySpec, declared_specs, unit

Header = Mapping[str, tuple[str, tuple[int, ...]]]
"""Type and shape of every array, by name."""

_CODES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U8": "u1", "BOOL": "?"}
DTYPES = {name: np.dtype(code) for name, code in _CODES.items()}
BYTES = {name: kind.itemsize for name, kind in DTYPES.items()}
SHARED = ("h", "w", "e")
MAY_BE_NONE = ("r", "cases", "accepted")
"""Lengths that a fit can leave at 0: components of samples that do not vary, cases that were taken out."""

LARGEST_RECIPE = 2 * 10**9
"""Bytes of memory that reading and using a recipe may take."""
PIXEL_BYTES = 400
"""Per pixel of the input, for the network, the photo and the map; EfficientNet-Lite0 alone takes 300."""
WORKING_BYTES = 12
"""Per pixel of the working size, for a photo in tiles."""
MAP_BYTES = 40
"""Per pixel of the map, for its map, regions and ranking."""
ROW_BYTES = 1 << 16
"""Per sample or mapped feature with which a block of patches is compared."""

Detectors = Mapping[str, Any]
"""Class of the detector of every method, by the method's name."""


def view(number: int) -> str:
    """The part that the arrays of a view belong to."""
    return f"view{number}"


def expected(document: Mapping, names: Collection[str], detectors: Detectors) -> dict[str, ArraySpec]:
    """The arrays of a recipe with these fields.

    names: those it has, which say whether it mixes channels and how deep its net is.
    """
    arrays: dict[str, ArraySpec] = {}

    def within(part: str) -> dict[str, None]:
        return strip_prefix(part, dict.fromkeys(names))

    for number, part in enumerate(document["views"]):
        view_arrays = detectors[part["name"]].array_specs(part["params"], within(view(number)))
        view_arrays |= _scales() if part["scale_stops"] else {}
        if "projection" not in view_arrays and "columns" in within(view(number)):
            view_arrays |= {"columns": unit("d k")}
        arrays |= add_prefix(view(number), view_arrays)
    for part, (kind, _) in PARTS.items():
        if document[part] is not None:
            arrays |= add_prefix(part, kind.array_specs(document[part], within(part)))
    return arrays


def check(document: Mapping, header: Header, detectors: Detectors) -> dict[str, int]:
    """The lengths of a recipe's arrays by name, a shared one (h, w, e) bare, any other as "part.name".

    Raises ValueError naming the array that is missing, unknown, or of another type or shape than the fields and the
    other arrays require, and, with the sum, when reading and using them would take more than LARGEST_RECIPE.
    """
    arrays = expected(document, header, detectors)
    if odd := sorted(set(arrays) ^ set(header)):
        raise ValueError(f"array {odd[0]} is {'missing' if odd[0] in arrays else 'unknown'}")
    lengths = dict(zip(("h", "w"), document["geometry"]["grid"], strict=True))
    lengths |= {f"{view(number)}.s": len(part["scale_stops"]) for number, part in enumerate(document["views"])}
    if document["defect_types"] is not None:
        lengths["defect_types.classes"] = len(document["defect_types"]["classifier"]["classes"])
    for name, array in arrays.items():
        kind, shape = header[name]
        shape, known = shape or (1,), dict(lengths)  # a lone number may stand without an axis
        if kind not in array.types:
            raise ValueError(f"array {name} is {kind}; it must be {' or '.join(array.types)}")
        pairs = zip(shape, array.shape, strict=False)
        if len(shape) != len(array.shape) or not all(_fits(length, word, name, lengths) for length, word in pairs):
            words = [f"{word} = {known[key]}" if (key := _key(word, name)) in known else word for word in array.shape]
            raise ValueError(f"array {name} has shape {shape}; it must be ({', '.join(words)})")
    require_memory(sum(_needed(document, header, lengths).values()), LARGEST_RECIPE, "this recipe")
    return lengths


def check_values(document: Mapping, arrays: Mapping[str, np.ndarray], detectors: Detectors) -> None:
    """Raise ValueError naming the first array that holds a value no fit can produce, such as NaN and infinity.

    arrays: as read, with triangles packed. The header has been checked.
    """
    for name, array in expected(document, arrays, detectors).items():
        values = arrays[name]
        if values.size and not (array.low <= values.min() and values.max() <= array.high):
            raise ValueError(f"array {name} holds values outside {array.low:g} to {array.high:g}")


def pack_triangle(lower: np.ndarray) -> np.ndarray:
    """(..., k, k) lower triangular -> (..., k(k+1)/2), row by row: half the bytes on disk."""
    return np.ascontiguousarray(lower[..., *np.tril_indices(lower.shape[-1])])


def unpack_triangle(packed: np.ndarray) -> np.ndarray:
    """(..., k(k+1)/2) -> (..., k, k) lower triangular; the inverse of pack_triangle."""
    k = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) // 2)
    if k * (k + 1) // 2 != packed.shape[-1]:
        raise ValueError(f"a packed triangle has {packed.shape[-1]} entries, which fits no square")
    lower = np.zeros((*packed.shape[:-1], k, k), packed.dtype)
    lower[..., *np.tril_indices(k)] = packed
    return lower


def photo_bytes(size: tuple[int, int], grid: tuple[int, int], width: int, tiles: TilePlan | None = None) -> int:
    """Memory for processing one photo: network and map at `size` (H, W), patches (h, w, width) and operators.

    With tiles the network sees one of them at a time, beside the photo at its working size and the map.
    """
    height, breadth = size if tiles is None else tiles.map_size
    h, w = grid
    tiled_bytes = 0 if tiles is None else WORKING_BYTES * math.prod(tiles.size) + MAP_BYTES * height * breadth
    return PIXEL_BYTES * math.prod(size) + 16 * h * w * (width + 16) + 32 * (height * h + breadth * w) + tiled_bytes


def require_memory(needed: int, most: int, subject: str) -> None:
    """Raise ValueError with both figures when `subject` needs more than `most` bytes."""
    if needed > most:
        raise ValueError(
            f"{subject} would need {needed / 1e9:,.1f} GB of memory, at most {most / 1e9:.1f} GB are allowed; "
            "a coarser grid, a smaller photo size or fewer features take less"
        )


def add_prefix(part: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """What a part keeps by name, by its names in the whole: "part.name"."""
    return {f"{part}.{name}": array for name, array in arrays.items()}


def strip_prefix(part: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """What the whole keeps of a part, by its names there: the inverse of `add_prefix`."""
    return {name.removeprefix(f"{part}."): array for name, array in arrays.items() if name.startswith(f"{part}.")}


def _scales() -> dict[str, ArraySpec]:
    """Of a view, a row for each live value that it has a local scale for."""
    from inspect_core.scoring.local_scale import LocalScale  # with SciPy, which no start of a runner needs

    specs = declared_specs(LocalScale)
    return {f"scale_{name}": replace(spec, shape=("s", *spec.shape)) for name, spec in specs.items()}


def _fits(length: int, word: str, name: str, lengths: dict[str, int]) -> bool:
    """Whether a length has the value of its name; a name met for the first time takes this value."""
    if word.isdecimal():
        return length == int(word)
    if word == "tri(k)":
        k = lengths[_key("k", name)]
        return length == k * (k + 1) // 2
    return lengths.setdefault(_key(word, name), length) == length and (length > 0 or word in MAY_BE_NONE)


def _key(word: str, name: str) -> str:
    """The key of a length of that word in the array of that name."""
    return word if word in SHARED else f"{name.split('.')[0]}.{word}"


def _needed(document: Mapping, header: Header, lengths: Mapping[str, int]) -> dict[str, int]:
    """Bytes by purpose: the file, the arrays as used, a working copy of each, one photo, and blocks of it."""
    counts = {name: math.prod(shape) for name, (_, shape) in header.items()}
    file = {name: BYTES[kind] * counts[name] for name, (kind, _) in header.items()}
    used, copies = dict(file), dict(file)
    for name, (kind, _) in header.items():
        if kind in FLOATS:  # quadrics are multiplied and compared in float64, three numbers for one
            copies[name] = (24 if name.endswith(".A") else 8) * counts[name]
    widths = [lengths[f"{view(number)}.k"] for number in range(len(document["views"]))] or [0]
    for number, k in enumerate(widths):
        name = f"{view(number)}.cholesky"
        if name in header:
            square = lengths["h"] * lengths["w"] * k * k
            used[name], copies[name] = BYTES[header[name][0]] * square, 4 * square
    parts = ["product_check", *(view(number) for number in range(len(widths)))]
    widest = max(lengths.get(f"{part}.{word}", 0) for part in parts for word in ("n", "D"))
    geometry = document["geometry"]
    tiles = document["tiles"] and from_table(TilePlan, document["tiles"], tile=tuple(geometry["size"]))
    return {
        "file": sum(file.values()),
        "arrays": sum(used.values()),
        "copies": sum(copies.values()),
        "photo": photo_bytes(geometry["size"], geometry["grid"], sum(widths), tiles),
        "blocks": ROW_BYTES * max(widest, *widths) + 32 * max(widths) ** 2,
    }
