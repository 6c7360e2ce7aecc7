"""Processes on this machine, each a fresh interpreter with one thread. It loads no numerical library by itself."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib.machinery import ModuleSpec
from typing import Any

from inspect_core.runtime.memory import total_bytes
from inspect_core.runtime.process_settings import set_up_process
from inspect_core.sharding.executor import WORKER_KILLED, Failure, Numbered, Task, environment_stamp, perform

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
"""Environment of a worker: one core each, and one order for every sum."""

MAX_WORKERS = 4096


class Processes:
    """`count` worker processes, started when they are first needed; one that dies is replaced.

    Raises ValueError for fewer than one, and for more than MAX_WORKERS.
    """

    def __init__(self, count: int) -> None:
        if not 1 <= count <= MAX_WORKERS:
            raise ValueError(f"workers is {count}; give at least 1, at most {MAX_WORKERS}")
        self.workers = count
        self._all = [_Worker() for _ in range(count)]

    @property
    def words(self) -> str:
        return f"{self.workers} processes on this machine" if self.workers > 1 else "1 process on this machine"

    @property
    def ids(self) -> list[int]:
        """Process numbers of those that are running."""
        return [number for worker in self._all for number in worker.processes]

    def map(self, task: Task, payloads: Iterable[Numbered]) -> Iterator[Numbered]:
        """As `Executor.map`; a payload whose process was killed has a Failure."""
        content = pickle.dumps(task)
        source = iter(payloads)
        running: dict[Future[Any], tuple[int, _Worker]] = {}

        def give(worker: _Worker) -> None:
            for number, payload in source:
                running[worker.submit(content, payload)] = number, worker
                break

        try:
            for worker in self._all:
                give(worker)
            while running:
                finished = []
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, worker = running.pop(future)
                    finished.append((number, worker.result(future)))
                    give(worker)
                yield from finished
        finally:
            for _, worker in running.values():
                worker.stop()

    def require(self, memory: int) -> None:
        """As `Executor.require`, compared with this machine's memory, which all processes share."""
        total = total_bytes()
        if total is not None and self.workers * memory > total:
            raise ValueError(
                f"{self.workers} processes need {self.workers * memory / 1e9:.1f} GB of memory, {memory / 1e9:.1f} "
                f"each, and this machine has {total / 1e9:.1f}; use at most {max(total // memory, 1)}"
            )

    def close(self) -> None:
        """Stop the processes."""
        for worker in self._all:
            worker.stop()


class _Worker:
    """One process in a pool of its own: when it is killed, its pool breaks, and only what it worked on is lost."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._held = b""

    @property
    def processes(self) -> dict[int, Any]:
        """The process by its number, once it is started."""
        return {} if self._pool is None else dict(self._pool._processes)

    def submit(self, task: bytes, payload: Any) -> Future[Any]:
        """The result to come; the task is sent with the first of its payloads."""
        if self._pool is None:
            self._pool = _started()
        sent, self._held = None if self._held is task else task, task
        try:
            return self._pool.submit(_work, environment_stamp(), sent, payload)
        except BrokenProcessPool:  # it was killed while it waited
            self.stop()
            return self.submit(task, payload)

    def result(self, future: Future[Any]) -> Any:
        """The result of what is finished. Raises Refused."""
        try:
            return future.result()
        except BrokenProcessPool:
            self.stop()
            return Failure(WORKER_KILLED)

    def stop(self) -> None:
        pool, processes, self._pool, self._held = self._pool, self.processes, None, b""
        for process in processes.values():
            process.kill()
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _started() -> ProcessPoolExecutor:
    main = sys.modules["__main__"]
    if main.__spec__ is None:  # a script, such as the app's page: a new process would run it, but not a `__main__`
        main.__spec__ = ModuleSpec("loupe.__main__", None)
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)


def _begin() -> None:
    """Begin a worker: nothing numerical is loaded yet."""
    set_up_process()
    os.environ.update(ONE_THREAD)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started it
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


_held = [b""]


def _work(asked: dict[str, str], task: bytes | None, payload: Any) -> Any:
    """In a worker: perform the task, which is None when it is the same as before."""
    if task is not None:
        _held[0] = task
    return perform(asked, _held[0], payload)
