"""Zip archives of images, checked by their directory before a byte is written."""

import hashlib
import os
import shutil
import stat
import struct
import threading
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from inspect_core.datasets.dataset import ScanError
from inspect_core.datasets.listing import MAX_DEPTH
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace, process_folder
from inspect_core.runtime.zip_directory import check_directory

MAX_MEMBERS = 50_000
MAX_TOTAL = 8 * 2**30  # bytes, unpacked
MAX_STAYING = 2 * 2**30  # bytes of an archive that stays unpacked among the uploads
MAX_RATIO = 200  # unpacked to packed; photographs reach 2, blank masks and bitmaps about 100
_RATIO_FROM = 64 * 2**20  # bytes unpacked; below, no ratio is a danger
_ENCRYPTED = 0x1
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, UnicodeDecodeError, struct.error)
_unpacking = threading.Lock()


def unpacked(path: Path, *, stays: bool = False) -> Path:
    """Where a zip archive is unpacked in the workspace: once per process, until it ends.

    stays: it lies among the uploads, for a product that is opened again after a restart. Raises ScanError.
    """
    with _unpacking:
        facts = path.stat()
        identity = b"%s|%d|%d" % (os.fsencode(os.path.realpath(path)), facts.st_size, facts.st_mtime_ns)
        name = hashlib.sha256(identity).hexdigest()[:24]
        if not stays:
            folder = process_folder(workspace.root() / "unpacked") / name / path.name
            return folder if folder.exists() else extract(path, folder)
        folder = workspace.uploads_folder() / name
        if not (folder / path.name).is_dir():
            with atomic_replace(folder) as new:
                extract(path, new / path.name, most=min(MAX_STAYING, MAX_TOTAL))
        return folder / path.name


def extract(path: Path, folder: Path, *, most: int | None = None) -> Path:
    """Unpack a zip archive into `folder`, which is made here, and return it.

    Raises ScanError, and leaves nothing behind, when the archive is damaged or encrypted, or when a member is a link,
    has an absolute name or one with `..`, lies more than `MAX_DEPTH` folders deep or would overwrite another; and when
    there are more than `MAX_MEMBERS`, `most` bytes (None: `MAX_TOTAL`) or a ratio of `MAX_RATIO`.
    """
    try:
        check_directory(path)
        with zipfile.ZipFile(path) as archive:
            members = _checked(archive, path, MAX_TOTAL if most is None else most)
            folder.mkdir(parents=True)
            try:
                for member, relative in members:
                    file = folder / relative
                    file.parent.mkdir(parents=True, exist_ok=True)
                    # zipfile reads no more than the declared size and checks the CRC.
                    with archive.open(member) as packed, file.open("wb") as target:
                        shutil.copyfileobj(packed, target, 2**20)
            except BaseException:
                shutil.rmtree(folder)
                raise
    except _DAMAGE as error:
        raise ScanError(f"{path.name} is not a valid zip archive ({error}); create it again") from error
    except OSError as error:
        remedy = "check permissions and the free disk space"
        raise ScanError(f"{path.name} cannot be unpacked ({error.strerror or error}); {remedy}") from error
    return folder


def _checked(archive: zipfile.ZipFile, path: Path, most: int) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """The files of an archive with their relative paths. Raises ScanError as `extract`."""

    def refuse(wrong: bool, reason: str) -> None:
        if wrong:
            raise ScanError(f"{path.name} {reason}")

    members = [member for member in archive.infolist() if not member.filename.endswith("/")]
    total = sum(member.file_size for member in members)
    refuse(len(members) > MAX_MEMBERS, f"contains {len(members):,} files, more than {MAX_MEMBERS:,}; split it")
    too_large = f"unpacks to {total:,} bytes, more than {most:,}; split it, or unpack it yourself and choose the folder"
    refuse(total > most, too_large)
    bomb = f"unpacks to more than {MAX_RATIO} times its size, which photos never do; "
    bomb += "if you trust it, unpack it yourself and choose the folder"
    refuse(total > max(_RATIO_FROM, MAX_RATIO * path.stat().st_size), bomb)
    checked: dict[str, tuple[zipfile.ZipInfo, PurePosixPath]] = {}
    for member in members:
        name = f"holds {member.filename!r}"
        relative = PurePosixPath(member.filename.replace("\\", "/"))
        parts = relative.parts
        leaves = not parts or relative.is_absolute() or ".." in parts or ":" in parts[0] or not parts[-1].strip()
        refuse(leaves, f"{name}, which points out of the archive; pack it again")
        refuse(len(parts) > MAX_DEPTH + 1, f"contains a file nested more than {MAX_DEPTH} levels deep; create it again")
        kind = stat.S_IFMT(member.external_attr >> 16)
        refuse(kind not in (0, stat.S_IFREG), f"{name}, a link or device; pack the files themselves")
        refuse(bool(member.flag_bits & _ENCRYPTED), "is encrypted; pack it without a password")
        usual = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        refuse(not usual, "uses an unusual compression method; pack it as an ordinary zip")
        key = str(relative).casefold()
        refuse(key in checked, f"{name} twice; pack it again")
        checked[key] = member, relative
    return [*checked.values()]
