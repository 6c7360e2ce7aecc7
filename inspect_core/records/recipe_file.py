"""Saving and opening recipes: data only, written atomically, verified before a value is used."""

import csv
import hashlib
import io
import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import safetensors.numpy
import torch
from torch import Tensor

from inspect_core.defect_types.classifier import DefectTypes
from inspect_core.guard.model import Guard
from inspect_core.judge.checks import as_finite_number
from inspect_core.methods.method import Method
from inspect_core.methods.table import FIELDS, METHODS
from inspect_core.package import arrays as recipe_arrays
from inspect_core.package import manifest
from inspect_core.package.fields import DIRECTION, RESIZE_RULE
from inspect_core.package.manifest import refusing
from inspect_core.recipe import SIGMA, BackboneChoice, Calibrated, Provenance, Recipe
from inspect_core.records.place import check_place
from inspect_core.records.proof import PARTS, prove
from inspect_core.runtime.unfinished import replacing
from inspect_core.similar.known_cases import KnownCases
from inspect_core.verdict import Limits

TRIANGLES = ("detector.cholesky",)
EXTRAS = {"guard": ("guard", Guard), "gallery": ("gallery", KnownCases), "kinds": ("defect_types", DefectTypes)}
"""Parts of a recipe that may be missing: name in recipe.json -> field of Recipe, and its class."""


def save(recipe: Recipe, path: str | Path) -> Recipe:
    """Write `recipe` to `path`, a zip when it ends in .zip, else a folder; returns it with its digest.

    The package appears under its name only when it is whole, and an older recipe of that name is then replaced.
    Raises OSError when the disk is full or not writable, with nothing left behind, and PlaceError, an OSError too, when
    what is there is no recipe.
    """
    path = check_place(path)
    files = _files_of(recipe)
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    listing = manifest.listing_of(sums)
    files[manifest.SUMS] = listing
    try:
        with replacing(path) as new:
            (_write_zip if path.suffix == ".zip" else _write_folder)(files, new)
    except OSError as error:
        raise OSError(
            error.errno,
            f"recipe {path.name} was not saved ({error.strerror}); free some disk space or choose another folder",
        ) from error
    return replace(recipe, digest=hashlib.sha256(listing).hexdigest())


def load(path: str | Path) -> Recipe:
    """The recipe at `path`, a folder or a zip.

    What loads can inspect: it has scored a made-up photo. No network is loaded for that.
    Raises RecipeError, naming file, reason and remedy, for anything damaged, oversized or unexpected, and nothing else.
    """
    path = Path(path)
    package = manifest.check(path)
    document = manifest.read_document(package, FIELDS)
    method = METHODS[document["detector"]["name"]]
    with refusing(path, "its parts do not fit together"):
        lengths = recipe_arrays.check(document, package.header, method.arrays)
        recipe = _recipe_of(document, _arrays(package, document, method), _calibration(package), package)
    prove(recipe, path, width=lengths["k"], embedding=lengths.get("e"))
    return recipe


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


def _extras(recipe: Recipe) -> dict[str, Guard | KnownCases | DefectTypes | None]:
    return {name: getattr(recipe, field) for name, (field, _) in EXTRAS.items()}


def _of(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, Tensor]:
    return {
        name.removeprefix(f"{prefix}."): torch.from_numpy(value)
        for name, value in arrays.items()
        if name.startswith(f"{prefix}.")
    }


def _to_numpy(value: Tensor | np.ndarray) -> np.ndarray:
    return value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _arrays(package: manifest.Package, document: dict, method: Method) -> dict[str, np.ndarray]:
    arrays = safetensors.numpy.load(package.read(manifest.ARRAYS))
    recipe_arrays.check_values(document, arrays, method.arrays)
    for name in TRIANGLES:
        if name in arrays:
            arrays[name] = manifest.unpack_triangle(arrays[name])
    return arrays


def _calibration(package: manifest.Package) -> tuple[Calibrated, ...]:
    with refusing(package.where, f"{manifest.CALIBRATION} is damaged"):
        rows = csv.DictReader(io.StringIO(package.read(manifest.CALIBRATION).decode("utf-8")))
        return tuple(
            Calibrated(row["name"], row["digest"], as_finite_number(row["score"], name=f"score of row {number}"))
            for number, row in enumerate(rows, start=1)
        )


def _recipe_of(document: dict, arrays: dict, calibration: tuple[Calibrated, ...], package: manifest.Package) -> Recipe:
    geometry, chosen, detector = document["geometry"], document["backbone"], document["detector"]
    if geometry["sigma"] != SIGMA:
        raise ValueError(f"geometry.sigma is {geometry['sigma']}, and this version smooths with {SIGMA}")
    if len(calibration) != document["calibration"]["good"]:
        raise ValueError("the calibration table is not as long as recipe.json says")
    method, live = METHODS[detector["name"]], detector["live"]
    projection = arrays.get("features.projection", arrays.get("detector.projection"))
    with refusing(package.where, f"{PARTS['detector']} cannot be used"):
        fitted = method.from_arrays(_of("detector", arrays), detector["params"])
    if set(live) != ({method.live} if method.live else set()):
        raise ValueError(f"live parameters {sorted(live)} are not those of {detector['name']}")
    if method.live and live[method.live] > method.top(fitted):
        raise ValueError(f"detector.live.{method.live} is {live[method.live]}, above {method.top(fitted)} of the fit")
    extras = {}
    for name, (field, kind) in EXTRAS.items():
        with refusing(package.where, f"{PARTS[name]} cannot be used"):
            extras[field] = document[name] and kind.from_arrays(_of(name, arrays), document[name])
    return Recipe(
        product=document["product"],
        backbone=BackboneChoice(
            chosen["name"], tuple(chosen["taps"]), chosen["weight_digest"], tuple(geometry["size"])
        ),
        grid=tuple(geometry["grid"]),
        pool=geometry["pool"],
        nearest=geometry["nearest"],
        projection=projection,
        method=detector["name"],
        detector=fitted,
        live=live,
        limits=Limits(document["limits"]["review"], document["limits"]["reject"]),
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
        **extras,
        digest=package.digest,
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


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
