"""`extend`: equal to teaching everything anew, and refused where it cannot be or would let defects through."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.main_job import kills
from inspect_core.audit.changes import override
from inspect_core.audit.inspections import read as read_inspections
from inspect_core.audit.log import AuditLog
from inspect_core.cli import extend
from inspect_core.cli.commands import main
from inspect_core.datasets.dataset import GOOD, PhotoFile
from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.splitting import train_on_all
from inspect_core.features.store import FeatureStore
from inspect_core.images.tolerances import Tolerances
from inspect_core.recipe_io.recipe_file import files_of, load, save
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.recipe_extension import extend_recipe, plan_extension
from inspect_core.tuning.teaching import teach as taught_by
from tests.examples import THOROUGH

pytestmark = pytest.mark.slow
GOOD_PHOTOS = sorted((Path(__file__).parents[2] / "sample_data/flange/train/good").iterdir())
NEW, FURTHER = GOOD_PHOTOS[20:22], GOOD_PHOTOS[22]

KILLS = 2 if THOROUGH else 1


def silent(fraction: float, step: str) -> None:
    pass


def new_photos(folder: Path) -> Path:
    folder.mkdir()
    for photo in NEW:
        shutil.copy(photo, folder)
    return folder


def test_the_result_is_that_of_teaching_everything_anew(product, backbone, tmp_path):
    """By another order than the default one in every choice that a recipe has to carry."""
    new = [PhotoFile(path, path.name, GOOD, (480, 480)) for path in NEW]
    photos = train_on_all(split(scan(product), seed=3))
    order = TeachingConfig(
        "flange", photos, size=(128, 128), grid=(8, 8), taps="expansions", method="mahalanobis+nearest",
        parameters={"k": 8.0}, align="rigid", align_turn=4.0, area=9, seed=3, device="cpu",
        tolerances=Tolerances(noise=1.0, jpeg=95, copies=1), product_check="stop",
    )  # fmt: skip
    store = FeatureStore(tmp_path / "features")
    old = taught_by(order, store, silent)
    recipe = old.study.recipe(k=5, product_check=old.product_check)
    retaught = taught_by(replace(order, photos=photos.with_labels(new)), FeatureStore(tmp_path / "other"), silent)
    expected_recipe = retaught.study.recipe(k=5, product_check=retaught.product_check)

    task = plan_extension(recipe, [(path.name, path) for path in (*NEW, NEW[0], photos.train[0].path)], [product])
    assert (task.added, task.already_taught) == (
        tuple(path.name for path in NEW),
        (NEW[0].name, photos.train[0].path.name),
    )
    extended, _ = extend_recipe(task, store, silent)
    files, expected = files_of(extended), files_of(expected_recipe)
    assert files["arrays.safetensors"] == expected["arrays.safetensors"]
    assert files["calibration.csv"] == expected["calibration.csv"]
    assert (extended.limits, extended.live_values, extended.method) == (
        expected_recipe.limits,
        expected_recipe.live_values,
        expected_recipe.method,
    )
    assert len(extended.teaching.photos) == len(recipe.teaching.photos) + 2


def test_extended_recipe_is_a_draft_that_accepts_no_known_defect(fit, product, tmp_path, capsys, monkeypatch):
    old, new = tmp_path / "old", tmp_path / "new.zip"
    assert fit(old, "--limit", "0.01") == 0  # it stops everything
    good = next((product / "test/good").iterdir())
    main(["inspect", str(old), str(good)])
    with AuditLog.open() as log:
        (inspection,) = read_inspections(log, most=9)
        log.append_all([override(inspection, "reject", reason="a hair crack", user="Ana")])
    arguments = ["extend", str(old), str(new_photos(tmp_path / "more")), "--out", str(new)]
    capsys.readouterr()
    assert main(arguments) == 1
    assert "Not learned: 2 photos that the recipe rejects (" in capsys.readouterr().out
    assert not new.exists()
    with monkeypatch.context() as patch:
        patch.setattr(extend, "rejected_photos", lambda *_: [])
        assert main(arguments) == 1
    output = capsys.readouterr().out
    assert "Not saved: 1 known defect would now be accepted" in output
    assert not new.exists()
    assert main([*arguments, "--override", "Ana looked again"]) == 0
    recipe = load(new)
    assert recipe.provenance.parent == load(old).digest
    assert recipe.provenance.reason.endswith("Ana looked again")
    assert len(recipe.calibration_photos) == len(load(old).calibration_photos) + 2


def test_known_defects_need_a_reason_and_stay_defects(fit, product, tmp_path, capsys):
    old, new = tmp_path / "old", tmp_path / "new.zip"
    assert fit(old) == 0
    before = load(old)
    known = tmp_path / "known"
    known.mkdir()
    for photo in (product / "test/scratch").iterdir():
        shutil.copy(photo, known)
    arguments = ["extend", str(old), str(known), "--out", str(new)]
    capsys.readouterr()
    assert main(arguments) == 1
    output = capsys.readouterr().out
    assert "Not learned: 2 photos known to be defective (" in output
    assert next(known.iterdir()).name in output
    assert "2 test photos of the recipe" in output
    assert not new.exists()
    with pytest.raises(SystemExit):
        main([*arguments, "--override", "  "])
    assert "the reason is blank" in capsys.readouterr().err
    assert main([*arguments, "--override", "only a mark of chalk"]) == 0
    after = load(new)
    assert after.provenance.reason.endswith("only a mark of chalk")
    assert len(after.test_photos) == len(before.test_photos) - 2, "what is learned leaves the test photos"


def test_extension_keeps_the_recipe_and_can_be_extended_again(fit, tmp_path, capsys):
    old, new, further = tmp_path / "old", tmp_path / "new", tmp_path / "again"
    assert fit(old) == 0
    digest = load(old).digest
    more = new_photos(tmp_path / "more")
    assert main(["extend", str(old), str(more), "--out", str(old)]) == 2
    assert "which stays as it is" in capsys.readouterr().err
    assert load(old).digest == digest
    assert main(["extend", str(old), str(more), "--out", str(new)]) == 0
    assert load(new).provenance.photo_folders == (str(more),)
    third = tmp_path / "third"
    third.mkdir()
    shutil.copy(FURTHER, third)
    assert main(["extend", str(new), str(third), "--out", str(further)]) == 0
    assert len(load(further).calibration_photos) == len(load(new).calibration_photos) + 1


@pytest.mark.parametrize("fault", ["moved", "known", "unsaid"])
def test_what_cannot_be_learned_is_refused_with_the_remedy(fit, product, tmp_path, capsys, fault):
    photos = shutil.copytree(product, tmp_path / "photos")
    old, out = tmp_path / "old", tmp_path / "out"
    assert fit(old, photos=photos) == 0
    more = photos / "train/good" if fault == "known" else new_photos(tmp_path / "more")
    if fault == "moved":
        photos.rename(tmp_path / "elsewhere")
    if fault == "unsaid":
        save(replace(load(old), teaching=None), old)
    capsys.readouterr()
    assert main(["extend", str(old), str(more), "--out", str(out)]) == 2
    remedies = {"moved": "with --photos", "known": "14 photos already used", "unsaid": "teach it again from its folder"}
    assert remedies[fault] in capsys.readouterr().err
    assert not out.exists()
    if fault == "moved":
        assert main(["extend", str(old), str(more), "--out", str(out), "--photos", str(tmp_path / "elsewhere")]) == 0


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs a system that can wait for a process")
def test_kill_at_any_moment_leaves_the_old_recipe_or_the_new(recipe_folder, tmp_path):
    good = new_photos(tmp_path / "more")
    (tmp_path / "out").mkdir()
    outcomes = kills.learning(recipe_folder, good, tmp_path / "out", kills=KILLS)
    assert [
        outcomes[fault] for fault in ("neither the old nor the new", "left over", "the recipe it learns from changed")
    ] == [0] * 3
    assert outcomes["killed"] == KILLS
