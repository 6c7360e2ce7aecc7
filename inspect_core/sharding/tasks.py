"""The tasks of a worker by name, and the check that it runs the same program as its client."""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from inspect_core.runtime.versions import library_versions

TASKS = {
    "fit": "inspect_core.sharding.teaching_shards:fit_shard",
    "score": "inspect_core.sharding.teaching_shards:score_shard",
    "evaluate": "inspect_core.sharding.teaching_shards:evaluate_shard",
    "describe": "inspect_core.sharding.teaching_shards:describe_shard",
    "inspect": "inspect_core.sharding.inspection_shards:inspect_shard",
    "ready": "inspect_core.sharding.tasks:ready",
}
"""Name -> module and function (payload, *shared) -> bytes; the module is loaded with its first task."""


class Refused(ValueError):
    """A worker whose results would differ from this machine's; trying again does not help."""


@cache
def stamp() -> bytes:
    """What must be equal on both sides, as JSON: library versions and a digest of Loupe's own code."""
    digest, root = hashlib.sha256(), Path(__file__).resolve().parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes().replace(b"\r\n", b"\n"))
    return json.dumps(library_versions() | {"Loupe": digest.hexdigest()[:16]}, sort_keys=True).encode()


def perform(task: str, payload: bytes, shared: Sequence[bytes]) -> bytes:
    """Execute a task; shared begins with the client's stamp. Raises Refused when that differs from this side's stamp,
    and whatever the task raises.
    """
    check(shared[0])
    module, function = TASKS[task].split(":")
    return getattr(import_module(module), function)(payload, *shared[1:])


def check(asked: bytes) -> None:
    """Raise Refused, naming the differences, unless the stamp equals this side's."""
    if asked == stamp():
        return
    theirs, ours = json.loads(asked), json.loads(stamp())
    differing = sorted(name for name in theirs | ours if theirs.get(name) != ours.get(name))
    words = ", ".join(f"{name} {ours.get(name)} instead of {theirs.get(name)}" for name in differing)
    raise Refused(f"a worker has {words}; install the same on every machine, then start the workers again")


def ready(payload: bytes) -> bytes:
    """Return the payload, once the worker has been found equal to this machine."""
    return payload
