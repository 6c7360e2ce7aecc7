"""Where Loupe keeps its things on this machine: recipes, stored features, uploads; and which folders it may read.

In a checkout that is beside where it was started; once installed, in the data folder of the user.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import re
import stat
import tempfile
import time
from collections.abc import Generator
from pathlib import Path, PureWindowsPath
from typing import BinaryIO, Literal

FEATURE_BYTES = 4 << 30
CLAIM_SECONDS = 600
"""Seconds after which the name that a recipe was to be saved under is free again: whoever claimed it was killed."""
NAME_BYTES = 200
"""Of a file's name: file systems allow 255, including what is added to it."""
APP_FILES = Path(__file__).resolve().parents[1] / "app_files"
"""Where the build (setup.py) puts the app; not there in a checkout."""


def app_folder() -> Path:
    """The folder of app.py, its pages and sample products: the checkout, or one inside the package."""
    return APP_FILES if APP_FILES.is_dir() else APP_FILES.parents[1]


def data_folder() -> Path:
    """Where workspace and weights are by default: the current folder, or that of the user once installed."""
    if not APP_FILES.is_dir():
        return Path()
    from platformdirs import user_data_path  # an exported recipe runs without it

    return user_data_path("loupe", appauthor=False)


def root() -> Path:
    """The workspace folder: LOUPE_WORKSPACE, else workspace/ in the data folder."""
    return Path(os.path.realpath(os.environ.get("LOUPE_WORKSPACE") or data_folder() / "workspace"))


def features_folder() -> Path:
    return root() / "features"


def recipes_folder() -> Path:
    return root() / "recipes"


@contextlib.contextmanager
def free_recipe_path(product: str) -> Generator[Path]:
    """Give where a recipe of this product can be saved without replacing another, to this block alone: whoever saves at
    the same moment, in any process, gets another name. Raises OSError where the folder cannot be written.
    """
    folder, stem = recipes_folder(), file_name(product)
    folder.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        path = folder / (f"{stem}-{number}.zip" if number > 1 else f"{stem}.zip")
        claim = folder / f".{path.name}.claim"
        if path.exists() or not _claimed(claim):
            continue
        try:
            if not path.exists():  # it may have been saved just before it was claimed
                yield path
                return
        finally:
            claim.unlink(missing_ok=True)


def _claimed(claim: Path) -> bool:
    """Create the file exclusively; that of a process which was killed long ago does not count."""
    with contextlib.suppress(FileNotFoundError):
        if time.time() - claim.lstat().st_mtime > CLAIM_SECONDS:
            claim.unlink()
    try:
        claim.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def open_folder() -> Path:
    """That of the parts that are open and not saved."""
    return root() / "open"


def uploads_folder() -> Path:
    return root() / "uploads"


def batches_folder() -> Path:
    return root() / "batches"


def exports_folder() -> Path:
    return root() / "exports"


def export_of(digest: str) -> Path:
    """Where the export of the recipe with this digest is kept."""
    return exports_folder() / f"{digest}.zip"


def stations_folder() -> Path:
    return root() / "stations"


def locks_folder() -> Path:
    return root() / "held"


def is_generated_name(path: Path, *digits: int, ending: str = "") -> bool:
    """Whether Loupe named it, dashed digests of so many hex digits: what may be deleted from a full folder."""
    named = "-".join(f"[0-9a-f]{{{count}}}" for count in digits) + re.escape(ending)
    return re.fullmatch(named, path.name) is not None


def require_writable() -> None:
    """Raise OSError, naming the workspace, the reason and the remedy, when nothing can be written into it."""
    try:
        root().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root()):
            pass
    except OSError as error:
        raise OSError(
            f"the workspace {root()} cannot be written ({error.strerror or error}); set LOUPE_WORKSPACE to a "
            "writable folder"
        ) from error


def allowed_roots() -> tuple[Path, ...]:
    """Folders that pages may read photos from: LOUPE_ROOTS (separated as PATH is), else home, the current
    folder, the workspace, Loupe's own folder and the one around it, without those that are the root of a file system.

    The command line reads wherever its user may; this list guards what a browser may ask for.
    """
    named = os.environ.get("LOUPE_ROOTS")
    if named:
        return tuple(Path(os.path.realpath(part)) for part in named.split(os.pathsep) if part)
    default_roots = (Path.home().resolve(), Path.cwd().resolve(), app_folder(), app_folder().parent, root())
    return tuple(folder for folder in dict.fromkeys(default_roots) if folder != Path(folder.anchor))


def readable_roots() -> tuple[Path, ...]:
    """The folders that photos may lie in which a page has chosen before: those allowed, and Loupe's own uploads
    and samples.
    """
    return (*allowed_roots(), root(), app_folder())


def regular_file_stat(path: str | os.PathLike[str]) -> os.stat_result | None:
    """The `stat` result of an ordinary file; None for a folder, a link, a pipe, a device, or nothing."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts if stat.S_ISREG(facts.st_mode) else None


def open_regular_file(path: str | os.PathLike[str], mode: Literal["rb", "r+b"] = "rb") -> BinaryIO:
    """An ordinary file, opened: the way to open what lies in the workspace, where anything may have come to lie.

    Never waits. Raises OSError for anything else.
    """
    return open(path, mode, opener=_open_ordinary)


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, "" if it is not an ordinary file. Raises OSError when it cannot be read."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content(path: str | os.PathLike[str], *, at_most: int) -> bytes | None:
    """The bytes of an ordinary file; None if it is another thing, unreadable or longer than `at_most`."""
    try:
        with open_regular_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            return file.read(size) if size <= at_most else None
    except OSError:
        return None


def _open_ordinary(path: str, flags: int) -> int:
    if regular_file_stat(path) is None:  # opening a device may do something already
        raise OSError(errno.EINVAL, "not an ordinary file", path)
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not an ordinary file", path)


def expand_path(path: str | Path) -> Path:
    """The path with `~` expanded. Raises ValueError, naming it, for one that the system cannot look up."""
    try:
        expanded = Path(path).expanduser()
        os.lstat(expanded)
    except (FileNotFoundError, NotADirectoryError):
        return expanded
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"The path “{path}” cannot be used ({reason}); check it, or write it out in full") from error
    return expanded


def parse_pasted_path(text: str) -> str:
    """A path pasted from a file manager, unquoted. Raises ValueError for one of Windows on another system."""
    path = text.strip().strip("\"'").strip()
    if os.name != "nt" and re.match(r"[A-Za-z]:\\|\\\\", path):
        reason = "is a Windows path, but Loupe is not running on Windows"
        raise ValueError(f"“{path}” {reason}; use a path on this machine, or upload the photos")
    return path


def is_inside(path: Path, folder: Path) -> bool:
    """Whether `path`, which need not exist, is `folder` or below it, by any links, mounts or letter case."""
    real = Path(os.path.realpath(path))
    return folder.exists() and any(place.samefile(folder) for place in (real, *real.parents) if place.exists())


def file_name(title: str) -> str:
    """A product's title as a safe file name: letters and digits of any script, dash and underscore; never empty.

    At most 80 characters and NAME_BYTES bytes of UTF-8; never a name that Windows reserves for a device.
    """
    words = re.sub(r"[^\w-]+", "-", title).strip("-")[:80]
    name = words.encode()[:NAME_BYTES].decode(errors="ignore") or "part"
    return f"{name}_" if PureWindowsPath(name).is_reserved() else name
