"""What is wrong here, and where do I draw the line? Gallery, bench, live parameters."""

import streamlit as st

from inspect_core.ui import in_hand, shell
from inspect_core.ui.inspect import first_start, inspect_panels, label_check_panel

shell.gate("pages/inspect.py")

product = in_hand.current()
if product is None:
    first_start.first_start()
    st.stop()
shell.show_running_job("You can keep inspecting. Anything that needs training is queued.")
label_check_panel.show(product)
inspect_panels.bench_with_parameters(product)
inspect_panels.notes(product)
