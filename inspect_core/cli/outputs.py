"""The files that the command line writes beside recipes: tables, figures, maps. None replaces what Loupe did not make.

A table or a file of figures is Loupe's when it begins as one. A folder of maps keeps a list, `.loupe-written`, of the
SHA-256 and the name of every file that Loupe put there; a file that is not on it, or was changed since, stays.
"""

import csv
import hashlib
import io
import json
import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath

import numpy as np

from inspect_core.images.listing import is_image
from inspect_core.images.samples import shown
from inspect_core.line.spreadsheet import cell
from inspect_core.plots import heatmap
from inspect_core.recipe import Recipe
from inspect_core.records.place import PlaceError, check_folder
from inspect_core.runtime.unfinished import replacing
from inspect_core.verdict import UNKNOWN_TYPE, Verdict

CSV_COLUMNS = (
    "name",
    "digest",
    "score",
    "verdict",
    "reason",
    "regions",
    "largest_region_pixels",
    "limit",
    "guard",
    "recipe",
    "kind",
    "kind_probability",
    "milliseconds",
)
WRITTEN = ".loupe-written"
NAME_BYTES = 200  # of an output's name; file systems take 255, with what is added to it
_TABLE_BEGINS = ",".join(CSV_COLUMNS[:4]).encode()
_FIGURES_BEGIN = b'[\n {\n  "live": '
_WRITTEN_LINE = re.compile(r"[0-9a-f]{64}  \S.*")


def write_table(path: Path, rows: Iterable[Sequence[str | float]]) -> None:
    """Write the verdicts as CSV in UTF-8, a row a part in the order of CSV_COLUMNS.

    Each value as `cell` gives it. Raises PlaceError as `check_table` does, OSError when the disk is full or not
    writable.
    """
    check_table(path)
    with replacing(path) as new, new.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(CSV_COLUMNS)
        writer.writerows([cell(value) for value in row] for row in rows)


def table_row(name: str, digest: str, verdict: Verdict, recipe: Recipe, *, seconds: float) -> list[str | float]:
    """One row of the table. No defect type is named for an accepted or a stopped part (see `assemble`)."""
    named = verdict.kind or (UNKNOWN_TYPE if verdict.of_unknown_type else "", "")
    largest = max((region.area for region in verdict.regions), default=0)
    return [
        name, digest, verdict.score, verdict.verdict, verdict.reason or "", len(verdict.regions), largest,
        recipe.limits.reject, verdict.guard or "", recipe.digest or "", *named, round(1000 * seconds, 1),
    ]  # fmt: skip


def write_figures(path: Path, figures: list[dict]) -> None:
    """Write rows of figures, of which each has "live" as its first field, as JSON. Raises as `write_table` does."""
    check_figures(path)
    write_text(path, json.dumps(figures, indent=1))


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8 where nothing stands in the way. Raises OSError when the disk is full or not writable."""
    with replacing(path) as new:
        new.write_text(text, encoding="utf-8", newline="")


def check_table(path: Path) -> None:
    """Raise PlaceError, naming it, when something stands at `path` that does not begin as a table of verdicts does."""
    check_own(path, _TABLE_BEGINS, "a table of verdicts")


def check_figures(path: Path) -> None:
    """Raise PlaceError, naming it, when something stands at `path` that does not begin as figures do."""
    check_own(path, _FIGURES_BEGIN, "a file of figures")


class Maps:
    """A folder for the heatmap (PNG) and the raw map (.npy, float32 at the recipe's input size) of every photo.

    Nothing is written outside it, and nothing in it is replaced but files on its list. Every method raises PlaceError
    for a file that is in the way or a link that leads elsewhere, and OSError when the disk is full or not writable.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        check_folder(self.folder / WRITTEN)
        self._written = self._read_list()
        self._stems: dict[str, str] = {}

    def holds(self, path: Path) -> bool:
        """Whether `path` is a file that Loupe wrote into this folder: no photo of a part."""
        real = Path(os.path.realpath(path))
        return real.is_relative_to(self.folder) and self._is_own(real.relative_to(self.folder).as_posix())

    def expect(self, names: Sequence[str]) -> None:
        """Give every photo, by its unique name from `photos_in`, files of its own, and check that all can be written.

        They stand below the folder as the name says, without its extension unless two would then be one.
        """
        self._stems = dict(zip(names, output_names(names), strict=True))
        for stem in self._stems.values():
            self._check(f"{stem}.png")
            self._check(f"{stem}.npy")

    def write(self, name: str, pixels: np.ndarray, pixel_map: np.ndarray, limit: float) -> None:
        """Write both files of one expected photo: (H, W, 3) uint8, its map, and the limit where colour begins."""
        image, array = io.BytesIO(), io.BytesIO()
        heatmap.overlay(pixels, pixel_map, limit).save(image, "PNG")
        np.save(array, pixel_map)
        self._put(f"{self._stems[name]}.png", image.getvalue())
        self._put(f"{self._stems[name]}.npy", array.getvalue())

    def _put(self, name: str, content: bytes) -> None:
        self._check(name)
        line = _line(name, content)
        if line not in self._written:  # before the file: one killed between them leaves nothing that is not on the list
            self._written.add(line)
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / WRITTEN).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        with replacing(self.folder / name) as new:
            new.write_bytes(content)

    def _check(self, name: str) -> None:
        path = self.folder / name
        if Path(os.path.realpath(path.parent)) != path.parent:
            raise PlaceError(f"{path} leads through a link; remove the link, or choose another folder for the maps")
        check_folder(path)
        if os.path.lexists(path) and not self._is_own(name):
            raise PlaceError(
                f"{path} is already there and is not as Loupe wrote it, so it is not replaced; choose another folder "
                "for the maps, or remove it yourself"
            )

    def _is_own(self, name: str) -> bool:
        path = self.folder / name
        return _is_plain(path) and _line(name, path.read_bytes()) in self._written

    def _read_list(self) -> set[str]:
        path = self.folder / WRITTEN
        if not os.path.lexists(path):
            return set()
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if _is_plain(path) else [""]
        if lines and not _WRITTEN_LINE.fullmatch(lines[0]):
            raise PlaceError(f"{path} is not a list that Loupe wrote; choose another folder for the maps")
        return set(lines)


def output_names(names: Sequence[str]) -> list[str]:
    """A relative POSIX path without extension for every name, no two alike to any file system.

    A name keeps its extension when it would be another's without it, and gets a number where letter case, the form of
    an accent, or dots and spaces at an end do not tell it apart. `..`, a drive and a root are left out.
    """
    whole = [PurePath(*map(_short, _parts(name))) for name in names]
    stems = [path.with_suffix("") if is_image(path.name) else path for path in whole]
    times = Counter(map(_key, stems))
    taken = {_key(parent) for path in whole for parent in path.parents}
    found = []
    for path, stem in zip(whole, stems, strict=True):
        wanted = free = stem if times[_key(stem)] == 1 else path
        number = 1
        while (files := {f"{_key(free)}.png", f"{_key(free)}.npy"}) & taken:
            number += 1
            free = wanted.with_name(f"{wanted.name}-{number}")
        taken |= files
        found.append(free.as_posix())
    return found


def _parts(name: str) -> list[str]:
    path = PurePath(name)
    return [part for part in path.parts[bool(path.anchor) :] if part != ".."]


def _short(part: str) -> str:
    content = os.fsencode(part)
    if len(content) <= NAME_BYTES:
        return part
    return content[: NAME_BYTES // 2].decode(errors="ignore") + "-" + hashlib.sha256(content).hexdigest()[:16]


def _key(path: PurePath) -> str:
    return "/".join(unicodedata.normalize("NFKC", part).casefold().rstrip(". ") for part in path.parts)


def _line(name: str, content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {shown(name)}"


def check_own(path: Path, begins: bytes, what: str) -> None:
    """Raise PlaceError, naming it, when something stands at `path` that does not begin as `what` of Loupe's does."""
    check_folder(path)
    if not os.path.lexists(path):
        return
    if _is_plain(path):
        with path.open("rb") as file:
            if file.read(len(begins)) == begins:
                return
    raise PlaceError(
        f"{path} is already there and is not {what} that Loupe wrote, so it is not replaced; choose another name, or "
        "remove it yourself"
    )


def _is_plain(path: Path) -> bool:
    """Whether it is a file itself: no link to one, no folder, pipe or device."""
    return os.path.lexists(path) and stat.S_ISREG(os.lstat(path).st_mode)
