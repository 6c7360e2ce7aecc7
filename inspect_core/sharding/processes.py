"""Processes on this machine, each a fresh interpreter with one thread, connected by pipes."""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Queue
from typing import BinaryIO, NamedTuple, cast

from inspect_core.sharding import worker
from inspect_core.sharding.executor import Failure, Numbered, Result
from inspect_core.sharding.tasks import Refused, stamp

STOPPED = "the process that worked on it was killed, by the system for lack of memory or by a user"


class Processes:
    """`count` worker processes, started when they are first needed; one that dies is replaced.

    program: the module that each process runs. Raises ValueError for fewer than one.
    """

    def __init__(self, count: int, *, program: str = "inspect_core.sharding.worker") -> None:
        if count < 1:
            raise ValueError(f"workers is {count}; give at least 1")
        self.workers = count
        self._pool = [_Process(program) for _ in range(count)]

    @property
    def words(self) -> str:
        return f"{self.workers} processes on this machine" if self.workers > 1 else "1 process on this machine"

    @property
    def ids(self) -> list[int | None]:
        """Process numbers, None for one that is not running."""
        return [process.id for process in self._pool]

    def map(self, task: str, shared: Sequence[bytes], payloads: Iterable[Numbered]) -> Iterator[tuple[int, Result]]:
        """As `Executor.map`."""
        contents = [(hashlib.sha256(content).hexdigest(), content) for content in (stamp(), *shared)]
        source, taking, done = iter(payloads), threading.Lock(), Queue(maxsize=self.workers)
        stopping = threading.Event()

        def serve(process: _Process) -> None:
            try:
                while not stopping.is_set():
                    with taking:
                        number, payload = next(source, (None, b""))
                    if number is None:
                        break
                    done.put((number, process.ask(task, contents, payload)))
            except Exception as error:  # raised again in the thread that waits for results
                done.put((None, error))
            done.put((None, None))

        threads = [threading.Thread(target=serve, args=(process,), daemon=True) for process in self._pool]
        for thread in threads:
            thread.start()
        try:
            left = len(threads)
            while left:
                number, result = done.get()
                if isinstance(result, Exception):
                    raise result
                if number is None:
                    left -= 1
                else:
                    yield number, result
        finally:
            stopping.set()
            for process, thread in zip(self._pool, threads, strict=True):
                if thread.is_alive():
                    process.stop()
            while any(thread.is_alive() for thread in threads):  # waiting to deliver a result that is no longer wanted
                with suppress(Exception):
                    done.get(timeout=0.05)

    def require(self, memory: int) -> None:
        """As `Executor.require`, compared with this machine's memory, which all processes share."""
        try:
            total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):  # not known here
            return
        if self.workers * memory > total:
            raise ValueError(
                f"{self.workers} processes need {self.workers * memory / 1e9:.1f} GB of memory, {memory / 1e9:.1f} "
                f"each, and this machine has {total / 1e9:.1f}; use at most {max(total // memory, 1)}"
            )

    def close(self) -> None:
        """Stop the processes."""
        for process in self._pool:
            process.stop()


class _Process:
    """One worker process, used by one thread at a time; `stop` may be called from any."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._running: _Running | None = None
        self._held: list[str] = []

    @property
    def id(self) -> int | None:
        """Process number, None while there is no process."""
        return self._running and self._running.child.pid

    def ask(self, task: str, contents: Sequence[tuple[str, bytes]], payload: bytes) -> Result:
        """The result of a task, or why there is none; contents: (digest, bytes) of each. Raises Refused."""
        running = self._running = self._running or _started(self._program)
        try:
            request = {"task": task, "shared": [digest for digest, _ in contents]}
            worker.write(running.requests, json.dumps(request).encode())
            for digest, content in contents:
                if digest in self._held:
                    self._held.remove(digest)
                else:
                    worker.write(running.requests, content)
                self._held.append(digest)
            del self._held[: -worker.KEPT]
            worker.write(running.requests, payload)
            running.requests.flush()
            sign, content = running.answers.read(1), worker.read(running.answers)
        except (EOFError, OSError, ValueError):  # the process ended; ValueError: `stop` closed the pipe
            self.stop()
            return Failure(STOPPED)
        if sign == worker.REFUSED:
            raise Refused(content.decode())
        return content if sign == worker.DONE else Failure(content.decode())

    def stop(self) -> None:
        running, self._running, self._held = self._running, None, []
        if running is not None:
            running.child.kill()
            running.child.wait()
            for pipe in (running.requests, running.answers):
                with suppress(OSError):
                    pipe.close()


class _Running(NamedTuple):
    child: subprocess.Popen[bytes]
    requests: BinaryIO
    answers: BinaryIO


def _started(program: str) -> _Running:
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    child = subprocess.Popen(
        [sys.executable, "-m", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=os.environ | worker.ONE_THREAD | {"PYTHONPATH": path},
    )  # fmt: skip
    return _Running(child, cast(BinaryIO, child.stdin), cast(BinaryIO, child.stdout))
