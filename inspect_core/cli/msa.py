"""`msa`: the agreement and the gauge study of a table of appraisals."""

import argparse
import csv
import io
import math
import re

from inspect_core.cli.console import ACCEPTED, path_argument, print_line
from inspect_core.runtime import workspace
from inspect_core.spc.agreement import Appraisal
from inspect_core.spc.msa_report import report_sentences, results, table_of
from inspect_core.spc.msa_study import WORDS

COLUMNS = ("part", "truth", "appraiser", "trial", "verdict")
STOPPED = WORDS | {"accept": False, "review": True, "reject": True, "not located": True}
MOST_BYTES = 1 << 26


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = f"CSV with the columns {', '.join(COLUMNS)}, plus score where available"
    parser.add_argument("table", type=path_argument, help=words)


def run(options: argparse.Namespace) -> int:
    """Print what the study says, then a line per figure."""
    report = results(_readings(options.table))
    for sentence in report_sentences(report):
        print_line(sentence)
    (_, names), *columns = table_of(report.agreement).items()
    for i, name in enumerate(names):
        print_line(f"{name}: {'; '.join(f'{appraiser} {cells[i]}' for appraiser, cells in columns)}")
    return ACCEPTED


def _readings(path) -> list[Appraisal]:
    content = workspace.content(path, at_most=MOST_BYTES)
    if content is None:
        path.stat()  # nothing there: the system says so
        raise ValueError(f"{path.name} is not a file of at most {MOST_BYTES >> 20} MB; use the table of a single study")
    try:
        rows = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise ValueError(f"it has no column {missing[0]!r}; it needs {', '.join(COLUMNS)}")
        return [_reading(number, row) for number, row in enumerate(rows, start=2)]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name} is not UTF-8 text (byte {error.start}); save it as CSV UTF-8") from error
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path.name}: {error}") from error


def _reading(number: int, row: dict[str, str]) -> Appraisal:
    try:
        truth, verdict = (
            table[row[column].strip().lower()] for table, column in ((WORDS, "truth"), (STOPPED, "verdict"))
        )
        score = float(row["score"]) if (row.get("score") or "").strip() else None
        if not re.fullmatch(r"\s*[0-9]{1,9}\s*", row["trial"]) or (score is not None and not math.isfinite(score)):
            raise ValueError(f"trial {row['trial']!r:.40} or score {score}")
        return Appraisal(row["part"], truth, row["appraiser"], int(row["trial"]), verdict, score)
    except (KeyError, ValueError, AttributeError) as error:
        words = "good or defective, a whole trial number, and a verdict such as accept or reject"
        raise ValueError(f"line {number}: invalid value {error!s:.60}; expected {words}") from error
