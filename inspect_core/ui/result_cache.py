"""The latest results of long work, for every session of this process, bounded."""

import threading
from collections.abc import Callable, Hashable
from typing import Any

import streamlit as st

from inspect_core.runtime.jobs import Job
from inspect_core.ui import shell

MAX_CACHED_RESULTS = 24
_OPENED = "results_opened"
"""In a session: keys of the results that it has opened once."""


class ResultCache:
    """Results by key, at most `most` of them: those used last. Keys are compared by their value."""

    def __init__(self, most: int) -> None:
        self._lock = threading.Lock()
        self._most = most
        self._items = []

    def get(self, key: object) -> Any:
        """The result under this key; None without one."""
        with self._lock:
            hit = next((item for item in self._items if item[0] == key), None)
            if hit is None:
                return None
            self._items.remove(hit)
            self._items.append(hit)
            return hit[1]

    def put(self, key: object, value: object) -> None:
        """Keep a result under this key, in place of an earlier one."""
        with self._lock:
            others = [item for item in self._items if item[0] != key]
            self._items = [*others, (key, value)][-self._most :]

    def clear(self) -> None:
        """Drop all."""
        with self._lock:
            self._items = []


@st.cache_resource
def result_cache() -> ResultCache:
    return ResultCache(MAX_CACHED_RESULTS)


def start(title: str, key: Hashable, work: Callable[[Job], Any]) -> None:
    """Work in the background and keep its result under `key`. Raises JobRejected as `Jobs.submit`."""
    results = result_cache()
    shell.start(title, lambda job: results.put(key, work(job)), subject=key)


def result_or_button(label: str, words: str, title: str, key: tuple, work: Callable[[Job], Any]) -> Any:
    """The result of work that is kept under `key`; until it is there, None, and a button that starts it or progress."""
    if (result := result_cache().get(key)) is None:
        shell.start_job_button(label, words, lambda: start(title, key, work), subject=key, key=f"start-{key[0]}")
    return result


def begin_on_opening(title: str, key: Hashable, work: Callable[[Job], Any]) -> None:
    """Begin work of seconds, whose result is kept under `key`, the first time that this session opens it.

    What was cancelled or failed is not begun again unasked, and nothing is queued behind another job unasked.
    """
    opened = st.session_state.setdefault(_OPENED, set())
    if key not in opened and result_cache().get(key) is None and shell.active_job() is None:
        opened.add(key)
        shell.begin(lambda: start(title, key, work))


def result_on_opening(label: str, words: str, title: str, key: tuple, work: Callable[[Job], Any]) -> Any:
    """As `result_or_button`, for work that begins by itself as `begin_on_opening` has it."""
    begin_on_opening(title, key, work)
    return result_or_button(label, words, title, key, work)
