"""One photo has one score: on every page, at the command line and in the recipe (`tests.recipe_io`: at the line)."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from inspect_core.cli.commands import main
from inspect_core.images.photo_reader import read
from inspect_core.methods import fitted_method
from inspect_core.methods.registry import ALL, LOOSE, METHODS
from inspect_core.recipe import inspect
from inspect_core.recipe_format import recipe_package
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.study.evaluation import evaluate_photos
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.tuning import detector_comparison, shortlist
from inspect_core.ui import shell, teaching_job
from inspect_core.ui.compare import comparison_jobs, comparison_panels
from inspect_core.ui.teach import teach_panels as teach_panels
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import choose_folder, finish, press, wait_for_job

pytestmark = pytest.mark.usefixtures("unhurried")

FIGURES = ("image_auroc", "pixel_auroc", "aupro", "fpr95", "good_rejected_at_95_caught", "in_parts")
CHOSEN_FROM = (LOOSE, "nearest")
SETTINGS = ("--size", "128", "--grid", "16", "--seed", "7")
QUICK = {"mahalanobis": {"k": 8}, "corp": {"M": 48}, "nearest": {"patches": 300}}


@pytest.fixture
def network(small_backbone_with_picture, monkeypatch):
    """The small network in the place of the one that the app comes with."""
    named = replace(small_backbone_with_picture, name="efficientnet_lite0")
    monkeypatch.setattr(fitted_method, "spec_of", lambda *_, **__: SimpleNamespace(presets={}))
    monkeypatch.setattr(fitted_method, "shared", lambda *_, **__: named)
    monkeypatch.setattr(shortlist, "CANDIDATES", CHOSEN_FROM)
    monkeypatch.setattr(detector_comparison, "COMPARISON_DEFECTS", 12)
    for name, defaults in QUICK.items():
        monkeypatch.setattr(METHODS[name], "defaults", METHODS[name].defaults | defaults)
    return named


@pytest.fixture
def at_the_command_line(product, tmp_path, monkeypatch):
    """at_the_command_line(workspace, *arguments) are the rows that `evaluate` writes from a workspace of its own."""

    def rows(workspace: str, *arguments: str) -> list[dict]:
        (tmp_path / workspace).mkdir(exist_ok=True)
        out = tmp_path / f"{workspace}-{len(arguments)}.json"
        with monkeypatch.context() as patch:
            patch.setenv("LOUPE_WORKSPACE", str(tmp_path / workspace))
            assert main(["evaluate", str(product), *SETTINGS, *arguments, "--json", str(out)]) == 0
        return json.loads(out.read_text())

    return rows


def files_of(recipe: Path) -> dict:
    """What a recipe's files hold, but for who saved it, when and why."""
    document = json.loads((recipe / recipe_package.RECIPE).read_text())
    fields = {name: value for name, value in document.items() if name not in ("created", "author", "reason")}
    return {"document": fields} | {
        name: (recipe / name).read_bytes() for name in (recipe_package.ARRAYS, recipe_package.CALIBRATION)
    }


def test_figures_are_equal_on_every_page_and_by_command(
    open_app, no_first_start, network, drawn, at_the_command_line, product, tmp_path, monkeypatch
):
    ways = (("--compare", "--detectors", ",".join(CHOSEN_FROM)), (), ("--detector", LOOSE))
    before = [at_the_command_line("before", *way) for way in ways]

    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))
    monkeypatch.setattr(teach_panels, "show_plan", lambda order: None)
    app = choose_folder(open_app("pages/teach.py"), product)
    app.select_slider(key="size").set_value(128)
    app.select_slider(key="grid").set_value(8)
    app.number_input(key="split_seed").set_value(7).run()
    finish(press(app, "teach"))
    open_product = shelf().find(shell.jobs().current.result)
    study, scores, limits = open_product.study, open_product.study.scores(), open_product.study.default_limits()
    assert study.method == LOOSE
    evaluated = evaluate_photos(study.scored, limits, truth_masks(study.scored))
    assert open_product.detector_reason
    of_page = study.recipe(
        limits, product=open_product.product, product_check=open_product.product_check, **open_product.scored.live
    )
    save(of_page, tmp_path / "page")
    assert main(["fit", str(product), "--out", str(tmp_path / "fit"), *SETTINGS]) == 0
    assert files_of(tmp_path / "fit") == files_of(tmp_path / "page")

    open_app("pages/inspect.py")
    assert np.array_equal(drawn[-1].scores, scores)
    assert drawn[-1].limits == limits

    monkeypatch.setattr(teaching_job, "expected", lambda *_: ("", SimpleNamespace(seconds=1.0)))
    app = open_app("pages/compare.py")
    app.session_state["compare_detectors"] = {"selection": {"rows": [ALL.index(name) for name in CHOSEN_FROM]}}
    app.run()
    finish(press(app, "start-comparison"))
    comparison = comparison_jobs.last_comparison(open_product.latest_order().to_compare())
    rows = comparison.rows
    row = next(row for row in rows if row.detector == study.method)
    assert np.array_equal(row.scored.scores(), scores)
    assert (row.limits, row.evaluation) == (limits, evaluated)

    with monkeypatch.context() as patch:
        patch.setattr(comparison_panels.shell, "go_to", lambda page: None)
        shown = [group[0] for group in comparison.told_apart()]
        if len(shown) < len(rows):
            app.toggle(key="compare_all").set_value(True).run()
            shown = rows
        app.session_state[f"compare_table_{len(rows)}"] = {"selection": {"rows": [shown.index(row)]}}
        press(app.run(), "compare_bench")
    wait_for_job()
    reopened = shelf().find(shell.jobs().current.result)
    assert np.array_equal(reopened.study.scores(), scores)
    assert all(np.array_equal(reopened.study.map(i), study.map(i)) for i in range(len(scores)))
    assert reopened.suggested_limits(reopened.scored.live) == limits
    open_app("pages/inspect.py")
    assert np.array_equal(drawn[-1].scores, scores)

    save(reopened.study.recipe(product="flange", product_check=reopened.product_check), tmp_path / "flange.zip")
    recipe = load(tmp_path / "flange.zip")
    recorded = {photo_row.name: photo_row.score for photo_row in (*recipe.calibration_photos, *recipe.test_photos)}
    assert recorded == dict(zip((photo.name for photo in study.photos), scores.tolist(), strict=True))
    assert recipe.limits == limits
    test_photos = [i for i, photo in enumerate(study.photos) if photo.subset == "test"]
    photos = {i: read(study.photos[i].path).pixels for i in test_photos}
    assert {i: inspect(photos[i], recipe, backbone=network).score for i in test_photos} == {
        i: scores[i] for i in test_photos
    }

    after = [at_the_command_line("after", *way) for way in ways[::-1]][::-1]
    figures = {name: getattr(evaluated, name) for name in FIGURES[:-1]}
    figures["in_parts"] = study.evidence().sentence(limits)
    for of_compared, (chosen,), (named,) in (before, after):
        row_of_study = next(row for row in of_compared if row["detector"] == study.method)
        for row in (row_of_study, chosen, named):
            assert {name: row[name] for name in FIGURES} == figures
