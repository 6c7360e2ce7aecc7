"""One thread for sums: the bits of a product must not depend on the cores of the machine."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from inspect_core.runtime import threads
from inspect_core.runtime.progress import Cancelled
from inspect_core.runtime.threads import parallel_map

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_whoever_has_a_backbone_sums_with_one_thread():
    program = """
import json, threadpoolctl
from inspect_core.features import backbones
from inspect_core.runtime.threads import cores
import scipy.linalg, torch
own = [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
print(json.dumps([cores(), torch.get_num_threads(), *own]))
"""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, capture_output=True, check=True
    ).stdout
    to_share, *threads = json.loads(result)
    assert to_share >= 1
    assert threads == [1, 1, 1]  # torch, and an OpenBLAS each of NumPy and SciPy


def test_a_report_that_stops_keeps_the_rest_from_being_begun():
    begun, reports = [], []

    def report(fraction: float, step: str) -> None:
        reports.append(fraction)
        if fraction == 0.02:
            raise Cancelled

    with pytest.raises(Cancelled):
        parallel_map(lambda item: begun.append(item) or time.sleep(0.01), range(100), report)
    assert reports == [0.01, 0.02]
    assert len(begun) < 50
    assert parallel_map(str, range(3)) == ["0", "1", "2"]


def test_an_error_is_raised_and_no_further_item_begun() -> None:
    begun = []

    def work(item: int) -> int:
        begun.append(item)
        time.sleep(0.01)
        raise ValueError(str(item))

    with pytest.raises(ValueError, match="0"):
        parallel_map(work, range(100))
    assert len(begun) < 50


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads that help, on a machine with one core too."""
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    threads._helpers.cache_clear()
    yield
    threads._helpers.cache_clear()


@pytest.mark.usefixtures("four_cores")
def test_nobody_waits_in_a_line_for_a_thread_that_helps() -> None:
    ended = threading.Event()
    helping = threads._helpers(os.getpid()).help(ended.wait, 10)
    assert len(helping) == 3
    assert parallel_map(lambda item: threading.current_thread(), range(4)) == [threading.current_thread()] * 4
    ended.set()
    wait(helping)
    assert len({thread.name for thread in parallel_map(lambda item: slept(0.05), range(8))}) == 4


def slept(seconds: float) -> threading.Thread:
    time.sleep(seconds)
    return threading.current_thread()


@pytest.mark.usefixtures("four_cores")
def test_work_that_shares_its_own_work_never_waits_for_itself() -> None:
    def nested(depth: int) -> int:
        return 1 if not depth else sum(parallel_map(nested, [depth - 1] * 6))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(nested, [3] * 8)) == [6**3] * 8


def test_an_item_alone_is_worked_on_here() -> None:
    heard = []
    at_work = parallel_map(lambda item: threading.current_thread(), [1], lambda share, words: heard.append(share))
    assert (at_work, heard) == ([threading.current_thread()], [1.0])
