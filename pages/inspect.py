"""What is wrong here, and where do I draw the line? Gallery, bench, live parameters."""

import streamlit as st

from inspect_core.ui import in_hand, inspect_panels, shell

shell.gate("pages/inspect.py")

hand = in_hand.current()
if hand is None:
    inspect_panels.first_start()
    st.stop()
inspect_panels.headline(hand)
hand = inspect_panels.add_photos(hand)
inspect_panels.hand_over_thumbnails(hand)
inspect_panels.bench_with_parameters(hand)
