"""Files beside photos that were not read and may say which parts are defective: tables, annotations, databases.

A folder in which nothing else says what its photos show is not taught before its user has looked at these.
"""

import re
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.manifests.list_file import text_of
from inspect_core.datasets.manifests.manifest_entry import ManifestError
from inspect_core.datasets.verdict_words import condition_sign, words_of

TABLES = words_of(
    ".xls .xlsx .xlsm .xlsb .ods .numbers .db .sqlite .sqlite3 .mdb .accdb .parquet .feather .mat .npy .npz .pkl .h5 "
    ".hdf5 .hdict .dbf .arff"
)
"""Endings of tables and databases."""
TEXTS = words_of(".txt .csv .tsv .json .jsonl .ndjson .xml .yaml .yml .manifest .lst .log .html .md .rst .ini .cfg")
SILENT = words_of(".xmp .thm .aae .md5 .sha1 .sha256 .py .pdf .zip .exe .lnk .url")
"""Endings of files that lie beside photos and say nothing of the parts."""
MOST_READ = 1 << 20
"""Bytes of a text that are looked through."""
MOST_TEXTS = 200
"""Texts that are looked through; the name of each counts still."""
FEWEST = 2
"""Files named like photos, from which on they count as annotations."""


def telling_files(
    root: Path, unread: Iterable[PurePosixPath], photos: Collection[PurePosixPath]
) -> list[PurePosixPath]:
    """Those of the unread files below `root` that may say what photos show, by ending, name or content."""
    names = {photo.name.casefold() for photo in photos}
    stems = {part for photo in photos for part in _beginnings(photo.stem.casefold())}
    tables, companions, texts = [], [], 0
    for file in unread:
        suffix = file.suffix.lower()
        is_read = suffix in TEXTS and texts < MOST_TEXTS
        texts += is_read
        if suffix in TABLES or (is_read and _is_telling(root / file, names)):
            tables.append(file)
        elif suffix not in SILENT and file.stem.casefold() in stems:
            companions.append(file)
    return tables + (companions if len(companions) >= FEWEST else [])


def _beginnings(stem: str) -> set[str]:
    """The stem of a photo, and what of it an annotation may be named by: "0001" of "0001_test"."""
    return {stem, *(stem[: match.start()] for match in re.finditer(r"[._-]", stem) if match.start())}


def _is_telling(path: Path, names: Collection[str]) -> bool:
    """Whether a text names photos, a table not all of them, or a cell of it is a word for a defect."""
    try:
        if path.stat().st_size > MOST_READ:
            return True
        text = text_of(path)
    except (ManifestError, OSError):
        return False
    cells = re.split(r"[,;|\t\r\n\"<>:]+", text)
    signs = (condition_sign(cell) for cell in (path.stem, *cells) if len(cell) < 40)
    words = {word.strip() for cell in cells for word in (cell, *cell.split())}
    named = {PurePosixPath(word.replace("\\", "/")).name.casefold() for word in words} & {*names}
    if named and (path.suffix.lower() not in (".csv", ".tsv") or len(named) < len(names)):
        return True
    return any(sign is not None and sign.is_whole and sign.condition != GOOD for sign in signs)
