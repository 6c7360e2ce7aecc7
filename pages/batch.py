"""Do the whole folder: a recipe, many photos, one row each."""

import streamlit as st

from inspect_core.ui import saved_recipes, shell
from inspect_core.ui.batch import jobs, panels, results, runs

shell.gate("pages/batch.py")

st.title("Batch")
st.caption("Judge a whole folder of photos with a saved recipe: a table with one row per photo, and a report.")

recipes = saved_recipes.paths()
if not recipes:
    saved_recipes.say_none()
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
