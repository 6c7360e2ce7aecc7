"""Two parts that rerun by themselves: one shows a long text, the other only counts its runs."""

import streamlit as st


@st.fragment
def long_text() -> None:
    letter = st.radio("Letter", ("a", "b"))
    st.code(letter * 20_000)


@st.fragment
def runs() -> None:
    st.session_state["runs"] = st.session_state.get("runs", 0) + 1
    st.button("Again")
    st.text(f"{st.session_state['runs']} runs")


long_text()
runs()
