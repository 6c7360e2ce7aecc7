"""Starting a station: one recipe and one view on a form; more of both in the file that it writes."""

from pathlib import Path

import streamlit as st

from inspect_core.audit import life_cycle
from inspect_core.audit.log import AuditLog
from inspect_core.runtime import workspace
from inspect_core.station.launch import launch
from inspect_core.station.settings import ModbusPort, RecipeEntry, Retention, StationSettings, View
from inspect_core.ui import saved_recipes, shell
from inspect_core.ui.photo_source import folder_at

FORM = 480
"""Pixels of its width."""
PORT = 5020
SIMULATED = "Parts are the photos of a folder, and a model of a controller runs them. Nothing leaves this PC."


def show() -> None:
    """The form, or what is missing before a station can run."""
    exports = _exports()
    if not exports:
        st.markdown("To run one from here, approve and export a recipe first.")
        if st.button("Go to Recipes", key="line_to_recipes"):
            shell.go_to("pages/recipes.py")
        return
    with st.container(width=FORM):
        st.subheader("Start a station")
        name = st.text_input("Name", "line 1", key="station_name", max_chars=60).strip()
        export = st.selectbox("Recipe", list(exports), format_func=exports.__getitem__, key="station_recipe")
        simulated = st.toggle("Simulate", True, key="station_simulate", help=SIMULATED)
        label = "Photos on the belt" if simulated else "Folder the camera writes to"
        folder = folder_at(label, key=f"station_folder-{simulated}")
        port = st.number_input("Modbus port", 1, 65_535, PORT, key="station_port", width=160)
        ready = bool(name) and folder is not None
        if st.button("Start", "station_start", type="primary", icon=":material/play_arrow:", disabled=not ready):
            _start(name, export, folder, int(port), simulated=simulated)


def _start(name: str, export: Path, folder: Path | None, port: int, *, simulated: bool) -> None:
    root = workspace.stations_folder() / workspace.file_name(name)
    incoming = root / "in" if simulated or folder is None else folder
    with AuditLog.open() as log:
        is_approved = life_cycle.state_of(log, export.stem) == life_cycle.APPROVED
    with shell.errors_shown(ValueError, OSError), st.spinner("Starting the station…"):
        settings = StationSettings(
            name=name,
            recipes=(RecipeEntry(1, str(export)),),
            views=(View("photo", str(incoming)),),
            keep=Retention(str(root / "parts")),
            trial=simulated or not is_approved,
            modbus=ModbusPort(port=port),
        )
        launch(settings, simulate=folder if simulated else None)
        st.rerun()


def _exports() -> dict[Path, str]:
    """The exports of this workspace and what they are called, the latest first."""
    paths = sorted(workspace.exports_folder().glob("*.zip"), key=lambda path: path.stat().st_mtime, reverse=True)
    saved = {path: saved_recipes.find(path.stem) for path in paths}
    names = saved_recipes.names([path for path in saved.values() if path is not None])
    return {path: names[place] if place is not None else path.stem[:8] for path, place in saved.items()}
