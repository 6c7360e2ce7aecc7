"""Which images belong together: one lot, or one part photographed several times.

Images of one part or lot must not be split between fitting and judging, or the results look better than they will be.
The folders and file names are searched, in this order, for: lots (a folder or a word such as lot, or a date); views of
one part (a word such as cam or view, or a short ending: 012_a, 012_b); numbers that come in bursts. The first that
leaves at least `MANY_GROUPS` groups, none of them large, is proposed. Consecutive numbers alone never group anything.
"""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from inspect_core.datasets.dataset import Dataset, PhotoFile
from inspect_core.datasets.layout import LOT_WORDS, VIEW_WORDS
from inspect_core.runtime.wording import pluralise

FEWEST_GROUPS = 3  # one each to train, calibrate and test
MANY_GROUPS = 10
LARGEST_SHARE = 0.2
"""Names in series may be kinds of parts: groups are used where there are many of them, and none holds more than this
share of the photos, so that no fold leaves a kind out.
"""
MOST_VIEWS = 20  # more images than this in one group are no views of one part
FEWEST_GAPS = 5
LEAST_CONTRAST = 10.0  # typical gap between bursts over typical gap within
_NARROWEST = 0.1  # standard deviation of a cluster of log gaps: equal gaps would make it 0
_ROUNDS = 200

_VALUE = r"[\W_]*(\d+|[a-z](?![a-z]))"
_LOT = re.compile(rf"(?<![a-z])({'|'.join(LOT_WORDS)}){_VALUE}", re.IGNORECASE)
_DATE = re.compile(r"(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?=\d{4,6}(?!\d)|\D|$)")
_VIEW = re.compile(rf"[\W_]*(?<![a-z])({'|'.join(sorted(VIEW_WORDS, key=len, reverse=True))}){_VALUE}", re.IGNORECASE)
_ENDING = re.compile(r"^(.*\d.*)[\W_](\d{1,2}|[a-z])$|^(.*\d)([a-z])$", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"(\d+)(?=\D*$)")


class Grouping(dict[str, str]):
    """The group of every good image by name, and how it was found; offered: another that the user may choose."""

    def __init__(self, labels: Mapping[str, str], reason: str, offered: "Grouping | None" = None) -> None:
        super().__init__(labels)
        self.reason, self.offered = reason, offered

    @property
    def count(self) -> int:
        """The number of groups."""
        return len(set(self.values()))


def ungrouped(samples: Dataset) -> Grouping:
    """The grouping in which every good image stands alone."""
    return Grouping({sample.name: sample.name for sample in samples.good}, "Each photo is treated as a separate part.")


def propose_groups(samples: Dataset, *, few: bool = False) -> Grouping:
    """Group the good images by folders and file names, near duplicates together; `ungrouped` where nothing says how.

    The groups of train/ and test/ are kept apart: the author of the folders made that split. few: also take groups that
    are few or large, which are else only offered.
    """
    grouping = _from_names(samples, few=few)
    side_of = {sample.name: _side(sample) for sample in samples.good}
    merged = dict(grouping)
    for copies in samples.copies:
        for side in {side_of[name] for name in copies if name in side_of}:
            labels = {merged[name] for name in copies if side_of.get(name) == side}
            merged = {name: min(labels) if label in labels else label for name, label in merged.items()}
    count = len(set(merged.values()))
    if count == grouping.count or count < max(FEWEST_GROUPS, grouping.count / 2):  # copies are the exception
        return grouping
    return Grouping(merged, f"{grouping.reason} Photos that are nearly the same stay together.", grouping.offered)


def _from_names(samples: Dataset, *, few: bool) -> Grouping:
    good = samples.good
    bursts, gap = _bursts(good)
    offered = None
    for labels, reason, most in (
        (_lots_by_folder(good), "Folders look like lots", len(good)),
        (_lots_by_name(good), "File names give lots or days", len(good)),
        (_views(good), "File names give several views of one part", MOST_VIEWS),
        (_endings(good), "File names differ only in their ending", MOST_VIEWS),
        (bursts, f"Numbers at most {gap} apart look like one part photographed several times", MOST_VIEWS),
    ):
        if not _is_useful(labels, len(good), most):
            continue
        grouping = _grouping(good, labels, reason)
        if few or (
            grouping.count >= MANY_GROUPS and max(Counter(labels.values()).values()) <= LARGEST_SHARE * len(good)
        ):
            return Grouping(grouping, grouping.reason, offered)
        offered = offered or grouping
    ungrouped_labels = ungrouped(samples)
    if offered is not None:
        reason = offered.reason.partition(":")[0]
        warning = (
            f"{reason}: {offered.count} groups, which stay together only if you say so; they may be kinds of parts."
        )
        return Grouping(ungrouped_labels, f"{ungrouped_labels.reason} {warning}", offered)
    lots = set((_lots_by_folder(good) or _lots_by_name(good)).values())
    if 1 < len(lots) < FEWEST_GROUPS:
        warning = "With only two lots, none can be reserved for testing: expect slightly worse results on a new lot."
        return Grouping(ungrouped_labels, f"{ungrouped_labels.reason} {warning}")
    return ungrouped_labels


def _is_useful(labels: Mapping[str, str], images: int, most: int) -> bool:
    """Whether the groups leave something to split, and contain at least half of the images."""
    sizes = list(Counter(labels.values()).values())
    together = sum(size for size in sizes if size > 1)
    enough = len(sizes) + images - len(labels) >= FEWEST_GROUPS and 2 * together >= images
    return enough and max(sizes) <= min(most, images - 1)


def _grouping(good: Sequence[PhotoFile], labels: Mapping[str, str], reason: str) -> Grouping:
    full = {sample.name: f"{_side(sample)}{labels.get(sample.name, sample.name)}" for sample in good}
    groups = pluralise(len(set(full.values())), "group")
    return Grouping(full, f"{reason}: {groups} among {len(full)} good photos. Each group stays within one set.")


def _lots_by_folder(good: Sequence[PhotoFile]) -> dict[str, str]:
    labels = {}
    for sample in good:
        if folders := [folder for folder in (sample.group or "").split("/") if folder and not _VIEW.fullmatch(folder)]:
            labels[sample.name] = "/".join(folders)
    return labels


def _lots_by_name(good: Sequence[PhotoFile]) -> dict[str, str]:
    labels = {}
    for sample in good:
        if lot := _LOT.search(sample.path.stem):
            labels[sample.name] = f"{lot[1].casefold()} {lot[2].casefold()}"
        elif day := _DATE.search(sample.path.stem):
            labels[sample.name] = "-".join(day.groups())
    return labels


def _views(good: Sequence[PhotoFile]) -> dict[str, str]:
    """Group by the folder and the name without the words that denote a view."""
    labels = {}
    for sample in good:
        folder, stem = _VIEW.sub("", sample.group or ""), _VIEW.sub("", sample.path.stem)
        if stem and (folder, stem) != (sample.group or "", sample.path.stem):
            labels[sample.name] = f"{folder}/{stem}"
    return labels


def _endings(good: Sequence[PhotoFile]) -> dict[str, str]:
    matches = [(sample, _ENDING.match(sample.path.stem)) for sample in good]
    return {sample.name: f"{sample.group or ''}/{match[1] or match[3]}" for sample, match in matches if match}


def _bursts(good: Sequence[PhotoFile]) -> tuple[dict[str, str], int]:
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
        previous = first = members[0][0]
        for number, name in members:
            first = number if number - previous > gap else first
            previous = number
            labels[name] = f"{folder}/{pattern} from {first}"
    return labels, gap


def _side(sample: PhotoFile) -> str:
    return f"{sample.split_side}/" if sample.split_side else ""


def burst_gap(gaps: Sequence[int]) -> int | None:
    """The largest gap that still continues a burst; None when there are no bursts.

    gaps: differences of successive sorted numbers, >= 0. Gaps within and between bursts form two clusters on a
    logarithmic scale, fitted as a mixture of two normal densities by expectation-maximisation (Dempster, Laird and
    Rubin, 1977) and kept only if they explain the gaps better than independent arrivals do, by the Bayesian information
    criterion (Schwarz, 1978). The result is where both clusters are equally likely, rounded to 1, 2 or 5 times a power
    of ten, which a person can check.
    """
    if len(gaps) < FEWEST_GAPS:
        return None
    log_gaps = np.log(np.maximum(gaps, 1))
    weight, mean, sd = _two_clusters(log_gaps)
    # Independent arrivals: exponential gaps of the same mean, as a density over log gaps.
    scale = np.exp(log_gaps).mean()
    arrivals = (log_gaps - np.exp(log_gaps) / scale - np.log(scale)).sum()
    clusters = np.logaddexp.reduce(_log_densities(log_gaps, weight, mean, sd), axis=1).sum()
    more_parameters = 4
    if clusters - arrivals <= more_parameters / 2 * np.log(len(gaps)) or mean[1] - mean[0] < np.log(LEAST_CONTRAST):
        return None
    between = np.linspace(*mean, 2001)
    within_likelier = np.diff(_log_densities(between, weight, mean, sd), axis=1)[:, 0] < 0
    return _round(np.exp(between[within_likelier].max(initial=mean[0])))


def _two_clusters(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weight, mean and standard deviation `(2,)` of two normal densities fitted to `x`, the lower one first."""
    lower = x <= np.median(x)
    lower = x < x.max() if lower.all() else lower
    mean = np.array([x[lower].mean() if lower.any() else x[0], x[~lower].mean() if (~lower).any() else x[0]])
    weight, sd = np.full(2, 0.5), np.full(2, max(x.std(), _NARROWEST))
    for _ in range(_ROUNDS):
        log_density = _log_densities(x, weight, mean, sd)
        fraction = np.exp(log_density - np.logaddexp.reduce(log_density, axis=1, keepdims=True))
        total = np.maximum(fraction.sum(axis=0), 1e-12)
        weight, mean = total / len(x), fraction.T @ x / total
        variance = (fraction * (x[:, None] - mean) ** 2).sum(axis=0) / total
        sd = np.maximum(np.sqrt(variance), _NARROWEST)
    order = np.argsort(mean)
    return weight[order], mean[order], sd[order]


def _log_densities(x: np.ndarray, weight: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """The weighted log densities `(n, 2)` of both clusters."""
    return np.log(weight) - np.log(sd) - np.log(2 * np.pi) / 2 - ((x[:, None] - mean) / sd) ** 2 / 2


def _round(value: float) -> int:
    """The nearest of 1, 2, 5, 10, 20, 50, ... on a logarithmic scale."""
    steps = np.outer(10.0 ** np.arange(18), (1, 2, 5)).ravel()
    return int(steps[np.abs(np.log(steps / value)).argmin()])
