"""Which images belong together: one lot, or one part photographed several times.

Images of one part or lot must not be split between fitting and judging, or the results look better than they will be.
The folders and file names are searched, in this order, for: lots (a folder or a word such as lot, or a date); views of
one part (a word such as cam or view, or a short ending: 012_a, 012_b); numbers that come in bursts. The first that
leaves at least `FEWEST_GROUPS` groups is proposed. Consecutive numbers alone never group anything.
"""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inspect_core.images.bursts import burst_gap
from inspect_core.images.layout import LOT_WORDS, VIEW_WORDS
from inspect_core.images.samples import Sample, Samples, counted

FEWEST_GROUPS = 3  # one each to fit, calibrate and judge
MOST_VIEWS = 20  # more images than this in one group are no views of one part

_VALUE = r"[\W_]*(\d+|[a-z](?![a-z]))"
_LOT = re.compile(rf"(?<![a-z])({'|'.join(LOT_WORDS)}){_VALUE}", re.IGNORECASE)
_DATE = re.compile(r"(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?=\d{4,6}(?!\d)|\D|$)")
_VIEW = re.compile(rf"[\W_]*(?<![a-z])({'|'.join(sorted(VIEW_WORDS, key=len, reverse=True))}){_VALUE}", re.IGNORECASE)
_ENDING = re.compile(r"^(.*\d.*)[\W_](\d{1,2}|[a-z])$|^(.*\d)([a-z])$", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"(\d+)(?=\D*$)")


@dataclass(frozen=True)
class Grouping(Mapping[str, str]):
    """The group of every good image by its name, and one sentence that says how it was found."""

    labels: dict[str, str] = field(repr=False)
    reason: str

    def __getitem__(self, name: str) -> str:
        return self.labels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(set(self.labels.values()))


def ungrouped(samples: Samples) -> Grouping:
    """Return the grouping in which every good image stands alone."""
    return Grouping({sample.name: sample.name for sample in samples.good}, "Every image counts as a part of its own.")


def propose_groups(samples: Samples) -> Grouping:
    """Find groups among the good images from folders and file names; `ungrouped` when nothing points to any.

    The groups of train/ and test/ are kept apart: the author of the folders made that split.
    """
    rules: tuple[tuple[Callable[[Sequence[Sample]], dict[str, str]], str, int | None], ...] = (
        (_lots_by_folder, "Folders look like lots", None),
        (_lots_by_name, "File names give lots or days", None),
        (_views, "File names give several views of one part", MOST_VIEWS),
        (_endings, "File names differ only in their ending", MOST_VIEWS),
    )
    for find, why, most in rules:
        labels = find(samples.good)
        if _is_useful(labels, len(samples.good), most):
            return _grouping(samples.good, labels, why)
    labels, gap = _bursts(samples.good)
    if _is_useful(labels, len(samples.good), MOST_VIEWS):
        return _grouping(
            samples.good, labels, f"Numbers at most {gap} apart look like one part photographed several times"
        )
    alone = ungrouped(samples)
    lots = set((_lots_by_folder(samples.good) or _lots_by_name(samples.good)).values())
    if 1 < len(lots) < FEWEST_GROUPS:
        warning = "There are two lots, too few to set one aside to judge: on a new lot, expect somewhat worse results."
        return Grouping(alone.labels, f"{alone.reason} {warning}")
    return alone


def _is_useful(labels: Mapping[str, str], images: int, most: int | None) -> bool:
    """Whether the groups leave something to split, and contain at least half of the images."""
    sizes = Counter(labels.values())
    alone = images - len(labels)
    together = sum(size for size in sizes.values() if size > 1)
    return (
        len(sizes) + alone >= FEWEST_GROUPS
        and 2 * together >= images
        and max(sizes.values()) < images
        and (most is None or max(sizes.values()) <= most)
    )


def _grouping(good: Sequence[Sample], labels: Mapping[str, str], why: str) -> Grouping:
    full = {sample.name: f"{_side(sample)}{labels.get(sample.name, sample.name)}" for sample in good}
    groups = counted(len(set(full.values())), "group")
    return Grouping(full, f"{why}: {groups} among {len(full)} good images. Each group stays on one side of the split.")


def _lots_by_folder(good: Sequence[Sample]) -> dict[str, str]:
    labels = {}
    for sample in good:
        lot = [folder for folder in (sample.group or "").split("/") if folder and not _VIEW.fullmatch(folder)]
        if lot:
            labels[sample.name] = "/".join(lot)
    return labels


def _lots_by_name(good: Sequence[Sample]) -> dict[str, str]:
    labels = {}
    for sample in good:
        if lot := _LOT.search(sample.path.stem):
            labels[sample.name] = f"{lot[1].casefold()} {lot[2].casefold()}"
        elif day := _DATE.search(sample.path.stem):
            labels[sample.name] = "-".join(day.groups())
    return labels


def _views(good: Sequence[Sample]) -> dict[str, str]:
    """Group by the folder and the name without the words that denote a view."""
    labels = {}
    for sample in good:
        folder, stem = _VIEW.sub("", sample.group or ""), _VIEW.sub("", sample.path.stem)
        if stem and (folder, stem) != (sample.group or "", sample.path.stem):
            labels[sample.name] = f"{folder}/{stem}"
    return labels


def _endings(good: Sequence[Sample]) -> dict[str, str]:
    labels = {}
    for sample in good:
        if match := _ENDING.match(sample.path.stem):
            labels[sample.name] = f"{sample.group or ''}/{match[1] or match[3]}"
    return labels


def _bursts(good: Sequence[Sample]) -> tuple[dict[str, str], int]:
    """Group by the last number in the name, sorted over all names that differ only in their digits."""
    series = defaultdict(list)
    for sample in good:
        if match := _LAST_NUMBER.search(sample.path.stem):
            pattern = re.sub(r"\d+", "#", sample.path.stem)
            series[_side(sample), sample.group or "", pattern].append((int(match[1]), sample.name))
    gaps = []
    for members in series.values():
        members.sort()
        gaps += [after - before for (before, _), (after, _) in itertools.pairwise(members)]
    gap = burst_gap(gaps)
    if gap is None:
        return {}, 0
    labels = {}
    for (_, folder, pattern), members in series.items():
        previous, first = None, None
        for number, name in members:
            if previous is None or number - previous > gap:
                first = number
            previous = number
            labels[name] = f"{folder}/{pattern} from {first}"
    return labels, gap


def _side(sample: Sample) -> str:
    return f"{sample.part_of}/" if sample.part_of else ""
