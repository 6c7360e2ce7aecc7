"""A recipe as one zip. All entries have one fixed date, so whatever dates its files have, equal recipes are equal."""

import io
import json
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO

from inspect_core.runtime.json_text import from_json

MOST_NOTE = 1000
"""Bytes of a note."""


def write_zip(place: Path | IO[bytes], files: Iterable[tuple[str, bytes]]) -> None:
    """Write (name, content) of files, uncompressed. Raises OSError when the disk is full or not writable."""
    with zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)


def zipped(path: Path) -> bytes:
    """The recipe at `path`, a folder or a zip already, as the bytes of a zip."""
    if path.is_file():
        return path.read_bytes()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    buffer = io.BytesIO()
    write_zip(buffer, ((file.relative_to(path).as_posix(), file.read_bytes()) for file in files))
    return buffer.getvalue()


def with_note(package: bytes, note: dict[str, str]) -> bytes:
    """A zip with short words on where it comes from, as its comment: its files, and their digest, stay as they are.

    Raises ValueError for a note that is too long.
    """
    comment = json.dumps(note, ensure_ascii=False).encode()
    if len(comment) > MOST_NOTE:
        raise ValueError(f"a note of {len(comment)} bytes is longer than {MOST_NOTE}; shorten it")
    buffer = io.BytesIO(package)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = comment
    return buffer.getvalue()


def note_of(path: Path) -> dict[str, str]:
    """The note of a zip, as whoever made the file wrote it; empty without one."""
    with suppress(OSError, ValueError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
        note = from_json(archive.comment.decode()) if 0 < len(archive.comment) <= MOST_NOTE else {}
        return {str(name): str(words) for name, words in note.items()} if isinstance(note, dict) else {}
    return {}
