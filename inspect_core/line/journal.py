"""The rows of an unfinished batch, written to disk one by one, so that a batch goes on where it was stopped.

The journal lies beside the table as `<table>.unfinished`: a line that identifies recipe and run, then a JSON line per
photo, passed to the system before the next photo is taken. A line is believed if its check sum over run, file and row
fits. An incomplete last line of a killed process is cut off.
"""

import json
import secrets
from dataclasses import asdict
from pathlib import Path

from inspect_core.inspection import Inspection
from inspect_core.line.record import key_of
from inspect_core.recipe_format.output_paths import OutputPathError, require_own_file
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import lock
from inspect_core.runtime.json_text import from_json

_DAMAGE = (ValueError, KeyError, TypeError)
_BEGINS = b'{"unfinished batch of Loupe": '


def journal_of(table: Path) -> Path:
    return table.with_name(f"{table.name}.unfinished")


def rows_kept(table: Path) -> int:
    """How many rows of an unfinished batch lie beside its table."""
    try:
        with workspace.open_regular_file(journal_of(table)) as file:
            return max(0, sum(1 for _ in file) - 1)
    except OSError:
        return 0


class Journal:
    """Held by one batch at a time. rows: name -> (SHA-256 of the photo's file, row); run: the batch's own id.

    Raises OutputPathError when the file is not Loupe's, is of another recipe, or another batch writes it; OSError when
    the disk is full or not writable.
    """

    def __init__(self, table: Path, recipe: str) -> None:
        self.path = journal_of(table)
        require_own_file(self.path, _BEGINS, "an unfinished batch", begun=True)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        self._file = self.path.open("r+b")
        try:
            if not lock(self._file, wait=False):
                raise OutputPathError(f"{self.path} is being written by another batch; wait, or choose another table")
            self.run, self.rows = self._read(recipe)
        except BaseException:
            self._file.close()
            raise

    def append(self, file: str, row: Inspection) -> None:
        fields = asdict(row)
        entry = {"file": file, "row": fields, "sum": key_of(self.run, file, json.dumps(fields))}
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()

    def remove(self) -> None:
        """Remove the journal: the batch is finished, and its table holds all rows."""
        self.path.unlink(missing_ok=True)

    def close(self) -> None:
        self._file.close()

    def _read(self, recipe: str) -> tuple[str, dict[str, tuple[str, Inspection]]]:
        head = self._file.readline()
        rows = {}
        try:
            stated = from_json(head)["unfinished batch of Loupe"]
            run = str(stated["run"])
            whose = stated["recipe"]
        except _DAMAGE:  # nothing yet, or killed while creating it
            run = secrets.token_hex(8)
            self._cut(0)
            self._file.write(_BEGINS + json.dumps({"recipe": recipe, "run": run}).encode() + b"}\n")
            self._file.flush()
            return run, rows
        if whose != recipe:
            raise OutputPathError(
                f"{self.path} belongs to a batch started with recipe {str(whose)[:12]}, not {recipe[:12]}; resume "
                "it with that recipe, or delete the file to start again"
            )
        whole = self._file.tell()
        for line in self._file:
            whole += len(line) if line.endswith(b"\n") else 0
            try:
                entry = from_json(line)
                if entry["sum"] == key_of(run, entry["file"], json.dumps(entry["row"])):
                    row = Inspection(**entry["row"])
                    rows[row.name] = entry["file"], row
            except _DAMAGE:
                continue
        self._cut(whole)
        return run, rows

    def _cut(self, length: int) -> None:
        self._file.seek(length)
        self._file.truncate()
