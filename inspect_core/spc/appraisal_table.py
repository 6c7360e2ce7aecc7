"""Tables of appraisals as programs for measurement systems write them: a row for each part, appraiser and trial, or
AIAG's sheet with a row for each part and a column for each appraiser and trial ("A-1", "A-2", "B-1", …).

In a column of 1 and 0, 1 is acceptable, as in AIAG, Measurement Systems Analysis, 4th edition, table III-C 1.
"""

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.text_encoding import encodings_of
from inspect_core.datasets.verdict_words import LABEL_WORDS, condition_sign
from inspect_core.spc.agreement import Appraisal

COLUMNS = ("part", "truth", "appraiser", "trial", "verdict")
DELIMITERS = ",;\t"
_NAMES = {use: frozenset(re.split(r",\s+", names.strip())) for use, names in LABEL_WORDS["appraisals"].items()}
_OF_LOUPE = {"accept": False, "review": True, "reject": True, "not located": True}
_CODES = {"1": False, "0": True}
_SHORT = {"g": False, "ng": True, "p": False, "f": True, "a": False, "r": True}
_TRIAL_OF = re.compile(r"(.*\D)[\s_.#-]*(\d{1,3})")


def condition_of(word: str) -> bool:
    """Whether a word of a table or tray says that a part is not acceptable. Raises ValueError for any other word."""
    if (known := (_OF_LOUPE | _CODES | _SHORT).get(word.strip().casefold())) is not None:
        return known
    sign = condition_sign(word)
    if sign is None or not sign.is_whole or sign.condition == "unclear":
        raise ValueError(repr(word))
    return sign.condition != GOOD


class AppraisalTable(NamedTuple):
    """The appraisals of a table, and sentences on how its codes were read."""

    appraisals: list[Appraisal]
    notes: tuple[str, ...]


def read_appraisals(content: bytes) -> AppraisalTable:
    """The appraisals of a table. Raises ValueError, naming the line or column, the reason and the remedy."""
    encodings = encodings_of(content)
    if not encodings:
        raise ValueError("it is no text; save it as CSV")
    text = content.decode(encodings[0]).removeprefix("\ufeff")
    tables = [[row for row in csv.reader(io.StringIO(text, newline=""), delimiter=sign)] for sign in DELIMITERS]
    rows = max(tables, key=lambda table: max(map(len, table), default=0))
    stripped = ([cell.strip() for cell in row] for row in rows)
    numbered = [(number, row) for number, row in enumerate(stripped, 1) if any(row)]
    start = next((at for at, (_, row) in enumerate(numbered) if _uses(row)), None)
    if start is None:
        raise ValueError(f"it has no column 'part'; it needs {', '.join(COLUMNS)}, or a column for each trial")
    (_, heading), body = numbered[start], numbered[start + 1 :]
    uses = _uses(heading)
    has_rows = {"appraiser", "verdict"} <= uses.keys()
    appraisals = (_by_row if has_rows else _by_column)(heading, body, uses)
    numbers = {uses[use] for use in ("part", "appraiser", "trial") if use in uses}
    is_coded = any(cell in _CODES for _, row in body for at, cell in enumerate(row) if at not in numbers)
    return AppraisalTable(appraisals, ("1 is read as acceptable, 0 as not acceptable.",) if is_coded else ())


def _uses(heading: Sequence[str]) -> dict[str, int]:
    """The columns by what they hold; empty for a row that is no heading."""
    keys = [re.sub(r"[\s_-]+", " ", name.casefold()).strip(" .:") for name in heading]
    uses = {use: keys.index(name) for use, names in _NAMES.items() for name in names if name in keys}
    return uses if {"part", "truth"} <= uses.keys() or {"part", "verdict"} <= uses.keys() else {}


def _by_row(heading: Sequence[str], body: Iterable[tuple[int, list[str]]], uses: Mapping[str, int]) -> list[Appraisal]:
    missing = [name for name in COLUMNS if name not in uses]
    if missing:
        raise ValueError(f"it has no column {missing[0]!r}; it needs {', '.join(COLUMNS)}")
    score_at = next((at for at, name in enumerate(heading) if name.casefold() == "score"), None)
    appraisals = []
    for number, row in body:
        try:
            part, truth, appraiser, trial, verdict = (row[uses[name]] for name in COLUMNS)
            text = row[score_at] if score_at is not None and score_at < len(row) else ""
            score = float(text) if text else None
            if not re.fullmatch(r"[0-9]{1,9}", trial) or (score is not None and not math.isfinite(score)):
                raise ValueError(f"trial {trial!r:.40} or score {score}")
            appraisals.append(Appraisal(part, condition_of(truth), appraiser, int(trial), condition_of(verdict), score))
        except (IndexError, ValueError) as error:
            raise _invalid(number, error) from error
    return appraisals


def _by_column(
    heading: Sequence[str], body: Iterable[tuple[int, list[str]]], uses: Mapping[str, int]
) -> list[Appraisal]:
    """The appraisals of AIAG's sheet."""
    trials = {
        at: (match[1].strip(" _.#-"), int(match[2]))
        for at, name in enumerate(heading)
        if at not in uses.values() and (match := _TRIAL_OF.fullmatch(name)) is not None
    }
    if "truth" not in uses or not trials:
        missing = "truth" if "truth" not in uses else "appraiser"
        raise ValueError(f"it has no column {missing!r}; it needs {', '.join(COLUMNS)}, or a column for each trial")
    appraisals = []
    for number, row in body:
        try:
            part, truth = row[uses["part"]], condition_of(row[uses["truth"]])
            appraisals += [
                Appraisal(part, truth, appraiser, trial, condition_of(row[at]))
                for at, (appraiser, trial) in trials.items()
            ]
        except (IndexError, ValueError) as error:
            raise _invalid(number, error) from error
    return appraisals


def _invalid(number: int, error: Exception) -> ValueError:
    words = "good or defective (or OK and NG, 1 and 0), a whole trial number, and a verdict such as accept or reject"
    return ValueError(f"line {number}: invalid value {error!s:.60}; expected {words}")
