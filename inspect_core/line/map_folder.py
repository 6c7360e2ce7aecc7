"""The folder of heatmaps and raw maps. A file not on its list (`datasets.owned_files`), or changed since, stays."""

import hashlib
import io
import os
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

import numpy as np

from inspect_core.datasets.listing import is_image
from inspect_core.datasets.owned_files import LIST, OwnedFiles
from inspect_core.images import heatmap
from inspect_core.images.png import png_of
from inspect_core.recipe_format.output_paths import OutputPathError, check_folder
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.verdict import Verdict

ENDINGS = (".png", ".npy")


def render_map_files(pixels: np.ndarray, verdict: Verdict, limit: float, endings: Sequence[str]) -> dict[str, bytes]:
    """A photo's files by ending: of (H, W, 3) uint8, its verdict and the limit where colour begins."""
    files = {}
    if ".png" in endings:
        overlay = heatmap.overlay(pixels, verdict.photo_map, limit, left_out=verdict.photo_uninspected)
        files[".png"] = png_of(overlay)
    if ".npy" in endings:
        raw = io.BytesIO()
        np.save(raw, verdict.photo_map)
        files[".npy"] = raw.getvalue()
    return files


class MapFolder:
    """A folder for the heatmap (.png) and the raw map (.npy, float32 at the recipe's input size) of every photo.

    endings: those of ENDINGS that are wanted.

    Nothing is written outside it, and only files on its list are replaced. Every method raises OutputPathError for a
    file that is in the way or a link that leads elsewhere, and OSError when the disk is full or not writable.
    """

    def __init__(self, folder: Path, endings: Sequence[str] = ENDINGS) -> None:
        self.endings = tuple(endings)
        self.folder = Path(os.path.realpath(folder))
        check_folder(self.folder / LIST)
        try:
            self._written = OwnedFiles(self.folder)
        except ValueError as error:
            raise OutputPathError(f"{error}; choose another folder for the maps") from error
        self._stems: dict[str, str] = {}

    def assign_file_names(self, names: Sequence[str]) -> None:
        """Assign every photo, by its unique name from `photos_in`, its own files, and check that all can be written.

        Their paths below the folder follow the name, without its extension unless two would then be the same.
        """
        self._stems = dict(zip(names, output_names(names), strict=True))
        for path in self.files()[1:]:
            self._check(path)

    def files(self) -> list[Path]:
        """Where the list and the files of the expected photos lie."""
        return [self.folder / LIST, *(path for name in self._stems for path in self._files(name))]

    def has(self, name: str) -> bool:
        """Whether the files of an expected photo are there; `assign_file_names` has refused those of others."""
        return all(path.exists() for path in self._files(name))

    def write(self, name: str, files: Mapping[str, bytes]) -> None:
        """Write the files of one expected photo."""
        for ending, content in files.items():
            file_name = f"{self._stems[name]}{ending}"
            self._check(self.folder / file_name)
            self._written.add(file_name, content)  # before the file, so that a kill in between leaves no unlisted file
            with atomic_replace(self.folder / file_name) as new:
                new.write_bytes(content)

    def _files(self, name: str) -> list[Path]:
        return [self.folder / f"{self._stems[name]}{ending}" for ending in self.endings]

    def _check(self, path: Path) -> None:
        if Path(os.path.realpath(path.parent)) != path.parent:
            raise OutputPathError(f"{path} leads through a link; remove it, or choose another folder for the maps")
        check_folder(path)
        if os.path.lexists(path) and not self._written.holds(path):
            raise OutputPathError(
                f"{path} already exists and is not the file Loupe wrote, so it is not replaced; choose another "
                "folder for the maps, or delete it yourself"
            )


def output_names(names: Sequence[str]) -> list[str]:
    """A relative POSIX path without extension for every name, no two alike to any file system.

    A name keeps its extension if it would equal another without it, and gets a number if it differs from another only
    in letter case, the encoding of an accent, or dots and spaces at an end. `..`, a drive and a root are left out.
    """
    paths = list(map(PurePath, names))
    parts = ([part for part in path.parts[bool(path.anchor) :] if part != ".."] for path in paths)
    whole = [PurePath(*map(_short, parts_of_name)) for parts_of_name in parts]
    stems = [path.with_suffix("") if is_image(path.name) else path for path in whole]
    times = Counter(map(_key, stems))
    used_names = {_key(parent) for path in whole for parent in path.parents}
    unique = []
    for path, stem in zip(whole, stems, strict=True):
        requested_name = free = stem if times[_key(stem)] == 1 else path
        number = 1
        while (files := {f"{_key(free)}.png", f"{_key(free)}.npy"}) & used_names:
            number += 1
            free = requested_name.with_name(f"{requested_name.name}-{number}")
        used_names |= files
        unique.append(free.as_posix())
    return unique


def _short(part: str) -> str:
    content = os.fsencode(part)
    if len(content) <= workspace.NAME_BYTES:
        return part
    return content[: workspace.NAME_BYTES // 2].decode(errors="ignore") + "-" + hashlib.sha256(content).hexdigest()[:16]


def _key(path: PurePath) -> str:
    return "/".join(unicodedata.normalize("NFKC", part).casefold().rstrip(". ") for part in path.parts)
