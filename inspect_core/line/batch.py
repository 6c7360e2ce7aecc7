"""Many photos, one row each: a table, heatmaps and a report; after a stop, the rows done so far are kept."""

import os
import secrets
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from inspect_core.datasets.archives import unpacked
from inspect_core.datasets.folders import photos_of_list
from inspect_core.datasets.listing import photos_in
from inspect_core.datasets.manifests.photo_list import is_list
from inspect_core.images.photo_reader import read
from inspect_core.inspection import Inspection
from inspect_core.line.batch_report import check_report, pictures_of, worst_rows, write_report
from inspect_core.line.confusion import with_truth
from inspect_core.line.inspector import Inspector
from inspect_core.line.journal import Journal, journal_of
from inspect_core.line.map_folder import MapFolder, render_map_files
from inspect_core.line.photo_inspection import InspectedPhoto, inspect_photos
from inspect_core.line.record import Record, key_of
from inspect_core.line.verdict_table import check_table, write_table, write_workbook
from inspect_core.recipe_format.output_paths import require_distinct_paths
from inspect_core.recipe_format.spreadsheet import POINT, require_own_workbook
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.runtime.workspace import file_digest

Photo = tuple[str, Path]
RenderedRow = tuple[Inspection, str, dict[str, bytes]]
"""A row, the SHA-256 of the photo's file, and the content of its maps by ending."""
BatchInspector = Callable[[Inspector, Sequence[Photo], MapFolder | None], Iterable[Sequence[RenderedRow]]]
"""Judges photos, in any order, and yields those that were judged together."""


@dataclass(frozen=True)
class Outputs:
    """The outputs of a batch; None for one that is not wanted.

    table: with its journal beside it, written as table_format says; workbook: the same for Excel; pictures: a folder of
    Loupe's own for pictures of the worst parts, named by rank.
    Without a table nothing is kept of a stopped batch.
    """

    table: Path | None = None
    maps: MapFolder | None = None
    report: Path | None = None
    pictures: Path | None = None
    workbook: Path | None = None
    table_format: str = POINT

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise OutputPathError, naming it, for a file in the way or two outputs at one place, before a photo is read.

        names: of the photos, whose maps then have their places.
        """
        if self.table:
            check_table(self.table)
        if self.workbook:
            require_own_workbook(self.workbook)
        if self.report:
            check_report(self.report)
        if self.maps:
            self.maps.assign_file_names(names)
        journal = self.table and journal_of(self.table)
        require_distinct_paths(
            [*(self.maps.files() if self.maps else ()), self.table, journal, self.report, self.pictures, self.workbook]
        )


def photos_of(paths: Sequence[Path], roots: Sequence[Path] | None = None) -> list[Photo]:
    """(name, path) of every photo at the paths, zip archives unpacked; of a list of photos, those that it names.

    roots: as for `photos_in`. Raises ValueError when there is none, ScanError, FileNotFoundError and OSError as
    `unpacked` and `photos_in` do.
    """
    places = [unpacked(path) if path.suffix.lower() == ".zip" and path.is_file() else path for path in paths]
    lists = [path for path in places if path.is_file() and is_list(path)]
    photos = [photo for path in lists for photo in photos_of_list(path)]
    photos += photos_in([place for place in places if place not in lists], roots)
    if not photos:
        raise ValueError("no photos found at the given paths; use PNG, JPEG, BMP, TIFF or WebP files or folders")
    return photos


def run(
    inspector: Inspector,
    photos: Sequence[Photo],
    outputs: Outputs,
    *,
    record: Record | None = None,
    report: Report = ignore_progress,
    on_row: Callable[[Inspection], None] = lambda row: None,
    judging: BatchInspector | None = None,
    strict: bool = False,
    trial: bool = False,
    truths: Mapping[str, str] = MappingProxyType({}),
) -> list[Inspection]:
    """Judge the photos and write the outputs; the rows in the order of the photos, whose names are unique.

    strict: whether photos that differ from those taught go to review instead of being accepted; trial: whether the
    record says that this is no production; truths: of photos, by name (`line.confusion`). Rows of an unfinished earlier
    run with this recipe and table are checked and kept, the rest is judged; `on_row` is called with every new row.
    Every row is in the record, then on disk, before those judged next are taken, and has the verdict of the record.
    After an error, a kill or Cancelled, raised by `report`, the same call goes on where it was. Raises OutputPathError
    for a file in the way; OSError, naming the remedy, when the disk is full or the folder is missing.
    """
    outputs.check([name for name, _ in photos])
    with _remedy(), ExitStack() as until_the_end:
        journal = Journal(outputs.table, inspector.digest) if outputs.table else None
        if journal is not None:
            until_the_end.callback(journal.close)
        batch = journal.run if journal is not None else secrets.token_hex(8)
        reusable = _reusable_rows(journal, inspector, photos, outputs.maps, record, report)
        paths = dict(photos)
        rows = {
            name: row
            for name, row in reusable.items()
            if (row == row.in_strict_mode() if strict else not row.is_strict_review)
        }
        rest = [photo for photo in photos if photo[0] not in rows]
        number = 0
        for together in (judging or _side_by_side)(inspector, rest, outputs.maps):
            new_rows = [row.in_strict_mode() if strict else row for row, _, _ in together]
            if outputs.maps is not None:
                for row, _, files in together:
                    outputs.maps.write(row.name, files)
            if record is not None:
                logged = [replace(row, path=str(paths[row.name]), source="batch", trial=trial) for row in new_rows]
                recorded = record.append_all(
                    [(_key(batch, row), entry) for row, entry in zip(new_rows, logged, strict=True)]
                )
                new_rows = [row.as_recorded(entry) for row, entry in zip(new_rows, recorded, strict=True)]
            for row, (_, file, _) in zip(new_rows, together, strict=True):
                if journal is not None:
                    journal.append(file, row)
                rows[row.name] = row
                number += 1
                on_row(row)
                report(number / len(rest), f"{len(rows):,} of {len(photos):,} photos")
        results = [with_truth(rows[name], truths.get(name, ""), inspector.calibration_digests) for name, _ in photos]
        if outputs.table:
            write_table(outputs.table, results, outputs.table_format)
        if outputs.workbook:
            write_workbook(outputs.workbook, results)
        if outputs.report or outputs.pictures:
            pictures = pictures_of(inspector, results, paths)
            if outputs.pictures:
                with atomic_replace(outputs.pictures) as new:
                    new.mkdir()
                    for rank, row in enumerate(worst_rows(results)):
                        if row.name in pictures:
                            (new / f"{rank:02d}.webp").write_bytes(pictures[row.name])
            if outputs.report:
                approval = "" if record is None else record.approval()
                folder = os.path.commonpath([Path(path).absolute().parent for path in paths.values()])
                write_report(outputs.report, inspector, results, pictures, approval, folder)
        if journal is not None:
            journal.remove()
    return results


def _key(batch: str, row: Inspection) -> str:
    return key_of("batch", batch, row.release or row.recipe, row.digest, row.name, *["strict"] * row.is_strict_review)


def _reusable_rows(
    journal: Journal | None,
    inspector: Inspector,
    photos: Sequence[Photo],
    maps: MapFolder | None,
    record: Record | None,
    report: Report,
) -> dict[str, Inspection]:
    """The rows still valid: photo as judged, by this release, with its maps and its record."""
    rows: dict[str, Inspection] = {}
    if journal is None or not journal.rows:
        return rows
    for number, (name, path) in enumerate(photos, start=1):
        report(0.0, f"checking existing results, {number} of {len(photos)}")
        file, row = journal.rows.get(name, ("", None))
        if row is None or row.release != inspector.release or not file:
            continue
        try:
            same = file == file_digest(path)
        except OSError:  # judged again, which says why
            continue
        there = same and (maps is None or row.score is None or maps.has(name))
        if there and (record is None or row.is_recorded(record.find(_key(journal.run, row)))):
            rows[name] = row
    return rows


def _side_by_side(inspector: Inspector, photos: Sequence[Photo], maps: MapFolder | None) -> Iterator[list[RenderedRow]]:
    return ([row] for row in inspect_and_render(inspector, photos, () if maps is None else maps.endings))


def inspect_and_render(
    inspector: Inspector, photos: Sequence[Photo], endings: Sequence[str], *, threads: int | None = None
) -> Generator[RenderedRow]:
    """Yield the photos judged, in their order, with their maps for these endings; threads: as of `in_batches`."""

    def render(inspected: InspectedPhoto) -> RenderedRow:
        row, verdict, maps = inspected.row, inspected.verdict, {}
        if verdict is not None and endings:
            picture = inspected.picture or read(inspected.path, inspector.depth)
            maps = render_map_files(picture.pixels, verdict, row.review, endings)
        return row, inspected.file_sha256, maps

    return inspect_photos(inspector, photos, render, threads=threads)


@contextmanager
def _remedy() -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno is None:  # ours, with a remedy of its own
            raise
        raise OSError(
            f"the batch stopped because its output cannot be written ({error}); free some disk space, or make the "
            "folder writable, then start it again to resume"
        ) from error
