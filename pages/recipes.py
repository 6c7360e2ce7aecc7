"""What is released? Recipes with what is in each: open, approve, retire, compare versions, download, delete."""

import streamlit as st

from inspect_core.ui import saved_recipes, shell
from inspect_core.ui.recipes import panels, releasing

shell.gate("pages/recipes.py")

st.title("Recipes")
st.markdown("A recipe holds everything needed to inspect a part: data only, no code. Exported, it runs at the line.")
panels.add_from_file()
paths = saved_recipes.paths()
if not paths:
    saved_recipes.say_none()
states = releasing.states()
for path in paths:
    panels.card(path, states)
