"""What executes the tasks of shards: processes on this machine, or a cluster."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

ATTEMPTS = 3
RESTING, RESTING_EXPORTED = 1 << 30, 1 << 28
"""Bytes that a worker takes with a network loaded and no photo, and with an exported recipe, which needs no torch."""


@dataclass(frozen=True)
class Failure:
    """Why a shard has no result, as a sentence."""

    reason: str


Result = bytes | Failure
Numbered = tuple[int, bytes]
Mapper = Callable[[str, Sequence[bytes], Iterable[Numbered]], Iterator[tuple[int, Result]]]
"""As `Executor.map`."""


class Executor(Protocol):
    """Executes tasks, each named in `tasks.TASKS`, on payloads of bytes.

    words: the workers as shown to the user: "2 processes on this machine". workers: number of tasks executed in
    parallel now.
    """

    @property
    def words(self) -> str: ...
    @property
    def workers(self) -> int: ...

    def map(self, task: str, shared: Sequence[bytes], payloads: Iterable[Numbered]) -> Iterator[tuple[int, Result]]:
        """(number, result) of each payload as soon as it is finished; only a few payloads are taken in advance.

        shared: what all payloads need, sent to each worker once. A caller that stops iterating cancels the rest. Raises
        Refused when the workers must not be used at all, and OSError when none is left.
        """
        ...

    def require(self, memory: int) -> None:
        """Raise ValueError, with the figures, if a worker has fewer bytes of memory than this."""
        ...

    def close(self) -> None:
        """Stop what this executor started."""
        ...
