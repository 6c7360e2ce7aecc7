"""`inspect`: inspect photos with a recipe."""

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from inspect_core.audit.log import AuditLog
from inspect_core.cli import inspector_options, worker_options
from inspect_core.cli.console import (
    ACCEPTED,
    NOT_ACCEPTED,
    STOPPED,
    add_labels,
    chosen_reading,
    path_argument,
    print_line,
    print_notes,
    print_table,
    print_verdict,
    progress_bar,
)
from inspect_core.inspection import Inspection
from inspect_core.line import confusion
from inspect_core.line.audit_record import AuditRecord
from inspect_core.line.batch import BatchInspector, Outputs, photos_of
from inspect_core.line.batch import run as run_batch
from inspect_core.line.batch_report import batch_sentence
from inspect_core.line.common_cause import common_causes
from inspect_core.line.inspector import Inspector
from inspect_core.line.map_folder import MapFolder
from inspect_core.line.verdict_changes import compare_verdicts
from inspect_core.line.verdict_table import read_table
from inspect_core.recipe_format.spreadsheet import COMMA, POINT
from inspect_core.runtime import users
from inspect_core.sharding import worker_selection
from inspect_core.sharding.executor import Executor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    inspector_options.add_options(parser)
    inspector_options.add_strict(parser)
    worker_options.add_options(parser)
    paths = "photos, folders or zip archives"
    parser.add_argument("paths", type=path_argument, nargs="+", metavar="PATH", help=paths)
    add_labels(parser)
    csv = (
        "CSV table of verdicts; overwrites only such a table. Text starting with = + - @ or ' gets a leading ' so "
        "that spreadsheets do not run it as a formula. To resume, run the same command again"
    )
    parser.add_argument("--csv", type=path_argument, help=csv)
    decimal = "decimal sign of --csv: point, with commas between columns, or comma, with semicolons, as Excel in "
    decimal += "German and French reads it (default: %(default)s)"
    parser.add_argument("--decimal", choices=(POINT, COMMA), default=POINT, help=decimal)
    parser.add_argument("--xlsx", type=path_argument, help="the same table as an Excel workbook")
    maps = "folder for heatmaps (PNG) and anomaly maps (.npy); overwrites only files written by Loupe"
    parser.add_argument("--maps", type=path_argument, help=maps)
    report = "HTML report with counts, scores and worst parts; overwrites only such a report"
    parser.add_argument("--report", type=path_argument, help=report)
    inspector_options.add_trial(parser)
    against = "table of an earlier batch of the same photos with another recipe; reports which verdicts change"
    parser.add_argument("--against", type=path_argument, metavar="TABLE", help=against)


def run(options: argparse.Namespace) -> int:
    maps = MapFolder(options.maps) if options.maps else None
    written = {"workbook": options.xlsx, "table_format": options.decimal}
    outputs = Outputs(options.csv, maps, options.report, **written)
    outputs.check()
    photos = photos_of(options.paths)
    names = [name for name, _ in photos]
    outputs.check(names)
    truths, notes = confusion.truths_of(photos, options.paths, chosen_reading(options))
    print_notes(notes)
    before = read_table(options.against) if options.against else []
    if (options.workers, options.cluster) == (None, None) and len(photos) >= worker_selection.MANY_PHOTOS:
        processes = worker_selection.worthwhile_processes()
        options.workers = processes if processes > 1 else None
    inspector = inspector_options.open_inspector(options)
    try:
        with (
            AuditLog.open() as log,
            worker_options.workers(options) as executor,
            _judging_on(executor, inspector, options.recipe) as judging,
            progress_bar() as report,
        ):
            record = AuditRecord(log, inspector, users.local_user())
            option: dict[str, Any] = {"report": report, "on_row": _tell, "judging": judging, "strict": options.strict}
            option |= {"trial": options.trial, "truths": truths}
            rows = run_batch(inspector, photos, outputs, record=record, **option)
    except KeyboardInterrupt:
        resume_hint = f"; run the same command again to resume from {options.csv}" if options.csv else ""
        print_line(f"loupe: stopped{resume_hint}", sys.stderr)
        return STOPPED
    print_line(f"{batch_sentence(rows)} Recipe {inspector.product} {inspector.digest[:12]}, {inspector.engine}.")
    for cause in common_causes(rows):
        print_line(cause)
    if truth := confusion.escape_sentence(rows):
        print_line(truth)
        print_table(confusion.table_of(rows))
    if options.against:
        changes = compare_verdicts(before, rows)
        print_line(f"Compared with {options.against.name}: {changes.sentence()}")
        for change in changes.changes:
            print_line(
                f"{change.before.verdict} → {change.after.verdict}  {change.after.name}  {change.direction}".rstrip()
            )
    return ACCEPTED if all(row.verdict == "accept" for row in rows) else NOT_ACCEPTED


def _judging_on(
    executor: Executor | None, inspector: Inspector, recipe: Path
) -> AbstractContextManager[BatchInspector | None]:
    if executor is None:
        return nullcontext()
    # Imported where it is used: a PC at the line has not all that it needs.
    from inspect_core.sharding.inspection_tasks import judging_on

    return judging_on(executor, inspector, recipe)


def _tell(row: Inspection) -> None:
    print_verdict(row.name, row.verdict, row.score, row.reason or row.photo_deviation)
