"""A seeded split of the good images into fit, calibrate and judge that never divides a group."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inspect_core.images.grouping import propose_groups
from inspect_core.images.samples import Sample, Samples, counted

JUDGE_FRACTION = 0.2


@dataclass(frozen=True)
class Split:
    """Disjoint sets, each sorted by name: to fit, to set limits, to report. All defects are in `judge`.

    Unpacks as `fit, calibrate, judge`. notes: sentences on what the numbers did not allow.
    """

    fit: tuple[Sample, ...]
    calibrate: tuple[Sample, ...]
    judge: tuple[Sample, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[tuple[Sample, ...]]:
        return iter((self.fit, self.calibrate, self.judge))


def split(samples: Samples, *, seed: int, groups: Mapping[str, str] | None = None, calibrate: float = 0.2) -> Split:
    """Split the good images 60 / 20 / 20 by group; where there is a test/, that is the judge set, and the rest 80 / 20.

    groups: image name (`Sample.name`, or the bare file name) -> group, for every good image; None takes
    `propose_groups`, and `ungrouped(samples)` keeps none together. A group with an image in test/ is judged as a whole.
    calibrate: fraction of the good images that sets the limit, 0 to 0.5; 0 fits all that is not in test/.
    The result depends on the names, the groups and the seed, not on the order of the samples.
    Raises ValueError for a fraction out of range, a good image without a group, or groups that leave nothing to fit.
    """
    if not 0 <= calibrate <= 0.5:
        raise ValueError(f"calibrate is {calibrate}; give the fraction of good images that sets the limit, 0 to 0.5")
    good = sorted(samples.good, key=lambda sample: sample.name)
    labels = _labels(good, propose_groups(samples) if groups is None else groups)
    judged = {labels[sample.name] for sample in good if sample.part_of == "test"}
    members = defaultdict(list)
    for sample in good:
        if labels[sample.name] not in judged:
            members[labels[sample.name]].append(sample)
    if not members:
        raise ValueError("groups put every good image on the side of test/; nothing is left to fit: use smaller groups")

    has_test = any(sample.part_of == "test" for sample in (*good, *samples.defects))
    judge_fraction = 0.0 if has_test or calibrate == 0 else JUDGE_FRACTION
    fractions = (1 - calibrate - judge_fraction, calibrate, judge_fraction)
    order = np.random.default_rng(seed).permutation(len(members))
    names = sorted(members)
    sides = _assign([len(members[names[row]]) for row in order], fractions)
    parts = tuple(
        [sample for row, side in zip(order, sides, strict=True) if side == part for sample in members[names[row]]]
        for part in range(3)
    )
    tested = [sample for sample in good if labels[sample.name] in judged]
    judge = [*parts[2], *tested, *samples.defects]
    moved = sum(sample.part_of != "test" for sample in tested)
    notes = _notes(parts, fractions, len(members), moved)
    return Split(*(tuple(sorted(part, key=lambda sample: sample.name)) for part in (*parts[:2], judge)), notes)


def _labels(good: Sequence[Sample], groups: Mapping[str, str]) -> dict[str, str]:
    """Return the group of every good image by its name."""
    bare = Counter(sample.path.name for sample in good)
    labels = {}
    for sample in good:
        label = groups.get(sample.name)
        if label is None and bare[sample.path.name] == 1:
            label = groups.get(sample.path.name)
        if label is None:
            raise ValueError(f"groups has no entry for {sample.name!r}; give every good image a group")
        labels[sample.name] = label
    return labels


def _assign(sizes: Sequence[int], fractions: Sequence[float]) -> list[int]:
    """Give each group, in turn, to the part that lacks most images; then see that no part owed an image has none."""
    target = np.array(fractions) * sum(sizes)
    lacks = np.where(target > 0, target, -np.inf)
    sides = []
    for size in sizes:
        side = int(np.argmax(lacks))
        lacks[side] -= size
        sides.append(side)
    for part in range(len(fractions)):
        if target[part] < 1 or part in sides:
            continue
        spare = [row for row, side in enumerate(sides) if sides.count(side) > 1]
        if spare:
            # From the part that has most beyond its share, the group that fits best what is lacking.
            giver = min((sides[row] for row in spare), key=lambda side: lacks[side])
            row = min((row for row in spare if sides[row] == giver), key=lambda row: abs(sizes[row] - target[part]))
            lacks[giver] += sizes[row]
            lacks[part] -= sizes[row]
            sides[row] = part
    return sides


def _notes(parts: Sequence[Sequence[Sample]], fractions: Sequence[float], groups: int, moved: int) -> tuple[str, ...]:
    notes = []
    jobs = ("to fit", "to set the limit", "to judge")
    empty = [job for job, part, fraction in zip(jobs, parts, fractions, strict=True) if fraction > 0 and not part]
    if empty:
        found = counted(groups, "group")
        notes.append(f"Only {found} of good images: none is left {' or '.join(empty)}; add more good parts or lots.")
    if moved:
        notes.append(f"{counted(moved, 'image')} of train/ judged, not taught: the same group has images in test/.")
    return tuple(notes)
