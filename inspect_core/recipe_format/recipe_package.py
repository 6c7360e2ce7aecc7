"""What a recipe package may hold: names, sizes and digests of its files.

A package is a folder or a zip of it. All checks here come before any value is trusted: names against a list, sizes
against caps, links refused, digests by streaming. Shared by the line runner and the recipe file, so it needs NumPy
alone.
"""

import hashlib
import math
import operator
import re
import stat
import zipfile
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np

from inspect_core.recipe_format import fields
from inspect_core.recipe_format.arrays import BYTES, DTYPES, Header
from inspect_core.recipe_format.csv_text import rows_of
from inspect_core.runtime.json_text import from_json
from inspect_core.runtime.zip_directory import check_directory

RECIPE, ARRAYS, CALIBRATION, SUMS = "recipe.json", "arrays.safetensors", "calibration.csv", "SHA256SUMS"
MODEL, PARITY, EXPECTED = "model.onnx", "parity.csv", "golden/expected.csv"
TILES_TO_MAP = "tiles_to_map.onnx"
"""The second graph of a recipe with tiles, from the cells of all tiles to the map; `MODEL` then sees one tile."""
REVIEW = "review.onnx"
"""What sends a photo to review whatever its score; for programs that are not in Python."""
REQUIRED = (RECIPE, ARRAYS, CALIBRATION, SUMS)

MEGABYTE = 1 << 20
BYTE_CAPS = {
    RECIPE: 8 * MEGABYTE,
    ARRAYS: 2048 * MEGABYTE,
    CALIBRATION: 16 * MEGABYTE,
    SUMS: MEGABYTE,
    MODEL: 2048 * MEGABYTE,
    TILES_TO_MAP: 2048 * MEGABYTE,
    REVIEW: 64 * MEGABYTE,
    PARITY: 64 * MEGABYTE,
}
GOLDEN = re.compile(r"golden/(expected\.csv|[0-9]{2}\.(png|jpg|jpeg|bmp|tif|tiff|webp))")
GOLDEN_CAP = 64 * MEGABYTE
MAX_FILES = 200
MAX_RATIO = 200
MAX_HEADER = MEGABYTE


class RecipeError(ValueError):
    """A recipe that is refused: the message names it, says why, and what to do."""


@contextmanager
def recipe_errors(path: Path, subject: str) -> Generator[None]:
    """Any exception inside becomes a RecipeError: the name of the recipe, `subject` is wrong, the reason, a remedy.

    Any, since the content of an untrusted file passes through unpackers, parsers and solvers that promise nothing: a
    list of their errors would never be complete.
    """
    try:
        yield
    except RecipeError:
        raise
    except OSError as error:
        message = f"cannot be read ({error.strerror or error}); check disk and permissions"
        raise RecipeError(f"{path.name}: {message}") from error
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise RecipeError(
            f"{path.name}: {subject} ({reason}); copy it again from the source, or teach it again"
        ) from error


@dataclass(frozen=True)
class Package:
    """A recipe package whose names and sizes have been checked and whose digests have been compared.

    where: path as the user knows it; sizes: bytes of every file by name; sums: SHA-256 of every file but SHA256SUMS;
    header: type and shape of every array by name; digest: identifies the recipe (`digest_of`).
    """

    where: Path
    sizes: Mapping[str, int]
    sums: Mapping[str, str]
    header: Header
    digest: str

    @property
    def release(self) -> str:
        """SHA-256 of the listing of all its files: identifies an export, graph, proof and golden images included."""
        return release_of(self.sums)

    def read(self, name: str) -> bytes:
        """All bytes of one file, compared once more with the digest that was verified."""
        with _opened(self.where) as source, source.open(name) as file:
            data = file.read(self.sizes[name] + 1)
        if hashlib.sha256(data).hexdigest() != self.sums[name]:
            raise RecipeError(f"{self.where.name}: {name} changed while it was being read; try again")
        return data

    def rows(self, name: str) -> Iterator[dict[str, str]]:
        """Yield the rows of a table as `rows_of`. Raises ValueError for what is no text in UTF-8."""
        return rows_of(self.read(name).decode("utf-8"))

    def arrays(self, parts: Collection[str] | None = None) -> dict[str, np.ndarray]:
        """The arrays by name: those of these parts ("product_check"), or all."""
        data = self.read(ARRAYS)
        start = 8 + int.from_bytes(data[:8], "little")
        entries = from_json(data[8:start])
        arrays = {}
        for name, (kind, shape) in self.header.items():
            if parts is None or name.split(".")[0] in parts:
                first = start + entries[name]["data_offsets"][0]
                arrays[name] = np.frombuffer(data, DTYPES[kind], math.prod(shape), first).reshape(shape).copy()
        return arrays


def check(path: Path) -> Package:
    """The package at `path`, a folder or a .zip, after every check that needs no trust in its content.

    Raises RecipeError for a missing, extra, linked, escaping, oversized or over-compressed entry, for an array file
    whose header does not fit it, and for a digest that differs.
    """
    path = Path(path)
    with _opened(path) as source:
        sizes = _sizes(source, path.name)
        if missing := [name for name in REQUIRED if name not in sizes]:
            raise RecipeError(
                f"{path.name}: {missing[0]} is missing; the recipe is incomplete, copy it again from the source"
            )
        with source.open(SUMS) as file:
            sums = _parse_sums(file.read(sizes[SUMS] + 1), path)
        present = set(sizes) - {SUMS}
        if odd := sorted(set(sums) ^ present):
            reason = "is not listed in" if odd[0] in present else "is listed but missing beside"
            raise RecipeError(
                f"{path.name}: {odd[0]} {reason} {SUMS}; the recipe was changed, copy it again from the source"
            )
        with source.open(ARRAYS) as file:
            header = _read_array_header(file, sizes[ARRAYS], path)
        for name, expected in sums.items():
            with source.open(name) as file:
                if _stream_digest(file, sizes[name], path, name) != expected:
                    raise RecipeError(f"{path.name}: {name} does not match its digest; the file is damaged or changed")
    return Package(path, sizes, sums, header, digest_of(sums))


def is_exported(path: Path) -> bool:
    """Whether a package holds a graph for the line; False also for anything that is not a package."""
    try:
        with _opened(Path(path)) as source:
            return MODEL in _sizes(source, Path(path).name)
    except RecipeError:
        return False


def read_document(package: Package, detectors: Mapping[str, Mapping[str, fields.FieldRule]] | None) -> dict:
    """recipe.json as a dictionary of checked fields. detectors: as for `fields.check_document`."""
    with recipe_errors(package.where, f"{RECIPE} is not valid JSON"):
        document = from_json(package.read(RECIPE), constant=_refuse_constant)
    path = package.where.name
    if not isinstance(document, dict):
        raise RecipeError(f"{path}: {RECIPE} is not a table of fields; copy the recipe again from the source")
    version = document.get("schema")
    if type(version) is not int or version != fields.SCHEMA:
        remedy = "teach again, or open it with the version that wrote it"
        raise RecipeError(f"{path}: schema version is {version!r:.20}, this Loupe reads {fields.SCHEMA} only; {remedy}")
    with recipe_errors(package.where, "a field is damaged"):
        fields.check_document(document, detectors)
    return document


def listing_of(sums: Mapping[str, str]) -> bytes:
    """The SHA256SUMS file, in the form that sha256sum --check reads."""
    return "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode()


def digest_of(sums: Mapping[str, str]) -> str:
    """The digest that an export keeps: SHA-256 of the listing of the files that every recipe has."""
    return hashlib.sha256(listing_of({name: sums[name] for name in REQUIRED if name != SUMS})).hexdigest()


def release_of(sums: Mapping[str, str]) -> str:
    """SHA-256 of the listing of all files, from the SHA-256 of each: what an approval of an export names."""
    return hashlib.sha256(listing_of(sums)).hexdigest()


class _Folder:
    def __init__(self, root: Path) -> None:
        self.root = root

    def entries(self) -> Iterator[tuple[str, int]]:
        for path in self.root.rglob("*"):
            name = path.relative_to(self.root).as_posix()
            if path.is_symlink():
                raise RecipeError(f"{self.root.name}: {name} is a link; a recipe may contain only files")
            if path.is_dir():
                if name != "golden":
                    raise RecipeError(f"{self.root.name}: folder {name} does not belong in a recipe; remove it")
                continue
            if not path.is_file():
                raise RecipeError(f"{self.root.name}: {name} is not a regular file; a recipe may contain only files")
            yield name, path.stat().st_size

    def open(self, name: str) -> IO[bytes]:
        return (self.root / name).open("rb")


class _Zip:
    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self.archive = archive
        self.open = archive.open

    def entries(self) -> Iterator[tuple[str, int]]:
        names_so_far: set[str] = set()
        for entry in self.archive.infolist():
            path = f"{self.path.name}: {entry.filename}"
            if entry.filename in names_so_far:
                raise RecipeError(f"{path} appears twice; copy the recipe again from the source")
            if stat.S_ISLNK(entry.external_attr >> 16):
                raise RecipeError(f"{path} is a link; a recipe may contain only files")
            if entry.flag_bits & 1:
                raise RecipeError(f"{path} is encrypted; save the recipe without a password")
            if entry.file_size > MAX_RATIO * max(entry.compress_size, 1):
                raise RecipeError(f"{path} expands more than {MAX_RATIO} times when read; refused")
            names_so_far.add(entry.filename)
            yield entry.filename, entry.file_size


@contextmanager
def _opened(path: Path) -> Generator[_Folder | _Zip]:
    if not path.exists():
        raise RecipeError(f"{path.name}: there is no recipe at {path}; check the path")
    if path.is_dir():
        with recipe_errors(path, "not a recipe folder"):
            yield _Folder(path)
    elif path.is_file():
        with recipe_errors(path, "not a complete recipe zip: truncated, or not a zip"):
            check_directory(path)
            with zipfile.ZipFile(path) as archive:
                yield _Zip(path, archive)
    else:  # a pipe would keep a reader waiting
        raise RecipeError(f"{path.name}: it is neither a folder nor a file; name a recipe")


def _sizes(source: _Folder | _Zip, recipe_path: str) -> dict[str, int]:
    """Bytes of every file by name, each within its cap."""
    sizes: dict[str, int] = {}
    for name, size in source.entries():
        path, sizes[name] = PurePosixPath(name), size
        if "\\" in name or "\0" in name or path.is_absolute() or ".." in path.parts or ":" in name:
            raise RecipeError(f"{recipe_path}: the path {name!r} points outside the recipe; refused")
        cap = BYTE_CAPS.get(name, GOLDEN_CAP if GOLDEN.fullmatch(name) else None)
        if cap is None:
            raise RecipeError(
                f"{recipe_path}: {name!r} does not belong in a recipe; remove it or copy the recipe again"
            )
        if size > cap:
            larger, most = size / MEGABYTE, cap / MEGABYTE
            raise RecipeError(f"{recipe_path}: {name} is {larger:.0f} MB, more than the {most:.0f} MB allowed")
        if len(sizes) > MAX_FILES:
            raise RecipeError(f"{recipe_path}: more than {MAX_FILES} files; this is not a recipe")
    return sizes


def _parse_sums(listing: bytes, path: Path) -> dict[str, str]:
    sums: dict[str, str] = {}
    for line in listing.decode("utf-8", "replace").splitlines():
        match = re.fullmatch(r"([0-9a-f]{64})  (\S.*)", line)
        if not match or match[2] in sums:
            raise RecipeError(f"{path.name}: {SUMS} has an unreadable line; copy the recipe again from the source")
        sums[match[2]] = match[1]
    return sums


def _stream_digest(file: IO[bytes], size: int, path: Path, name: str) -> str:
    digest = hashlib.sha256()
    byte_count = 0
    while chunk := file.read(MEGABYTE):
        byte_count += len(chunk)
        if byte_count > size:
            raise RecipeError(f"{path.name}: {name} is larger than declared; refused")
        digest.update(chunk)
    return digest.hexdigest()


def _read_array_header(file: IO[bytes], size: int, path: Path) -> Header:
    """Type and shape of every array, once they are known to fill the file. Raises RecipeError when they do not.

    safetensors has a reader, but it takes a file of its own or all bytes in memory, where this reads a stream from a
    zip, on PCs without safetensors, and refuses a header before anything of its sizes is allocated.
    """
    prefix = file.read(8)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < 8 or length > min(MAX_HEADER, size - 8):
        raise RecipeError(f"{path.name}: the header of {ARRAYS} says {length} bytes, which is impossible; refused")
    header = {}
    spans = []
    with recipe_errors(path, f"{ARRAYS} is damaged"):
        for name, entry in from_json(file.read(length)).items():
            if name == "__metadata__":
                continue
            start, end = entry["data_offsets"]
            shape = tuple(map(operator.index, entry["shape"]))
            if min(shape, default=0) < 0 or end - start != math.prod(shape) * BYTES[entry["dtype"]]:
                raise ValueError(f"the size of {name} does not match its shape")
            header[name] = entry["dtype"], shape
            spans.append((start, end))
        spans = [(0, 0), *sorted(spans), (size - 8 - length, 0)]
        if any(start != end for (_, end), (start, _) in pairwise(spans)):
            raise ValueError("the arrays do not fill the file")
    return header


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number")
