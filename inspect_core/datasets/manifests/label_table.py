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
from inspect_core.datasets.manifests.manifest_entry import (
    UNNAMED,
    Listing,
    ManifestEntry,
    ManifestError,
    label_from_text,
)
from inspect_core.datasets.verdict_words import condition_sign
from inspect_core.runtime.wording import join_first_names, pluralise


def _names(text: str) -> frozenset[str]:
    """Names, or values, that stand with commas between them."""
    return frozenset(text.split(", "))


FILES = _names(
    "file, filename, file name, files, path, filepath, file path, image, images, image path, img, image name, "
    "imagename, image file, image id, photo, picture, name, datei, dateiname, bild"
)
DEFECTIVE = _names(
    "is defect, is defective, defective, is anomaly, is anomalous, anomalous, is bad, is ng, anomaly, defect, "
    "has defect, fehlerhaft, defekt"
)
"""Columns in which true means defective."""
GOOD_COLUMNS = _names("is good, is ok, good, ok, io, passed, pass, is normal, conforming")
"""Columns in which true means good."""
LABELS = (
    DEFECTIVE
    | GOOD_COLUMNS
    | _names(
        "label, labels, class, class name, classname, kind, type, defect type, condition, label name, category, "
        "verdict, result, status, target, quality, judgement, judgment, inspection result, test result, bewertung, "
        "ergebnis, prüfergebnis, pruefergebnis, befund, urteil, klasse, résultat, resultado, risultato, wynik, 判定, "
        "结果, 結果"
    )
)
SPLITS = _names("split, subset, set, data split, partition, phase, usage")
MASKS = _names("mask, masks, mask path, mask file, mask name, maske, ground truth, gt, segmentation")
PRODUCTS = _names("product, object, object name, part, part type, item, produkt, teil, camera, kamera")
TRUE = _names("true, 1, 1.0, yes, y, ja, oui, si, sì, sí, tak, x, wahr, vrai, vero")
FALSE = _names("false, 0, 0.0, no, n, nein, non, nie, falsch, faux, falso")
NO_DEFECT = _names("none, -, keine, kein, aucun, ninguno, nessuno, nan")
_OF_LOUPE = "percentile among good"  # a column of Loupe's own tables of verdicts, which are no ground truth
_IS_SET, _IS_NOT = frozenset({"1", "1.0"}), frozenset({"0", "0.0"})
_SEVERAL = re.compile(r"\s*[,;|]\s*")


TableRows = list[tuple[str, list[str]]]
"""(place in the file, cells) of every row that is not empty, the heading first where there is one."""


class _Columns(NamedTuple):
    """The positions of the columns that are used, None without one. label: several where each class has a column of 0
    and 1; flag: of a yes or no beside a label.
    """

    file: int
    label: tuple[int, ...]
    flag: int | None
    split: int | None
    mask: int | None
    product: int | None


def names_photos(file: ListFile, rows: TableRows) -> bool:
    """Whether some column names photos that lie below the folder of a file."""
    if rows and _OF_LOUPE in map(_key, rows[0][1]):
        return False
    columns = _photo_columns(file, rows)
    return any(file.is_photo(row[column]) for _, row in rows for column in columns if column < len(row))


def has_label(rows: TableRows) -> bool:
    """Whether a heading, or every cell of a column, says that a column is a label."""
    (_, heading), *body = rows
    columns = zip(*(cells for _, cells in body), strict=True)
    return any(_key(name) in LABELS for name in heading) or any(all(map(_is_verdict, cells)) for cells in columns)


def photos_beside_more(rows: TableRows) -> int:
    """How many rows hold a photo's name beside something else."""
    return sum(len(row) > 1 and any(map(is_image, row)) for _, row in rows)


def listing_of(file: ListFile, rows: TableRows) -> Listing:
    """The photos of a table. The column of files is the one that holds names of photos.

    Raises ManifestError for a table without such a column, or whose column of labels is not clear.
    """
    header, body, columns = _columns(file, rows)
    label_name = _key(header[columns.label[0]]) if header else ""
    used = [*columns.label, *(column for column in columns if isinstance(column, int))]
    classes = {column: label_from_text(header[column]) for column in columns.label} if header else {}
    entries = []
    for line, row in body:
        if len(row) <= max(columns.file, *columns.label):
            raise ManifestError(line, "it has fewer columns than the others", "complete the line")
        mask, split, product, flag = (
            row[column] if column is not None and column < len(row) else ""
            for column in (columns.mask, columns.split, columns.product, columns.flag)
        )
        side = (side_of(split) or "test") if split else None  # whatever is not meant to be taught is not taught
        if len(columns.label) == 1:
            label = _label(row[columns.label[0]], label_name, line)
        else:
            shown = [name for column, name in classes.items() if row[column] in _IS_SET]
            without = None if GOOD in classes.values() and not shown else GOOD
            label = next((name for name in shown if name not in (GOOD, None)), without)
        if columns.flag is not None and label in (GOOD, None):
            flagged = _label(flag, _key(header[columns.flag]), line)
            label = flagged if label is None or flagged is not None else label
        entries.append(ManifestEntry(row[columns.file], label, line, None, mask, side, product))
    unused = [name for number, name in enumerate(header) if number not in used and name]
    notes = (f"{pluralise(len(unused), 'column')} not used: {join_first_names(unused, most=8)}.",) if unused else ()
    return Listing(entries, notes)


def label_of_one(heading: Sequence[str], cells: Sequence[str]) -> str | None:
    """What the row of one photo says of it, "" where a field for it is empty; None where no field says it."""
    named = [(_key(name), cell) for name, cell in zip(heading, cells, strict=True)]
    fields = [(name, cell) for name, cell in named if name in LABELS] or [
        (name, cell) for name, cell in named if _is_verdict(cell)
    ]
    if len(fields) != 1:
        return None
    [(name, cell)] = fields
    return _label(cell, name, name) or ""


def _photo_columns(file: ListFile, rows: TableRows) -> Counter[int]:
    """How many photos each column names: with their endings, or without under a heading that says so, or where each
    row names another.
    """
    photos = Counter(column for _, row in rows for column, field in enumerate(row) if is_image(field))
    if photos or len(rows) < 2:
        return photos
    (_, heading), *body = rows
    cells = {column: [row[column] for _, row in body if column < len(row)] for column in range(len(heading))}
    named = {column: sum(map(file.is_photo, of_column)) for column, of_column in cells.items()}
    is_headed = {column: _key(heading[column]) in FILES for column in cells}
    differ = {column: named[column] == len({*of_column}) == len(body) > 1 for column, of_column in cells.items()}
    return Counter({column: count for column, count in named.items() if is_headed[column] or differ[column]})


def _columns(file: ListFile, rows: TableRows) -> tuple[list[str], TableRows, _Columns]:
    """The header, [] without one, the other rows, and which column is what. Raises ManifestError as `read`."""
    photos = _photo_columns(file, rows)
    if not photos:
        reason = "no column contains photo names"
        raise ManifestError("the file", reason, "give it a column of file names and of labels")
    first = rows[0][1]
    at = _photo_column(photos, list(map(_key, first)))
    header = [] if at < len(first) and is_image(first[at]) else first
    body = rows[1:] if header else rows
    cells = {
        column: [row[column] for _, row in body if column < len(row)]
        for column in range(max(len(row) for _, row in rows))
        if column != at
    }
    names = {column: _key(name) for column, name in enumerate(header) if column in cells}
    if header:
        split, mask, product = (_first_named(names, words) for words in (SPLITS, MASKS, PRODUCTS))
    else:
        product = None
        mask = next((column for column in cells if column in photos), None)
        split = next((column for column in cells if all(map(side_of, cells[column])) and column != mask), None)
    free = {column: of_column for column, of_column in cells.items() if column not in (split, mask, product)}
    labels, flag = _label_columns(file, free, names)
    if not labels:
        reason = f"cannot tell which of its {len(cells) + 1} columns contains the label"
        raise ManifestError(rows[0][0], reason, "add a header line with the column names file and label")
    return header, body, _Columns(at, labels, flag, split, mask, product)


def _photo_column(photos: Mapping[int, int], named: Sequence[str]) -> int:
    """The column of the photos among those of names of photos, given how many each has: not that of their masks."""
    masks = {column for column in photos if column < len(named) and named[column] in MASKS}
    candidates = {column: count for column, count in photos.items() if column not in masks} or photos
    by_name = [column for column in candidates if column < len(named) and named[column] in FILES]
    return min(by_name) if by_name else min(candidates, key=lambda column: (-candidates[column], column))


def _first_named(names: Mapping[int, str], words: frozenset[str]) -> int | None:
    return next((column for column, name in names.items() if name in words), None)


def _label_columns(
    file: ListFile, cells: Mapping[int, Sequence[str]], names: Mapping[int, str]
) -> tuple[tuple[int, ...], int | None]:
    """The column of labels, several where each class has one, none where it cannot be told; and that which says whether
    there is a defect at all. cells: of the columns that may be; names: of those with a header.
    """
    labels = [column for column in cells if names.get(column) in LABELS] or list(cells)
    flags = [column for column in labels if names.get(column) in DEFECTIVE | GOOD_COLUMNS]
    flag = None
    if len(labels) == 2 and len(flags) == 1:
        flag = flags[0]
        labels.remove(flag)
    if len(labels) != 1:
        labels = [column for column in cells if all(map(_is_verdict, cells[column]))]
    if names and _are_classes(file, [names[column] for column in cells if column in names], {*chain(*cells.values())}):
        return tuple(cells), None
    return (tuple(labels) if len(labels) == 1 else ()), flag


def _are_classes(file: ListFile, names: Sequence[str], cells: Collection[str]) -> bool:
    """Whether columns of 0 and 1 are one for each class, as the file's name or one of theirs says."""
    are_flags = len(names) > 1 and set(cells) <= _IS_SET | _IS_NOT
    # Beside a column of the good ones, that of the defective ones is a class too.
    others = LABELS - GOOD_COLUMNS if GOOD_COLUMNS.isdisjoint(names) else LABELS - GOOD_COLUMNS - DEFECTIVE
    is_labelled = not others.isdisjoint(names)
    return are_flags and not is_labelled and ("class" in file.name.stem or any(map(condition_sign, names)))


def _label(text: str, column: str, location: str) -> str | None:
    """The label that a cell means in a column of this name. Raises ManifestError for a true or false that could
    mean either.
    """
    word = text.casefold()
    if column in GOOD_COLUMNS and word in TRUE | FALSE:
        return GOOD if word in TRUE else UNNAMED
    if column in DEFECTIVE | {"target"} and word in TRUE | FALSE:
        return UNNAMED if word in TRUE else GOOD
    if word in NO_DEFECT:
        return GOOD if column in DEFECTIVE | {"defect type"} else None
    if word in ("true", "false"):
        reason = f"{text} may mean good or defective"
        raise ManifestError(location, reason, "name the column is_good or is_defect")
    labels = [label_from_text(part) for part in _SEVERAL.split(text)]
    return next((label for label in labels if label not in (GOOD, None)), label_from_text(text))


def _is_verdict(cell: str) -> bool:
    """Whether a cell says by itself that a part is good or defective."""
    sign = condition_sign(cell)
    return sign is not None and sign.is_whole


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.strip().casefold())
