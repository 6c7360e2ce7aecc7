"""What a worker can be asked to do, by name, and the check that it runs the same program as the one who asks."""

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
"""Name -> module and function (payload, *shared) -> bytes; a module is loaded when its task is asked for."""


class Refused(ValueError):
    """A worker that would give other results than this machine; no other attempt mends that."""


@cache
def stamp() -> bytes:
    """What has to be equal on both sides, as JSON: versions of the libraries, and a digest of Loupe's own program."""
    digest, root = hashlib.sha256(), Path(__file__).resolve().parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes().replace(b"\r\n", b"\n"))
    return json.dumps(library_versions() | {"Loupe": digest.hexdigest()[:16]}, sort_keys=True).encode()


def perform(task: str, payload: bytes, shared: Sequence[bytes]) -> bytes:
    """Do a task; shared begins with the stamp of the one who asks. Raises Refused when it differs from this side's,
    and whatever the task raises.
    """
    check(shared[0])
    module, function = TASKS[task].split(":")
    return getattr(import_module(module), function)(payload, *shared[1:])


def check(asked: bytes) -> None:
    """Raise Refused, naming what differs, unless the stamp is that of this side."""
    if asked == stamp():
        return
    theirs, ours = json.loads(asked), json.loads(stamp())
    differing = sorted(name for name in theirs | ours if theirs.get(name) != ours.get(name))
    words = ", ".join(f"{name} {ours.get(name)} instead of {theirs.get(name)}" for name in differing)
    raise Refused(f"a worker has {words}; install the same on every machine, then start the workers again")


def ready(payload: bytes) -> bytes:
    """Nothing, by a worker that has been found to be the same as this machine."""
    return payload
