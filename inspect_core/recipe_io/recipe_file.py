"""Saving and opening recipes: data only, written atomically, verified before a value is used."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import safetensors.numpy
import torch
from torch import Tensor

from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.images.alignment import Alignment
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.registry import DETECTORS, FIELDS, JOIN, METHODS, methods_of
from inspect_core.recipe import Recipe
from inspect_core.recipe_format import arrays as recipe_arrays
from inspect_core.recipe_format import calibration_table, recipe_package
from inspect_core.recipe_format import fields as recipe_fields
from inspect_core.recipe_format.fields import DIRECTION, PARTS, RESIZE_RULE, SCHEMA
from inspect_core.recipe_format.origin import BackboneChoice, Provenance
from inspect_core.recipe_format.photo_inspector import read_facts
from inspect_core.recipe_format.recipe_package import recipe_errors
from inspect_core.recipe_format.zipped import write_zip
from inspect_core.recipe_io.recipe_path import check_place
from inspect_core.recipe_io.self_test import run_self_test
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.json_record import from_plain, from_table, rules_of, to_plain, to_table
from inspect_core.scoring.anomaly_map import AREA, SIGMA
from inspect_core.scoring.local_scale import LocalScale
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.known_cases import KnownCases
from inspect_core.whole_part.product_check import ProductCheck

TRIANGLE = ".cholesky"
BUILT = {"backbone", "views", "live_values"}
"""Fields of a recipe that recipe.json states in another form."""


def save(recipe: Recipe, path: str | Path, record: Callable[[Recipe], object] = lambda saved: None) -> Recipe:
    """Write `recipe` to `path`, a zip when it ends in .zip, else a folder; returns it with its digest.

    record: called with the recipe to be returned before it gets its name; if it raises, nothing remains. The package
    appears under its name only when it is whole, and an older recipe of that name is then replaced. Raises
    OSError when the disk is full or not writable, with nothing left behind, and OutputPathError, an OSError too, when
    the path holds something other than a recipe.

    >>> saved = save(recipe, "flange.zip")
    >>> len(saved.digest)
    64
    """
    path = check_place(path)
    files = files_of(recipe)
    saved = replace(recipe, digest=recipe_package.digest_of(sums_of(files)))
    write(files, path, lambda new: record(saved))
    return saved


def write(files: Mapping[str, bytes], path: Path, check: Callable[[Path], object] = lambda new: None) -> None:
    """Write a package of these files, and the digests of them, where `check_place` allows it.

    check: called with the package before it gets its name; if it raises, nothing remains. Raises OSError as `save`.
    """
    files = {**files, recipe_package.SUMS: recipe_package.listing_of(sums_of(files))}
    try:
        with atomic_replace(path) as new:
            if path.suffix == ".zip":
                write_zip(new, files.items())
                _flush(new)
            else:
                _write_folder(files, new)
            check(new)
    except OSError as error:
        if error.errno is None:  # ours, with a remedy of its own
            raise
        message = f"recipe {path.name} was not saved ({error.strerror}); free some disk space or choose another folder"
        raise OSError(error.errno, message) from error


def sums_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of each file by name."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def load(path: str | Path) -> Recipe:
    """The recipe at `path`, a folder or a zip.

    A recipe that loads can inspect: it has scored a made-up photo. No network is loaded for that.
    Raises RecipeError, naming file, reason and remedy, for anything damaged, oversized or unexpected, and nothing else.

    >>> load("flange.zip").product
    'flange'
    """
    path = Path(path)
    package = recipe_package.check(path)
    document = recipe_package.read_document(package, FIELDS)
    with recipe_errors(path, "its contents are inconsistent"):
        lengths = recipe_arrays.check(document, package.header, DETECTORS)
        arrays = package.arrays()
        recipe_arrays.check_values(document, arrays, DETECTORS)
        for name in arrays:
            if name.endswith(TRIANGLE):
                arrays[name] = recipe_arrays.unpack_triangle(arrays[name])
        recipe = _recipe_of(document, arrays, package)
    widths = [lengths[f"{recipe_arrays.view(number)}.k"] for number in range(len(recipe.views))]
    run_self_test(recipe, path, widths=widths, embedding=lengths.get("e"))
    return recipe


def files_at(path: str | Path) -> dict[str, bytes]:
    """The files of a saved recipe by name, without their digests and what an export added. Raises as `load`."""
    package = recipe_package.check(Path(path))
    return {name: package.read(name) for name in recipe_package.REQUIRED if name != recipe_package.SUMS}


def files_of(recipe: Recipe) -> dict[str, bytes]:
    """The files of a recipe by name, without their digests."""
    stated = {
        "schema": SCHEMA,
        **to_table(recipe.provenance),
        "backbone": to_table(recipe.backbone),
        "geometry": {
            "size": list(recipe.backbone.size),
            "grid": list(recipe.grid),
            "resize": RESIZE_RULE,
            "colour_order": "RGB",
            "nearest_upsampling": recipe.nearest_upsampling,
            "sigma": SIGMA,
        },
        "views": [
            {
                "name": view.method,
                "params": view.detector.params(),
                "taps": list(view.spec.taps),
                "pool": view.spec.pool,
                "scale_stops": list(view.scales),
            }
            for view in recipe.views
        ],
        "live_values": dict(recipe.live_values),
        "score_direction": DIRECTION,
        "calibration": {"good": len(recipe.calibration_photos), "note": recipe.provenance.calibration_note},
        **{name: part and part.params() for name, part in _extras(recipe).items()},
    }
    document = {
        name: stated[name] if name in stated else to_plain(getattr(recipe, name)) for name in recipe_fields.FIELDS
    }
    return {
        recipe_package.RECIPE: (json.dumps(document, indent=1, allow_nan=False) + "\n").encode(),
        recipe_package.ARRAYS: safetensors.numpy.save(_packed(recipe)),
        recipe_package.CALIBRATION: calibration_table.table_of(recipe.calibration_photos, recipe.test_photos),
    }


def _packed(recipe: Recipe) -> dict[str, np.ndarray]:
    all_arrays: dict[str, Any] = {}
    for number, view in enumerate(recipe.views):
        arrays = view.detector.arrays() | _scale_arrays(view)
        if view.spec.projection is not None and "projection" not in arrays:
            arrays["columns"] = view.spec.projection
        all_arrays |= recipe_arrays.add_prefix(recipe_arrays.view(number), arrays)
    for prefix, part in _extras(recipe).items():
        all_arrays |= recipe_arrays.add_prefix(prefix, part.arrays() if part else {})
    for name, value in all_arrays.items():
        plain = value.detach().cpu().numpy() if isinstance(value, Tensor) else value
        all_arrays[name] = np.ascontiguousarray(
            recipe_arrays.pack_triangle(plain) if name.endswith(TRIANGLE) else plain
        )
    return all_arrays


def _scale_arrays(view: FittedMethod) -> dict[str, np.ndarray]:
    """The local scales of a view, one row for each live value; nothing for a raw map."""
    scales = list(view.scales.values())
    if not scales:
        return {}
    columns = {field.name: [getattr(scale, field.name) for scale in scales] for field in fields(LocalScale)}
    return {f"scale_{name}": np.array(values) for name, values in columns.items()}


def _extras(recipe: Recipe) -> dict[str, ProductCheck | KnownCases | DefectTypes | Alignment | None]:
    return {name: getattr(recipe, name) for name in PARTS}


def _recipe_of(document: dict, arrays: dict, package: recipe_package.Package) -> Recipe:
    geometry, chosen, live = document["geometry"], document["backbone"], document["live_values"]
    calibration, test_photos = calibration_table.read_table(package, document)
    made = {name: document[name] for name in rules_of(Provenance)}
    if geometry["sigma"] != SIGMA:
        raise ValueError(f"geometry.sigma is {geometry['sigma']}, and this version smooths with {SIGMA}")
    views = tuple(_view_of(number, part, arrays, package.where) for number, part in enumerate(document["views"]))
    methods_of(JOIN.join(view.method for view in views))
    if set(live) != {AREA, *(view.live_parameter for view in views if view.live_parameter)}:
        raise ValueError(f"live values {sorted(live)} are not those of {' and '.join(view.method for view in views)}")
    for view in views:
        if (name := view.live_parameter) and live[name] > (most := view.definition.max_value(view.detector)):
            raise ValueError(f"live_values.{name} is {live[name]}, above {most} of the fit")
    if not set(chosen["taps"]) >= {tap for view in views for tap in view.spec.taps}:
        raise ValueError("a view uses a tap that the backbone does not have")
    facts = read_facts(document, arrays, package.where, PARTS)
    hints = get_type_hints(Recipe)
    others = document.keys() & hints.keys() - facts.keys() - BUILT
    return Recipe(
        **facts,
        **{name: from_plain(hints[name], document[name]) for name in others},
        backbone=from_table(BackboneChoice, chosen, size=tuple(geometry["size"])),
        grid=tuple(geometry["grid"]),
        nearest_upsampling=geometry["nearest_upsampling"],
        views=views,
        live_values=live,
        calibration_photos=calibration,
        test_photos=test_photos,
        provenance=from_table(Provenance, made, calibration_note=document["calibration"]["note"]),
        digest=package.digest,
    )


def _view_of(number: int, part: dict, arrays: dict[str, np.ndarray], path: Path) -> FittedMethod:
    view_arrays = recipe_arrays.strip_prefix(recipe_arrays.view(number), arrays)
    tensors = {name: torch.from_numpy(value) for name, value in view_arrays.items()}
    projection = tensors.get("columns", tensors.get("projection"))
    with recipe_errors(path, "the detector cannot be used"):
        detector = METHODS[part["name"]].detector_class.from_arrays(tensors, part["params"])
    columns = {name[6:]: column for name, column in view_arrays.items() if name.startswith("scale_")}
    scales = {
        value: LocalScale(**{name: column[row] for name, column in columns.items()})
        for row, value in enumerate(part["scale_stops"])
    }
    spec = PatchFeatureSpec(tuple(part["taps"]), None if projection is None else projection.numpy(), part["pool"])
    return FittedMethod(part["name"], detector, spec, scales, is_uncalibrated=not scales)


def _write_folder(files: dict[str, bytes], folder: Path) -> None:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        _flush(folder / name)


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
