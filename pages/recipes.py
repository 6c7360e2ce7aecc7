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
    st.info("No recipe has been saved yet. Teach a part, set the limit on Inspect, then save the recipe there.")
    if st.button("Go to Inspect", type="primary", key="to_inspect"):
        st.switch_page("pages/inspect.py")
states = releasing.states()
for path in paths:
    panels.card(path, states)
