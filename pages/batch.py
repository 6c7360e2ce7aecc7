"""Do the whole folder: a recipe, many photos, one row each; or watch a folder as photos arrive."""

import streamlit as st

from inspect_core.ui import saved_recipes, shell
from inspect_core.ui.batch import batch_form, batch_jobs, batch_results, batch_store, watch_panel

FOLDER, WATCH = "Inspect a folder", "Watch a folder"

shell.gate("pages/batch.py")

st.title("Batch")
first = WATCH if shell.jobs().beside else FOLDER
mode = st.segmented_control(
    "Mode", [FOLDER, WATCH], default=first, required=True, key="batch_mode", label_visibility="collapsed"
)

recipes = saved_recipes.paths()
if not recipes:
    saved_recipes.say_none()
if mode == WATCH:
    watch_panel.watch(recipes)
    st.stop()
running = batch_jobs.running()
if running is not None:
    batch_form.under_way()
shell.show_problem()
everything = [run for run in batch_store.all_runs() if run.id != running]
for run in [run for run in everything if not run.finished]:
    batch_form.unfinished(run)
if finished := [run for run in everything if run.finished]:
    batch_results.results(finished)
if recipes and running is None:
    with st.container(width=batch_form.FORM):
        batch_form.new_batch(recipes)
