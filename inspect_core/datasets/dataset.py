"""What was found in a folder: the images, what they are, and what was left out and why."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, Self

from inspect_core.images.depth import Depth, ValueStatistics
from inspect_core.runtime.wording import escape_line, join_first_names, pluralise, shorten

Side = Literal["train", "test"]
SUBSETS = TRAIN, CALIBRATION, VALIDATION, TEST = "train", "calibration", "validation", "test"
"""What a photo is used for: to fit, to set limits, to choose settings, to report figures."""
GOOD = "good"
UNSAID = "nothing said"
"""The source of a label that no name, list or mask gives."""


class ScanError(ValueError):
    """A folder or archive that cannot be used at all; the message says why and what to do, safe for display."""

    def __init__(self, message: str):
        super().__init__(shorten(escape_line(message)))


@dataclass(frozen=True)
class PhotoFile:
    """One image on disk.

    name: unique POSIX path below `Dataset.root`. label: `GOOD` or the defect type. size: (height, width) in pixels,
    upright. mask: a file of the same size marking the defect. split_side: its side in a layout with train/ and test/.
    group: the folders between its label and the file, such as a lot. depth: that of the good photos it was found with,
    at which it is read; None takes any. source: what its label was read from, "" where nothing says it.
    """

    path: Path
    name: str
    label: str
    size: tuple[int, int]
    mask: Path | None = None
    split_side: Side | None = None
    group: str | None = None
    depth: Depth | None = None
    source: str = ""

    @property
    def root(self) -> Path:
        """The folder that its name starts from."""
        return self.path.parents[self.name.count("/")]


class SkippedFile(NamedTuple):
    """A file left out: its POSIX path below `Dataset.root`, why, with the remedy, and what it was taken for."""

    name: str
    reason: str
    role: Literal["photo", "mask", "other"]


class ScanSummaryRow(NamedTuple):
    """A line of the pre-flight table."""

    what: str
    count: int
    remark: str


class LabelSource(NamedTuple):
    """A line of the table of labels: where they were read, and how many parts they call good and defective."""

    source: str
    good: int
    defective: int


@dataclass(frozen=True)
class Dataset:
    """The good images and the defects of a folder, each sorted by name; warnings are whole sentences with a remedy.

    values: those of the good 16-bit photos, None when they have 8 bits; left_out: names of good images that the user
    does not want to teach; copies: names of good images that are nearly the same, set by set.
    """

    root: Path
    good: tuple[PhotoFile, ...]
    defects: tuple[PhotoFile, ...]
    skipped: tuple[SkippedFile, ...] = ()
    warnings: tuple[str, ...] = ()
    values: ValueStatistics | None = None
    left_out: tuple[str, ...] = ()
    copies: tuple[tuple[str, ...], ...] = ()

    @property
    def depth(self) -> Depth | None:
        """Bit depth at which the photos are read."""
        return self.good[0].depth if self.good else None

    @property
    def is_narrow(self) -> bool:
        """Whether the good photos use so few values of their depth that a learned window is needed to see them."""
        return self.depth is not None and self.values is not None and self.depth.is_narrow(self.values)

    def with_depth(self, *, bits: int | None = None, learned: bool | None = None) -> Self:
        """The same photos, read with this number of bits (None: as found) and over a learned window, or over the
        full range (None: where they are not narrow).

        Raises ValueError for photos of 8 bits, which have nothing to choose, and for fewer bits than were found.
        """
        depth = self.depth
        learned = self.is_narrow if learned is None else learned
        if bits is None and not learned:
            return self
        if depth is None or self.values is None:
            raise ValueError("the photos have 8 bits; a depth and a window are chosen for photos of 16 bits only")
        if bits is not None:
            depth = depth.with_bits(bits, self.values)
        if learned:
            depth = depth.with_learned_window(self.values)
        good, defects = (tuple(replace(photo, depth=depth) for photo in photos) for photos in (self.good, self.defects))
        return replace(self, good=good, defects=defects)

    def without(self, names: Collection[str]) -> Self:
        """These without the good images of these names, neither taught nor judged; files are unchanged.

        Raises ValueError for a name that is not that of a good image, and when none is left to learn from.
        """
        unknown = sorted(set(names) - {sample.name for sample in self.good})
        if unknown:
            remedy = "no good photo has this name; use names relative to the folder"
            raise ValueError(f"cannot exclude {escape_line(unknown[0])}: {remedy}")
        good = tuple(sample for sample in self.good if sample.name not in names)
        if names and all(sample.split_side == "test" for sample in good):
            raise ValueError("no good photos would remain for training; exclude fewer")
        return replace(self, good=good, left_out=(*self.left_out, *sorted(names)))

    def sources(self) -> list[LabelSource]:
        """How many labels were read where, most first."""
        return label_sources((*self.good, *self.defects))

    def table(self) -> list[ScanSummaryRow]:
        """The pre-flight table: good, each defect type, masks, and what was skipped by reason."""
        sides = Counter(sample.split_side for sample in self.good if sample.split_side)
        apart = ", ".join(f"{sides[side]} in {side}/" for side in ("train", "test") if side in sides)
        rows = [ScanSummaryRow(GOOD, len(self.good), apart)]
        masks = Counter(sample.label for sample in self.defects if sample.mask)
        for defect_type, count in sorted(Counter(sample.label for sample in self.defects).items()):
            rows.append(ScanSummaryRow(defect_type, count, f"{masks[defect_type]} with a mask"))
        if self.defects:
            rows.append(ScanSummaryRow("masks", masks.total(), f"of {len(self.defects)} defects"))
        for reason, count in Counter(skipped.reason for skipped in self.skipped).most_common():
            names = [skipped.name for skipped in self.skipped if skipped.reason == reason]
            rows.append(ScanSummaryRow("skipped", count, f"{join_first_names(names)}: {reason}"))
        return rows

    def summary(self) -> str:
        """The table's totals as one line."""
        types = pluralise(len({sample.label for sample in self.defects}), "type")
        masks = pluralise(sum(sample.mask is not None for sample in self.defects), "mask")
        return f"{len(self.good)} good, {len(self.defects)} defects of {types}, {masks}, {len(self.skipped)} skipped"


def label_sources(photos: Iterable[PhotoFile]) -> list[LabelSource]:
    """How many labels of photos were read where, most first."""
    counts = Counter((photo.source or UNSAID, photo.label == GOOD) for photo in photos)
    sources = dict.fromkeys(source for (source, _), _ in counts.most_common())
    return [LabelSource(source, counts[source, True], counts[source, False]) for source in sources]
