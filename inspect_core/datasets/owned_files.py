"""What Loupe wrote into a folder: heatmaps and raw maps, which are not photos wherever they lie.

The folder keeps a list, `.loupe-written`, of the SHA-256 and the name of every file that Loupe put there, at any depth.
A file that is not on it, or was changed since, is the user's.
"""

import hashlib
import os
import re
from collections import defaultdict
from pathlib import Path

from inspect_core.runtime import workspace
from inspect_core.runtime.wording import escape_line

LIST = ".loupe-written"
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_MOST_BYTES = 1 << 28
LARGEST = 1 << 30  # bytes of a file that Loupe may have written: the heatmap of the largest photo takes less


class OwnedFiles:
    """The list of one folder, given with all links resolved; empty where there is none.

    Raises ValueError, naming it, for a file that is not such a list or cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._digests: dict[str, set[str]] = defaultdict(set)
        path = folder / LIST
        if not os.path.lexists(path):
            return
        content = workspace.content(path, at_most=_MOST_BYTES)
        lines = [""] if content is None else content.decode(errors="replace").splitlines()
        if lines and not _LINE.fullmatch(lines[0]):
            raise ValueError(f"{path} is not a list that Loupe wrote")
        for line in lines:
            if match := _LINE.fullmatch(line):
                self._digests[match[2]].add(match[1])

    def holds(self, path: Path) -> bool:
        """Whether the file at `path`, with all links in its folders resolved, is as Loupe wrote it."""
        if not self._digests or not path.is_relative_to(self.folder):
            return False
        known = self._digests.get(escape_line(path.relative_to(self.folder).as_posix()))
        facts = workspace.regular_file_stat(path)
        if not known or facts is None or facts.st_size > LARGEST:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() in known

    def add(self, name: str, content: bytes) -> None:
        """Note, before it is written, a file by its POSIX path below the folder, which is made if missing."""
        digest, name = hashlib.sha256(content).hexdigest(), escape_line(name)
        if digest not in self._digests[name]:
            self._digests[name].add(digest)
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / LIST).open("a", encoding="utf-8") as file:
                file.write(f"{digest}  {name}\n")


def owned_files_in(folder: Path) -> tuple[OwnedFiles, ...]:
    """The list of this folder, with all links resolved, if it is one that Loupe wrote and can be read."""
    if not os.path.lexists(folder / LIST):
        return ()
    try:
        return (OwnedFiles(folder),)
    except ValueError:
        return ()


def lists_around(folder: Path) -> tuple[OwnedFiles, ...]:
    """The lists of this folder, with all links resolved, and of those in which it lies."""
    return tuple(listed for place in (folder, *folder.parents) for listed in owned_files_in(place))
