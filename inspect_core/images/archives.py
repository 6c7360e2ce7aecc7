"""Zip archives of images, checked by their directory before a byte is written."""

import shutil
import stat
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from inspect_core.images.samples import ScanError

MAX_MEMBERS = 50_000
MAX_TOTAL = 8 * 2**30  # bytes, unpacked
MAX_RATIO = 200  # unpacked to packed; photographs reach 2, blank masks and bitmaps about 100
_RATIO_FROM = 64 * 2**20  # bytes unpacked; below, no ratio is a danger
_ENCRYPTED = 0x1


def extract(path: Path, folder: Path | None = None) -> Path:
    """Unpack a zip archive and return where: `folder`, made if need be, else a new temporary folder.

    The caller owns the result and removes it. Raises ScanError, and leaves nothing behind, when the archive is damaged
    or encrypted, when `folder` holds something, or when a member is a link, has an absolute name or one with `..`, or
    would overwrite another; and when there are more than `MAX_MEMBERS`, `MAX_TOTAL` bytes or a ratio of `MAX_RATIO`.
    """
    if folder is not None and folder.exists() and any(folder.iterdir()):
        raise ScanError(f"{folder} is not empty; name an empty folder to unpack {path.name} into")
    made = folder is None or not folder.exists()
    try:
        with zipfile.ZipFile(path) as archive:
            members = _checked(archive, path)
            target = Path(tempfile.mkdtemp(prefix="loupe-")) if folder is None else folder
            try:
                for member, relative in members:
                    file = target / relative
                    file.parent.mkdir(parents=True, exist_ok=True)
                    # zipfile reads no more than the declared size and checks the CRC.
                    with archive.open(member) as packed, file.open("wb") as unpacked:
                        shutil.copyfileobj(packed, unpacked, 2**20)
            except BaseException:
                _clear(target, made=made)
                raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ScanError(f"{path.name} is not a sound zip archive ({error}); pack the folder again") from error
    except OSError as error:
        raise ScanError(
            f"{path.name} cannot be unpacked ({error.strerror or error}); check permissions and the free disk space"
        ) from error
    return target


def _checked(archive: zipfile.ZipFile, path: Path) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Return the files of an archive with their relative paths, or raise ScanError."""
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) > MAX_MEMBERS:
        raise ScanError(f"{path.name} holds {len(members):,} files, more than {MAX_MEMBERS:,}; split it")
    total = sum(member.file_size for member in members)
    if total > MAX_TOTAL:
        raise ScanError(
            f"{path.name} unpacks to {total:,} bytes, more than {MAX_TOTAL:,}; split it or unpack it yourself"
        )
    if total > max(_RATIO_FROM, MAX_RATIO * path.stat().st_size):
        raise ScanError(
            f"{path.name} unpacks to more than {MAX_RATIO} times its size, as no photographs do; "
            "if you trust it, unpack it yourself and name the folder"
        )
    checked, seen = [], set()
    for member in members:
        relative = PurePosixPath(member.filename.replace("\\", "/"))
        if (
            not relative.parts
            or relative.is_absolute()
            or ".." in relative.parts
            or ":" in relative.parts[0]
            or not relative.parts[-1].strip()
        ):
            raise ScanError(f"{path.name} holds {member.filename!r}, which points out of the archive; pack it again")
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise ScanError(f"{path.name} holds {member.filename!r}, a link or device; pack the files themselves")
        if member.flag_bits & _ENCRYPTED:
            raise ScanError(f"{path.name} is encrypted; pack it without a password")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ScanError(f"{path.name} is packed by an unusual method; pack it as an ordinary zip")
        key = str(relative).casefold()
        if key in seen:
            raise ScanError(f"{path.name} holds {member.filename!r} twice; pack it again")
        seen.add(key)
        checked.append((member, relative))
    return checked


def _clear(target: Path, *, made: bool) -> None:
    """Remove what was unpacked so far, and the folder too if it was made here."""
    if made:
        shutil.rmtree(target)
        return
    for child in target.iterdir():
        shutil.rmtree(child) if child.is_dir() else child.unlink()
