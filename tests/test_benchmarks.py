"""The benchmarks run, on very little; their table judges rightly and is written to the same place every time."""

import importlib
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as runner
from benchmarks import measure
from benchmarks.main_job import batch, budgets, feeding, inspection, memory, moving, setting, start, teaching
from benchmarks.main_job.budgets import Row
from benchmarks.main_job.setting import QUICK
from benchmarks.measure import Others, in_own_process, machine, own_peak_mb, spread, timed, write

SCRIPTS = sorted(
    f"{path.parent.name}.{path.stem}"
    for path in Path(runner.__file__).parent.glob("*/*.py")
    if "\ndef main(" in path.read_text(encoding="utf-8")
)
PARTS = ("inspection", "batch", "feeding", "moving", "teaching", "recipe_size")
MACHINE = {
    "when": "2026-11-21T10:00:00+00:00",
    "processor": "EPYC",
    "cores": 2,
    "system": "Linux 6",
    "versions": {"python": "3.11"},
    "others": 0.0,
}
ROWS = (
    Row("a move", "moving", "32x32.k", "ms", 150),
    Row("a fit", "teaching", "fit", "s", 1),
    Row("growth", "memory", "fit_growth", "%", 5, 0.01),
    Row("extraction", "teaching", "rate", "photos/s"),
)
RESULTS = {
    "moving": {"machine": MACHINE, "figures": {"32x32": {"k": spread([10.0, 12.0, 20.0], "ms")}}},
    "teaching": {"machine": MACHINE, "figures": {"fit": spread([1.5], "s"), "rate": spread([40.0], "photos_per_s")}},
}


@pytest.fixture
def without_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard has its own tests, and so have most methods."""
    monkeypatch.setattr(inspection, "CANDIDATES", ("mahalanobis",))
    for module in (batch, feeding, memory, teaching):
        monkeypatch.setattr(module, "train_product_check", lambda *photos, **settings: None)
        monkeypatch.setattr(module, "with_head", setting.network)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_the_main_job_runs_on_little_and_keeps_nothing(without_guard, capsys):
    costs = runner.COSTS.read_text(encoding="utf-8")
    retained = sorted(runner.RESULTS.glob("*")) if runner.RESULTS.exists() else []
    runner.main(["--quick", *PARTS])
    figures = json.loads(capsys.readouterr().out)
    assert set(figures) == set(PARTS)
    assert runner.COSTS.read_text(encoding="utf-8") == costs
    assert (sorted(runner.RESULTS.glob("*")) if runner.RESULTS.exists() else []) == retained

    for row in budgets.ROWS:
        if row.result in PARTS and row.figure != "key_to_overlay":  # takes the whole app in a browser
            assert "not measured" not in budgets.table(_results(figures), [_on_quick_grids(row)]), row
    quick, full = (f"{side}x{side}" for side in QUICK.sides)
    steps = figures["inspection"][quick]
    for name in ("backbone_alone", "patches", "detector", "map", "file_to_verdict"):
        assert 0 < steps[name]["least_ms"] <= steps[name]["median_ms"]
        assert steps[name]["repeats"] == QUICK.repeats
    assert figures["teaching"][full]["images"] == QUICK.good
    for stored in ("float32", "float16"):
        assert figures["recipe_size"][full][stored]["same_scores_when_opened"]
    sizes = figures["recipe_size"][full]
    assert sizes["float16"]["folder_mb"] < sizes["float32"]["folder_mb"]
    passes = {limit["scoring_passes"] for limit in figures["moving"]["page"].values()}
    assert len(passes) == 1, "a limit set by hand costs no pass more"
    assert passes == {1}, "every photo once"
    assert 0 < sizes["rounding"]["largest_relative_change"] < 0.01


@pytest.mark.slow
def test_memory_of_a_fit_is_read_before_the_app_goes_on(without_guard, tmp_path, monkeypatch):
    readings = itertools.count(1.0)
    monkeypatch.setattr(memory, "own_peak_mb", lambda: next(readings))
    memory.make_photos(tmp_path / "photos", 10)
    assert len({path.read_bytes() for path in (tmp_path / "photos").iterdir()}) == 10
    result = memory.teach(tmp_path / "photos", QUICK)
    peaks = {name: step["peak_mb"] for name, step in result["steps"].items()}
    assert (result["fit"], result["shown"]) == (6, 4)
    assert peaks["fit"] < peaks["limit"] < result["fit_peak_mb"] < peaks["network with head"]
    assert max(peaks.values()) == peaks["guard"] < result["app_peak_mb"]


@pytest.mark.slow
def test_a_move_of_the_limit_computes_no_score(tmp_path, monkeypatch):
    fitted = setting.study(QUICK, setting.taught(QUICK), 8, moving.FeatureStore(tmp_path)).fit()
    asked = []
    scores = type(fitted.scored).scores
    monkeypatch.setattr(
        type(fitted.scored), "scores", lambda scored, **live: asked.append(live) or scores(scored, **live)
    )
    moving.move_limit(fitted.scored, repeats=5)
    assert asked == [{}]
    moving.move_live(fitted.scored, repeats=3)
    moves = [live["k"] for live in asked[1:]]
    assert len(set(moves)) == len(moves) == 3 + moving.WARM_UP


def test_a_start_that_fails_says_so():
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"]) as server:
        server.wait()
        with pytest.raises(RuntimeError, match="did not answer"):
            start._wait_until_healthy("http://127.0.0.1:9", server)


def test_the_table_judges_medians_against_budgets():
    move, fit, growth, rate = budgets.table(RESULTS, ROWS).splitlines()[2:6]
    assert move == "| a move | 12 (10 to 20) ms | 150 ms | met |"
    assert fit == "| a fit | 1.5 (1.5 to 1.5) s | 1 s | **missed**, 1.5 × the budget |"
    assert growth == "| growth | not measured | 5 % | |"
    assert rate == "| extraction | 40 (40 to 40) photos/s |  |  |"


def test_a_slow_machine_has_no_larger_budget():
    slow = {name: {**result, "machine": MACHINE | {"network_ms": 18.0}} for name, result in RESULTS.items()}
    assert budgets.table(slow, ROWS).splitlines()[2:6] == budgets.table(RESULTS, ROWS).splitlines()[2:6]
    assert machine()["network_ms"] > 0


def test_table_names_the_machine_and_marks_busy_figures():
    busy = RESULTS | {"teaching": {**RESULTS["teaching"], "machine": MACHINE | {"others": 0.5}}}
    assert "*" not in budgets.table(RESULTS, ROWS[:1])
    lines = budgets.table(busy, ROWS).splitlines()
    assert "20) ms |" in lines[2]
    assert "1.5) s * |" in lines[3]
    assert "Measured on EPYC, 2 cores, Linux 6, 2026-11-21; python 3.11." in lines
    assert "Others used more than 10%" in lines[-1]


def test_refreshing_twice_changes_nothing_more_and_nothing_else():
    document = f"# Loupe\n\n{budgets.MARKS[0]}\nold\n{budgets.MARKS[1]}\n\nThe end.\n"
    once = budgets.refresh(document, "| new |")
    assert once == f"# Loupe\n\n{budgets.MARKS[0]}\n| new |\n{budgets.MARKS[1]}\n\nThe end.\n"
    assert budgets.refresh(once, "| new |") == once
    with pytest.raises(ValueError, match="has no"):
        budgets.refresh(document.replace(budgets.MARKS[1], ""), "| new |")


def test_the_costs_have_a_place_for_the_table():
    document = runner.COSTS.read_text(encoding="utf-8")
    assert budgets.MARKS[0] in budgets.refresh(document, "")


@pytest.mark.slow
@pytest.mark.parametrize("module", SCRIPTS)
def test_every_script_answers_help_and_has_its_place(module, tmp_path, monkeypatch, capsys):
    script, called, name = importlib.import_module(f"benchmarks.{module}"), [], module.split(".")[1]
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 0
    usage = capsys.readouterr().out
    assert "usage" in usage
    if name in runner.METHODS:
        with monkeypatch.context() as patch:
            patch.setattr(runner.subprocess, "run", lambda command, check: called.append(command))
            runner.run_alone(name, tmp_path)
        _, _, run, option, place = called[0]
        assert run == f"benchmarks.{module}"
        assert f"{option} " in usage
        assert measure.write(place, {}) == tmp_path / f"{name}.json"


def test_the_table_names_modules_that_are_there():
    assert {f"{room}.{name}" for name, (room, _) in runner.METHODS.items()} <= set(SCRIPTS)


def test_unknown_names_are_refused(capsys):
    for arguments in (["inspektion"], ["--quick", "quadrics_costs"]):
        with pytest.raises(SystemExit):
            runner.main(arguments)
    assert "inspektion" in capsys.readouterr().err


def test_results_hold_the_machine_and_the_figures(tmp_path):
    path = write("one", {"a": timed(lambda: None, repeats=3)}, folder=tmp_path / "new")
    result = json.loads(path.read_text())
    assert result["figures"]["a"]["repeats"] == 3
    assert {"processor", "cores", "versions", "when", "commit"} <= set(result["machine"])
    assert "scikit-learn" in result["machine"]["versions"]


@pytest.mark.slow
def test_peak_memory_is_that_of_the_process_itself(tmp_path, monkeypatch):
    block = np.ones(200 << 17)  # 200 MB here must not be counted there
    (tmp_path / "small.py").write_text("from benchmarks.measure import own_peak_mb\nprint(own_peak_mb())\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{runner.COSTS.parents[1]}")
    small = in_own_process(["small"], workspace=tmp_path)
    assert small < 200
    assert block.nbytes / 2**20 < own_peak_mb()


@pytest.mark.parametrize("fraction", [0.0, 0.25])
def test_only_other_processes_count_as_others(monkeypatch, fraction):
    process_seconds, wall = sum(os.times()[:4]), 100.0
    since = Others(time.perf_counter() - wall, busy=1000.0, own_busy=process_seconds)
    others = since.busy + fraction * wall * os.cpu_count()
    monkeypatch.setattr(measure, "_busy_seconds", lambda: others + sum(os.times()[:4]) - process_seconds)
    sum(range(3_000_000))
    assert since.fraction() == pytest.approx(fraction, abs=0.01)


def _results(figures: dict) -> dict:
    return {name: {"machine": MACHINE, "figures": figure} for name, figure in figures.items()}


def _on_quick_grids(row: Row) -> Row:
    figure = row.figure
    for side, quick in zip((32, 64), QUICK.sides, strict=True):
        figure = figure.replace(f"{side}x{side}", f"{quick}x{quick}")
    return Row(row.what, row.result, figure, row.unit, row.budget, row.per)
