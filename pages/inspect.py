"""What is wrong here, and where do I draw the line? Gallery, bench, live parameters."""

import streamlit as st

from inspect_core.ui import shell, taught_part
from inspect_core.ui.inspect import panels

shell.gate("pages/inspect.py")

hand = taught_part.current()
if hand is None:
    panels.first_start()
    st.stop()
panels.headline(hand)
hand = panels.add_photos(hand)
panels.hand_over_thumbnails(hand)
panels.bench_with_parameters(hand)
