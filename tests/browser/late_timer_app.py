"""Two pages: one with a timer and a button to the other, which takes a while to draw."""

import time

import streamlit as st

from inspect_core.ui import shell


@st.fragment(run_every=1.0)
def timer() -> None:
    st.caption("Goes on")


def left() -> None:
    timer()
    if st.button("Leave"):
        shell.go_to(pages[1])


def entered() -> None:
    st.write("Begun")
    time.sleep(2)
    st.write("Drawn")


pages = [st.Page(left), st.Page(entered)]
st.navigation(pages).run()
