"""A seeded split of the good images into train, calibration and test photos that never divides a group."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from inspect_core.datasets.dataset import GOOD, Dataset, PhotoFile, label_sources
from inspect_core.datasets.grouping import propose_groups
from inspect_core.datasets.verdict_words import UNNAMED
from inspect_core.runtime.wording import join_first_names, pluralise

JUDGE_FRACTION = 0.2
KNOWN = 10
_name = attrgetter("name")
FOLDS = 10
MIN_GOOD_PHOTOS = 5
MIN_FOLDS = 3
"""Folds of good photos, each scored by a detector fitted to the others; fewer where there are fewer groups."""
MOST_CROSSED = 200  # good photos that set limits by folds; of more, they are chosen evenly
MAX_NAMED_PHOTOS = 50  # most photos left out that a note names; the rest are counted


@dataclass(frozen=True)
class Split:
    """Disjoint sets, each sorted by name: to fit, to set limits, to report. All defects are in `test`.

    Unpacks as `train, calibration, test`. validation: defects used to choose settings, for which no figures are
    reported; notes: sentences on what the numbers did not allow; groups: image name -> group, of good images not alone
    in theirs; left_out: names of good images that the user left out of all sets.
    """

    train: tuple[PhotoFile, ...]
    calibration: tuple[PhotoFile, ...]
    test: tuple[PhotoFile, ...]
    notes: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    validation: tuple[PhotoFile, ...] = ()
    left_out: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[tuple[PhotoFile, ...]]:
        return iter((self.train, self.calibration, self.test))

    def folds(self, seed: int) -> list[list[PhotoFile]]:
        """The photos to fit in the folds that set limits; none where photos are kept for that, or too few."""
        return [] if self.calibration else folds(self.train, self.groups, seed=seed)

    def limit_photos(self, seed: int) -> list[list[PhotoFile]]:
        """The good photos that set limits: those kept for that, else of each fold at most MOST_CROSSED."""
        if self.calibration:
            return [list(self.calibration)]
        step = max(1, -(-len(self.train) // MOST_CROSSED))
        return [fold[::step] for fold in self.folds(seed)]

    def without(self, names: Collection[str]) -> "Split":
        """The same without good photos that the user leaves out. Raises ValueError when none is left."""
        train, calibration = (
            tuple(sample for sample in part if sample.name not in names) for part in (self.train, self.calibration)
        )
        if not train:
            raise ValueError("no good photos would remain for training; exclude fewer")
        groups = {name: group for name, group in self.groups.items() if name not in names}
        left_out = (*self.left_out, *sorted(names))
        return replace(self, train=train, calibration=calibration, groups=groups, left_out=left_out)

    def with_labels(self, relabelled_photos: Iterable[PhotoFile]) -> "Split":
        """The same with these photos, new or of another kind than before: good ones to learn from, defects to
        choose settings by, since who labels a part has seen its score. Names are made unique. Raises ValueError as
        `without`.
        """
        relabelled_photos = list(relabelled_photos)
        paths = {sample.path for sample in relabelled_photos}
        train, calibration, test, validation = (
            [sample for sample in part if sample.path not in paths]
            for part in (self.train, self.calibration, self.test, self.validation)
        )
        remaining = {sample.name for sample in (*train, *calibration, *test, *validation)}
        for sample in relabelled_photos:
            renamed = (
                sample
                if sample.name not in remaining
                else replace(sample, name=f"{sample.path.parent.name}/{sample.name}")
            )
            (train if renamed.label == GOOD else validation).append(renamed)
        if not train:
            raise ValueError("no good photos would remain for training; relabel fewer")
        parts = (tuple(sorted(part, key=_name)) for part in (train, calibration, test))
        names = {sample.name for sample in (*train, *calibration)}
        groups = {name: group for name, group in self.groups.items() if name in names}
        return Split(*parts, self.notes, groups, tuple(validation), self.left_out)

    def note(self) -> str:
        """What was learned from, and what was left out, for the recipe."""
        names = join_first_names(list(self.left_out), most=MAX_NAMED_PHOTOS)
        left_out = f", {len(self.left_out)} excluded beforehand ({names})" if self.left_out else ""
        return f"trained on {len(self.train)} good photos{left_out}"

    def label_note(self) -> str:
        """Where the labels were read, for the recipe."""
        sources = label_sources((*self.train, *self.calibration, *self.validation, *self.test))
        by_source = [f"{source}: {good} good, {defective} defective" for source, good, defective in sources]
        return f"labels from {'; '.join(by_source)}"


def split(
    samples: Dataset, *, seed: int, groups: Mapping[str, str] | None = None, calibrate: float = 0.2, blind: bool = True
) -> Split:
    """Split the good images 60 / 20 / 20 by group; a test/ holds the test photos, and the rest is split 80 / 20.

    blind: test with all defects; else, with KNOWN or more, half of them are used to choose settings, by type and group.
    groups: image name (`PhotoFile.name`, or the bare file name) -> group, for every good image; None takes
    `propose_groups`, and `ungrouped(samples)` keeps none together. A group with an image in test/ is judged as a whole.
    calibrate: fraction of the good images that sets the limit, 0 to 0.5; 0 fits all that is not in test/.
    The order of the samples does not matter. Raises ValueError for a fraction out of range, a good image without a
    group, or groups that leave nothing to fit.
    """
    if not 0 <= calibrate <= 0.5:
        raise ValueError(f"calibrate is {calibrate}; give the fraction of good photos that sets the limit, 0 to 0.5")
    good = sorted(samples.good, key=_name)
    labels = _labels(good, propose_groups(samples) if groups is None else groups)
    test_groups = {labels[sample.name] for sample in good if sample.split_side == "test"}
    members = defaultdict(list)
    for sample in good:
        if labels[sample.name] not in test_groups:
            members[labels[sample.name]].append(sample)
    if not members:
        raise ValueError(
            "groups put every good photo on the side of test/; nothing is left for training: use smaller groups"
        )

    has_test = any(sample.split_side == "test" for sample in (*good, *samples.defects))
    judge_fraction = 0.0 if has_test or calibrate == 0 else JUDGE_FRACTION
    fractions = (1 - calibrate - judge_fraction, calibrate, judge_fraction)
    order = np.random.default_rng(seed).permutation(len(members))
    names = sorted(members)
    sides = _assign([len(members[names[row]]) for row in order], fractions)
    parts: tuple[list[PhotoFile], ...] = ([], [], [])
    for row, side in zip(order, sides, strict=True):
        parts[side].extend(members[names[row]])
    tested = [sample for sample in good if labels[sample.name] in test_groups]
    validation = [] if blind else _to_choose_by(samples.defects, seed)
    test = [*parts[2], *tested, *(sample for sample in samples.defects if sample not in validation)]
    notes = _notes(parts, fractions, len(members), sum(sample.split_side != "test" for sample in tested))
    sizes = Counter(labels.values())
    together = {name: label for name, label in labels.items() if sizes[label] > 1}
    train, calibration, test_photos, validation_photos = (
        tuple(sorted(part, key=_name)) for part in (*parts[:2], test, validation)
    )
    return Split(train, calibration, test_photos, notes, together, validation_photos, samples.left_out)


def exchanged(photos: Split, *, seed: int) -> Split:
    """The photos with good and defective exchanged, split as `split_to_teach` does without a test of their own.

    Raises ValueError as `split_to_teach`.
    """
    several = (*photos.train, *photos.calibration, *photos.validation, *photos.test)
    plain = [replace(photo, mask=None, split_side=None) for photo in several]
    good = tuple(replace(photo, label=GOOD) for photo in plain if photo.label != GOOD)
    defects = tuple(replace(photo, label=UNNAMED) for photo in plain if photo.label == GOOD)
    return split_to_teach(Dataset(several[0].root, good, defects), seed=seed)


def _to_choose_by(defects: Sequence[PhotoFile], seed: int) -> list[PhotoFile]:
    """Half of KNOWN or more defects: of each type every second group at random; its first photo types a group."""
    if len(defects) < KNOWN:
        return []
    groups: dict[str, list[PhotoFile]] = defaultdict(list)
    for sample in sorted(defects, key=_name):
        groups[sample.group or sample.name].append(sample)
    rng = np.random.default_rng(seed)
    by_type = defaultdict(list)
    for name in sorted(groups):
        by_type[groups[name][0].label].append(name)
    drawn = [groups[name] for _, names in sorted(by_type.items()) for name in rng.permutation(names)]
    chosen: list[PhotoFile] = []
    for group in drawn[::2]:
        if len(chosen) + len(group) <= -(-len(defects) // 2):  # a single large lot is judged, not used to choose
            chosen += group
    return chosen


def split_to_teach(
    samples: Dataset,
    *,
    seed: int = 0,
    blind: bool = False,
    groups: Mapping[str, str] | None = None,
    calibrate: float | None = None,
    keep_test: bool = False,
) -> Split:
    """A folder split as the page, `fit` and Python teach it: `train_on_all`, unless `calibrate` sets photos apart.

    The choices are those of `split` and `train_on_all`. Raises ValueError as `split`, and for fewer than
    MIN_GOOD_PHOTOS good photos besides those of a test/.
    """
    if calibrate is None:
        parts = train_on_all(split(samples, seed=seed, groups=groups, blind=blind), keep_test=keep_test)
    else:
        parts = split(samples, seed=seed, groups=groups, calibrate=calibrate, blind=blind)
    _require_enough(parts)
    return parts


def _require_enough(photos: Split) -> None:
    kept_back = sum(sample.label == GOOD and sample.split_side != "test" for sample in photos.test)
    if (count := len(photos.train) + len(photos.calibration) + kept_back) < MIN_GOOD_PHOTOS:
        reason = f"{pluralise(count, 'good photo')} cannot show how much good parts differ"
        raise ValueError(f"{reason}; add good parts until there are at least {MIN_GOOD_PHOTOS}, ideally 30")


def train_on_all(photos: Split, *, keep_test: bool = False) -> Split:
    """The same with the photos that were to set limits among those to fit, which then set them by folds, and
    those that were to judge, unless the folder has a test/ or `keep_test` asks for them; folds judge then.

    Limits set so hold as well as those of photos kept apart, and the detector has more to learn from
    (MEASUREMENTS section 3). The split itself where there are too few groups for folds.
    """
    good = [sample for sample in photos.test if sample.label == GOOD]
    apart = keep_test or any(sample.split_side == "test" for sample in photos.test)
    train = tuple(sorted((*photos.train, *photos.calibration, *(() if apart else good)), key=_name))
    if not folds(train, photos.groups, seed=0):
        return photos
    if apart:
        return replace(photos, train=train, calibration=())
    test = tuple(sample for sample in photos.test if sample.label != GOOD)
    return replace(photos, train=train, calibration=(), test=test, notes=())


def folds(
    samples: Sequence[PhotoFile], groups: Mapping[str, str], *, seed: int, count: int = FOLDS
) -> list[list[PhotoFile]]:
    """The samples in `count` folds that split no group, fewer where groups are; none below MIN_FOLDS groups."""
    labels = [groups.get(sample.name, sample.name) for sample in samples]
    names = sorted(set(labels))
    if len(names) < MIN_FOLDS:
        return []
    count = min(count, len(names))
    order = np.random.default_rng(seed).permutation(len(names))
    fold_of = {names[row]: place % count for place, row in enumerate(order)}
    folds: list[list[PhotoFile]] = [[] for _ in range(count)]
    for sample, label in zip(samples, labels, strict=True):
        folds[fold_of[label]].append(sample)
    return folds


def _labels(good: Sequence[PhotoFile], groups: Mapping[str, str]) -> dict[str, str]:
    """The group of every good image by its name."""
    bare = Counter(sample.path.name for sample in good)
    labels = {}
    for sample in good:
        by_file = groups.get(sample.path.name) if bare[sample.path.name] == 1 else None
        label = groups.get(sample.name, by_file)
        if label is None:
            raise ValueError(f"groups has no entry for {sample.name!r}; give every good photo a group")
        labels[sample.name] = label
    return labels


def _assign(sizes: Sequence[int], fractions: Sequence[float]) -> list[int]:
    """Give each group, in turn, to the part that lacks most images; then make sure that no part is left without any."""
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


def _notes(
    parts: Sequence[Sequence[PhotoFile]], fractions: Sequence[float], groups: int, moved: int
) -> tuple[str, ...]:
    notes = []
    jobs = ("for training", "for setting the limit", "for testing")
    if empty := [job for job, part, share in zip(jobs, parts, fractions, strict=True) if share > 0 and not part]:
        group_count = pluralise(groups, "group")
        notes.append(
            f"Only {group_count} of good photos, so none is left {' or '.join(empty)}; add more good parts or lots."
        )
    if moved:
        notes.append(
            f"{pluralise(moved, 'photo')} of train/ moved to the test photos: their group has photos in test/."
        )
    return tuple(notes)
