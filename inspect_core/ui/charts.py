"""Plotly figures on the pages, in the colours of the page's theme."""

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from inspect_core.plots import chart_theme
from inspect_core.plots.chart_theme import ChartTheme


def current_theme() -> ChartTheme:
    """The figures' colours under the page's theme."""
    return chart_theme.DARK if st.context.theme.type == "dark" else chart_theme.LIGHT


def show(figure: go.Figure, *, key: str, alt: str, **more: Any) -> None:
    """Show a figure without a bar of tools. alt: for those who do not see it; more: arguments of `st.plotly_chart`."""
    st.plotly_chart(figure, theme=None, key=key, config={"displayModeBar": False}, alt=alt, **more)
