import csv
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.cli.commands import main
from inspect_core.cli.outputs import CSV_COLUMNS
from inspect_core.defect_types.classifier import UNKNOWN_TYPE, embed
from inspect_core.defect_types.training import FITS, FOREST
from inspect_core.defect_types.training import fit as learn_kinds
from inspect_core.images.read import read
from inspect_core.recipe import inspect, loaded_backbone
from inspect_core.records.recipe_file import load, save

FIT = ["--size", "128", "--grid", "16", "--k", "8", "--device", "cpu"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def taught(product, tmp_path_factory):
    """A recipe fitted once by the command line, and the workspace it used."""
    folder = tmp_path_factory.mktemp("cli")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOUPE_WORKSPACE", str(folder / "workspace"))
        assert main(["fit", str(product), "--out", str(folder / "flange.zip"), *FIT]) == 0
    return folder / "flange.zip"


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_fit_says_what_it_found_and_what_the_limit_does(product, tmp_path, capsys):
    assert main(["fit", str(product), "--out", str(tmp_path / "r"), "--limit", "5", *FIT]) == 0
    said = capsys.readouterr().out
    assert "18  14 in train/, 4 in test/" in said
    assert "of 4 good (at most" in said
    assert load(tmp_path / "r").limits.reject == 5.0


def test_inspect_writes_the_columns_and_the_maps(taught, product, tmp_path):
    table, maps = tmp_path / "out" / "v.csv", tmp_path / "maps"
    assert main(["inspect", str(taught), str(product), "--csv", str(table), "--maps", str(maps)]) == 1
    rows = rows_of(table)
    assert list(rows[0])[:4] == ["name", "digest", "score", "verdict"]
    assert list(rows[0])[-1] == "milliseconds"
    assert len(rows) == 21, "masks are not parts"
    assert not any("ground_truth" in row["name"] for row in rows)
    recipe = load(taught)
    backbone = loaded_backbone(recipe.backbone, "cpu")
    for row in rows[:3]:
        verdict = inspect(read(product / row["name"]).pixels, recipe, backbone=backbone)
        assert float(row["score"]) == verdict.score
        assert row["verdict"] == verdict.verdict
        held = np.load(maps / row["name"].replace(".jpg", ".npy"))
        assert np.array_equal(held, verdict.anomaly_map)
        assert Image.open(maps / row["name"].replace(".jpg", ".png")).size == Image.open(product / row["name"]).size


def test_exit_codes(taught, product, tmp_path, capsys):
    rows = tmp_path / "rows.csv"
    main(["inspect", str(taught), str(product / "train"), "--csv", str(rows)])
    calm = next(row["name"] for row in rows_of(rows) if row["verdict"] == "accept")
    assert main(["inspect", str(taught), str(product / "train" / calm)]) == 0
    assert main(["inspect", str(taught), str(product / "test/scratch")]) == 1
    broken = tmp_path / "broken.zip"
    broken.write_bytes(taught.read_bytes()[:5000])
    assert main(["inspect", str(broken), str(product)]) == 2
    assert "broken.zip" in capsys.readouterr().err
    assert main(["inspect", str(taught), str(tmp_path / "gone")]) == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["inspect", str(taught), str(empty)]) == 2
    assert main(["fit", str(empty), "--out", str(tmp_path / "x")]) == 2
    assert not (tmp_path / "x").exists()


def test_a_damaged_photo_is_named_and_the_rest_is_inspected(taught, product, tmp_path, capsys):
    (tmp_path / "a.png").write_bytes(b"not a picture")
    good = next((product / "train/good").iterdir())
    (tmp_path / "b.jpg").write_bytes(good.read_bytes())
    assert main(["inspect", str(taught), str(tmp_path), "--csv", str(tmp_path / "v.csv")]) == 2
    assert "a.png" in capsys.readouterr().err
    assert [row["name"] for row in rows_of(tmp_path / "v.csv")] == ["b.jpg"]


def test_evaluate_measures_every_value_asked_for(product, tmp_path, capsys):
    out = tmp_path / "figures.json"
    assert main(["evaluate", str(product), *FIT, "--ks", "2", "8", "--json", str(out)]) == 0
    said = capsys.readouterr().out
    assert "image AUROC" in said
    assert '"k": 2' in out.read_text()


def test_evaluate_measures_a_value_that_is_not_kept(product, tmp_path):
    """Of 100 values of k the scored photos keep 64; 37 is none of them."""
    out = tmp_path / "figures.json"
    command = ["evaluate", str(product), "--size", "128", "--grid", "8", "--device", "cpu", "--k", "100"]
    assert main([*command, "--ks", "36", "37", "--json", str(out)]) == 0
    kept, between = json.loads(out.read_text())
    assert between["live"] == {"k": 37}
    assert abs(between["pixel_auroc"] - kept["pixel_auroc"]) < 0.05
    assert between["pixel_auroc"] != kept["pixel_auroc"]


def test_weights_are_fetched_by_the_flag_alone(taught, product, tmp_path, monkeypatch, capsys):
    fetched = []
    monkeypatch.setenv("LOUPE_WEIGHTS", str(tmp_path))
    monkeypatch.setattr(torch.hub, "download_url_to_file", lambda url, *_, **__: fetched.append(url))
    recipe = load(taught)
    foreign = replace(recipe, backbone=replace(recipe.backbone, name="resnet18", taps=("layer1",)))
    save(foreign, tmp_path / "r.zip")
    asked = [
        ["inspect", str(tmp_path / "r.zip"), str(product)],
        ["fit", str(product), "--out", str(tmp_path / "f.zip"), *FIT, "--backbone", "resnet18"],
    ]
    for arguments in asked:
        assert main(arguments) == 2
        assert "--download" in capsys.readouterr().err
    assert fetched == []
    for arguments in asked:
        assert main([*arguments, "--download"]) == 2
    assert fetched == ["https://download.pytorch.org/models/resnet18-f37072fd.pth"] * 2


def test_doctor_says_what_is_there(capsys):
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    for word in ("torch ", "device:", "weights of efficientnet_lite0", "workspace:"):
        assert word in said


@pytest.mark.parametrize("size", ["0", "axb", "1x2x3", ""])
def test_a_size_that_is_none(size, capsys, tmp_path):
    with pytest.raises(SystemExit) as stop:
        main(["fit", str(tmp_path), "--out", "x", "--size", size])
    assert stop.value.code == 2
    assert "size" in capsys.readouterr().err


def test_the_guard_can_be_fused_with_the_class_scores(taught, product, tmp_path):
    assert not load(taught).guard.fused
    assert main(["fit", str(product), "--out", str(tmp_path / "r"), *FIT, "--guard-scores", "fused"]) == 0
    fused = load(tmp_path / "r").guard
    assert fused.fused
    assert fused.limit < 0, "minus the paper's score, which is larger for the product"
    assert main(["fit", str(product), "--out", str(tmp_path / "s"), *FIT, "--guard", "off"]) == 0
    assert load(tmp_path / "s").guard is None


@pytest.fixture(scope="module")
def defect_types(backbone, product):
    """Kinds that know little: noise about the embedding of one defect."""
    rng, photo = np.random.default_rng(0), next((product / "test/dent").iterdir())
    points = embed(read(photo).pixels, None, backbone) + rng.normal(size=(8, 1280))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FITS, FOREST, partial(fit_kdf, trees=20))
        return learn_kinds(points.astype(np.float32), ["dent", "stain"] * 4).defect_types


@pytest.mark.parametrize(("minimum_confidence", "named"), [(0.0, {"dent", "stain"}), (1.0, {UNKNOWN_TYPE})])
def test_the_kind_of_a_part_stands_in_the_table(taught, defect_types, product, tmp_path, minimum_confidence, named):
    recipe = save(
        replace(load(taught), defect_types=defect_types.with_limit(minimum_confidence), digest=None), tmp_path / "k.zip"
    )
    assert main(["inspect", str(tmp_path / "k.zip"), str(product / "test"), "--csv", str(tmp_path / "v.csv")]) == 1
    rows = rows_of(tmp_path / "v.csv")
    assert list(rows[0])[-3:] == ["kind", "kind_probability", "milliseconds"]
    assert {row["kind"] for row in rows if row["verdict"] != "accept"} <= named
    assert {row["kind"] for row in rows if row["verdict"] == "accept"} <= {""}
    row = next(row for row in rows if row["verdict"] != "accept")
    verdict = inspect(read(product / "test" / row["name"]).pixels, recipe)
    assert (row["kind"], row["kind_probability"]) == (
        (verdict.kind[0], repr(verdict.kind[1])) if verdict.kind else (UNKNOWN_TYPE, "")
    )


def test_without_kinds_their_columns_are_empty(taught, product, tmp_path):
    main(["inspect", str(taught), str(product / "test"), "--csv", str(tmp_path / "v.csv")])
    assert {(row["kind"], row["kind_probability"]) for row in rows_of(tmp_path / "v.csv")} == {("", "")}


def test_the_readme_names_every_column():
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert [column for column in CSV_COLUMNS if f"`{column}`" not in readme] == []
