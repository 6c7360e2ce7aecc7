"""Long work in the background: one worker and a queue, progress with time left, cancel, one lock for each accelerator;
beside the queue, what goes on until it is stopped.

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
from inspect_core.runtime.pace import Pace
from inspect_core.runtime.program_log import log_file, log_unexpected
from inspect_core.runtime.progress import Cancelled

MAX_QUEUED_JOBS = 6
"""Jobs that wait at a time."""
ENDED_JOBS = 10
"""Jobs that are remembered after their end."""


class JobRejected(RuntimeError):
    """The same work waits or runs already, or the queue is full; the message says which."""


class JobState(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(eq=False)
class Job:
    """One piece of long work. Read its fields from any thread; write none from outside.

    title: what the user asked for; subject: what its result is of, by which a page knows its own job; step: what it is
    doing now; fraction: done so far, 0 to 1; result: what the work returned, never anything large, since a page may
    hold a job long after its end: the work stores its results where they belong and returns the id; error: the sentence
    to show when it failed; ended_at: when, in seconds since 1970; session: of the page that takes the result.
    """

    title: str
    owner: str
    subject: object
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    state: JobState = JobState.WAITING
    step: str = ""
    fraction: float = 0.0
    result: Any = None
    error: str = ""
    ended_at: float = 0.0
    session: str = ""
    _began: float = 0.0
    _ended: float = 0.0
    _pace: Pace = field(default_factory=Pace)
    _on_end: Callable[[], None] = lambda: None
    _cancel: threading.Event = field(default_factory=threading.Event)
    _beginning: threading.Lock = field(default_factory=threading.Lock)

    def report(self, fraction: float, step: str | None = None) -> None:
        """Called by the work: how far it is. Raises Cancelled after `cancel`."""
        self.fraction = min(max(fraction, 0.0), 1.0)
        self._pace.report(self.fraction, self.seconds)
        if step is not None:
            self.step = step
        if self._cancel.is_set():
            raise Cancelled

    def cancel(self) -> None:
        """Ask the work to stop at its next report; one that waits never begins."""
        self._cancel.set()
        with self._beginning:
            if self.state is JobState.WAITING:
                self.state = JobState.CANCELLED
                self.ended_at = time.time()
                self._on_end()

    @property
    def cancelling(self) -> bool:
        return self._cancel.is_set()

    @property
    def active(self) -> bool:
        return self.state in (JobState.WAITING, JobState.RUNNING)

    @property
    def seconds(self) -> float:
        """Seconds since the work began, or that it took."""
        return (self._ended or time.monotonic()) - self._began if self._began else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds that are left, as `Pace.seconds_left`; None unless it runs."""
        return self._pace.seconds_left(self.seconds) if self.state is JobState.RUNNING else None


class Jobs:
    """Runs one job at a time, in the order in which they were asked for; beside them, those that have no end."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="loupe-job")
        self._lock = threading.Lock()
        self._jobs: list[Job] = []
        self._beside: list[Job] = []

    @property
    def current(self) -> Job | None:
        """The job that runs or is next, else the last one that ended."""
        jobs = self._jobs
        return next((job for job in jobs if job.active), jobs[-1] if jobs else None)

    @property
    def waiting(self) -> list[Job]:
        """The jobs that wait behind `current`, the next first."""
        return self.active[1:]

    @property
    def active(self) -> list[Job]:
        """The jobs that run or wait."""
        return [job for job in self._jobs if job.active]

    @property
    def ended(self) -> list[Job]:
        """The last ENDED_JOBS jobs that ended, the latest first."""
        return sorted((job for job in self._jobs if not job.active), key=lambda job: -job.ended_at)[:ENDED_JOBS]

    def find_by_subject(self, subject: object) -> Job | None:
        """The job that waits or runs whose result is of this; None without one."""
        return next((job for job in [*self._jobs, *self._beside] if job.active and job.subject == subject), None)

    def submit(
        self,
        title: str,
        work: Callable[[Job], Any],
        *,
        owner: str = users.UNKNOWN,
        subject: object = None,
        session: str = "",
        on_end: Callable[[], None] = lambda: None,
    ) -> Job:
        """Do `work(job)` in the background after what was asked for before; its return value is job.result.

        subject: what the result is of, None for the title; on_end: called once, however the job ends. Raises
        JobRejected while the same waits or runs, and when MAX_QUEUED_JOBS wait.
        """
        job = Job(title, owner, title if subject is None else subject, session=session, _on_end=on_end)
        with self._lock:
            if (same := self.find_by_subject(job.subject)) is not None:
                doing = "running" if same.state is JobState.RUNNING else "waiting"
                raise JobRejected(
                    f"“{same.title}” by {same.owner} is already {doing}; wait for it to finish, or cancel it"
                )
            if len(self.waiting) >= MAX_QUEUED_JOBS:
                raise JobRejected(f"the queue is full ({MAX_QUEUED_JOBS} jobs); remove one in the sidebar first")
            self._jobs = [*reversed(self.ended), *self.active, job]
        self._worker.submit(_run, job, work)
        return job

    @property
    def unqueued_jobs(self) -> list[Job]:
        """The jobs that run beside the queue."""
        return [job for job in self._beside if job.active]

    def run_unqueued(self, title: str, work: Callable[[Job], Any], *, owner: str, subject: object) -> Job:
        """Do `work(job)` at once, in a thread of its own, until it is cancelled: in the queue it would hold up all
        others. Raises JobRejected while the same runs.
        """
        job = Job(title, owner, subject)
        with self._lock:
            if (same := self.find_by_subject(subject)) is not None:
                raise JobRejected(f"“{same.title}” by {same.owner} is already running; stop it first")
            self._beside = [*self.unqueued_jobs, job]
        threading.Thread(target=_run, args=(job, work), name="loupe-beside", daemon=True).start()
        return job

    def cancel(self, job_id: str) -> None:
        """Ask the job with this id to stop, or take it out of the queue: for buttons' callbacks without a job."""
        for job in [*self._jobs, *self._beside]:
            if job.id == job_id:
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
    with job._beginning:
        if job.cancelling:
            return
        job._began = time.monotonic()
        job.state = JobState.RUNNING
    state = JobState.FAILED
    try:
        job.result = work(job)
        job.fraction = 1.0
        state = JobState.DONE
    except Cancelled:
        state = JobState.CANCELLED
    except (ValueError, OSError, RuntimeError, MemoryError) as error:
        job.error = str(error) or type(error).__name__
    except BaseException as error:
        job.error = f"unexpected {type(error).__name__}: {error} ({log_unexpected(error, job.title)} in {log_file()})"
        raise
    finally:
        job._ended = time.monotonic()
        job.ended_at = time.time()
        job._on_end()
        job.state = state
        return_memory()
