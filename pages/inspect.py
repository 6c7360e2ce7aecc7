"""What is wrong here, and where do I draw the line? Gallery, bench, live parameters."""

import streamlit as st

from inspect_core.ui import open_product_store, shell
from inspect_core.ui.inspect import first_start, inspect_panels

shell.gate("pages/inspect.py")

taught = open_product_store.current()
if taught is None:
    first_start.first_start()
    st.stop()
shell.say_running("You can keep inspecting. Anything that needs training is queued.")
shell.show_problem()
inspect_panels.bench_with_parameters(taught)
inspect_panels.notes(taught)
