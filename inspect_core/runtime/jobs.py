"""Long work in the background: one worker, progress with time left, cancel, one lock for each accelerator.

A job is plain Python and knows nothing of the page that shows it; pages poll its fields.
"""

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from inspect_core.runtime import users
from inspect_core.runtime.memory import return_memory
from inspect_core.runtime.progress import Cancelled


class Busy(RuntimeError):
    """Another job is waiting or running; the message says which."""


class State(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(eq=False)
class Job:
    """One piece of long work. Read its fields from any thread; write none from outside.

    title: what the user asked for; step: what it is doing now; fraction: done so far, 0 to 1; result: what the work
    returned, never anything large, since a page may hold a job long after its end: the work stores its results where
    they belong and returns the id; error: the sentence to show when it failed.
    """

    title: str
    owner: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    state: State = State.WAITING
    step: str = ""
    fraction: float = 0.0
    result: Any = None
    error: str = ""
    _began: float = 0.0
    _ended: float = 0.0
    _cancel: threading.Event = field(default_factory=threading.Event)

    def report(self, fraction: float, step: str | None = None) -> None:
        """Called by the work: how far it is. Raises Cancelled after `cancel`."""
        self.fraction = min(max(fraction, 0.0), 1.0)
        if step is not None:
            self.step = step
        if self._cancel.is_set():
            raise Cancelled

    def cancel(self) -> None:
        """Ask the work to stop at its next report."""
        self._cancel.set()

    @property
    def cancelling(self) -> bool:
        return self._cancel.is_set()

    @property
    def active(self) -> bool:
        return self.state in (State.WAITING, State.RUNNING)

    @property
    def seconds(self) -> float:
        """Seconds since the work began, or that it took."""
        return (self._ended or time.monotonic()) - self._began if self._began else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds left at the pace so far; None before the pace is known."""
        if self.state is not State.RUNNING or self.fraction < 0.02 or self.seconds < 1:
            return None
        return self.seconds * (1 - self.fraction) / self.fraction


class Jobs:
    """Runs one job at a time and refuses a second while one is active, naming it."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="loupe-job")
        self._lock = threading.Lock()
        self._current: Job | None = None

    @property
    def current(self) -> Job | None:
        """The job that waits or runs, else the last one that ended."""
        return self._current

    def submit(self, title: str, work: Callable[[Job], Any], *, owner: str = users.UNKNOWN) -> Job:
        """Start `work(job)` in the background; its return value becomes job.result.

        Raises Busy while another job is active.
        """
        with self._lock:
            if self._current is not None and self._current.active:
                raise Busy(
                    f"“{self._current.title}” by {self._current.owner} is still running; "
                    "wait for it to end or cancel it, then start again"
                )
            job = self._current = Job(title, owner)
        self._worker.submit(_run, job, work)
        return job

    def cancel(self, job_id: str) -> None:
        """Ask the job with this id to stop, if it still exists: for the callbacks of buttons, which hold no job."""
        if (job := self._current) is not None and job.id == job_id:
            job.cancel()


_locks: dict[str, threading.RLock] = {}
_locks_guard = threading.Lock()


def device_lock(device: object) -> threading.RLock:
    """The one lock of an accelerator (or of the CPU): hold it while the network or a fit runs there.

    device: its name, or an object that prints as its name, such as a `torch.device`.
    """
    with _locks_guard:
        return _locks.setdefault(str(device), threading.RLock())


def _run(job: Job, work: Callable[[Job], Any]) -> None:
    job._began, job.state = time.monotonic(), State.RUNNING
    try:
        job.result = work(job)
        job.fraction, job.state = 1.0, State.DONE
    except Cancelled:
        job.state = State.CANCELLED
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        job.error, job.state = str(error) or type(error).__name__, State.FAILED
    except BaseException as error:
        job.error, job.state = f"unexpected {type(error).__name__}: {error}", State.FAILED
        raise
    finally:
        job._ended = time.monotonic()
        return_memory()
