"""The size of a zip archive's directory, known before zipfile reads all of it into memory."""

import os
import struct
import zipfile
from pathlib import Path

MOST_BYTES = 16 * 2**20
"""Bytes of a directory: 50,000 files take about 6 MB."""
_END = struct.Struct("<4s4H2LH")
_END_SIGNATURE = b"PK\5\6"
_END_64 = struct.Struct("<4sQ2H2L4Q")
_END_64_SIGNATURE = b"PK\6\6"
_LOCATOR = struct.Struct("<4sLQL")
_LOCATOR_SIGNATURE = b"PK\6\7"
_LONGEST_COMMENT = 2**16
_IN_64_BITS = 2**32 - 1


def check_directory(path: Path) -> None:
    """Raise BadZipFile for an archive without a directory, or whose directory takes more than MOST_BYTES; OSError."""
    with path.open("rb") as file:
        length = file.seek(0, os.SEEK_END)
        start = max(0, length - _END.size - _LONGEST_COMMENT - _LOCATOR.size)
        file.seek(start)
        tail = file.read()
        at = tail.rfind(_END_SIGNATURE)
        if at < 0 or len(tail) - at < _END.size:
            raise zipfile.BadZipFile("it has no directory")
        size, position = _END.unpack_from(tail, at)[5:7]
        if _IN_64_BITS in (size, position) and at >= _LOCATOR.size:
            signature, _, where, _ = _LOCATOR.unpack_from(tail, at - _LOCATOR.size)
            file.seek(min(where, length))
            end = file.read(_END_64.size)
            if signature != _LOCATOR_SIGNATURE or len(end) < _END_64.size or not end.startswith(_END_64_SIGNATURE):
                raise zipfile.BadZipFile("its directory is damaged")
            size = _END_64.unpack(end)[8]
    if size > min(MOST_BYTES, length):
        raise zipfile.BadZipFile(f"its directory takes {size:,} bytes, more than {MOST_BYTES:,} or than the file")
