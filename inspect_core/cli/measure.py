"""`measure`: the agreement and the gauge study of a table of appraisals."""

import argparse
import csv

from inspect_core.cli.console import ACCEPTED, path_argument, say
from inspect_core.process.agreement import Reading
from inspect_core.process.results import results, sentences, table_of
from inspect_core.process.study_file import WORDS

COLUMNS = ("part", "truth", "appraiser", "trial", "verdict")
STOPPED = WORDS | {"accept": False, "review": True, "reject": True, "not located": True}
MOST_BYTES = 1 << 26


def add_arguments(parser: argparse.ArgumentParser) -> None:
    words = f"CSV with the columns {', '.join(COLUMNS)}, and score where there is one"
    parser.add_argument("table", type=path_argument, help=words)


def run(options: argparse.Namespace) -> int:
    """Print what the study says, then a line per figure."""
    found = results(_readings(options.table))
    for sentence in sentences(found):
        say(sentence)
    (_, names), *columns = table_of(found.agreement).items()
    for i, name in enumerate(names):
        say(f"{name}: {'; '.join(f'{appraiser} {cells[i]}' for appraiser, cells in columns)}")
    return ACCEPTED


def _readings(path) -> list[Reading]:
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path.name} has more than {MOST_BYTES >> 20} MB; give the table of one study")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
        if missing:
            raise ValueError(f"{path.name} has no column {missing[0]!r}; it needs {', '.join(COLUMNS)}")
        return [_reading(path.name, number, row) for number, row in enumerate(rows, start=2)]


def _reading(name: str, number: int, row: dict[str, str]) -> Reading:
    try:
        truth, verdict = (
            table[row[column].strip().lower()] for table, column in ((WORDS, "truth"), (STOPPED, "verdict"))
        )
        score = float(row["score"]) if (row.get("score") or "").strip() else None
        return Reading(row["part"], truth, row["appraiser"], int(row["trial"]), verdict, score)
    except (KeyError, ValueError, AttributeError) as error:
        words = "good or defective, a whole trial number, and a verdict such as accept or reject"
        raise ValueError(f"{name}, line {number}: {error} cannot be read; give {words}") from error
