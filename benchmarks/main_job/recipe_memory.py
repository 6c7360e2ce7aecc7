"""Memory of the largest recipes that load: each kind grown until one more would be refused, loaded and used.

The recipes are made of arrays without content; memory does not depend on it. Each is opened in a process of its own,
which says what it takes beyond its libraries: at the peak of loading, and of scoring a patch grid after that.
"""

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import in_own_process, own_peak_mb, write
from inspect_core.methods.table import ARRAYS
from inspect_core.package import arrays, manifest
from inspect_core.package.conversion import SCHEMAS
from inspect_core.records import recipe_file

MB = 2**20
TYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "U8": np.uint8, "BOOL": np.bool_}


@dataclass(frozen=True)
class Kind:
    """A kind of recipe that grows: its fields, and the lengths of its arrays, both at a size n."""

    method: str
    lengths: Callable[[int], dict[str, int]]
    grid: Callable[[int], tuple[int, int]] = lambda n: (32, 32)
    parts: tuple[str, ...] = ()


_MIXED = {"view0.d": 624, "view0.k": 100}


def _by_k(n: int) -> dict[str, int]:
    return {"view0.d": max(n, 624), "view0.k": n}


_WIDE = {"view0.k": 256, "e": 1280}
_COP = _WIDE | {"view0.r": 256}
_CASES = {f"gallery.{name}": size for name, size in (("m", 20), ("n", 16), ("vouched", 1))}
_CLASSES = {"kinds.classes": 5}
KINDS = {
    "mahalanobis, 32 x 32, by k": Kind("mahalanobis", _by_k),
    "mahalanobis, 64 x 64, by k": Kind("mahalanobis", _by_k, lambda n: (64, 64)),
    "mahalanobis, k = 100, by grid": Kind("mahalanobis", lambda n: _MIXED, lambda n: (n, n)),
    "cop, by grid": Kind("cop", lambda n: _COP, lambda n: (n, n)),
    "corp, by M": Kind("corp", lambda n: {"view0.k": 256, "view0.D": n, "view0.r": n}),
    "kernel_pca, by patches": Kind("kernel_pca", lambda n: {"view0.k": 256, "view0.n": n, "view0.r": n}),
    "nearest, by patches": Kind("nearest", lambda n: {"view0.k": 256, "view0.n": n}),
    "quadrics, 88 components, by m": Kind("quadrics", lambda n: {"view0.k": 256, "view0.n": 88, "view0.m": n}),
    "gallery, by cases": Kind("cop", lambda n: _COP | _CASES | {"gallery.cases": n}, parts=("gallery",)),
    "forest of 500 trees, by examples": Kind(
        "cop",
        lambda n: _COP | _CLASSES | {"kinds.polytopes": n, "kinds.trees": 500, "kinds.nodes": 100 * n + 500},
        parts=("kinds",),
    ),
}


def document_of(kind: Kind, n: int) -> dict:
    """recipe.json at size n."""
    lengths = kind.lengths(n)
    params = {
        "mahalanobis": {"ridge": 0.01, "images": 100, "storage": "float32"},
        "cop": {"cosine": True, "gamma": None, "explained_variance": 0.9},
        "corp": {"cosine": True, "gamma": 1.0, "explained_variance": 0.9},
        "kernel_pca": {"sigma": 1.0, "q": 1}, "nearest": {"k": 1, "unit": False}, "quadrics": _SURFACE,
    }  # fmt: skip
    names = [str(i) for i in range(lengths.get("gallery.cases", 0))]
    gallery = {
        "gallery": {"names": names, "kinds": ["good"] * len(names), "notes": [""] * len(names)}, "surface": _SURFACE,
        "limit": 1.0, "suggested": 1.0, "digests": names, "by_region": False,
    }  # fmt: skip
    classifier = {"classes": list("abcde"), "power": 1.0, "lam": 1e-3, "euclidean": False, "parent": "forest"}
    live = {"mahalanobis": {"k": 1}, "nearest": {}, "quadrics": {"m": 1}}.get(kind.method, {"q": 1})
    return {
        "schema": SCHEMAS[-1], "product": "large", "created": "", "author": "", "reason": "", "parent": None,
        "state": "draft", "backbone": {"name": "efficientnet_lite0", "taps": ["x"], "weight_digest": ""},
        "geometry": {
            "size": [256, 256], "grid": list(kind.grid(n)), "resize": recipe_file.RESIZE_RULE, "colour_order": "RGB",
            "nearest": False, "sigma": recipe_file.SIGMA,
        },
        "views": [{"name": kind.method, "params": params[kind.method], "taps": ["x"], "pool": 1, "scales": []}],
        "live": live | {"area": 1},
        "limits": {"review": 1.0, "reject": 1.0}, "score_direction": recipe_file.DIRECTION,
        "calibration": {"good": 0, "note": ""}, "seeds": {}, "versions": {}, "guard": None,
        "gallery": gallery if "gallery" in kind.parts else None,
        "kinds": {"by_region": False, "known_from": 0.5, "classifier": classifier} if "kinds" in kind.parts else None,
    }  # fmt: skip


_SURFACE = {"kept_variance": 1.0, "penalty_value": 0.0, "start": "closed form"}


def header_of(kind: Kind, document: dict, n: int) -> arrays.Header:
    """Type and shape of every array at size n; F64 where the program keeps it."""
    lengths, k = kind.lengths(n), kind.lengths(n)["view0.k"]
    lengths = lengths | dict(zip("hw", kind.grid(n), strict=True)) | {"tri(k)": k * (k + 1) // 2}

    def length(word: str, name: str) -> int:
        return int(word) if word.isdecimal() else lengths.get(word) or lengths[f"{name.split('.')[0]}.{word}"]

    single = ("view0.projection", "view0.mean", "view0.cholesky", "view0.components", "view0.w0",
              "view0.u", "view0.bank", "gallery.embeddings")  # fmt: skip
    return {
        name: (
            "F32" if name in single else "F64" if "F64" in array.types else array.types[0],
            tuple(length(word, name) for word in array.shape),
        )
        for name, array in arrays.expected(document, (), ARRAYS).items()
    }


def fits(kind: Kind, n: int) -> bool:
    """Whether a recipe of size n is allowed."""
    document = document_of(kind, n)
    try:
        arrays.check(document, header_of(kind, document, n), ARRAYS)
    except ValueError:
        return False
    return len(json.dumps(document)) < manifest.BYTE_CAPS[manifest.RECIPE]


def largest(kind: Kind) -> int:
    """The largest size that is allowed."""
    low, high = 16, 32
    while fits(kind, high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(kind, middle) else (low, middle)
    return low


def make(kind: Kind, n: int, folder: Path) -> int:
    """Write the recipe of size n; bytes of its array file."""
    document = document_of(kind, n)
    header, data, at = {}, [], 0
    for name, (type_name, shape) in header_of(kind, document, n).items():
        values = _filled(name, shape, TYPES[type_name])
        header[name] = {"dtype": type_name, "shape": shape, "data_offsets": [at, at := at + values.nbytes]}
        data.append(values)
    text = json.dumps(header).encode()
    folder.mkdir()
    with (folder / manifest.ARRAYS).open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for values in data:
            values.tofile(file)
    (folder / manifest.RECIPE).write_text(json.dumps(document))
    (folder / manifest.CALIBRATION).write_text("name,digest,score\n")
    sums = {}
    for path in folder.iterdir():
        with path.open("rb") as file:
            sums[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    (folder / manifest.SUMS).write_bytes(manifest.listing_of(sums))
    return (folder / manifest.ARRAYS).stat().st_size


def _filled(name: str, shape: tuple[int, ...], kind: type) -> np.ndarray:
    values = np.zeros(shape, kind)
    if name == "view0.cholesky":
        rows, columns = np.tril_indices(int(np.sqrt(2 * shape[-1])))
        values[...] = rows == columns
    elif name.endswith(("scale", ".var", ".share", ".prior")):
        values[...] = 0.2 if name.endswith(".prior") else 1
    elif name.endswith((".left", ".right")):
        values[...] = -1
    return values


def use(path: Path) -> dict[str, float]:
    """MB beyond the libraries at the peak of loading, and of scoring as inspecting does after that."""
    before = own_peak_mb()
    recipe = recipe_file.load(path)
    loaded = own_peak_mb() - before
    recipe_file.prove(recipe, path, widths=[_width(recipe)], embedding=1280)
    return {"loading_mb": loaded, "using_mb": own_peak_mb() - before}


def _width(recipe) -> int:
    """Features of a patch."""
    projection = recipe.views[0].look.projection
    return projection.shape[1] if projection is not None else 256


def figures() -> dict:
    """Size, file and memory of the largest recipe of every kind, beside the bound."""
    found = {"bound_mb": arrays.LARGEST_RECIPE / MB}
    for name, kind in KINDS.items():
        with tempfile.TemporaryDirectory(prefix="loupe-recipes-") as folder:
            n = largest(kind)
            written = make(kind, n, Path(folder) / "recipe")
            used = in_own_process(
                ["benchmarks.main_job.recipe_memory", "--use", f"{folder}/recipe"], workspace=Path(folder) / "workspace"
            )
        found[name] = {"n": n, "file_mb": written / MB} | used
        print(name, found[name], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory of the largest recipes that load.")
    parser.add_argument("--use", type=Path, help="open this recipe and print what it takes as JSON")
    options = parser.parse_args()
    if options.use:
        print(json.dumps(use(options.use)))
        return
    print(write("recipe_memory", figures()))


if __name__ == "__main__":
    main()
