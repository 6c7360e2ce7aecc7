"""Batches in the background: start, pause, resume, cancel. A paused batch is on disk and occupies no worker."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from inspect_core.audit.log import AuditLog
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.batch import Photo, photos_of, run
from inspect_core.line.batch_report import picture_of
from inspect_core.line.confusion import truths_of
from inspect_core.line.inspector import Inspector
from inspect_core.line.verdict_changes import compare_verdicts
from inspect_core.line.verdict_table import read_table
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.jobs import Job
from inspect_core.runtime.progress import Cancelled
from inspect_core.sharding import worker_selection
from inspect_core.sharding.inspection_tasks import judging_on
from inspect_core.ui import batch_store, shell
from inspect_core.ui.batch_store import BatchRun
from inspect_core.ui.inspected_photos import inspector_of

BATCH = "batch"
MOST_DRAWN = 24
"""Photos whose verdict changes that are drawn as both recipes see them."""


@st.cache_resource(show_spinner=False)
def _unwanted() -> set[str]:
    """Ids of jobs whose batches are deleted when they end."""
    return set()


def running() -> str | None:
    """The id of the batch under way, None when there is none."""
    job = shell.active_job()
    return job.subject[1] if job is not None and isinstance(job.subject, tuple) and job.subject[0] == BATCH else None


def waits(batch: BatchRun) -> bool:
    """Whether a batch waits for its turn."""
    return shell.jobs().find_by_subject((BATCH, batch.id)) is not None


def start(batch: BatchRun) -> None:
    """Start a batch, or resume it where it stopped. Raises JobRejected as `Jobs.submit`."""
    unwanted = _unwanted()
    user = shell.current_user()

    def work(job: Job) -> None:
        try:
            with contextlib.suppress(Cancelled):  # what was judged is kept
                _judge(batch, job, user)
        finally:
            if job.id in unwanted:
                batch_store.remove(batch)

    shell.start(f"Inspecting photos of {batch.product}", work, subject=(BATCH, batch.id))


def pause(job_id: str) -> None:
    """Stop after the photos being judged; those judged are kept."""
    shell.jobs().cancel(job_id)


def cancel(job_id: str) -> None:
    """Stop, and drop the batch."""
    _unwanted().add(job_id)
    pause(job_id)


def _judge(batch: BatchRun, job: Job, user: str) -> None:
    job.report(0.0, "loading the recipe")
    in_process = batch.workers <= 1 and not batch.cluster
    inspector, path = inspector_of(batch.recipe, batch.digest, in_process=in_process)
    if inspector.digest != batch.digest:
        begun = f"the recipe this batch started with ({batch.digest[:12]})"
        raise ValueError(f"{batch.recipe} is no longer {begun}; start a new batch")
    job.report(0.0, "checking the photos")
    photos = photos_of([Path(batch.source)], workspace.readable_roots())
    truths, _ = truths_of(photos, [Path(batch.source)], batch.labels or None)
    if batch.cluster:
        address, certificates = worker_selection.read_cluster_settings()
        if address is None:
            problem = "LOUPE_CLUSTER is no longer set"
            raise ValueError(f"{problem}; set it and restart the app, or start a new batch")
        chosen = worker_selection.workers(cluster=address, certificates=certificates)
        job.report(0.0, f"waiting for the workers of {address}")
    else:
        chosen = worker_selection.workers(batch.workers if batch.workers > 1 else None)
    with AuditLog.open() as log, chosen as executor, judging_on(executor, inspector, path) as judging:
        by = "" if executor is None else f" on {executor.words}"

        def report(fraction: float, step: str) -> None:
            job.report(fraction, step + by)

        record = AuditRecord(log, inspector, user)
        outputs = batch.outputs()
        run(inspector, photos, outputs, record=record, report=report, judging=judging, trial=batch.trial, truths=truths)
    if (before := batch_store.find(batch.baseline_batch)) is not None and before.finished:
        job.report(1.0, "drawing changed verdicts")
        _draw_changes(before, batch, inspector, photos)


def _draw_changes(before: BatchRun, batch: BatchRun, inspector: Inspector, photos: Sequence[Photo]) -> None:
    """Pictures of the first changes by rank, as both recipes see them."""
    rows = read_table(batch.table)
    first, _ = inspector_of(before.recipe, before.digest)
    paths = {row.digest: photo for row, photo in zip(rows, photos, strict=True)}
    with atomic_replace(batch.changed) as new:
        new.mkdir()
        for rank, change in enumerate(compare_verdicts(read_table(before.table), rows).changes[:MOST_DRAWN]):
            for side, judging in zip(batch_store.SIDES, (first, inspector), strict=True):
                if picture := picture_of(judging, *paths[change.after.digest]):
                    (new / f"{rank:02d}-{side}.webp").write_bytes(picture)
