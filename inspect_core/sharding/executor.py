"""What executes tasks on shards of photos: processes on this machine, or a cluster.

A task is a frozen dataclass that is called with a payload. It travels as a pickle, so both sides run the same program.
"""

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Protocol

from inspect_core.runtime.versions import library_versions

IDLE_WORKER_BYTES = 1 << 30
"""Bytes that a worker takes with a network loaded and no photo."""
RESTING_EXPORTED = 1 << 28
"""The same with an exported recipe, which needs no torch."""
WORKER_KILLED = "its worker process was killed, by the system (out of memory) or by a user"

Task = Callable[[Any], Any]
Numbered = tuple[int, Any]
"""A number and its payload, or its result, which may be a Failure."""


@dataclass(frozen=True)
class Failure:
    """Why a shard has no result, as a sentence."""

    reason: str


class Refused(ValueError):
    """A worker whose results would differ from this machine's; trying again does not help."""


class Executor(Protocol):
    """Executes tasks.

    words: the workers as shown to the user: "2 processes on this machine". workers: number of tasks executed in
    parallel now.
    """

    @property
    def words(self) -> str: ...
    @property
    def workers(self) -> int: ...

    def map(self, task: Task, payloads: Iterable[Numbered]) -> Iterator[Numbered]:
        """Yield (number, result) of each payload as soon as it is finished; only a few payloads are taken in advance.

        The task is sent to each worker once. A caller that stops iterating cancels the rest. Raises Refused when the
        workers must not be used at all, and OSError when none is left.
        """
        ...

    def require(self, memory: int) -> None:
        """Raise ValueError, with the figures, if a worker has fewer bytes of memory than this."""
        ...

    def close(self) -> None:
        """Stop what this executor started."""
        ...


@cache
def environment_stamp() -> dict[str, str]:
    """What must be equal on both sides: library versions and a digest of Loupe's own code."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes().replace(b"\r\n", b"\n"))
    return library_versions() | {"Loupe": digest.hexdigest()[:16]}


def check_stamp(asked: dict[str, str]) -> None:
    """Raise Refused, naming the differences, unless the stamp equals this side's."""
    local_stamp = environment_stamp()
    differing = sorted(name for name in asked | local_stamp if asked.get(name) != local_stamp.get(name))
    if differing:
        words = ", ".join(f"{name} {local_stamp.get(name)} instead of {asked.get(name)}" for name in differing)
        raise Refused(f"a worker has {words}; install the same versions on every machine, then restart the workers")


def perform(asked: dict[str, str], task: bytes, payload: Any) -> Any:
    """The result of a pickled task in a worker, as `attempt`. Raises Refused for another program's stamp."""
    check_stamp(asked)
    return attempt(lambda sent: _opened(task)(sent), payload)


def attempt(task: Task, payload: Any) -> Any:
    """The result of a task in this process; a Failure for whatever it raises but Refused."""
    try:
        return task(payload)
    except Refused:
        raise
    except Exception as error:  # whatever it is, the one who asked decides what to do
        return Failure(str(error) or type(error).__name__)


@lru_cache(maxsize=1)
def _opened(task: bytes) -> Task:
    return pickle.loads(task)  # from who started this process, or through a scheduler that can run code anyway
