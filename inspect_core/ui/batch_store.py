"""Batches on disk: a folder each in the workspace, with the request and its results."""

import json
import secrets
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from inspect_core.line.batch import Outputs
from inspect_core.line.journal import rows_kept
from inspect_core.line.map_folder import MapFolder
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.json_record import read_record, to_table, whole

ASKED = "batch.json"
LONGEST = 1 << 20
SIDES = ("before", "after")
"""Of the pictures of what changes: as the other recipe sees it, as this one does."""


@dataclass(frozen=True)
class BatchRun:
    """recipe: the file's name among the saved ones; digest: of the recipe; source: where the photos lie; count: how
    many there were; map_suffixes: of the maps wanted; started_at: local time, ISO 8601; workers: processes that judge,
    1 for the app's own; cluster: whether the workers of `worker_selection.read_cluster_settings` do; baseline_batch: id
    of the batch of these photos that it is compared with, by another recipe; labels: how the photos' labels are read
    (`photo_labels.READINGS`), "" where there is one way; trial: whether it is no production.
    """

    id: str
    product: str
    recipe: str
    digest: str
    source: str
    count: Annotated[int, whole(0)]
    map_suffixes: tuple[str, ...]
    started_at: str
    user: str
    workers: Annotated[int, whole(1)] = 1
    cluster: bool = False
    baseline_batch: str = ""
    labels: str = ""
    trial: bool = False

    @property
    def folder(self) -> Path:
        return workspace.batches_folder() / self.id

    @property
    def table(self) -> Path:
        return self.folder / "verdicts.csv"

    @property
    def report(self) -> Path:
        return self.folder / "report.html"

    @property
    def pictures(self) -> Path:
        return self.folder / "worst"

    @property
    def changed(self) -> Path:
        """The folder of pictures of what changes."""
        return self.folder / "changed"

    @property
    def maps(self) -> Path:
        return self.folder / "maps"

    @property
    def when(self) -> str:
        """`started_at` as it is shown."""
        return self.started_at[:16].replace("T", " ")

    @property
    def finished(self) -> bool:
        return self.table.is_file() and not self.row_count

    @property
    def row_count(self) -> int:
        """Photos judged so far in an unfinished batch."""
        return rows_kept(self.table)

    def outputs(self) -> Outputs:
        maps = MapFolder(self.maps, self.map_suffixes) if self.map_suffixes else None
        return Outputs(self.table, maps, self.report, self.pictures)


def new(**asked) -> BatchRun:
    """A new batch on disk, not started. Raises OSError when it cannot be written."""
    now = datetime.now().astimezone()
    run = BatchRun(
        id=f"{now:%Y%m%d-%H%M%S%f}-{secrets.token_hex(3)}", started_at=now.isoformat(timespec="seconds"), **asked
    )
    with atomic_replace(run.folder) as folder:
        folder.mkdir()
        (folder / ASKED).write_text(json.dumps(to_table(run), indent=1), encoding="utf-8")
    return run


def all_runs() -> list[BatchRun]:
    """The batches in the workspace, the latest first; anything else there is skipped."""
    folders = sorted(workspace.batches_folder().glob("[0-9]*"), reverse=True)
    return [run for folder in folders if (run := find(folder.name)) is not None]


def find(name: str) -> BatchRun | None:
    """The batch of this id, None when there is none, or its file does not hold one."""
    content = workspace.content(workspace.batches_folder() / name / ASKED, at_most=LONGEST)
    try:
        run = read_record(BatchRun, content or b"", ASKED)
    except ValueError:
        return None
    return run if run.id == name else None


def remove(run: BatchRun) -> None:
    """Delete a batch with all its files. Raises OSError when it cannot be deleted."""
    shutil.rmtree(run.folder)
