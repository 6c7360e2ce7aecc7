"""What is released? The recipes of a product: open, approve, retire, compare versions, export, delete."""

import streamlit as st

from inspect_core.ui import saved_recipes, shell
from inspect_core.ui.recipes import approval_panel, recipe_panels, recipe_table

shell.gate("pages/recipes.py")

with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
    st.title("Recipes", width="content")
    recipe_panels.add_from_file()
recipe_panels.show_unsaved()
paths = saved_recipes.paths()
if not paths:
    saved_recipes.show_no_recipes()
states = approval_panel.states()
lines, refused = recipe_table.lines(paths)
if lines:
    recipe_panels.of_one(recipe_table.choose(lines, states), lines, states)
for path, why in refused.items():
    recipe_panels.damaged(path, why)
