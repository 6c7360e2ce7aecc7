"""Watched folders on disk: what was asked for stays until it is stopped, so that a restart ends none without a word."""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import streamlit as st

from inspect_core.audit.entry import WATCH_INTERRUPTED
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace, lock
from inspect_core.runtime.json_record import number, read_record, to_table

ALIVE_SECONDS = 5.0
"""Seconds between two signs that a watch goes on: after a restart they tell when it ended."""
LONGEST = 1 << 16


@dataclass(frozen=True)
class WatchRequest:
    """A folder to be watched: recipe, digest: its file's name among the saved ones and its digest; folder, out: where
    photos arrive and go; user: who asked; trial: whether the verdicts count as a trial; began: when it was first asked
    for, in seconds since 1970.
    """

    product: str
    recipe: str
    digest: str
    folder: str
    out: str
    user: str
    trial: bool
    began: Annotated[float, number(0, 1e11)]


@dataclass(frozen=True)
class InterruptedWatch:
    """A watch whose server was stopped or killed; stopped_at: when it went on last, in seconds since 1970."""

    id: str
    request: WatchRequest
    stopped_at: float

    @property
    def when(self) -> str:
        """`stopped_at` in words."""
        return in_words(self.stopped_at)


@contextlib.contextmanager
def recorded(request: WatchRequest) -> Generator[Callable[[], None]]:
    """Keep a request on disk while this block runs; a killed process leaves it there.

    Gives what is to be called now and then, as a sign that the watch goes on. Raises OSError when it cannot be written.
    """
    path = _folder() / f"{secrets.token_hex(6)}.json"
    with atomic_replace(path) as new:
        new.write_text(json.dumps(to_table(request)), encoding="utf-8")
    last = time.monotonic()

    def is_alive() -> None:
        nonlocal last
        if time.monotonic() - last >= ALIVE_SECONDS:
            last = time.monotonic()
            with contextlib.suppress(OSError):
                os.utime(path)

    with workspace.open_regular_file(path, "r+b") as file:
        lock(file, wait=False)
        try:
            yield is_alive
        finally:
            path.unlink(missing_ok=True)


def interrupted() -> list[InterruptedWatch]:
    """The watches that no process carries on, the latest first; each is recorded in the audit log once."""
    watches = []
    for path in _folder().glob("*.json"):
        with contextlib.suppress(OSError, ValueError), workspace.open_regular_file(path, "r+b") as file:
            if lock(file, wait=False):
                request = read_record(WatchRequest, file.read(LONGEST), path.name)
                watches.append(InterruptedWatch(path.stem, request, path.lstat().st_mtime))
    for watch in watches:
        _note(watch)
    return sorted(watches, key=lambda watch: -watch.stopped_at)


def in_words(seconds: float) -> str:
    """A moment, in seconds since 1970, in words: the local time of today, else with its day."""
    moment, today = time.localtime(seconds), time.localtime()
    return time.strftime("%H:%M" if moment[:3] == today[:3] else "%H:%M on %d %b", moment)


def forget(watch_id: str) -> None:
    """Delete an interrupted watch: it was resumed, or is not wanted."""
    (_folder() / f"{watch_id}.json").unlink(missing_ok=True)


def _note(watch: InterruptedWatch) -> None:
    if watch.id in _noted():
        return
    request = watch.request
    facts = {"folder": request.folder, "stopped": watch.when}
    known = {"user": request.user, "product": request.product, "recipe": request.digest}
    with contextlib.suppress(LogError, OSError), AuditLog.open() as log:
        log.append(WATCH_INTERRUPTED, facts, key=f"watch interrupted {watch.id}", **known)
        _noted().add(watch.id)


@st.cache_resource
def _noted() -> set[str]:
    return set()


def _folder() -> Path:
    return workspace.root() / "watches"
