"""Batches in the background: start, pause, resume, cancel. A paused batch is on disk and occupies no worker."""

import contextlib
from pathlib import Path

import streamlit as st

from inspect_core.audit.log import AuditLog
from inspect_core.line.batch import photos_of, run
from inspect_core.line.inspector import Inspector
from inspect_core.line.logged import Logged
from inspect_core.recipe import LoadedRecipe, loaded_backbone
from inspect_core.recipe_format import manifest
from inspect_core.recipe_io import recipe_file
from inspect_core.recipe_io.fused import FusedRecipe
from inspect_core.runner import Runner
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Job
from inspect_core.runtime.progress import Cancelled
from inspect_core.sharding import choosing
from inspect_core.sharding.inspecting import JudgedByWorkers
from inspect_core.ui import shell
from inspect_core.ui.batch import runs
from inspect_core.ui.batch.runs import Run

BATCH = "batch"


@st.cache_resource(show_spinner=False)
def _unwanted() -> set[str]:
    """Ids of jobs whose batches are deleted when they end."""
    return set()


def running() -> str | None:
    """The id of the batch under way, None when there is none."""
    job = shell.active_job()
    return job.about[1] if job is not None and isinstance(job.about, tuple) and job.about[0] == BATCH else None


def waits(batch: Run) -> bool:
    """Whether a batch waits for its turn."""
    return shell.jobs().about((BATCH, batch.id)) is not None


def start(batch: Run) -> None:
    """Start a batch, or resume it where it stopped. Raises Busy as `Jobs.submit`."""
    unwanted, user = _unwanted(), shell.current_user()

    def work(job: Job) -> None:
        try:
            with contextlib.suppress(Cancelled):  # what was judged is kept
                _judge(batch, job, user)
        finally:
            if job.id in unwanted:
                runs.remove(batch)

    shell.start(f"Judging photos of {batch.product}", work, about=(BATCH, batch.id))


def pause(job_id: str) -> None:
    """Stop after the photos being judged; those judged are kept."""
    shell.jobs().cancel(job_id)


def cancel(job_id: str) -> None:
    """Stop, and drop the batch."""
    _unwanted().add(job_id)
    pause(job_id)


def _judge(batch: Run, job: Job, user: str) -> None:
    job.report(0.0, "loading the recipe")
    inspector, path = _inspector(batch)
    if inspector.digest != batch.digest:
        begun = f"the recipe that this batch was started with ({batch.digest[:12]})"
        raise ValueError(f"{batch.recipe} is no longer {begun}; start a new batch")
    job.report(0.0, "looking at the photos")
    photos = photos_of([Path(batch.source)])
    if batch.cluster:
        address, certificates = choosing.configured()
        if address is None:
            gone = "LOUPE_CLUSTER no longer names a scheduler"
            raise ValueError(f"{gone}; set it and restart the app, or start a new batch")
        chosen = choosing.workers(cluster=address, certificates=certificates)
        job.report(0.0, f"waiting for the workers of {address}")
    else:
        chosen = choosing.workers(batch.workers if batch.workers > 1 else None)
    with AuditLog.open() as log, chosen as executor:
        judging = None if executor is None else JudgedByWorkers(executor, path)
        by = "" if executor is None else f", by {executor.words}"

        def report(fraction: float, step: str) -> None:
            job.report(fraction, step + by)

        run(inspector, photos, batch.outputs(), record=Logged(log, inspector, user), report=report, judging=judging)


def _inspector(batch: Run) -> tuple[Inspector, Path]:
    """The recipe and where it lies: as exported for the line, if it was (the same verdicts in less time)."""
    path, exported = workspace.recipes_folder() / batch.recipe, workspace.export_of(batch.digest)
    for place in (exported, path):
        if place.exists() and manifest.is_exported(place):
            return Runner(place, threads=1), place
    recipe = recipe_file.load(path)
    backbone = loaded_backbone(recipe.backbone)
    alone = batch.workers <= 1 and not batch.cluster
    return (FusedRecipe(recipe, backbone, path) if alone else LoadedRecipe(recipe, backbone)), path
