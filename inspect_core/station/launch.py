"""A station as a process of its own, started by the app: it goes on when the app ends, and stops when asked to."""

import os
import subprocess
import sys
import time
from pathlib import Path

import yaml

from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.json_record import to_table
from inspect_core.runtime.workspace import file_name
from inspect_core.station.settings import StationSettings
from inspect_core.station.status_board import read_statuses

PATIENCE_SECONDS = 15.0
"""In which a station that cannot run ends, and says why."""


def launch(settings: StationSettings, *, simulate: Path | None = None) -> Path:
    """Write the settings and start the station, until it shows on its board; the path of the settings.

    simulate: photos that are its parts. Raises ValueError with what it says where it ends at once.
    """
    folder = workspace.stations_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{file_name(settings.name)}.yaml"
    with atomic_replace(path) as new:
        new.write_text(yaml.safe_dump(to_table(settings), sort_keys=False, allow_unicode=True), encoding="utf-8")
    command = [sys.executable, "-m", "inspect_core", "station", os.fspath(path)]
    command += [] if simulate is None else ["--simulate", os.fspath(simulate)]
    log_path = path.with_suffix(".log")
    environment = os.environ | {"LOUPE_WORKSPACE": os.fspath(workspace.root()), "PYTHONUNBUFFERED": "1"}
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    ends, began = time.monotonic() + PATIENCE_SECONDS, time.time()
    while time.monotonic() < ends:
        if process.poll() is not None:
            words = log_path.read_text(encoding="utf-8", errors="replace")
            last = words.strip().splitlines()[-1:] or [f"it ended with code {process.returncode}"]
            raise ValueError(last[0].removeprefix("loupe: "))
        if any(status.name == settings.name and status.written > began for status in read_statuses()):
            break
        time.sleep(0.1)
    return path
