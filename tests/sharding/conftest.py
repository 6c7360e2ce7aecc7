"""One small product for all tests of workers, and a workspace that their processes share with the tests."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def workspace(shared_workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Instead of one for every test: the processes of a module outlive it."""
    monkeypatch.setenv("LOUPE_WORKSPACE", str(shared_workspace))
    return shared_workspace


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of 3 photos here: a worker takes what it is given for one shard."""
    from inspect_core.sharding import study_workers
    from inspect_core.study import statistics_gathering

    monkeypatch.setattr(statistics_gathering, "SHARD", 3)
    monkeypatch.setattr(study_workers, "AT_ONCE", 2)


@pytest.fixture(scope="session")
def study_of(product, backbone, tmp_path_factory):
    """study_of(workers, method) is a new unfitted study of the product, with a store of its own."""
    from inspect_core.datasets.folders import scan
    from inspect_core.features.store import FeatureStore
    from inspect_core.images.tolerances import DEFAULT_TOLERANCES
    from inspect_core.study.study import Study
    from inspect_core.study.study_tasks import IN_PROCESS

    small = {"mahalanobis": {"k": 6}, "corp": {"M": 32}, "quadrics": {"components": 6, "m": 5, "patches": 300}}
    samples = scan(product)

    def made(workers=IN_PROCESS, method: str = "mahalanobis+quadrics", **options):
        parameters = {key: value for name in method.split("+") for key, value in small[name].items()}
        store = FeatureStore(tmp_path_factory.mktemp("store"))
        options |= {"method": method, "parameters": parameters, "workers": workers}
        return Study.from_photos(samples, backbone, store, grid=(8, 8), tolerances=DEFAULT_TOLERANCES, **options)

    return made


@pytest.fixture(scope="session")
def plain(study_of):
    """A study fitted on the plain path with shards of 3 photos."""
    from inspect_core.study import statistics_gathering

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics_gathering, "SHARD", 3)
        return study_of().fit()


def bits(study) -> list[bytes]:
    """Everything of a fitted study that a recipe is made of."""
    arrays = [view.detector.arrays() for view in study.scored.views]
    result = [state[name].numpy().tobytes() for state in arrays for name in sorted(state)]
    return [*result, study.scores().tobytes(), study.scored.repeat_scores().tobytes()]


class Started:
    """A scheduler and its workers, each a process that was started by hand."""

    def __init__(self, workspace: Path, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen] = []
        self.environment = os.environ | {"LOUPE_WORKSPACE": str(workspace), "PYTHONPATH": str(ROOT)}

    def scheduler(self) -> subprocess.Popen:
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--dashboard-address", "127.0.0.1:0"]
        return self._start("dask_scheduler", *options)

    def worker(self) -> subprocess.Popen:
        options = ["--nthreads", "1", "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0", "--no-nanny"]
        return self._start("dask_worker", self.address, *options, "--memory-limit", "8GB")

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, program: str, *options: str) -> subprocess.Popen:
        command, at = [sys.executable, "-m", f"distributed.cli.{program}", *options], self.folder
        with (at / f"{program}-{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(command, cwd=at, env=self.environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_until(true: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)
