"""What the arrays of a recipe may be: type, shape and range of every one, and the memory that using them takes.

Types and shapes are those of the array file's header, so all of this but the ranges is known before a number is read.
Shapes are written in lengths by name; a length is the same wherever its name stands: h, w, d, k and e all over the
recipe, any other within its part. tri(k) is k(k+1)/2, a lower triangle packed row by row.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from inspect_core.package.fields import LARGEST, MANY, SMALLEST

Header = Mapping[str, tuple[str, tuple[int, ...]]]
"""Type and shape of every array, by name."""

BYTES = {"F16": 2, "F32": 4, "F64": 8, "I32": 4, "I64": 8, "U8": 1, "BOOL": 1}
FLOATS, HALVES = ("F32", "F64"), ("F16", "F32")
SHARED = ("h", "w", "d", "k", "e")
MAY_BE_NONE = ("r", "cases", "vouched")
"""Lengths that a fit can leave at 0: components of samples that do not vary, cases that were taken out."""

LARGEST_RECIPE = 2 * 10**9
"""Bytes of memory that reading and using a recipe may take."""
PIXEL_BYTES = 400
"""Of the network, the photo and the map, a pixel of the input; EfficientNet-Lite0 alone takes 300."""
ROW_BYTES = 1 << 16
"""Of a block of patches, for each sample or mapped feature that they are compared with."""


@dataclass(frozen=True)
class Array:
    """types: allowed in the header; shape: names of its lengths, or numbers; low, high: bounds of every value."""

    types: tuple[str, ...]
    shape: tuple[str, ...]
    low: float
    high: float


def _floats(shape: str, low: float = -LARGEST, high: float = LARGEST, types: tuple[str, ...] = FLOATS) -> Array:
    return Array(types, tuple(shape.split()), low, high)


def _shares(shape: str) -> Array:
    return _floats(shape, 0, 1 + 1e-6)


def _unit(shape: str) -> Array:
    """Entries of vectors of length 1, with room for rounding."""
    return _floats(shape, -1.01, 1.01)


def _whole(shape: str, low: int = 0) -> Array:
    return Array(("I32", "I64"), tuple(shape.split()), low, MANY)


# Alphas are divided by roots of eigenvalues, which may be small; they and what they meet are float64.
_WIDE = 1e18
_GAUSSIANS = {
    "projection": _unit("d k"),
    "mean": _floats("h w k"),
    "cholesky": _floats("h w tri(k)", types=HALVES),
}
_FOURIER = {"mean": _unit("D"), "components": _unit("D r"), "eigenvalues": _floats("r", 0, LARGEST**2)}


def _fourier(width: str) -> dict[str, Array]:
    return _FOURIER | {"w0": _floats(f"D {width}", -100, 100), "u": _floats("D", 0, 7)}


def _subspace(width: str, mean: float) -> dict[str, Array]:
    return {
        "mean": _floats(width, -mean, mean),
        "components": _unit(f"{width} r"),
        "eigenvalues": _floats("r", 0, LARGEST**2),
    }


def _quadrics(width: str) -> dict[str, Array]:
    return {
        "A": _floats("m n n"),
        "b": _floats("m n"),
        "c": _floats("m"),
        "shift": _floats(width),
        "scale": _floats("1", SMALLEST),
        "basis": _unit(f"{width} n"),
    }


DETECTORS = {
    "mahalanobis": _GAUSSIANS,
    "sampled": _GAUSSIANS,
    "cop": _subspace("k", 1.01),
    "corp": _fourier("k"),
    "pca": _subspace("k", LARGEST),
    "kernel_pca": {
        "x": _floats("n k"),
        "alpha": _floats("n r", -_WIDE, _WIDE),
        "row_mean": _floats("n", -1.01, 0),
        "eigenvalues": _floats("r", 0),
    },
    "quadrics": _quadrics("k"),
    "nearest": {"bank": _floats("n k")},
}
"""Arrays of each method's detector, by the method's name."""

_GALLERY = {
    "embeddings": _floats("cases e"),
    "outlier_scores": _floats("cases", 0),
    "pictures": Array(("U8",), ("cases", "64", "64", "3"), 0, 255),
    "surface_vouched": _unit("vouched e"),
} | {f"surface_{name}": array for name, array in _quadrics("e").items()}
_NOTHING = float(np.finfo(np.float64).min)
_KINDS = {
    "mu": _floats("polytopes e"),
    "var": _floats("polytopes e", SMALLEST**2, LARGEST**2),
    "log_ratio": _floats("polytopes classes", _NOTHING),
    "prior": _shares("classes"),
    "constant": _floats("1", _NOTHING),
    "scale": _floats("1", SMALLEST),
}
_FOREST = {
    "codes": _whole("polytopes trees"),
    "feature": _whole("nodes", -2),
    "threshold": _floats("nodes"),
    "left": _whole("nodes", -1),
    "right": _whole("nodes", -1),
    "roots": _whole("trees"),
    "share": _shares("nodes classes"),
}


def expected(document: Mapping, names: Collection[str]) -> dict[str, Array]:
    """The arrays of a recipe with these fields; `names` say whether it mixes channels and how deep its net is."""
    method, guard, defect_types = document["detector"]["name"], document["guard"], document["kinds"]
    arrays = _under("detector", DETECTORS[method])
    if "detector.projection" not in arrays and "features.projection" in names:
        arrays["features.projection"] = _unit("d k")
    if guard is not None:
        alone = guard["detector"]["gamma"] is None
        arrays |= _under("guard", _subspace("e", 1.01) if alone else _fourier("e"))
    if document["gallery"] is not None:
        arrays |= _under("gallery", _GALLERY)
    if defect_types is not None:
        forest = defect_types["classifier"]["parent"] == "forest"
        arrays |= _under("kinds", _KINDS | (_FOREST if forest else _network(names)))
    return arrays


def check(document: Mapping, header: Header) -> dict[str, int]:
    """The lengths of a recipe's arrays by name, a shared one (h, w, d, k, e) bare, any other as "part.name".

    Raises ValueError naming the array that is missing, unknown, or of another type or shape than the fields and the
    other arrays ask for, and when reading and using them would take more than LARGEST_RECIPE, with the sum.
    """
    arrays = expected(document, header)
    odd = sorted(set(arrays) ^ set(header))
    if odd:
        raise ValueError(f"array {odd[0]} is missing" if odd[0] in arrays else f"array {odd[0]} is unknown")
    lengths = dict(zip(("h", "w"), document["geometry"]["grid"], strict=True))
    if document["kinds"] is not None:
        lengths["kinds.classes"] = len(document["kinds"]["classifier"]["classes"])
    for name, array in arrays.items():
        kind, shape = header[name]
        shape = shape or (1,)  # a lone number may stand without an axis
        if kind not in array.types:
            raise ValueError(f"array {name} is {kind}; it must be {' or '.join(array.types)}")
        known = dict(lengths)
        if len(shape) != len(array.shape) or not all(
            _fits(length, word, name, lengths) for length, word in zip(shape, array.shape, strict=True)
        ):
            words = [f"{word} = {known[key]}" if (key := _key(word, name)) in known else word for word in array.shape]
            raise ValueError(f"array {name} has shape {shape}; it must be ({', '.join(words)})")
    require_memory(sum(_needed(document, header, lengths).values()), LARGEST_RECIPE, "this recipe")
    return lengths


def check_values(document: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
    """Raises ValueError naming the first array that holds a value no fit gives, NaN and infinity among them.

    arrays: as read, with triangles packed. The header has been checked.
    """
    for name, array in expected(document, arrays).items():
        values = arrays[name]
        if values.size and not (array.low <= values.min() and values.max() <= array.high):
            raise ValueError(f"array {name} holds values outside {array.low:g} to {array.high:g}")


def photo_bytes(size: tuple[int, int], grid: tuple[int, int], width: int) -> int:
    """Memory for one photo on its way: network and map at `size` (H, W), patches (h, w, width) and operators."""
    (height, breadth), (h, w) = size, grid
    return PIXEL_BYTES * height * breadth + 16 * h * w * (width + 16) + 32 * (height * h + breadth * w)


def require_memory(needed: int, most: int, what: str) -> None:
    """Raises ValueError with both figures when `what` needs more than `most` bytes."""
    if needed > most:
        raise ValueError(
            f"{what} would need {needed / 1e9:,.1f} GB of memory, at most {most / 1e9:.1f} GB are allowed; "
            "a coarser grid, a smaller image size or fewer features take less"
        )


def _under(part: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {f"{part}.{name}": array for name, array in arrays.items()}


def _network(names: Collection[str]) -> dict[str, Array]:
    """Layers W_0, b_0, ... from the embedding to the classes, as many as there are."""
    layers = sum(name.startswith("kinds.W_") for name in names)
    widths = ["e", *(f"units_{i}" for i in range(layers - 1)), "classes"]
    arrays = {"codes": Array(("BOOL",), ("polytopes", "units"), 0, 1)}
    for i in range(layers):
        arrays |= {f"W_{i}": _floats(f"{widths[i + 1]} {widths[i]}"), f"b_{i}": _floats(widths[i + 1])}
    return arrays


def _fits(length: int, word: str, name: str, lengths: dict[str, int]) -> bool:
    """Whether a length is what its word says; a word met for the first time says this length from now on."""
    if word.isdecimal():
        return length == int(word)
    if word == "tri(k)":
        return length == lengths["k"] * (lengths["k"] + 1) // 2
    return lengths.setdefault(_key(word, name), length) == length and (length > 0 or word in MAY_BE_NONE)


def _key(word: str, name: str) -> str:
    """What a length of that word is called in the array of that name."""
    return word if word in SHARED else f"{name.split('.')[0]}.{word}"


def _needed(document: Mapping, header: Header, lengths: Mapping[str, int]) -> dict[str, int]:
    """Bytes by purpose: the file as read, the arrays as used, a copy of each in work, one photo, and blocks of it."""
    counts = {name: math.prod(shape) for name, (_, shape) in header.items()}
    used = {name: BYTES[kind] * counts[name] for name, (kind, _) in header.items()}
    copies = {name: 8 * counts[name] if kind in FLOATS else used[name] for name, (kind, _) in header.items()}
    name, k = "detector.cholesky", lengths.get("k", 0)
    if name in header:
        square = lengths["h"] * lengths["w"] * k * k
        used[name], copies[name] = BYTES[header[name][0]] * square, 4 * square
    widest = max(lengths.get(f"{part}.{word}", 0) for part in ("detector", "guard") for word in ("n", "D"))
    geometry = document["geometry"]
    return {
        "file": sum(BYTES[kind] * counts[name] for name, (kind, _) in header.items()),
        "arrays": sum(used.values()),
        "copies": sum(copies.values()),
        "photo": photo_bytes(geometry["size"], geometry["grid"], k),
        "blocks": ROW_BYTES * max(widest, k) + 32 * k * k,
    }
