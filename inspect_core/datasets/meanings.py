"""The meanings that a person gives words of labels, as the key of a reading (`photo_labels`) or as a table."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from inspect_core.datasets.dataset import GOOD, ScanError
from inspect_core.datasets.text_encoding import encodings_of
from inspect_core.datasets.verdict_words import EXCLUDED, PLAIN, TEST_ONLY, UNNAMED, condition_sign
from inspect_core.runtime.json_text import from_json

_HEADINGS = ("word", "label", "folder")
MOST_BYTES = 1 << 20
"""Of a table of meanings."""


def reading_of(meanings: Mapping[str, str]) -> str:
    """The key of the reading in which these words have these meanings: `GOOD`, `EXCLUDED`, `TEST_ONLY`, a defect type.

    Raises ValueError for an empty word or meaning.
    """
    for word, meaning in meanings.items():
        if not word.strip() or not meaning.strip():
            raise ValueError(f"{word}={meaning} gives no word a meaning; write WORD=MEANING, such as “Serie A=good”")
    return json.dumps({word: _plain_meaning(meaning) for word, meaning in meanings.items()}, ensure_ascii=False)


def meanings_in(reading: str) -> tuple[tuple[str, str], ...]:
    """The words and meanings of the key of a reading; none for that of another. Raises ScanError for a damaged one."""
    if not reading.startswith("{"):
        return ()
    try:
        meanings = from_json(reading)
    except ValueError as error:
        raise ScanError(f"the meanings of labels cannot be read ({error}); choose them again") from error
    return tuple((str(word), str(meaning)) for word, meaning in meanings.items())


def sentence_of(meanings: Iterable[tuple[str, str]]) -> str:
    """The meanings in words: “Serie A” is good, “Serie B” is defective."""
    return ", ".join(f"“{word}” is {'defective' if meaning == UNNAMED else meaning}" for word, meaning in meanings)


def _plain_meaning(meaning: str) -> str:
    label = PLAIN.label(meaning)
    if label == GOOD or meaning.strip().casefold() in (EXCLUDED, TEST_ONLY):
        return GOOD if label == GOOD else meaning.strip().casefold()
    sign = condition_sign(meaning)
    is_plain_defect = sign is not None and sign.condition == "defective" and sign.is_whole
    return UNNAMED if is_plain_defect else meaning.strip()


def read_meanings(path: Path) -> dict[str, str]:
    """The meanings in a table of two columns, word and meaning, with or without a heading.

    Raises ValueError, naming the line, for another; OSError.
    """
    content = path.read_bytes()[: MOST_BYTES + 1]
    encodings = encodings_of(content)
    if len(content) > MOST_BYTES or not encodings:
        raise ValueError(f"{path.name} is no table of meanings; write a line such as “Serie A,good” for each word")
    text = content.decode(encodings[0]).removeprefix("\ufeff")
    delimiter = max(",;\t", key=text.count)
    meanings: dict[str, str] = {}
    for number, row in enumerate(csv.reader(io.StringIO(text), delimiter=delimiter), 1):
        cells = [cell.strip() for cell in row if cell.strip()]
        if not cells or (number == 1 and cells[0].casefold() in _HEADINGS):
            continue
        if len(cells) != 2:
            raise ValueError(f"{path.name}, line {number}: it has no word and meaning; write “Serie A,good”")
        meanings[cells[0]] = cells[1]
    return meanings
