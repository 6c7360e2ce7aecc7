"""Saving and opening recipes: data only, written atomically, verified before a value is used."""

import csv
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import safetensors.numpy
import torch
from torch import Tensor

from inspect_core import manifest
from inspect_core.guard import Guard
from inspect_core.kinds import Kinds
from inspect_core.known_cases import KnownCases
from inspect_core.manifest import RecipeError
from inspect_core.methods import METHODS
from inspect_core.recipe import SIGMA, BackboneChoice, Calibrated, Provenance, Recipe
from inspect_core.verdict import Limits

TRIANGLES = ("detector.cholesky",)
EXTRAS = {"guard": Guard, "gallery": KnownCases, "kinds": Kinds}
RESIZE_RULE = "squash, Pillow BILINEAR"
DIRECTION = "higher is more anomalous"


def save(recipe: Recipe, path: str | Path) -> Recipe:
    """Write `recipe` to `path`, a zip when it ends in .zip, else a folder; returns it with its digest.

    The package appears under its name only when it is whole, and an older one of that name is then replaced.
    Raises OSError when the disk is full or not writable; nothing is left behind then.
    """
    path = Path(path)
    files = _files_of(recipe)
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    listing = manifest.listing_of(sums)
    files[manifest.SUMS] = listing
    path.parent.mkdir(parents=True, exist_ok=True)
    half_done = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        if path.suffix == ".zip":
            _write_zip(files, half_done / "recipe.zip")
            os.replace(half_done / "recipe.zip", path)
        else:
            _write_folder(files, half_done / "recipe")
            _replace_folder(half_done / "recipe", path, half_done / "old")
    except OSError as error:
        raise OSError(
            error.errno,
            f"recipe {path.name} was not saved ({error.strerror}); free some disk space or choose another folder",
        ) from error
    finally:
        shutil.rmtree(half_done, ignore_errors=True)
    return replace(recipe, digest=hashlib.sha256(listing).hexdigest())


def load(path: str | Path) -> Recipe:
    """The recipe at `path`, a folder or a zip.

    Raises RecipeError, naming file, reason and remedy, for anything damaged, oversized or unexpected.
    """
    path = Path(path)
    package = manifest.check(path)
    document = manifest.read_document(package)
    try:
        return _recipe_of(document, _arrays(package), _calibration(package), package.digest)
    except RecipeError:
        raise
    except (KeyError, TypeError, ValueError, RuntimeError, IndexError) as error:
        raise RecipeError(f"{path.name}: its parts do not fit together ({error}); get a fresh copy") from error


def _files_of(recipe: Recipe) -> dict[str, bytes]:
    backbone, provenance = recipe.backbone, recipe.provenance
    document = {
        "schema": manifest.SCHEMA,
        "product": recipe.product,
        "created": provenance.created,
        "author": provenance.author,
        "reason": provenance.reason,
        "parent": provenance.parent,
        "state": provenance.state,
        "backbone": {"name": backbone.name, "taps": list(backbone.taps), "weight_digest": backbone.weight_digest},
        "geometry": {
            "size": list(backbone.size),
            "grid": list(recipe.grid),
            "resize": RESIZE_RULE,
            "colour_order": "RGB",
            "pool": recipe.pool,
            "nearest": recipe.nearest,
            "sigma": SIGMA,
        },
        "detector": {"name": recipe.method, "params": recipe.detector.params(), "live": dict(recipe.live)},
        "limits": {"review": recipe.limits.review, "reject": recipe.limits.reject},
        "score_direction": DIRECTION,
        "calibration": {"good": len(recipe.calibration), "note": provenance.calibration_note},
        "seeds": dict(provenance.seeds),
        "versions": dict(provenance.versions),
        **{name: part and part.params() for name, part in _extras(recipe).items()},
    }
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["name", "digest", "score"])
    writer.writerows([row.name, row.digest, repr(row.score)] for row in recipe.calibration)
    return {
        manifest.RECIPE: (json.dumps(document, indent=1, allow_nan=False) + "\n").encode(),
        manifest.ARRAYS: safetensors.numpy.save(_packed(recipe)),
        manifest.CALIBRATION: table.getvalue().encode(),
    }


def _packed(recipe: Recipe) -> dict[str, np.ndarray]:
    arrays = {f"detector.{name}": _to_numpy(value) for name, value in recipe.detector.arrays().items()}
    for prefix, part in _extras(recipe).items():
        arrays |= {f"{prefix}.{name}": _to_numpy(value) for name, value in (part.arrays() if part else {}).items()}
    if recipe.projection is not None and "detector.projection" not in arrays:
        arrays["features.projection"] = recipe.projection
    for name in TRIANGLES:
        if name in arrays:
            arrays[name] = manifest.pack_triangle(arrays[name])
    return {name: np.ascontiguousarray(value) for name, value in arrays.items()}


def _extras(recipe: Recipe) -> dict[str, Guard | KnownCases | Kinds | None]:
    return {name: getattr(recipe, name) for name in EXTRAS}


def _of(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {
        name.removeprefix(f"{prefix}."): torch.from_numpy(value)
        for name, value in arrays.items()
        if name.startswith(f"{prefix}.")
    }


def _to_numpy(value: Tensor | np.ndarray) -> np.ndarray:
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _arrays(package: manifest.Package) -> dict[str, np.ndarray]:
    arrays = safetensors.numpy.load(package.read(manifest.ARRAYS))
    for name in TRIANGLES:
        if name in arrays:
            arrays[name] = manifest.unpack_triangle(arrays[name])
    for name, value in arrays.items():
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise RecipeError(f"{package.where.name}: array {name} is not finite; get a fresh copy")
    return arrays


def _calibration(package: manifest.Package) -> tuple[Calibrated, ...]:
    rows = csv.DictReader(io.StringIO(package.read(manifest.CALIBRATION).decode("utf-8")))
    return tuple(Calibrated(row["name"], row["digest"], float(row["score"])) for row in rows)


def _recipe_of(document: dict, arrays: dict, calibration: tuple[Calibrated, ...], digest: str) -> Recipe:
    geometry, chosen, detector = document["geometry"], document["backbone"], document["detector"]
    if detector["name"] not in METHODS:
        raise ValueError(f"detector {detector['name']!r} is not one of {', '.join(METHODS)}")
    if (geometry["resize"], geometry["colour_order"]) != (RESIZE_RULE, "RGB") or geometry["sigma"] != SIGMA:
        raise ValueError("its geometry is not one that this version computes")
    if len(calibration) != document["calibration"]["good"]:
        raise ValueError("the calibration table is not as long as recipe.json says")
    method = METHODS[detector["name"]]
    projection = arrays.get("features.projection", arrays.get("detector.projection"))
    fitted = method.from_arrays(_of("detector", arrays), detector["params"])
    live = {name: int(value) for name, value in detector["live"].items()}
    if set(live) != ({method.live} if method.live else set()):
        raise ValueError(f"live parameters {sorted(live)} are not those of {detector['name']}")
    if method.live and not 0 <= live[method.live] <= method.top(fitted):
        raise ValueError(f"{method.live} is {live[method.live]}, above {method.top(fitted)}")
    return Recipe(
        product=document["product"],
        backbone=BackboneChoice(
            chosen["name"], tuple(chosen["taps"]), chosen["weight_digest"], tuple(int(n) for n in geometry["size"])
        ),
        grid=tuple(int(n) for n in geometry["grid"]),
        pool=geometry["pool"],
        nearest=geometry["nearest"],
        projection=projection,
        method=detector["name"],
        detector=fitted,
        live=live,
        limits=Limits(float(document["limits"]["review"]), float(document["limits"]["reject"])),
        calibration=calibration,
        provenance=Provenance(
            created=document["created"],
            author=document["author"],
            reason=document["reason"],
            parent=document["parent"],
            state=document["state"],
            seeds=document["seeds"],
            versions=document["versions"],
            calibration_note=document["calibration"]["note"],
        ),
        **{
            name: kind.from_arrays(_of(name, arrays), document[name]) if document[name] is not None else None
            for name, kind in EXTRAS.items()
        },
        digest=digest,
    )


def _write_zip(files: dict[str, bytes], path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    _flush(path)


def _write_folder(files: dict[str, bytes], folder: Path) -> None:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
        _flush(folder / name)


def _replace_folder(new: Path, path: Path, aside: Path) -> None:
    if path.exists():
        os.replace(path, aside)
    try:
        os.replace(new, path)
    except OSError:
        if aside.exists():
            os.replace(aside, path)
        raise


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
