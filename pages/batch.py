"""Do the whole folder: a recipe, many photos, one row each; or watch a folder as photos arrive."""

import streamlit as st

from inspect_core.ui import batch_store, saved_recipes, shell, watch_store
from inspect_core.ui.batch import batch_form, batch_jobs, batch_results, watch_panel

FOLDER, WATCH = "Inspect a folder", "Watch a folder"

shell.gate("pages/batch.py")

st.title("Batch")
first = WATCH if shell.jobs().unqueued_jobs or watch_store.interrupted() else FOLDER
mode = st.segmented_control(
    "Mode", [FOLDER, WATCH], default=first, required=True, key="batch_mode", label_visibility="collapsed"
)

recipes = saved_recipes.paths()
if not recipes:
    saved_recipes.show_no_recipes()
if mode == WATCH:
    watch_panel.watch(recipes)
    st.stop()
running = batch_jobs.running()
if running is not None:
    batch_form.running_batch()
everything = [run for run in batch_store.all_runs() if run.id != running]
for run in [run for run in everything if not run.finished]:
    batch_form.unfinished(run)
finished = [run for run in everything if run.finished]
if recipes and running is None:
    with st.expander("New batch", icon=":material/add:", expanded=not finished, key=f"new-batch-{bool(finished)}"):
        batch_form.new_batch(recipes)
if finished:
    batch_results.results(finished)
