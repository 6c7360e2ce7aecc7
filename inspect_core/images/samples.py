"""What was found in a folder: the images, what they are, and what was left out and why."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

Side = Literal["train", "test"]
GOOD = "good"


class ScanError(ValueError):
    """A folder or archive that cannot be used at all; the message says why and what to do, fit to be shown."""

    def __init__(self, message: str):
        super().__init__(shown(message))


@dataclass(frozen=True)
class Sample:
    """One image on disk.

    name: unique POSIX path below `Samples.root`. kind: `GOOD` or the defect type. size: (height, width) in pixels,
    upright. mask: a file of the same size marking the defect. part_of: the side a layout with train/ and test/ puts it
    on. group: the folders between its kind and the file, such as a lot.
    """

    path: Path
    name: str
    kind: str
    size: tuple[int, int]
    mask: Path | None = None
    part_of: Side | None = None
    group: str | None = None

    @property
    def root(self) -> Path:
        """The folder that its name starts from."""
        return self.path.parents[self.name.count("/")]


class Skipped(NamedTuple):
    """A file left out: its POSIX path below `Samples.root`, why, with the remedy, and what it was taken for."""

    name: str
    reason: str
    role: Literal["image", "mask", "other"]


class Row(NamedTuple):
    """A line of the pre-flight table."""

    what: str
    count: int
    remark: str


@dataclass(frozen=True)
class Samples:
    """The good images and the defects of a folder, each sorted by name; warnings are whole sentences with a remedy."""

    root: Path
    good: tuple[Sample, ...]
    defects: tuple[Sample, ...]
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()

    def table(self) -> list[Row]:
        """Return the pre-flight table: good, each defect type, masks, and what was skipped by reason."""
        rows = [Row(GOOD, len(self.good), self._sides())]
        masks = Counter(sample.kind for sample in self.defects if sample.mask)
        for kind, count in sorted(Counter(sample.kind for sample in self.defects).items()):
            rows.append(Row(kind, count, f"{masks[kind]} with a mask"))
        if self.defects:
            rows.append(Row("masks", masks.total(), f"of {len(self.defects)} defects"))
        for reason, count in Counter(skipped.reason for skipped in self.skipped).most_common():
            names = [skipped.name for skipped in self.skipped if skipped.reason == reason]
            rows.append(Row("skipped", count, f"{examples(names)}: {reason}"))
        return rows

    def summary(self) -> str:
        """Return the table's totals as one line."""
        defect_types = len({sample.kind for sample in self.defects})
        masks = sum(sample.mask is not None for sample in self.defects)
        return (
            f"{len(self.good)} good, {len(self.defects)} defects of {counted(defect_types, 'type')}, "
            f"{counted(masks, 'mask')}, {len(self.skipped)} skipped"
        )

    def _sides(self) -> str:
        sides = Counter(sample.part_of for sample in self.good if sample.part_of)
        return ", ".join(f"{sides[side]} in {side}/" for side in ("train", "test") if side in sides)


def shown(text: str) -> str:
    """Return text on one line: escapes stand for line ends, terminal controls and bytes that are no UTF-8."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


def counted(count: int, noun: str) -> str:
    """Return "1 image", "2 images"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def examples(names: list[str], *, most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
