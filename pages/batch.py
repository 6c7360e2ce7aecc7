"""Do the whole folder: a recipe, many photos, one row each; or watch a folder as photos arrive."""

import streamlit as st

from inspect_core.ui import saved_recipes, shell
from inspect_core.ui.batch import jobs, panels, results, runs, watch_panel

FOLDER, WATCH = "Judge a folder", "Watch a folder"

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
running = jobs.running()
if running is not None:
    panels.under_way()
shell.show_problem()
everything = [run for run in runs.all_runs() if run.id != running]
for run in [run for run in everything if not run.finished]:
    panels.unfinished(run)
if finished := [run for run in everything if run.finished]:
    results.results(finished)
if recipes and running is None:
    with st.container(width=panels.FORM):
        panels.new_batch(recipes)
