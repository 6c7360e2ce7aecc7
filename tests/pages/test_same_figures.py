"""One photo has one score: on every page, at the command line, in the recipe and at the line."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from inspect_core import view
from inspect_core.cli.commands import main
from inspect_core.images.read import read
from inspect_core.methods.table import LOOSE, METHODS
from inspect_core.recipe import inspect
from inspect_core.records.onnx_export import export
from inspect_core.records.recipe_file import load, save
from inspect_core.runner import Runner
from inspect_core.study.evaluation import evaluate, found_up_to, in_parts_of
from inspect_core.study.judged import truth_masks
from inspect_core.tuning import compare, comparison
from inspect_core.ui import shelf, shell, teaching
from inspect_core.ui.bench import bench
from inspect_core.ui.compare import jobs, panels
from inspect_core.ui.teach import panels as teach_panels
from tests.pages.waiting import finish, wait_for_job

FIGURES = ("image_auroc", "pixel_auroc", "aupro", "fpr95", "in_parts")
CHOSEN_FROM = (LOOSE, "nearest")
QUICK = {"mahalanobis": {"k": 8}, "corp": {"M": 48}, "nearest": {"patches": 300}}


@pytest.fixture
def network(small_backbone, small_recipe, monkeypatch):
    """The small network in the place of the one that the app comes with."""
    named = replace(small_backbone, name="efficientnet_lite0")
    monkeypatch.setattr(view, "spec_of", lambda *_, **__: SimpleNamespace(presets={}))
    monkeypatch.setattr(view, "shared", lambda *_, **__: named)
    monkeypatch.setattr(comparison, "CANDIDATES", CHOSEN_FROM)
    monkeypatch.setattr(compare, "PASTED", 12)
    for name, defaults in QUICK.items():
        monkeypatch.setattr(METHODS[name], "defaults", METHODS[name].defaults | defaults)
    return named


@pytest.fixture
def drawn(monkeypatch) -> list:
    """What the bench was given to draw, (parts, limits), the latest last."""
    given, draw = [], bench.bench

    def noted(key, parts, shown, limits, **more):
        given.append((parts, limits))
        return draw(key, parts, shown, limits, **more)

    monkeypatch.setattr(bench, "bench", noted)
    return given


@pytest.fixture
def at_the_command_line(product, tmp_path, monkeypatch):
    """at_the_command_line(workspace, *arguments) are the rows that `evaluate` writes from a workspace of its own."""

    def rows(workspace: str, *arguments: str) -> list[dict]:
        (tmp_path / workspace).mkdir(exist_ok=True)
        out = tmp_path / f"{workspace}-{len(arguments)}.json"
        with monkeypatch.context() as patch:
            patch.setenv("LOUPE_WORKSPACE", str(tmp_path / workspace))
            command = ["evaluate", str(product), "--size", "128", "--grid", "16", *arguments, "--json", str(out)]
            assert main(command) == 0
        return json.loads(out.read_text())

    return rows


def test_one_folder_has_the_same_figures_on_every_page_and_on_the_line(
    open_app, no_first_start, network, drawn, at_the_command_line, product, tmp_path, monkeypatch
):
    ways = (("--compare", "--detectors", ",".join(CHOSEN_FROM)), (), ("--detector", LOOSE))
    before = [at_the_command_line("before", *way) for way in ways]

    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))
    monkeypatch.setattr(teach_panels, "show_forecast", lambda order: None)
    app = open_app("pages/teach.py")
    app.segmented_control(key="photos_from").set_value("Folder on this computer").run()
    app.text_input(key="folder").set_value(str(product)).run()
    app.select_slider(key="size").set_value(128)
    app.select_slider(key="grid").set_value(16).run()
    finish(app.button(key="teach").click().run())
    taught = shelf.find(shell.jobs().current.result)
    study, scores, limits = taught.study, taught.study.scores(), taught.study.default_limits()
    assert study.method == LOOSE
    found = evaluate(study, limits, truth_masks(study.scored))

    open_app("pages/inspect.py")
    parts, on_bench = drawn[-1]
    assert [part.score for part in parts] == scores.tolist()
    assert on_bench == limits

    monkeypatch.setattr(teaching, "expected", lambda *_: SimpleNamespace(seconds=1.0))
    app = open_app("pages/compare.py")
    app.multiselect(key="compare_detectors").set_value(list(CHOSEN_FROM)).run()
    finish(app.button(key="start-comparison").click().run())
    rows = jobs.found(taught.order()).rows
    row = next(row for row in rows if row.detector == study.method)
    assert np.array_equal(row.scored.scores(), scores)
    assert (row.limits, row.evaluation) == (limits, found)

    with monkeypatch.context() as patch:
        patch.setattr(panels.st, "switch_page", lambda page: None)
        app.session_state[panels.BENCH] = SimpleNamespace(row=rows.index(row))
        app.run()
    wait_for_job()
    again = shelf.find(shell.jobs().current.result)
    assert np.array_equal(again.study.scores(), scores)
    assert all(np.array_equal(again.study.map(i), study.map(i)) for i in range(len(scores)))
    assert again.suggested_limits(again.scored.live) == limits
    open_app("pages/inspect.py")
    assert [part.score for part in drawn[-1][0]] == scores.tolist()

    save(again.study.recipe(product="flange", guard=again.guard), tmp_path / "flange.zip")
    recipe = load(tmp_path / "flange.zip")
    kept = {one.name: one.score for one in (*recipe.calibration, *recipe.judged)}
    assert kept == dict(zip((photo.name for photo in study.photos), scores.tolist(), strict=True))
    assert recipe.limits == limits
    judged = [i for i, photo in enumerate(study.photos) if photo.part == "judge"]
    photos = {i: read(study.photos[i].path).pixels for i in judged}
    assert {i: inspect(photos[i], recipe, backbone=network).score for i in judged} == {i: scores[i] for i in judged}

    parity = export(recipe, tmp_path / "line.zip", check_images=[study.photos[i].path for i in judged])
    runner = Runner(tmp_path / "line.zip")
    for i in judged:
        theirs = runner.inspect(photos[i])
        assert theirs.score == pytest.approx(scores[i], abs=parity.allowed)
        assert theirs.verdict == inspect(photos[i], recipe, backbone=network).verdict

    after = [at_the_command_line("after", *way) for way in ways[::-1]][::-1]
    figures = {name: getattr(found, name) for name in FIGURES[:-1]}
    figures["in_parts"] = in_parts_of(study.scored, scores, limits, found_up_to(study.scored))
    for of_compared, (chosen,), (named,) in (before, after):
        own = next(row for row in of_compared if row["detector"] == study.method)
        for row in (own, chosen, named):
            assert {name: row[name] for name in FIGURES} == figures
