"""Convert recipes of schema 1 to today's schema: the same values under other names, so every score stays the same.

The old file is kept and the log records both digests. An export is converted whole: its graph and golden images stay.
"""

import csv
import io
import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import safetensors.numpy

from inspect_core.audit import challenges, life_cycle
from inspect_core.audit.entry import CONVERTED, EXPORT, NewLogEntry
from inspect_core.audit.log import AuditLog
from inspect_core.images.samples import SUBSETS
from inspect_core.recipe import Recipe
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.fields import SCHEMA
from inspect_core.recipe_format.recipe_package import Package, RecipeError, recipe_errors
from inspect_core.recipe_io import recipe_file
from inspect_core.recipe_io.recipe_path import check_place
from inspect_core.runtime import workspace
from inspect_core.runtime.json_text import from_json

FORMER_SCHEMA = 1
_GRAPHS = {"whole.onnx": recipe_package.TILES_TO_MAP}
_PHOTO = {"kind": "label", "set": "subset"}
_NAMES = {
    "": {
        "guard": "product_check", "kinds": "defect_types", "gallery": "known_cases", "taught": "teaching",
        "challenge": "challenge_parts", "photos": "photo_root", "live": "live_values",
    },
    "geometry": {"nearest": "nearest_upsampling"},
    "views": {"scales": "scale_stops"},
    "depth": {"stored": "stored_bits", "left": "left_aligned", "dimmest": "min_peak"},
    "areas.areas": {"kind": "mode", "times": "strictness"},
    "alignment": {
        "photo": "photo_size", "turns": "symmetry_angles", "seen": "photos_seen", "lost": "photos_not_located",
    },
    "product_check": {"smallest": "min_energy"},
    "known_cases": {"gallery": "cases"},
    "known_cases.cases": {"kinds": "defect_types"},
    "defect_types": {"known_from": "minimum_confidence"},
    "teaching.photos": _PHOTO,
    "unscored": _PHOTO | {"word": "verdict"},
}  # fmt: skip
"""Former names by their place in recipe.json, which is written with today's names."""
FORMER_SUBSETS = dict(zip(("fit", "calibrate", "choose", "judge"), SUBSETS, strict=True))
_ARRAYS = {"known_cases.surface_vouched": "known_cases.surface_accepted", "alignment.always": "alignment.coverage_mask"}
_LATER = {"quality": None, "teaching": None, "as_published": False, "unscored": [], "photo_folders": []}
"""Fields that came later, and what a recipe without them means."""


def convert(source: Path, destination: Path, log: AuditLog, *, user: str) -> Recipe:
    """Write the recipe of schema 1 at `source` to `destination` and record it; returns the new recipe.

    The version it follows is named by its new digest if that one was converted. State and last challenge are recorded
    for the new digest too, and the release of an export, in one transaction.
    Raises RecipeError for anything but a sound recipe of schema 1, and as `recipe_file.save` and `AuditLog.append_all`.
    """
    return _convert(_package(source), check_place(destination), log, user)


def convert_workspace(paths: list[Path], log: AuditLog, *, user: str) -> None:
    """Convert recipes of schema 1 where they lie, in the order in which they were made, with their exports.

    The former files are kept in the workspace's folder `former`. Raises as `convert`; those before are converted then.
    """
    packages = [_package(path) for path in paths]
    for package in sorted(packages, key=lambda package: datetime.fromisoformat(_document(package)["created"])):
        export = workspace.export_of(package.digest)
        copy = workspace.former_folder() / package.where.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if package.where.is_dir():
            shutil.copytree(package.where, copy, dirs_exist_ok=True)  # an attempt that failed left its copy
        else:
            shutil.copy2(package.where, copy)
        recipe = _convert(package, package.where, log, user)
        if export.exists():
            _convert(_package(export), workspace.export_of(str(recipe.digest)), log, user)


def convert_in_place(path: Path) -> None:
    """Convert a recipe of which nothing is recorded, that of an unsaved product. Raises as `convert`."""
    recipe_file.write(_files(_package(path), {}), path, recipe_file.load)


def _convert(package: Package, place: Path, log: AuditLog, user: str) -> Recipe:
    converted = {entry.facts["former"]: entry.recipe for entry in log.entries(kind=CONVERTED)}
    files = _files(package, converted)
    recipe_file.write(files, place, recipe_file.load)
    recipe = recipe_file.load(place)
    context = {"user": user, "product": recipe.product, "recipe": str(recipe.digest)}
    entries = [] if package.digest in converted else _entries(log, package.digest, context)
    if recipe_package.MODEL in files:
        release = recipe_package.release_of(recipe_file.sums_of(files))
        entries.append(NewLogEntry(EXPORT, {"release": release}, **context))
    log.append_all(entries)
    return recipe


def _package(path: Path) -> Package:
    package = recipe_package.check(path, former_names=tuple(_GRAPHS))
    if (schema := _document(package).get("schema")) != FORMER_SCHEMA:
        raise RecipeError(
            f"{path.name}: its schema is {schema!r:.20}; only recipes of schema {FORMER_SCHEMA} are converted"
        )
    return package


def _document(package: Package) -> dict[str, Any]:
    with recipe_errors(package.where, f"{recipe_package.RECIPE} cannot be used"):
        return dict(from_json(package.read(recipe_package.RECIPE)))


def _files(package: Package, converted: dict[str, str]) -> dict[str, bytes]:
    with recipe_errors(package.where, "it cannot be converted"):
        document = _LATER | _renamed(_document(package), "")
        document |= {"schema": SCHEMA, "parent": converted.get(document["parent"], document["parent"])}
        if document["alignment"] is not None:
            document["alignment"] = {"outlined": False} | document["alignment"]
        arrays = {_array_name(name): values for name, values in package.arrays().items()}
        files = {_GRAPHS.get(name, name): package.read(name) for name in package.sums}
        tables = {
            name: _table(files[name]) for name in (recipe_package.CALIBRATION, recipe_package.PARITY) if name in files
        }
        recipe_json = (json.dumps(document, indent=1, allow_nan=False) + "\n").encode()
        new = {recipe_package.RECIPE: recipe_json, recipe_package.ARRAYS: safetensors.numpy.save(arrays)}
        return files | tables | new


def _renamed(value: Any, place: str) -> Any:
    if isinstance(value, list):
        return [_renamed(item, place) for item in value]
    if not isinstance(value, dict):
        return value
    names = _NAMES.get(place, {})
    renamed = {}
    for former, item in value.items():
        name = names.get(former, former)
        new = FORMER_SUBSETS[item] if name == "subset" else item
        renamed[name] = _renamed(new, f"{place}.{name}".removeprefix("."))
    return renamed


def _array_name(former: str) -> str:
    part, _, name = former.partition(".")
    new = f"{_NAMES[''].get(part, part)}.{name}"
    return _ARRAYS.get(new, new)


def _table(content: bytes) -> bytes:
    """calibration.csv or parity.csv with today's columns; every other text as it stands."""
    head, *rows = csv.reader(io.StringIO(content.decode(), newline=""))
    at = head.index("set")
    text = io.StringIO(newline="")
    lacks_label = "kind" not in head and "score" in head
    columns = [_PHOTO.get(name, name) for name in head] + ["label"] * lacks_label
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        [*row[:at], FORMER_SUBSETS.get(row[at], row[at]), *row[at + 1 :], *[""] * lacks_label] for row in rows
    )
    return text.getvalue().encode()


def _entries(log: AuditLog, former: str, context: dict[str, str]) -> list[NewLogEntry]:
    """Return what the log says of the former digest, said of the new one."""
    entries = [NewLogEntry(CONVERTED, {"former": former}, key=f"converted/{former}", **context)]
    if (state := life_cycle.state_of(log, former)) != life_cycle.DRAFT:
        entries.append(life_cycle.state_entry(state, reason=f"converted from {former[:12]}", **context))
    if (challenge := challenges.last(log, former)) is not None:
        facts = {**challenge.facts, "entry": challenge.number}
        entries.append(NewLogEntry(challenge.kind, facts, **context))
    return entries
