"""The task of inspecting: photos and a saved recipe in, rows and maps out. An exported recipe needs no torch here."""

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.line.batch import judge_and_draw
from inspect_core.line.inspector import Inspector
from inspect_core.runner import Runner
from inspect_core.sharding.container import pack, unpack


def inspect_shard(payload: bytes, recipe: bytes, weights: bytes) -> bytes:
    """The rows of some photos, and their maps.

    payload: {"photos": [(name, path), ...], "endings": of the maps that are wanted}; recipe: {"exported", "device",
    "release"} and the package as a zip; weights: as `plan` packs them, of no use to an exported recipe. Back come
    [(row, SHA-256 of the photo's file), ...] and the maps, bytes by "<position><ending>".
    """
    (facts, _), inspector = unpack(payload), open_inspector(recipe, weights)
    rows, maps = [], {}
    for i, (name, path) in enumerate(facts["photos"]):
        row, file, files = judge_and_draw(inspector, name, Path(path), facts["endings"])
        rows.append((asdict(row), file))
        maps |= {f"{i}{ending}": np.frombuffer(content, np.uint8) for ending, content in files.items()}
    return pack(rows, maps)


@lru_cache(maxsize=1)
def open_inspector(recipe: bytes, weights: bytes) -> Inspector:
    """The recipe, checked and ready, with one thread. Raises ValueError as its readers do."""
    facts, content = unpack(recipe)
    with tempfile.TemporaryDirectory(prefix="loupe-recipe-") as folder:
        path = Path(folder, "recipe.zip")
        content["package"].tofile(path)
        if facts["exported"]:
            return Runner(path, threads=1, release=facts["release"])
        return _with_torch(path, facts, weights)


def _with_torch(path: Path, facts: Mapping[str, Any], weights: bytes) -> Inspector:
    # Imported where they are used: an exported recipe needs none of them.
    from inspect_core.recipe import LoadedRecipe
    from inspect_core.records.recipe_file import load
    from inspect_core.runtime.threads import one_core
    from inspect_core.sharding import plan

    one_core()
    recipe = load(path)
    choice = recipe.backbone
    return LoadedRecipe(recipe, plan.backbone_of(choice.name, choice.taps, choice.size, facts["device"], weights))
