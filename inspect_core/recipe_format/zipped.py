"""A recipe as one zip. All entries have one fixed date, so whatever dates its files have, equal recipes are equal."""

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO


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
