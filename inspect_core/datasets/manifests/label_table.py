"""A table of photos and labels, whatever file its cells come from: which column is what, and what a row says."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.layout import side_of
from inspect_core.datasets.listing import is_image
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestEntry, ManifestError
from inspect_core.datasets.verdict_words import LABEL_WORDS, UNNAMED, UnclearWord, Vocabulary, condition_sign
from inspect_core.runtime.wording import join_first_names, pluralise


def _names(text: str) -> frozenset[str]:
    """Names, or values, that stand with commas between them."""
    return frozenset(re.split(r",\s+", text.strip()))


_COLUMNS = {use: _names(names) for use, names in LABEL_WORDS["columns"].items()}
FILES, DEFECTIVE, GOOD_COLUMNS, NAMES_DEFECTS = (
    _COLUMNS[use] for use in ("file", "defective", "good", "names_defects")
)
LABELS = DEFECTIVE | GOOD_COLUMNS | NAMES_DEFECTS | _COLUMNS["label"]
YES, NO, NO_DEFECT = (_names(LABEL_WORDS["truths"][use]) for use in ("yes", "no", "no_defect"))
_OF_LOUPE = "percentile among good"  # a column of Loupe's own tables of verdicts, which are no ground truth
_IS_SET, _IS_NOT = frozenset({"1", "1.0"}), frozenset({"0", "0.0"})
_SEVERAL = re.compile(r"\s*[,;|]\s*")
_COUNT = re.compile(r"\d+([.,]0+)?")
_COMMENT = ("#", "//", "%", "--")


TableRows = list[tuple[str, list[str]]]
"""(place in the file, cells) of every row that is not empty, with the heading and whatever stands above it."""


class _Columns(NamedTuple):
    """The positions of the columns that are used, None without one. label: several where each class has a column of 0
    and 1, or where several persons judged; flag: of a yes or no beside a label.
    """

    file: int
    label: tuple[int, ...]
    flag: int | None
    split: int | None
    mask: int | None
    product: int | None
    is_by_class: bool = False


def names_photos(file: ListFile, rows: TableRows) -> bool:
    """Whether some column names photos that lie below the folder of a file."""
    if any(_OF_LOUPE in map(_key, cells) for _, cells in rows[:1]):
        return False
    columns = _photo_columns(file, rows)
    return any(file.is_photo(row[column]) for _, row in rows for column in columns if column < len(row))


def has_label(rows: TableRows) -> bool:
    """Whether a heading, or every cell of a column, says that a column is a label."""
    (_, heading), *body = rows
    width = max(len(cells) for _, cells in rows)
    columns = [[cells[column] for _, cells in body if column < len(cells)] for column in range(width)]
    return any(_key(name) in LABELS for name in heading) or any(map(_are_verdicts, columns))


def photos_beside_more(rows: TableRows) -> int:
    """How many rows hold a photo's name beside something else."""
    return sum(len(row) > 1 and any(map(is_image, row)) for _, row in rows)


def listing_of(file: ListFile, rows: TableRows) -> Listing:
    """The photos of a table. The column of files is the one that holds names of photos.

    Titles above the heading, comments and footers are read over. Raises ManifestError for a table without such a column
    or with a short row, or one in which no column can be told to be the label, but not where no column may say anything
    of photos: its entries then have no label.
    """
    header, body, columns = _columns(file, rows)
    if not columns.label:
        named_rows = [(line, row[columns.file]) for line, row in body if not _is_read_over(file, row, columns.file)]
        entries = [ManifestEntry(photo, None, line, says_label=False) for line, photo in named_rows]
        return Listing(entries, (f"it names photos and holds no label ({join_first_names(header, most=8)}).",))
    names = [_key(name) for name in header]
    used = [*columns.label, *(column for column in columns[2:6] if column is not None), columns.file]
    of_column = {column: _labels(file.vocabulary, body, column, names) for column in (*columns.label, columns.flag)}
    entries = []
    for number, (line, row) in enumerate(body):
        if _is_read_over(file, row, columns.file):
            continue
        if len(row) <= max(columns.file, *columns.label):
            raise ManifestError(line, "it has fewer columns than the others", "complete the line")
        mask, split, product = (
            row[column] if column is not None and column < len(row) else ""
            for column in (columns.mask, columns.split, columns.product)
        )
        side = (side_of(split) or "test") if split else None  # whatever is not meant to be taught is not taught
        if columns.is_by_class:
            label = _class_shown(file.vocabulary, {header[column]: row[column] for column in columns.label})
        else:
            label = _joined(
                file.vocabulary,
                [(header[at] if header else "", of_column[at][number], row[at]) for at in columns.label],
            )
        if columns.flag is not None and label in (GOOD, None):
            flagged = of_column[columns.flag][number]
            label = flagged if label is None or flagged is not None else label
        entries.append(ManifestEntry(row[columns.file], label, line, None, mask, side, product))
    unused = [name for number, name in enumerate(header) if number not in used and name]
    notes = [f"{pluralise(len(unused), 'column')} not used: {join_first_names(unused, most=8)}."] if unused else []
    notes += [note for column in used if (note := _direction(header, body, column))]
    return Listing(entries, tuple(notes))


def label_of_field(vocabulary: Vocabulary, name: str, text: str) -> str | None:
    """What the text of a field of this name says of a photo; None for an empty one, and for "none"."""
    return _label(vocabulary, text, _key(name))


def label_of_one(vocabulary: Vocabulary, heading: Sequence[str], cells: Sequence[str]) -> str | None:
    """What the row of one photo says of it, "" where a field for it is empty; None where no field says it."""
    named = [*zip(heading, cells, strict=True)]
    fields = [(name, cell) for name, cell in named if _key(name) in LABELS or _is_verdict(cell)]
    if not fields:
        return None
    return _joined(vocabulary, [(name, _label(vocabulary, cell, _key(name)), cell) for name, cell in fields]) or ""


def _photo_columns(file: ListFile, rows: TableRows) -> Counter[int]:
    """How many photos each column names: with their endings, or without under a heading that says so, or where each
    row names another.
    """
    photos = Counter(column for _, row in rows for column, field in enumerate(row) if is_image(field))
    if photos or len(rows) < 2:
        return photos
    width = max(len(row) for _, row in rows)
    cells = {column: [row[column] for _, row in rows if column < len(row)] for column in range(width)}
    named = {column: list(filter(file.is_photo, of_column)) for column, of_column in cells.items()}
    is_headed = {column: any(_key(cell) in FILES for cell in of_column) for column, of_column in cells.items()}
    return Counter(
        {
            column: len(photos)
            for column, photos in named.items()
            if photos and (is_headed[column] or 1 < len(photos) == len({*photos}))
        }
    )


def _columns(file: ListFile, rows: TableRows) -> tuple[list[str], TableRows, _Columns]:
    """The header, [] without one, the rows below it, and which column is what. Raises ManifestError as `listing_of`."""
    photos = _photo_columns(file, rows)
    if not photos:
        reason = "no column contains photo names"
        raise ManifestError("the file", reason, "give it a column of file names and of labels")
    first = next(number for number, (_, row) in enumerate(rows) if any(_names_photo(file, row, at) for at in photos))
    header = next((row for _, row in reversed(rows[:first]) if sum(map(bool, row)) > 1), [])
    at = _photo_column(photos, list(map(_key, header)))
    body = [(line, row) for line, row in rows[first:] if row != header]
    named_rows = [(line, row) for line, row in body if not _is_read_over(file, row, at)]
    width = max(len(row) for _, row in rows)
    cells = {
        column: [row[column] for _, row in named_rows if column < len(row)] for column in range(width) if column != at
    }
    names = {column: _key(name) for column, name in enumerate(header) if column in cells}
    if header:
        split, mask, product = (_first_named(names, _COLUMNS[use]) for use in ("split", "mask", "product"))
    else:
        product = None
        mask = next((column for column in cells if column in photos), None)
        split = next((column for column in cells if all(map(side_of, cells[column])) and column != mask), None)
    free = {column: of_column for column, of_column in cells.items() if column not in (split, mask, product)}
    if names and _are_classes(file, [names[column] for column in free if column in names], {*chain(*free.values())}):
        return header, body, _Columns(at, tuple(free), None, split, mask, product, is_by_class=True)
    labels, flag = _label_columns(free, names)
    may_speak = [column for column in free if names.get(column) not in _COLUMNS["silent"] or _is_coded(free[column])]
    if not labels and any(len({*free[column]}) > 1 for column in may_speak):
        reason = f"cannot tell which of its {len(cells) + 1} columns contains the label"
        raise ManifestError(rows[0][0], reason, "add a header line with the column names file and label")
    return header, body, _Columns(at, labels, flag, split, mask, product)


def _names_photo(file: ListFile, row: Sequence[str], column: int) -> bool:
    return column < len(row) and (is_image(row[column]) or file.is_photo(row[column]))


def _is_read_over(file: ListFile, row: Sequence[str], column: int) -> bool:
    """Whether a row is a comment or a footer: it names no photo, and nothing beside its first cell is a verdict."""
    if _names_photo(file, row, column):
        return False
    is_comment = next(filter(None, row), "").startswith(_COMMENT)
    return is_comment or sum(map(bool, row)) < 2 or not any(map(condition_sign, row))


def _photo_column(photos: Mapping[int, int], named: Sequence[str]) -> int:
    """The column of the photos among those of names of photos, given how many each has: not that of their masks."""
    masks = {column for column in photos if column < len(named) and named[column] in _COLUMNS["mask"]}
    candidates = {column: count for column, count in photos.items() if column not in masks} or photos
    by_name = [column for column in candidates if column < len(named) and named[column] in FILES]
    return min(by_name) if by_name else min(candidates, key=lambda column: (-candidates[column], column))


def _first_named(names: Mapping[int, str], words: frozenset[str]) -> int | None:
    return next((column for column, name in names.items() if name in words), None)


def _label_columns(cells: Mapping[int, Sequence[str]], names: Mapping[int, str]) -> tuple[tuple[int, ...], int | None]:
    """The columns of labels, none where they cannot be told; and that which says whether there is a defect at all.

    cells: of the columns that may be; names: of those with a header.
    """
    labels = [column for column in cells if names.get(column) in LABELS]
    flags = [column for column in labels if names.get(column) in DEFECTIVE | GOOD_COLUMNS]
    flag = None
    if len(labels) == 2 and len(flags) == 1:
        flag = flags[0]
        labels.remove(flag)
    labels += [column for column in cells if column not in (*labels, flag) and _are_verdicts(cells[column])]
    spoken = [column for column in cells if names.get(column) not in _COLUMNS["silent"] or _is_coded(cells[column])]
    return tuple(sorted(labels)) or (tuple(spoken) if len(spoken) == 1 else ()), flag


def _are_classes(file: ListFile, names: Sequence[str], cells: Collection[str]) -> bool:
    """Whether columns of 0 and 1 are one for each class, as the file's name or one of theirs says."""
    are_flags = len(names) > 1 and set(cells) <= _IS_SET | _IS_NOT
    # Beside a column of the good ones, that of the defective ones is a class too.
    others = LABELS - GOOD_COLUMNS if GOOD_COLUMNS.isdisjoint(names) else LABELS - GOOD_COLUMNS - DEFECTIVE
    is_labelled = not others.isdisjoint(names)
    return are_flags and not is_labelled and ("class" in file.name.stem or any(map(condition_sign, names)))


def _class_shown(vocabulary: Vocabulary, cells: Mapping[str, str]) -> str | None:
    """The class of a row with a column of 0 and 1 for each; good without one, if no class is the good one."""
    labels = {vocabulary.mark(name): cell in _IS_SET for name, cell in cells.items()}
    shown = [label for label, is_shown in labels.items() if is_shown]
    without = None if GOOD in labels and not shown else GOOD
    return next((label for label in shown if label != GOOD), without)


def _labels(vocabulary: Vocabulary, body: TableRows, column: int | None, names: Sequence[str]) -> list[str | None]:
    """The labels of a column, row by row. Where none is good, words that are not known are unclear."""
    if column is None:
        return []
    name = names[column] if column < len(names) else ""
    labels = [_label(vocabulary, row[column], name) if column < len(row) else None for _, row in body]
    if GOOD in labels or name in NAMES_DEFECTS:
        return labels
    return [
        label if label is None or condition_sign(label) or vocabulary.gives(label) else UnclearWord(label)
        for label in labels
    ]


def _label(vocabulary: Vocabulary, text: str, column: str) -> str | None:
    """The label that a cell means in a column of this name: unclear for a number or a yes that could mean either."""
    word = text.casefold().strip()
    if (meaning := vocabulary.label(text)) is not None and vocabulary.meaning(text) is not None:
        return meaning
    if column in GOOD_COLUMNS and word in YES | NO:
        return GOOD if word in YES else UNNAMED
    if column in DEFECTIVE and (word in YES | NO or _COUNT.fullmatch(word)):
        return GOOD if word in NO or not word.strip("0.,") else UNNAMED
    if word in NO_DEFECT:
        return GOOD if column in DEFECTIVE | NAMES_DEFECTS else None
    if word in YES | NO:
        return UnclearWord(text)
    labels = [vocabulary.label(part) for part in _SEVERAL.split(text)]
    return next((label for label in labels if label not in (GOOD, None)), vocabulary.label(text))


def _joined(vocabulary: Vocabulary, fields: Sequence[tuple[str, str | None, str]]) -> str | None:
    """The label of a row by several columns, (name, label, cell) each: unclear where one says good and one does not."""
    labels = [label for _, label, _ in fields if label is not None]
    if len({label == GOOD for label in labels}) == 2:
        return vocabulary.unclear(", ".join(f"{name} {cell}".strip() for name, label, cell in fields if label))
    worded = [label for label in labels if re.search(r"[^\W\d_]", label) and label != UNNAMED]
    return next(iter(worded or labels), None)


def _direction(header: Sequence[str], body: TableRows, column: int) -> str:
    """A sentence on how the numbers of a column are read; "" where it has none, or its name says nothing."""
    name = header[column] if column < len(header) else ""
    numbers = {row[column] for _, row in body if column < len(row)} & (_IS_SET | _IS_NOT)
    key = _key(name)
    if not numbers or key not in DEFECTIVE | GOOD_COLUMNS:
        return ""
    return f"1 in “{name}” is read as {'defective' if key in DEFECTIVE else 'good'}."


def _is_verdict(cell: str) -> bool:
    """Whether a cell says by itself that a part is good or defective."""
    sign = condition_sign(cell)
    return sign is not None and sign.is_whole and sign.condition != "unclear"


def _is_coded(cells: Sequence[str]) -> bool:
    """Whether a column holds 0 and 1, or yes and no, alone: whatever it is called, it may be a verdict."""
    words = {cell.casefold() for cell in cells if cell}
    return len(words) == 2 and words <= YES | NO


def _are_verdicts(cells: Sequence[str]) -> bool:
    return any(cells) and all(_is_verdict(cell) for cell in cells if cell)


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.rpartition(".")[2].strip().casefold()) or name.strip().casefold()
