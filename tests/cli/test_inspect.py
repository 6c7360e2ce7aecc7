import csv
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.cli.commands import main
from inspect_core.features.extraction import embed
from inspect_core.images.photo_reader import read
from inspect_core.inspection import COLUMNS
from inspect_core.recipe import inspect, loaded_backbone
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.verdict import NOT_JUDGED, UNKNOWN_TYPE, Limits
from inspect_core.whole_part.defect_type_training import FITS, FOREST
from inspect_core.whole_part.defect_type_training import fit as learn_types

pytestmark = pytest.mark.slow


def rows_of(path):
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def defect_types(backbone, product):
    """Defect types that know little: noise about the embedding of one defect."""
    rng, photo = np.random.default_rng(0), next((product / "test/dent").iterdir())
    points = embed(read(photo).pixels, backbone) + rng.normal(size=(8, 1280))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FITS, FOREST, partial(fit_kdf, trees=20))
        return learn_types(points.astype(np.float32), ["dent", "stain"] * 4).defect_types


def test_inspect_writes_the_columns_and_the_maps(recipe_folder, product, tmp_path):
    table, maps = tmp_path / "out" / "v.csv", tmp_path / "maps"
    assert main(["inspect", str(recipe_folder), str(product), "--csv", str(table), "--maps", str(maps)]) == 1
    rows = rows_of(table)
    assert list(rows[0])[:4] == ["name", "digest", "score", "verdict"]
    assert list(rows[0])[-1] == "truth"
    assert len(rows) == 21, "masks are not parts"
    assert not any("ground_truth" in row["name"] for row in rows)
    assert {(row["defect_type"], row["defect_type_probability"]) for row in rows} == {("", "")}, "none were taught"
    recipe = load(recipe_folder)
    backbone = loaded_backbone(recipe.backbone, "cpu")
    for row in rows[:3]:
        verdict = inspect(read(product / row["name"]).pixels, recipe, backbone=backbone)
        assert float(row["score"]) == verdict.score
        assert row["verdict"] == verdict.verdict
        raw = np.load(maps / row["name"].replace(".jpg", ".npy"))
        assert np.array_equal(raw, verdict.anomaly_map)
        assert Image.open(maps / row["name"].replace(".jpg", ".png")).size == Image.open(product / row["name"]).size


def test_labelled_photos_are_counted_and_compared_with_a_table(recipe_folder, product, tmp_path, capsys):
    table, lower = tmp_path / "v.csv", tmp_path / "lower.zip"
    arguments = [str(product / "test"), "--csv", str(table)]
    main(["inspect", str(recipe_folder), *arguments])
    output = capsys.readouterr().out
    assert "Rejects 0 of " in output
    assert "Upper bound (95%)" in output
    recipe = load(recipe_folder)
    limits = Limits(recipe.calibration_photos[0].score / 2, recipe.limits.reject)
    save(recipe.with_changes(author="Ana", reason="try", limits=limits), lower)
    main(["inspect", str(lower), str(product / "test"), "--against", str(table)])
    output = capsys.readouterr().out
    assert "Compared with v.csv: " in output
    assert "accept → review" in output
    assert "worse" in output


def test_exit_codes(recipe_folder, product, tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    main(["inspect", str(recipe_folder), str(product / "train"), "--csv", str(rows)])
    accepted = next(row["name"] for row in rows_of(rows) if row["verdict"] == "accept")
    assert main(["inspect", str(recipe_folder), str(product / "train" / accepted)]) == 0
    assert main(["inspect", str(recipe_folder), str(product / "test/scratch")]) == 1
    broken = tmp_path / "broken.zip"
    broken.write_bytes(recipe_folder.read_bytes()[:5000])
    assert main(["inspect", str(broken), str(product)]) == 2
    assert "broken.zip" in capsys.readouterr().err
    assert main(["inspect", str(recipe_folder), str(tmp_path / "gone")]) == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["inspect", str(recipe_folder), str(empty)]) == 2
    assert main(["fit", str(empty), "--out", str(tmp_path / "x")]) == 2
    assert not (tmp_path / "x").exists()


def test_a_damaged_photo_is_named_and_the_rest_is_inspected(recipe_folder, product, tmp_path, capsys):
    (tmp_path / "a.png").write_bytes(b"not a picture")
    good = next((product / "train/good").iterdir())
    (tmp_path / "b.jpg").write_bytes(good.read_bytes())
    assert main(["inspect", str(recipe_folder), str(tmp_path), "--csv", str(tmp_path / "v.csv")]) == 1
    assert "a.png" in capsys.readouterr().err
    rows = rows_of(tmp_path / "v.csv")
    assert [(row["name"], row["verdict"] == NOT_JUDGED) for row in rows] == [("a.png", True), ("b.jpg", False)]
    assert "; " in rows[0]["reason"]


@pytest.mark.parametrize(("minimum_confidence", "named"), [(0.0, {"dent", "stain"}), (1.0, {UNKNOWN_TYPE})])
def test_the_defect_type_of_a_part_stands_in_the_table(
    recipe_folder, defect_types, product, tmp_path, minimum_confidence, named
):
    types = defect_types.with_limit(minimum_confidence)
    recipe = save(replace(load(recipe_folder), defect_types=types, digest=None), tmp_path / "k.zip")
    assert main(["inspect", str(tmp_path / "k.zip"), str(product / "test"), "--csv", str(tmp_path / "v.csv")]) == 1
    rows = rows_of(tmp_path / "v.csv")
    assert {row["defect_type"] for row in rows if row["verdict"] != "accept"} <= named
    assert {row["defect_type"] for row in rows if row["verdict"] == "accept"} <= {""}
    row = next(row for row in rows if row["verdict"] != "accept")
    verdict = inspect(read(product / "test" / row["name"]).pixels, recipe)
    expected = (verdict.defect_type[0], repr(verdict.defect_type[1])) if verdict.defect_type else (UNKNOWN_TYPE, "")
    assert (row["defect_type"], row["defect_type_probability"]) == expected


def test_the_documents_name_every_column():
    commands = (Path(__file__).parents[2] / "docs/COMMANDS.md").read_text(encoding="utf-8")
    assert [column for column in COLUMNS if f"`{column}`" not in commands] == []
