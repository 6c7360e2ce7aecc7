"""What does the station do now? The last part, readable from three metres, and what is in the way."""

import streamlit as st

from inspect_core.station.status_board import read_statuses
from inspect_core.ui import shell
from inspect_core.ui.line import station_form, station_panel

shell.gate("pages/line.py")

station_panel.hide_menu()
st.title("Line")
statuses = read_statuses()
if not statuses:
    station_panel.show_empty()
    station_form.show()
    st.stop()
names = [status.name for status in statuses]
name = st.selectbox("Station", names, key="line_station", width=320) if len(names) > 1 else names[0]
station_panel.show(name)
if not any(status.is_running for status in statuses):
    station_form.show()
