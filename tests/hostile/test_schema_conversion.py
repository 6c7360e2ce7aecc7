"""Recipes of schema 1: converted they are what they were, and the log carries over what it knows of them."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from inspect_core.audit import challenges, life_cycle
from inspect_core.audit.entry import CONVERTED, EXPORT
from inspect_core.audit.log import AuditLog
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_format.recipe_package import FormerSchemaError, RecipeError
from inspect_core.recipe_io import recipe_file
from inspect_core.recipe_io.schema_conversion import convert, convert_workspace
from inspect_core.runtime import workspace

STORED = Path(__file__).parents[1] / "data" / "recipe.zip"
"""Written by a version with schema 1."""
SUBSETS = {"train": "fit", "calibration": "calibrate", "validation": "choose", "test": "judge"}


@pytest.fixture
def log(tmp_path):
    with AuditLog.open(f"sqlite:///{tmp_path}/log.sqlite") as opened:
        yield opened


def as_schema_1(files: dict[str, bytes], **changed: object) -> dict[str, bytes]:
    """The files of a recipe as the version before wrote them."""
    document = json.loads(files[recipe_package.RECIPE])

    def rename(table, **names):
        for new, old in names.items() if table else ():
            table[old] = table.pop(new)

    rename(document["geometry"], nearest_upsampling="nearest")
    rename(document["depth"], stored_bits="stored", left_aligned="left", min_peak="dimmest")
    rename(document["product_check"], min_energy="smallest")
    rename(document["defect_types"], minimum_confidence="known_from")
    alignment = {"photo_size": "photo", "symmetry_angles": "turns", "photos_seen": "seen", "photos_not_located": "lost"}
    rename(document["alignment"], **alignment)
    for view in document["views"]:
        rename(view, scale_stops="scales")
    for area in (document["areas"] or {"areas": []})["areas"]:
        rename(area, mode="kind", strictness="times")
    if document["known_cases"]:
        rename(document["known_cases"]["cases"], defect_types="kinds")
        rename(document["known_cases"], cases="gallery")
    for photo in (*(document["teaching"] or {"photos": []})["photos"], *document["unscored"]):
        rename(photo, label="kind", subset="set")
        photo["set"] = SUBSETS[photo["set"]]
        if "verdict" in photo:
            rename(photo, verdict="word")
    top = {"product_check": "guard", "known_cases": "gallery", "defect_types": "kinds", "teaching": "taught"}
    top |= {"challenge_parts": "challenge", "photo_root": "photos", "live_values": "live"}
    rename(document, **top)
    arrays = {}
    for name, values in safetensors.numpy.load(files[recipe_package.ARRAYS]).items():
        part, _, rest = name.partition(".")
        rest = {"surface_accepted": "surface_vouched", "coverage_mask": "always"}.get(rest, rest)
        arrays[f"{top.get(part, part)}.{rest}"] = values
    head, *rows = csv.reader(io.StringIO(files[recipe_package.CALIBRATION].decode()))
    assert head == ["name", "digest", "score", "label", "subset"]
    table = io.StringIO(newline="")
    writer = csv.writer(table, lineterminator="\n")
    writer.writerows([["name", "digest", "score", "kind", "set"], *([*row[:4], SUBSETS[row[4]]] for row in rows)])
    return files | {
        recipe_package.RECIPE: json.dumps(document | {"schema": 1} | changed, indent=1).encode(),
        recipe_package.ARRAYS: safetensors.numpy.save(arrays),
        recipe_package.CALIBRATION: table.getvalue().encode(),
    }


@pytest.mark.parametrize("method", ["mahalanobis", "kernel_pca", "quadrics", "mahalanobis+quadrics"])
def test_every_part_comes_back_as_it_was(recipes, tmp_path, log, method):
    files = recipe_file.files_of(recipes[method])
    recipe_file.write(as_schema_1(files), tmp_path / "old.zip")
    with pytest.raises(FormerSchemaError, match="convert it"):
        recipe_file.load(tmp_path / "old.zip")
    before = (tmp_path / "old.zip").read_bytes()
    recipe = convert(tmp_path / "old.zip", tmp_path / "new.zip", log, user="Ana")
    assert (tmp_path / "old.zip").read_bytes() == before
    converted = recipe_file.files_at(tmp_path / "new.zip")
    assert json.loads(converted[recipe_package.RECIPE]) == json.loads(files[recipe_package.RECIPE])
    arrays, expected = (safetensors.numpy.load(those[recipe_package.ARRAYS]) for those in (converted, files))
    assert arrays.keys() == expected.keys()
    assert all(np.array_equal(arrays[name], expected[name]) for name in arrays)
    assert converted[recipe_package.CALIBRATION] == files[recipe_package.CALIBRATION]
    assert recipe.digest == recipe_file.load(tmp_path / "new.zip").digest


def test_the_log_carries_over_state_challenge_and_parent(recipes, tmp_path, log):
    parent = recipe_package.check(STORED).digest
    life_cycle.approve(log, parent, product="flange", reason="first release", user="Ana")
    challenges.record(log, [{"name": "dent", "passed": True}], product="flange", recipe=parent, user="Ana")
    first = convert(STORED, tmp_path / "first.zip", log, user="Ana")
    assert life_cycle.states(log) == {parent: life_cycle.RETIRED, first.digest: life_cycle.APPROVED}
    assert challenges.why_blocked(log, first.digest) is None
    files = as_schema_1(recipe_file.files_of(recipes["cop"]), parent=parent, created="2026-11-24T10:00:00+00:00")
    recipe_file.write(files, tmp_path / "old")
    second = convert(tmp_path / "old", tmp_path / "second.zip", log, user="Ana")
    assert second.provenance.parent == first.digest
    assert [entry.facts["former"] for entry in log.entries(kind=CONVERTED)][:1] == [parent]
    count = log.head()[0]
    assert convert(STORED, tmp_path / "again.zip", log, user="Ana").digest == first.digest
    assert log.head()[0] == count, "what was converted before is recorded once"
    assert log.verify() == []


def test_an_export_keeps_its_graph_and_golden_images(recipes, tmp_path, log):
    files = as_schema_1(recipe_file.files_of(recipes["cop"]))
    parity = b"name,set,digest,app_score\n'=a.png,calibrate,d,-1.5\nb.png,other,e,2.0\n"
    exported = files | {"model.onnx": b"graph", "whole.onnx": b"second", "golden/expected.csv": b"file\n"}
    recipe_file.write(exported | {recipe_package.PARITY: parity}, tmp_path / "line.zip")
    convert(tmp_path / "line.zip", tmp_path / "new.zip", log, user="Ana")
    package = recipe_package.check(tmp_path / "new.zip")
    assert package.read(recipe_package.TILES_TO_MAP) == b"second"
    assert package.read(recipe_package.MODEL) == b"graph"
    expected = b"name,subset,digest,app_score\n'=a.png,calibration,d,-1.5\nb.png,other,e,2.0\n"
    assert package.read(recipe_package.PARITY) == expected
    assert [entry.facts["release"] for entry in log.entries(kind=EXPORT)] == [package.release]


def test_workspace_is_converted_in_order_and_keeps_former_files(recipes, tmp_path, log, monkeypatch):
    monkeypatch.setenv("LOUPE_WORKSPACE", str(tmp_path / "workspace"))
    folder = workspace.recipes_folder()
    folder.mkdir(parents=True)
    (folder / "b.zip").write_bytes(STORED.read_bytes())
    later = {"parent": recipe_package.check(STORED).digest, "created": "2026-11-24T10:00:00+00:00"}
    recipe_file.write(as_schema_1(recipe_file.files_of(recipes["cop"]), **later), folder / "a")
    shutil.copytree(folder / "a", workspace.former_folder() / "a")  # what an attempt that failed leaves
    convert_workspace([folder / "a", folder / "b.zip"], log, user="Ana")
    assert recipe_file.load(folder / "a").provenance.parent == recipe_file.load(folder / "b.zip").digest
    assert sorted(path.name for path in workspace.former_folder().iterdir()) == ["a", "b.zip"]
    assert (workspace.former_folder() / "b.zip").read_bytes() == STORED.read_bytes()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"schema": 2}, "only recipes of schema 1"),
        ({"schema": 3}, "only recipes of schema 1"),
        ({"views": 7}, "."),
        ({"alignment": [{}]}, "."),
        ({"taught": {"photos": [{"set": "elsewhere"}]}}, "cannot be converted"),
        ({"guard": {"mode": "maybe"}}, "."),
        ({"parent": ["a"]}, "."),
    ],
)
def test_what_is_no_sound_recipe_of_schema_1_is_refused(recipes, tmp_path, log, changed, reason):
    recipe_file.write(as_schema_1(recipe_file.files_of(recipes["cop"]), **changed), tmp_path / "old.zip")
    with pytest.raises(RecipeError, match=rf"^(old|new)\.zip: .*{reason}"):
        convert(tmp_path / "old.zip", tmp_path / "new.zip", log, user="Ana")
    assert not (tmp_path / "new.zip").exists()
    assert log.head() == (0, "")
