"""Processes on this machine: the bits of the plain path, whatever happens to them on the way."""

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from inspect_core.audit.log import AuditLog
from inspect_core.line import watch
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.line.map_folder import MapFolder
from inspect_core.recipe import LoadedRecipe
from inspect_core.recipe_io.recipe_file import save
from inspect_core.runtime.progress import Cancelled
from inspect_core.sharding import checkpoints, processes, study_workers
from inspect_core.sharding.checkpoints import ShardCheckpoints
from inspect_core.sharding.executor import Refused, attempt
from inspect_core.sharding.inspection_tasks import WorkerBatchInspector, opening_of
from inspect_core.sharding.processes import Processes
from inspect_core.sharding.shard_runner import ATTEMPTS, ShardsFailed, results, stored_results
from inspect_core.sharding.study_workers import OnWorkers
from inspect_core.study import statistics_gathering, study_tasks
from inspect_core.study.evaluation import figures, score_test_photos
from inspect_core.study.study_tasks import IN_PROCESS
from inspect_core.tuning.product_check_training import train_product_check
from tests.sharding.conftest import ROOT, bits, wait_until
from tests.sharding.ready import Ready

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def pool():
    made = Processes(2)
    yield made
    made.close()


class InProcess:
    """This process as an executor, one task at a time."""

    words, workers = "this process", 1

    def map(self, task, payloads):
        for number, payload in payloads:
            yield number, attempt(task, payload)

    def require(self, memory):
        """Nothing: this process makes the request itself."""


class Counted(InProcess):
    """This process, which says which shards it was given."""

    def __init__(self):
        self.given = []

    def map(self, task, payloads):
        for number, payload in payloads:
            self.given.append((type(task.task).__name__, number))
            yield number, attempt(task, payload)


def test_processes_give_the_same_bits_when_one_is_killed(study_of, pool, plain, small_shards):
    reports, killed = [], []

    def kill(fraction: float, step: str) -> None:
        reports.append((fraction, step))
        if not killed:
            killed.append(pool.ids[0])
            os.kill(killed[0], signal.SIGKILL)

    assert bits(study_of(OnWorkers(pool)).fit(kill)) == bits(plain)
    assert killed
    assert killed[0] not in pool.ids
    assert [fraction for fraction, _ in reports] == sorted(fraction for fraction, _ in reports)
    assert any("2 processes on this machine" in step for _, step in reports)
    assert not list(checkpoints.folder().iterdir())


def test_evaluated_photos_return_equal_to_the_bit(study_of, pool, plain, monkeypatch):
    for module in (study_workers, study_tasks):
        monkeypatch.setattr(module, "AT_ONCE", 2)
    moves, limits = [{"k": 2}, {}, {"k": 6, "m": 3}], plain.default_limits()
    tables = [
        score_test_photos(study, study.split.test, moves)
        for study in (plain, _as_fitted(study_of(OnWorkers(pool)), plain), _as_fitted(study_of(), plain))
    ]
    for first, theirs, repeated in zip(*tables, strict=True):
        for other in (theirs, repeated):
            assert np.array_equal(first.scores, other.scores)
            assert np.array_equal(first.defect, other.defect)
            assert figures(first, limits) == figures(other, limits)
            for name, values in vars(first.counts).items():
                assert np.array_equal(values, getattr(other.counts, name)), name
    assert len({first.scores.tobytes() for first in tables[0]}) == len(moves)
    assert not list(checkpoints.folder().iterdir())


def _as_fitted(study, fitted):
    """An unfitted study of the same photos with what the other one learned."""
    return study._fitted(fitted.scored, ())


def test_product_check_and_verdicts_equal_one_process(plain, pool, product, tmp_path):
    first, theirs = (
        train_product_check(plain.extractor.backbone, plain.split.train, plain.split.calibration, workers=workers)
        for workers in (IN_PROCESS, OnWorkers(pool))
    )
    assert first.arrays().keys() == theirs.arrays().keys()
    assert all((first.arrays()[name] == theirs.arrays()[name]).all() for name in first.arrays())
    assert first.params() == theirs.params()
    recipe = save(plain.recipe(product_check=first), tmp_path / "recipe")
    inspector = LoadedRecipe(recipe, plain.extractor.backbone)
    photos = [*photos_of([product / "test"]), ("gone.png", tmp_path / "gone.png")]
    verdicts = {}
    for name, judging in (
        ("plain", None),
        ("workers", WorkerBatchInspector(pool, opening_of(inspector, tmp_path / "recipe"))),
    ):
        outputs = Outputs(tmp_path / f"{name}.csv", MapFolder(tmp_path / name))
        rows = run(inspector, photos, outputs, judging=judging)
        maps = {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.[pn][np][gy]")}
        verdicts[name] = [asdict(row) | {"time": "", "milliseconds": 0} for row in rows], maps
    assert verdicts["plain"] == verdicts["workers"]
    assert verdicts["plain"][0][-1]["verdict"] == "not judged"


def test_a_backlog_is_watched_by_workers_with_the_same_rows(plain, pool, product, tmp_path, monkeypatch):
    """Photos of one name in two folders among them, and one that is no photo."""
    monkeypatch.setattr(watch, "BACKLOG", 3)
    recipe = save(plain.recipe(), tmp_path / "recipe")
    inspector = LoadedRecipe(recipe, plain.extractor.backbone)
    workers = WorkerBatchInspector(pool, opening_of(inspector, tmp_path / "recipe"))
    by_way = {}
    for name, judging in (("plain", None), ("workers", workers)):
        (tmp_path / name / "in").mkdir(parents=True)
        shutil.copytree(product / "test", tmp_path / name / "in/one")
        shutil.copytree(product / "test", tmp_path / name / "in/two")
        (tmp_path / name / "in/torn.png").write_bytes(b"no photo")
        settings = {"settle_seconds": 0.0, "give_up_seconds": 0.0, "judging": judging}
        with AuditLog.open() as log, watch.watching(tmp_path / name / "in", tmp_path / name / "out"):
            record = AuditRecord(log, inspector, name)
            rows = []
            watcher = watch.Watch(inspector, tmp_path / name / "in", tmp_path / name / "out", record, **settings)
            moved = watcher.poll(rows.append)
        files = sorted(path.relative_to(tmp_path / name).as_posix() for path in (tmp_path / name).rglob("*.*"))
        by_way[name] = moved, sorted((row.name, row.verdict, row.score, row.digest) for row in rows), files
        assert not [*(tmp_path / name / "in").rglob("*.*")]
    assert by_way["plain"] == by_way["workers"]
    assert by_way["plain"][0] == 2 * len([*(product / "test").rglob("*.*")]) + 1


@pytest.mark.parametrize("keeping", [1, 2, 8])
def test_shards_are_larger_when_there_are_many(study_of, monkeypatch, keeping):
    """What is merged is kept every so many blocks; stopped after two, all are there, merged or not."""
    monkeypatch.setattr(study_workers, "KEEPING", keeping)
    for name, value in (("SHARD", 2), ("MOST_SHARDS", 2), ("LARGE_SHARD", 4)):
        monkeypatch.setattr(statistics_gathering, name, value)
    expected, stopping = bits(study_of(method="mahalanobis").fit()), Counted()

    def stop(fraction: float, step: str) -> None:
        if stopping.given == [("FitTask", 0), ("FitTask", 1)]:
            raise Cancelled

    with pytest.raises(Cancelled):
        study_of(OnWorkers(stopping), "mahalanobis").fit(stop)
    resumed = Counted()
    assert bits(study_of(OnWorkers(resumed), "mahalanobis").fit()) == expected
    assert [number for task, number in resumed.given if task == "FitTask"] == [2]


DAMAGED = {
    "cut short": lambda work: (work.folder / "1").write_bytes((work.folder / "1").read_bytes()[:-1]),
    "another shard": lambda work: shutil.copy(work.folder / "0", work.folder / "1"),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_work_that_was_stopped_goes_on_from_whole_shards(study_of, plain, small_shards, damage, monkeypatch):
    def stop(fraction: float, step: str) -> None:
        if len(first.given) == 3:
            raise Cancelled

    first, second, made = Counted(), Counted(), []
    monkeypatch.setattr(
        study_workers, "ShardCheckpoints", lambda *arguments: made.append(ShardCheckpoints(*arguments)) or made[-1]
    )
    with pytest.raises(Cancelled):
        study_of(OnWorkers(first)).fit(stop)
    damage(made[0])
    assert bits(study_of(OnWorkers(second)).fit()) == bits(plain)
    assert [number for task, number in second.given if task == "FitTask"] == [1, 3]


class Blind(InProcess):
    """Workers to which one file is not there."""

    def __init__(self, victim):
        self._victim, self._away = victim, victim.with_suffix(".away")

    def map(self, task, payloads):
        for number, payload in payloads:
            self._victim.rename(self._away)
            try:
                result = list(super().map(task, [(number, payload)]))
            finally:
                self._away.rename(self._victim)
            yield from result


def test_a_photo_that_one_worker_cannot_read_is_read_here(study_of, plain, small_shards, product):
    study = study_of(OnWorkers(Blind(study_of().split.train[4].path))).fit()
    assert bits(study) == bits(plain)
    assert study.skipped == []


def test_a_mask_that_one_worker_cannot_read_is_read_here(study_of, plain):
    masked = next(sample for sample in plain.split.test if sample.mask)
    blind = _as_fitted(study_of(OnWorkers(Blind(masked.mask))), plain)
    (here,), (there,) = (score_test_photos(study, study.split.test, [{}]) for study in (plain, blind))
    assert here.counts.regions == there.counts.regions
    assert figures(here, plain.default_limits()) == figures(there, plain.default_limits())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("payload", "reason"), [("bad", "it cannot be read"), ("deadly", "its worker process was killed")]
)
def test_shard_failing_three_times_is_named_and_others_kept(pool, payload, reason):
    calls, work, names = [], ShardCheckpoints([b"a test"], kinds=[]), {0: ["a"], 1: ["b.png", "c.png"], 2: ["d"]}

    def payload_of(number):
        calls.append(number)
        return payload if number == 1 else "sound"

    def worked(numbers):
        return results(pool, Ready(), payload_of, lambda number, result: result[0], numbers)

    rows = []
    with pytest.raises(ShardsFailed, match=rf"1 shard of photos failed 3 times \(.*{reason}.*b.png, c.png") as failed:
        rows.extend(number for number, _ in stored_results(work, range(3), names.get, worked))
    assert sorted(rows) == [0, 2]
    assert work.numbers() == {0, 2}
    assert calls.count(1) == ATTEMPTS
    assert calls.count(0) == calls.count(2) == 1
    assert failed.value.photos == ("b.png", "c.png")
    work.remove()


@pytest.mark.slow
def test_who_stops_waiting_ends_the_work(pool):
    began, results = time.monotonic(), pool.map(Ready(), enumerate(["quick", *["slow"] * 1000]))
    assert next(results) == (0, ("quick", list(processes.ONE_THREAD.values())))
    results.close()
    assert next(pool.map(Ready(), [(7, "y")]))[1][0] == "y"
    assert time.monotonic() - began < 40


def test_a_worker_of_another_version_is_refused(monkeypatch, pool):
    monkeypatch.setattr(processes, "environment_stamp", lambda: {"numpy": "0.1"})
    with pytest.raises(Refused, match=r"numpy [\d.]+ instead of 0\.1"):
        list(pool.map(Ready(), [(0, "")]))


@pytest.mark.slow
def test_workers_end_with_the_process_that_started_them(tmp_path):
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from inspect_core.sharding.processes import Processes\n"
        "if __name__ == '__main__':\n"
        "    pool = Processes(1); next(pool.map(str, [(0, 0)])); print(*pool.ids, flush=True); time.sleep(60)\n"
        "else:\n"
        "    raise RuntimeError('a worker has run its main module')\n"
    )
    (tmp_path / "program.py").write_text(program)
    with subprocess.Popen(
        [sys.executable, tmp_path / "program.py", ROOT], stdout=subprocess.PIPE, cwd=tmp_path
    ) as started:
        number = int(started.stdout.readline())
        started.kill()
    wait_until(lambda: not Path(f"/proc/{number}").exists())


def test_more_memory_than_the_machine_has_is_refused(pool):
    pool.require(1)
    with pytest.raises(ValueError, match=r"2 processes need 2000000\.0 GB .* use at most 1"):
        pool.require(10**15)
    with pytest.raises(ValueError, match="workers is 0"):
        Processes(0)


def test_a_run_that_another_process_is_removing_is_passed_over(monkeypatch):
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda path: [*listed(path), path / ("0" * 32)])
    ShardCheckpoints([b"a test"]).remove()


def test_only_what_loupe_names_is_removed_with_a_run():
    theirs = [
        checkpoints.folder() / "notes",
        checkpoints.folder() / ("A" * 32),
        ShardCheckpoints([b"one"]).folder / "notes.txt",
    ]
    for path in theirs:
        path.mkdir(parents=True)
    elsewhere = checkpoints.folder().parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "1").touch()
    (checkpoints.folder() / ("f" * 32)).symlink_to(elsewhere)
    for path in (*theirs, checkpoints.folder() / ("f" * 32)):
        os.utime(path, (0, 0), follow_symlinks=False)
    runs = [ShardCheckpoints([b"later", bytes([number])]) for number in range(checkpoints.MOST + 1)]
    for work in (*runs, ShardCheckpoints([b"one"])):
        work.put(0, b"found")
        work.remove()
    assert all(path.is_dir() for path in theirs)
    assert (elsewhere / "1").is_file()
    assert not any(work.folder.exists() for work in runs)
    shutil.rmtree(checkpoints.folder())


def test_what_is_kept_is_whole_or_not_there(tmp_path):
    work = ShardCheckpoints([b"one", b"two"])
    assert work.get(3) is None
    work.put(3, b"found")
    assert ShardCheckpoints([b"one", b"two"]).get(3) == b"found"
    assert ShardCheckpoints([b"one", b"tw", b"o"]).get(3) is None
    (work.folder / "3").write_bytes(b"nonsense")
    assert work.get(3) is None
    for number in range(checkpoints.MOST):
        ShardCheckpoints([b"later", bytes([number])])
    assert not work.folder.exists()
    assert len(list(checkpoints.folder().iterdir())) == checkpoints.MOST
    shutil.rmtree(checkpoints.folder())
