"""Watching a folder: the last photo with its verdict, the counts of the shift, the last parts that were stopped."""

import contextlib
import io
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import streamlit as st
from PIL import Image

from inspect_core.datasets.listing import is_picture, walk
from inspect_core.datasets.photo_tree import MAX_FILES
from inspect_core.inspection import Inspection
from inspect_core.line.watch import FOLDERS
from inspect_core.line.watch_session import WatchSession
from inspect_core.runtime.jobs import JobState
from inspect_core.runtime.wording import pluralise
from inspect_core.ui import saved_recipes, shell, verdict_tiles, watch_store
from inspect_core.ui.batch import batch_form, watches
from inspect_core.ui.batch.watches import FolderWatch
from inspect_core.ui.photo_source import folder_at
from inspect_core.ui.watch_store import InterruptedWatch, WatchRequest
from inspect_core.verdict import VERDICT_PHRASES, VERDICT_SYMBOLS

SIDE = 480
"""Pixels of the longer side of the last photo."""
SMALL = 116
"""Pixels of the longer side of one that was not accepted."""
EVERY = 1.0
SORTED = (
    f"Each photo is moved into the folder for its verdict: {', '.join(FOLDERS.values())}. Existing files are never "
    "replaced."
)
ON_STOP = "Photos that arrive later stay in the folder and are inspected when you start watching again."


def watch(saved: list[Path]) -> None:
    """Show the watches that a restart has ended, those that go on, those that have ended, and the form for one."""
    for interrupted in watch_store.interrupted():
        _interrupted(interrupted)
    for watched in watches.all_watches():
        if watched.active and watched.job is not None:
            _line(watched.job.id)
        else:
            _ended(watched)
    if saved:
        begun = bool(watches.all_watches() or watch_store.interrupted())
        with st.expander("New watch", icon=":material/add:", expanded=not begun, key=f"new-watch-{begun}"):
            _form(saved)


def _form(saved: list[Path]) -> None:
    left, right = st.columns(2, gap="large")
    with left:
        path, recipe, trial = batch_form.choose_recipe(saved, "watch")
    words = "Photos in this folder and its subfolders are picked up once they have not changed for one second."
    with right:
        folder = folder_at("Input folder", key="watch_folder", persist_state="session", help=words)
        if folder is not None:
            _show_waiting(folder)
        value = "" if folder is None else str(folder.with_name(f"{folder.name}-sorted"))
        out = folder_at("Output folder", value, key=f"watch_out-{value}", help=SORTED)
    ready = recipe is not None and folder is not None and out is not None
    if batch_form.start_button("Start watching", "watch_start", disabled=not ready) and ready:
        shell.begin(lambda: watches.start(recipe, path.name, folder, out, trial=trial))
    if folder is None:
        st.caption("Choose the folder your camera writes to.")
    elif out is None:
        st.caption("Choose a folder for the sorted photos.")


def _show_waiting(folder: Path) -> None:
    """How many photos lie there already, as they are the first to be inspected and moved."""
    waiting = 0
    with contextlib.suppress(OSError):  # the start shows it
        waiting = sum(is_picture(folder / path) for path, _ in islice(walk(folder), MAX_FILES))
    if waiting:
        words = f"{pluralise(waiting, 'photo')} in it already: inspected and moved first."
        st.caption(shell.escape(words))


@st.fragment(run_every=EVERY)
def _line(job_id: str) -> None:
    """Show one watch that goes on."""
    watched = watches.find(job_id)
    if watched is None or not watched.active or watched.job is None:
        st.rerun()
    shift, job = watched.shift, watched.job
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            _head(watched)
            paused = shift is not None and shift.paused
            label, icon = ("Resume", "play_arrow") if paused else ("Pause", "pause")
            key = f"watch_pause-{job_id}"
            off = shift is None or job.cancelling
            st.button(label, key, icon=f":material/{icon}:", disabled=off, on_click=watches.pause, args=(job_id,))
            key = f"watch_stop-{job_id}"
            icon = ":material/stop:"
            label = "Stopping…" if job.cancelling else "Stop"
            off, stop = job.cancelling, shell.jobs().cancel
            st.button(label, key, icon=icon, help=ON_STOP, disabled=off, on_click=stop, args=(job_id,))
        if shift is None:
            st.caption(shell.escape(job.step or "starting"))
            return
        if shift.problem:
            st.error(f"{shell.escape(shift.problem)}. Still watching.", icon=":material/error:")
        left, right = st.columns([3, 2], gap="medium")
        with left:
            _last(watched, shift.last_photo, paused=paused)
        with right:
            _counts(shift, job_id)
            _stopped(watched, shift.not_accepted)


def _head(watched: FolderWatch) -> None:
    since = shell.escape(watch_store.in_words(watched.request.began))
    st.markdown(
        f"{_asked(watched.request)}  \n:small[Watching since {since}, started by {shell.escape(watched.request.user)}]",
        width="stretch",
    )


def _asked(request: WatchRequest) -> str:
    """Product, version and folders of a watch."""
    version = saved_recipes.versions()(request.digest) + (", trial" if request.trial else "")
    places = f"{shell.escape(request.folder)} → {shell.escape(request.out)}"
    return f"**{shell.escape(request.product)}**, {shell.escape(version)} · {places}"


def _last(watched: FolderWatch, last: Inspection | None, *, paused: bool) -> None:
    """Show the latest photo under its verdict."""
    if paused:
        st.info("Paused. New photos wait in the folder.", icon=":material/pause:")
    if last is None:
        if not paused:
            st.info("Waiting for the first photo.", icon=":material/hourglass_top:")
        return
    word = last.verdict
    say = {"accept": st.success, "reject": st.error}.get(word, st.warning)
    say(f"**{shell.escape(_verdict_label(word))}** · {shell.escape(_score_summary(last))}")
    if content := _picture(watched, last):
        _image(content, SIDE, f"{last.name}: {_verdict_label(word)}")
    st.caption(shell.escape(last.name))


def _counts(shift: WatchSession, job_id: str) -> None:
    verdict_tiles.show(shift.counts, f"watch-{job_id}")
    if shift.watch.waiting:
        st.caption(f"{shift.watch.waiting:,} photos still being written.")
    if words := dict.fromkeys(alarm.words for alarm in shift.following.alarms):
        st.warning(f"Drift: {shell.escape(' '.join(words))}", icon=":material/warning:")
    shell.show_causes(shift.causes)


def _stopped(watched: FolderWatch, stopped: Sequence[Inspection]) -> None:
    """Show the latest photos that were not accepted."""
    if not stopped:
        return
    st.markdown("**Latest photos not accepted**")
    strip = st.container(horizontal=True, gap="small")
    for row in stopped:
        with strip.container(width=SMALL):
            label = _verdict_label(row.verdict)
            if content := _picture(watched, row):
                _image(content, SMALL, f"{row.name}: {label}")
            st.caption(f"{shell.escape(label)}  \n{shell.escape(row.name)}")


def _interrupted(watch: InterruptedWatch) -> None:
    """Show a watch that a restart has ended, and going on with it."""
    request = watch.request
    with st.container(border=True):
        st.markdown(_asked(request))
        st.warning(f"Stopped at {shell.escape(watch.when)} by a restart. New photos wait in the folder.")
        row = st.container(horizontal=True)
        with row, shell.errors_shown(ValueError, OSError):
            if batch_form.start_button("Resume", f"watch_resume-{watch.id}"):
                shell.begin(lambda: watches.resume(watch))
        label, icon = "Do not resume", ":material/close:"
        row.button(label, f"watch_forget-{watch.id}", icon=icon, on_click=watch_store.forget, args=(watch.id,))


def _ended(watched: FolderWatch) -> None:
    """Show a watch that was stopped, or why it ended."""
    with st.container(border=True):
        _head(watched)
        job = watched.job
        if job is not None and job.state is JobState.FAILED:
            st.error(shell.escape(job.error), icon=":material/error:")
        if watched.shift is not None:
            st.caption(f"Stopped: {shell.escape(watches.in_words(watched.shift))}.")


def _picture(watched: FolderWatch, row: Inspection) -> bytes | None:
    if watched.shift is None:
        return None
    inspector = watched.shift.watch.inspector
    return watches.picture(inspector.digest, row.digest, row.path, SIDE, inspector)


def _image(content: bytes, side: int, alt: str) -> None:
    """Show the whole picture, its longer side this long."""
    width, height = Image.open(io.BytesIO(content)).size
    st.image(content, width=max(1, round(side * width / max(width, height))), alt=alt)


def _verdict_label(word: str) -> str:
    return f"{VERDICT_SYMBOLS[word]} {VERDICT_PHRASES[word].capitalize()}"


def _score_summary(row: Inspection) -> str:
    """The score with its limit, the defect type, or the reason."""
    if row.score is None:
        return row.reason
    return f"score {row.score:.3g}, limit {row.reject:.3g}{(f', {row.defect_type}' if row.defect_type else '')}"
