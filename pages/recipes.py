"""What is released? The recipes of a product: open, approve, retire, compare versions, export, delete."""

import streamlit as st

from inspect_core.ui import saved_recipes, shell
from inspect_core.ui.recipes import panels, releasing, table

shell.gate("pages/recipes.py")

with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
    st.title("Recipes", width="content")
    panels.add_from_file()
paths = saved_recipes.paths()
if not paths:
    saved_recipes.say_none()
states = releasing.states()
found, refused = table.lines(paths)
if found:
    panels.of_one(table.choose(found, states), found, states)
for path, why in refused.items():
    panels.damaged(path, why)
