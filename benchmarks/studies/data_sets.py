"""Which sets the studies know, and whether a folder holds them as they were measured:
python -m benchmarks.studies.data_sets [FOLDER]

Nothing is downloaded. The sets stand in data.toml.
"""

import argparse
import hashlib
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared/data"


@dataclass(frozen=True)
class StudySet:
    """A set, with the fields that data.toml explains; sha256 "" where it differs from one making to the next."""

    path: str
    source: str
    licence: str
    get: str
    cut: str
    sha256: str = ""
    files: Mapping[str, int] = field(default_factory=dict)

    def is_in(self, folder: Path) -> bool:
        """Whether what a study looks for is there."""
        return (folder / self.path).exists()

    def state(self, folder: Path) -> str:
        """Whether the folder holds it as it was measured, in words."""
        if not self.is_in(folder):
            return f"not there: {self.get}"
        below = folder / Path(self.path).parts[0]
        paths = sorted(path for path in below.rglob("*") if path.is_file())
        counts = Counter(path.relative_to(below).parent.as_posix() for path in paths)
        if self.files and dict(counts) != dict(self.files):
            name = min(name for name in {*counts, *self.files} if counts[name] != self.files.get(name, 0))
            return f"not as measured: {name} holds {counts[name]} files, not {self.files.get(name, 0)}"
        if self.sha256 and digest(below, paths) != self.sha256:
            return "not as measured: its files have the names and numbers, and other contents"
        return "as measured" if self.sha256 else "there; it is made anew for everybody, so its files are not compared"


def known() -> dict[str, StudySet]:
    """The sets of data.toml by name."""
    table = tomllib.loads(Path(__file__).with_name("data.toml").read_text(encoding="utf-8"))
    return {name: StudySet(**values) for name, values in table.items()}


def digest(folder: Path, paths: list[Path]) -> str:
    """SHA-256 over the names of files below a folder and the SHA-256 of each."""
    of_all = hashlib.sha256()
    for path in paths:
        of_file = hashlib.sha256(path.read_bytes()).hexdigest()
        of_all.update(f"{path.relative_to(folder).as_posix()} {of_file}\n".encode())
    return of_all.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=SHARED, help="where the sets lie")
    folder = parser.parse_args().folder
    states = {name: known_set.state(folder) for name, known_set in known().items()}
    for name, state in states.items():
        print(f"{name}: {state}")
    sys.exit(any(state.startswith("not as") for state in states.values()))


if __name__ == "__main__":
    main()
