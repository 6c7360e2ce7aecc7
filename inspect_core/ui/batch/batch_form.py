"""The parts of the Batch page: what to judge and with which recipe, the running batch, batches to resume."""

import contextlib
import os
import shlex
from dataclasses import replace
from pathlib import Path

import streamlit as st

from inspect_core.datasets.dataset import GOOD, ScanError
from inspect_core.line.batch import photos_of
from inspect_core.line.map_folder import ENDINGS
from inspect_core.line.watch import FOLDERS
from inspect_core.recipe import Recipe
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import pluralise
from inspect_core.sharding import worker_selection
from inspect_core.ui import batch_store, label_question, saved_recipes, shell, weights_panel
from inspect_core.ui.batch import batch_jobs
from inspect_core.ui.batch_store import BatchRun
from inspect_core.ui.photo_source import FOLDER, UPLOAD, PhotoSource, choose_folder, choose_upload, fingerprint

LAYOUTS = "Inspects every photo in this folder and its subfolders. Your files are not changed."
NUMBER_WIDTH = 160
ON_PAUSE = "Finishes the photos in progress, then stops. Results so far are kept, even if you close Loupe."
ON_CANCEL = "Stops and deletes the table and images. Verdicts stay in the audit log."
HERE, CLUSTER = "This machine", "Cluster"
MAPS = dict(zip(ENDINGS, ("Heatmap overlays (PNG)", "Anomaly maps (.npy)"), strict=True))


def new_batch(saved: list[Path]) -> None:
    """Recipe and photos on the left; what was found, what to write, and the button that starts on the right."""
    left, right = st.columns(2, gap="large")
    with left:
        path, recipe, trial = choose_recipe(saved, "batch")
        source = _photos()
    if recipe is None:
        return
    with right:
        _start_or_choose(path, recipe, source, trial=trial)
    _on_the_command_line(path, source)


def _start_or_choose(path: Path, recipe: Recipe, source: PhotoSource | None, *, trial: bool) -> None:
    labels = None
    if source is not None:
        key = fingerprint(source.path)
        labels = label_question.choose(source.path, key, to_teach=False)
        _show_found(source, key, labels.reading)
        if not labels.is_clear:
            st.caption("You can start without: verdicts are then not compared with labels.")
    words = "The table, the report and images of the worst parts are always saved."
    label = "Also save for each photo"
    say = MAPS.__getitem__
    key = "batch_maps"
    map_choices = st.pills(label, list(MAPS), format_func=say, selection_mode="multi", key=key, help=words)
    workers, cluster = _worker_inputs()
    if start_button("Start", "batch_start", disabled=source is None) and source is not None and labels is not None:
        with shell.errors_shown(ValueError, ScanError, OSError):
            with st.spinner("Checking the photos…"):
                count = len(photos_of([source.path], workspace.readable_roots()))
            asked = {"product": recipe.product, "recipe": path.name, "digest": recipe.digest or "", "count": count}
            asked["trial"] = trial
            endings = tuple(ending for ending in ENDINGS if ending in map_choices)
            user = shell.current_user()
            option = {"map_suffixes": endings, "user": user, "workers": workers, "cluster": cluster}
            _start(batch_store.new(**asked, **option, source=str(source.path), labels=labels.reading or ""))
    if source is None:
        st.caption("Choose photos to start.")
    else:
        shell.show_running_job("New batches are queued and start automatically.")


def _show_found(source: PhotoSource, key: str, reading: str | None) -> None:
    """How many photos there are, and what is known of them; nothing where that is an error, which the start shows."""
    with contextlib.suppress(ScanError, ValueError, OSError):
        truths = list(label_question.truths_at(str(source.path), key, reading).values())
        good, unknown = truths.count(GOOD), truths.count("")
        counts = {"good": good, "defective": len(truths) - good - unknown, "without a label": unknown}
        known = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
        st.markdown(f"**{shell.escape(pluralise(len(truths), 'photo'))}**: {shell.escape(known)}")


def choose_recipe(saved: list[Path], mode: str) -> tuple[Path, Recipe | None, bool]:
    """The recipe to judge by, those approved first, as `recipe_at`, and whether its verdicts count as a trial.

    mode: begins the keys of the widgets.
    """
    choices = saved_recipes.choices(saved)
    path = st.selectbox("Recipe", list(choices), format_func=choices.__getitem__, key=f"{mode}_recipe")
    recipe = recipe_at(path, mode)
    begins, at = saved_recipes.is_for_trial(path), f"{mode}_trial-{path.name}"
    trial = st.toggle("Trial", begins, key=at, help="Trials are recorded, and not counted as production on History.")
    return path, recipe, trial


@st.fragment(run_every=shell.POLL_SECONDS)
def running_batch() -> None:
    """Show the batch that runs now: how far, how long, pause, cancel."""
    job = shell.active_job()
    batch = batch_store.find(batch_jobs.running() or "")
    if job is None or batch is None:
        st.rerun()
    with st.container(border=True):
        _head(batch)
        st.progress(job.fraction, text=shell.progress_in_words(job))
        row = st.container(horizontal=True)
        stop = "Stopping…" if job.cancelling else "Pause"
        off = job.cancelling
        for key, label, icon, work, words in (
            ("pause", stop, ":material/pause:", batch_jobs.pause, ON_PAUSE),
            ("cancel", "Cancel and discard", ":material/delete:", batch_jobs.cancel, ON_CANCEL),
        ):
            at = f"batch_{key}-{job.id}"
            row.button(label, at, icon=icon, help=words, disabled=off, on_click=work, args=(job.id,))


def unfinished(batch: BatchRun) -> None:
    """Show a batch that was paused or interrupted: resume or discard it."""
    with st.container(border=True):
        _head(batch)
        when = shell.escape(batch.when)
        if batch_jobs.waits(batch):
            st.caption(f"Queued: {batch.count:,} photos, requested {when}. See the queue in the sidebar.")
            return
        st.caption(f"Incomplete: {batch.row_count:,} of {batch.count:,} photos inspected. Started {when}.")
        row = st.container(horizontal=True)
        with row:
            if start_button("Resume", f"batch_resume-{batch.id}"):
                _start(batch)
        discard(batch, row)


def compare(batch: BatchRun, place) -> None:
    """Show a button that judges the same photos with another recipe, to show which verdicts change."""
    with place.popover("Compare with another recipe", icon=":material/compare_arrows:"):
        others = [path for path in saved_recipes.paths() if path.name != batch.recipe]
        if not others:
            st.markdown("No other recipe yet. Save one on the Inspect page.")
            return
        say = saved_recipes.names(others).__getitem__
        path = st.selectbox("Recipe", others, format_func=say, key=f"batch_other-{batch.id}")
        recipe = recipe_at(path, f"compare-{batch.id}")
        if start_button("Inspect the same photos", f"batch_compare-{batch.id}", disabled=not recipe) and recipe:
            asked = {"product": recipe.product, "recipe": path.name, "digest": recipe.digest or "", "trial": True}
            with shell.errors_shown(OSError):
                new = replace(batch, **asked, baseline_batch=batch.id, user=shell.current_user())
                _start(
                    batch_store.new(
                        **{key: value for key, value in vars(new).items() if key not in ("id", "started_at")}
                    )
                )


def discard(batch: BatchRun, place) -> None:
    """Show a button that deletes a batch, after confirmation."""
    with place.popover("Delete", icon=":material/delete:"):
        st.markdown("Delete this batch's table, report and images? Verdicts stay in the audit log.")
        if st.button("Delete batch", key=f"batch_delete-{batch.id}"):
            with shell.errors_shown(OSError, begins="Could not delete: "):
                batch_store.remove(batch)
                st.rerun()


def _head(batch: BatchRun) -> None:
    trial = " · trial" if batch.trial else ""
    st.markdown(f"**{shell.escape(batch.product)}** · {shell.escape(batch.source)}{trial}")


def start_button(label: str, key: str, *, disabled: bool = False) -> bool:
    """Show the button that starts something."""
    return st.button(label, type="primary", icon=":material/play_arrow:", disabled=disabled, key=key)


def recipe_at(path: Path, key: str) -> Recipe | None:
    """The saved recipe, with its limits on the page; None, with the reason there, when it cannot be used.

    key: prefix of its widgets.
    """
    try:
        recipe = saved_recipes.checked(path)
        missing = weights_panel.offer_missing(recipe.backbone.name, f"{key}-{path.name}")
    except Exception as error:  # any error caused by a file is limited to its own line
        st.error(shell.escape(saved_recipes.reason(path, error)), icon=":material/broken_image:")
        return None
    limits = recipe.limits
    band = f"Review above {limits.review:.4g}, reject" if limits.review < limits.reject else "Reject"
    st.caption(f"{band} above {limits.reject:.4g}", help=f"Digest {shell.escape(recipe.digest)}")
    return None if missing else recipe


def _photos() -> PhotoSource | None:
    ways = [FOLDER, UPLOAD]
    way = st.segmented_control("Photo source", ways, default=FOLDER, required=True, key="batch_photos_from")
    return choose_folder(LAYOUTS, page="batch_") if way == FOLDER else choose_upload(page="batch_")


def _worker_inputs() -> tuple[int, bool]:
    """Processes on this machine, or the cluster that the app was started with; nobody else hears of one."""
    address = None
    with shell.errors_shown(ValueError):
        address, _ = worker_selection.read_cluster_settings()
    if address is not None:
        by = st.segmented_control("Run on", [HERE, CLUSTER], default=HERE, required=True, key="batch_judged_by")
        if by == CLUSTER:
            st.caption(
                f"Uses the workers of {shell.escape(address)}. Photos must be at the same path on every machine. "
                "Anyone who can reach a Dask scheduler can run code on it and on its workers, so Loupe connects "
                "only locally or over TLS."
            )
            return 1, True
    cores = os.cpu_count() or 1
    words = (
        f"Number of parallel processes; this machine has {cores} cores. 1 is fastest for a few hundred photos, "
        "because each extra process first loads the network, unless that runs on a GPU. Each needs about 1 GB of "
        "memory. Verdicts do not change."
    )
    default = worker_selection.worthwhile_processes()
    workers = st.number_input("Processes", 1, cores, default, key="batch_workers", width=NUMBER_WIDTH, help=words)
    return int(workers), False


def _start(batch: BatchRun) -> None:
    def start() -> None:
        batch_jobs.start(batch)
        st.session_state.pop("batch_shown", None)

    shell.begin(start)


def _on_the_command_line(path: Path, source: PhotoSource | None) -> None:
    with st.expander("Command-line equivalents"):
        recipe = shlex.quote(str(workspace.recipes_folder() / path.name))
        photos = shlex.quote(str(source.path)) if source is not None else "PHOTOS"
        command, outputs = "python -m inspect_core", "--csv verdicts.csv --report report.html --maps maps/"
        st.code(f"{command} inspect {recipe} {photos} {outputs}", language=None, wrap_lines=True)
        st.caption(
            "To resume, run the same command again. --workers 4 uses four processes; --cluster uses the workers of "
            "a Dask scheduler on other machines (docs/CLUSTER.md)."
        )
        st.code(f"{command} watch {recipe} INCOMING --out SORTED", language=None, wrap_lines=True)
        st.caption(
            "Inspects photos as they arrive in INCOMING and moves each into the matching folder in SORTED: "
            f"{', '.join(FOLDERS.values())}."
        )
