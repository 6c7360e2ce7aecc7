"""Killed at any moment, batch, watch and saving lose and double nothing. The benchmark `kills` does it more often."""

import sys
import tempfile
from pathlib import Path

import pytest

from benchmarks.main_job import kills

KILLS = 3
FAULTS = (
    *("lost", "doubled", "misplaced", "maps missing", "records too many or too few", "records without a photo"),
    *("placed with the record of another", "records doubled", "left in the watched folder", "problems of the log"),
    *("neither the old nor the new", "left over"),
)
pytestmark = [pytest.mark.usefixtures("unhurried"), pytest.mark.forks]


def faults(report: dict) -> dict:
    return {name: report[name] for name in FAULTS if report.get(name)}


def test_a_batch(tmp_path):
    report = kills.batch(tmp_path, KILLS)
    assert faults(report) == {}
    assert report["recorded"] == kills.PHOTOS * report["finished"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="a camera that knows what it replaced needs renameat2")
def test_a_watch_of_cameras_that_reuse_names(tmp_path):
    with tempfile.TemporaryDirectory(dir=kills.OTHER_DISK) as out:
        report = kills.watch(tmp_path, Path(out), KILLS)
    assert faults(report) == {}
    assert report["placed"] > 0


def test_saving_a_recipe(recipe, tmp_path):
    report = kills.saving(recipe, tmp_path, KILLS)
    assert faults(report) == {}
    assert report["saves"] >= KILLS
