"""`msa`: the agreement and the gauge study of a table of appraisals."""

import argparse
import csv
from pathlib import Path

from inspect_core.cli.console import ACCEPTED, path_argument, print_line
from inspect_core.runtime import workspace
from inspect_core.spc.appraisal_table import COLUMNS, AppraisalTable, read_appraisals
from inspect_core.spc.msa_report import report_sentences, results, table_of

MOST_BYTES = 1 << 26


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = (
        f"CSV with the columns {', '.join(COLUMNS)} or their usual names, plus score where available; or AIAG's sheet "
        "with a column for each appraiser and trial"
    )
    parser.add_argument("table", type=path_argument, help=words)


def run(options: argparse.Namespace) -> int:
    """Print what the study says, then a line per figure."""
    table = _table(options.table)
    for note in table.notes:
        print_line(note)
    report = results(table.appraisals)
    for sentence in report_sentences(report):
        print_line(sentence)
    (_, names), *columns = table_of(report.agreement).items()
    for i, name in enumerate(names):
        print_line(f"{name}: {'; '.join(f'{appraiser} {cells[i]}' for appraiser, cells in columns)}")
    return ACCEPTED


def _table(path: Path) -> AppraisalTable:
    content = workspace.content(path, at_most=MOST_BYTES)
    if content is None:
        path.stat()  # nothing there: the system says so
        raise ValueError(f"{path.name} is not a file of at most {MOST_BYTES >> 20} MB; use the table of a single study")
    try:
        return read_appraisals(content)
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path.name}: {error}") from error
