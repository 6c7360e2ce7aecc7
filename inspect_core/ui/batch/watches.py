"""Watched folders: a job each beside the queue. What they have seen belongs to the server and shows in every window."""

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from inspect_core.audit.log import AuditLog
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.batch_report import picture_of
from inspect_core.line.drift_watch import DriftMonitor
from inspect_core.line.inspector import Inspector
from inspect_core.line.watch import Watch, watching
from inspect_core.line.watch_session import POLL_SECONDS, WatchSession, recorded_watch, require_challenge
from inspect_core.recipe import Recipe
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Job
from inspect_core.sharding.inspection_tasks import for_a_backlog
from inspect_core.ui import saved_recipes, shell, watch_store
from inspect_core.ui.inspected_photos import inspector_of
from inspect_core.ui.watch_store import InterruptedWatch, WatchRequest
from inspect_core.verdict import VERDICT_PHRASES

WATCH = "watch"
ENDED = 3
"""Watches that have ended and are still shown."""


@dataclass(eq=False)
class FolderWatch:
    """One watch. shift: None until the recipe is loaded."""

    request: WatchRequest
    job: Job | None = None
    shift: WatchSession | None = None

    @property
    def active(self) -> bool:
        return self.job is not None and self.job.active


@st.cache_resource
def _watches() -> list[FolderWatch]:
    return []


def all_watches() -> list[FolderWatch]:
    """Those that go on, then the latest that have ended."""
    known = list(_watches())
    ended = [watch for watch in known if not watch.active]
    return [*(watch for watch in known if watch.active), *reversed(ended[-ENDED:])]


def find(job_id: str) -> FolderWatch | None:
    """The watch that this job does; None without one."""
    return next((watch for watch in _watches() if watch.job is not None and watch.job.id == job_id), None)


def start(recipe: Recipe, file: str, folder: Path, out: Path, *, trial: bool) -> None:
    """Watch a folder with the saved recipe in this file. Raises JobRejected as `Jobs.run_unqueued`."""
    whose = recipe.product, file, recipe.digest or ""
    _begin(WatchRequest(*whose, str(folder), str(out), shell.current_user(), trial, time.time()))


def _begin(request: WatchRequest, *, resumed: bool = False) -> None:
    watched = FolderWatch(request)
    file, digest, user = request.recipe, request.digest, request.user
    folder, out = Path(request.folder), Path(request.out)

    def work(job: Job) -> None:
        with watching(folder, out), AuditLog.open() as log, watch_store.recorded(request) as is_alive:
            job.report(0.0, "loading the recipe")
            inspector, _ = inspector_of(file, digest)
            if inspector.digest != digest:
                raise ValueError(f"{file} now contains a different recipe; start the watch again")
            record = AuditRecord(log, inspector, user)
            require_challenge(record)
            with for_a_backlog(inspector, workspace.recipes_folder() / file) as judging:
                watch = Watch(inspector, folder, out, record, trial=request.trial, judging=judging)
                shift = WatchSession(watch, DriftMonitor(record), lambda facts, alarms: job.report(0.0))
                shift.continue_from(datetime.fromtimestamp(request.began, UTC))
                watched.shift = shift
                with recorded_watch(watch, record, resumed=resumed):
                    while True:
                        job.report(0.0, "paused" if shift.paused else in_words(shift))
                        shift.poll_folder()
                        is_alive()
                        time.sleep(POLL_SECONDS)

    title = f"Watching {folder.name} for {request.product}"
    watched.job = shell.jobs().run_unqueued(title, work, owner=user, subject=(WATCH, str(folder)))
    _watches()[:] = [other for other in all_watches() if other.request.folder != request.folder] + [watched]


def resume(watch: InterruptedWatch) -> None:
    """Go on with a watch that a restart has ended, and with its counts.

    Raises ValueError when its recipe is another one, or cannot be read, JobRejected and OSError as `start`.
    """
    request = watch.request
    path = workspace.recipes_folder() / request.recipe
    recipe = saved_recipes.checked(path)
    if recipe.digest != request.digest:
        raise ValueError(f"{request.recipe} is another recipe by now; start the watch again below")
    _begin(replace(request, user=shell.current_user()), resumed=True)
    watch_store.forget(watch.id)


def pause(job_id: str) -> None:
    """Pause after the photo being moved, or go on."""
    if (watched := find(job_id)) is not None and watched.shift is not None:
        watched.shift.paused = not watched.shift.paused


def in_words(shift: WatchSession) -> str:
    """ "12 accepted, 1 rejected"."""
    verdict_counts = [f"{shift.counts[word]:,} {text}" for word, text in VERDICT_PHRASES.items() if shift.counts[word]]
    return ", ".join(verdict_counts) or "no photos yet"


@st.cache_data(max_entries=64, show_spinner=False)
def picture(recipe: str, digest: str, path: str, side: int, _inspector: Inspector) -> bytes | None:
    """A judged photo with its heatmap where it lies now, as WebP; None when it cannot be read there."""
    return picture_of(_inspector, Path(path).name, Path(path), side=side)
