"""Alignment in teaching: tried on good photos kept apart, chosen where it gains, or learned as requested."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from inspect_core.datasets.folders import PhotoFile
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.images.alignment import MAX_ROTATION_DEGREES, TURN, Alignment, NoAlignment, learn_alignment
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.shape import grid_of
from inspect_core.methods.fitted_method import patch_feature_specs
from inspect_core.methods.registry import DEFAULT_METHOD, methods_of, parameters_of
from inspect_core.runtime.pace import BEGUN
from inspect_core.runtime.progress import Report, stage
from inspect_core.study.study import FittedStudy
from inspect_core.study.teaching_config import AUTOMATIC, NO_ALIGNMENT, RIGID, SIMILARITY, TeachingConfig
from inspect_core.tuning.turned_copies import with_turned_copies

MOST = 200
"""Photos that an alignment is learned from."""
MOST_TRIED = 40
"""Photos that it is tried on: learned from every other one, judged on the rest, and the other way round."""
FEWEST_TRIED = 10
TRIED = 0.8
"""Share of the time of deciding that the trial takes."""
PAYS = 0.65
"""Alignment is chosen where it leaves less than this share of the variance (MEASUREMENTS, 6)."""
MUCH = 0.25
"""Share of the variance below which it is chosen even where LOST of the photos stay without a position."""
LOST = 0.1
TURNED = 2 * TURN
"""Degrees of turn in good photos from which it is chosen in any case: a thin part is little of the variance."""

WITHOUT_ALIGNMENT = "teach without alignment"
"""The remedy where alignment was requested and cannot be learned."""
AS_TAKEN = "Photos are inspected as taken"


def aligned_first(order: TeachingConfig, report: Report) -> tuple[TeachingConfig, Report]:
    """The order as of `decide_alignment`, and a report for the work after it, which has the rest of the progress.

    Raises as `decide_alignment`.
    """
    if _is_decided(order):
        return order, report
    return decide_alignment(order, stage(report, 0.0, BEGUN)), stage(report, BEGUN, 1.0)


def decide_alignment(order: TeachingConfig, report: Report) -> TeachingConfig:
    """The order with its alignment learned from its good photos; damaged ones are skipped.

    An automatic one is tried first on good photos kept apart: it becomes rigid where it gains and none elsewhere, and a
    note says why; where photos are then taken as they are, copies may be turned (`turned_copies`); a method as
    published takes photos as they are. Raises ValueError as `learn_alignment` where alignment was requested, and
    whatever `report` raises to stop.
    """
    if _is_decided(order):
        return order
    if order.align != AUTOMATIC:
        try:
            return _learned_for(order, report)
        except NoAlignment as error:
            raise NoAlignment(f"{error}; {WITHOUT_ALIGNMENT}") from error
    as_taken = replace(order, align=NO_ALIGNMENT)
    if order.as_published:
        return as_taken
    try:
        trial = try_alignment(order, stage(report, 0.0, TRIED))
        rigid = replace(order, align=RIGID)
        decided = _learned_for(rigid, stage(report, TRIED, 1.0)) if trial.is_worthwhile else as_taken
        why = trial.sentence()
    except NoAlignment as error:
        decided, why = as_taken, f"{AS_TAKEN}: {error}."
    decided = replace(decided, notes=(*order.notes, why))
    return decided if decided.alignment is not None else with_turned_copies(decided, stage(report, TRIED, 1.0))


def _is_decided(order: TeachingConfig) -> bool:
    return order.align == NO_ALIGNMENT or order.alignment is not None


def _learned_for(order: TeachingConfig, report: Report) -> TeachingConfig:
    bounds = {"scale": order.align == SIMILARITY, "turn": order.align_turn, "shift": order.align_shift}
    return replace(order, alignment=_learned(_evenly(order.photos.train, MOST), report, **bounds))


def alignment_notes(study: FittedStudy) -> tuple[str, ...]:
    """Notes on how parts lie, and which photos were left out."""
    if study.extractor.alignment is None:
        return ()
    lost = (f"{name} was excluded: the part was not located ({reason})" for name, reason in study.not_located.items())
    return (*study.extractor.alignment.sentences(), *lost)


@dataclass(frozen=True)
class AlignmentTrial:
    """What alignment brings on good photos that it was not learned from.

    before, after: variance of the features of those located, at the places that are then inspected, as taken and
    aligned; photos, located: how many it was tried on, and in how many of them the part was located; turned: degrees
    by which parts are turned at most.
    """

    before: float
    after: float
    photos: int
    located: int
    turned: float = 0.0

    def __add__(self, other: "AlignmentTrial") -> "AlignmentTrial":
        return AlignmentTrial(
            self.before + other.before,
            self.after + other.after,
            self.photos + other.photos,
            self.located + other.located,
            max(self.turned, other.turned),
        )

    @property
    def is_worthwhile(self) -> bool:
        """Whether to align: good photos then differ less, or parts are turned far, and in each the part is located, or
        in nearly each where they differ much less.
        """
        gains = self.after < PAYS * self.before or self.turned > TURNED
        return gains and self._are_located

    @property
    def _are_located(self) -> bool:
        most_lost = LOST * self.photos if self.after < MUCH * self.before else 0
        return self.photos - self.located <= most_lost

    def sentence(self) -> str:
        """What was decided, and by what."""
        tried = f"{self.photos} good photos kept apart"
        if not self._are_located:
            return f"{AS_TAKEN}: alignment located the part in {self.located} of {tried}."
        less = 1 - self.after / self.before if self.before > 0 else 0.0
        differ = f"{tried} differ {abs(less):.0%} {'less' if less >= 0 else 'more'} from each other at each location"
        if not self.is_worthwhile:
            return f"{AS_TAKEN}: aligned, {differ}, which does not pay."
        turned = f"turned by up to {self.turned:.0f}°" if self.turned < MAX_ROTATION_DEGREES else "at any angle"
        lie = f"the parts lie {turned}" if self.turned > TURNED else f"{differ} then"
        lost = self.photos - self.located
        without = f" In {lost} of {self.photos} the part was not located." if lost else ""
        return f"Photos are aligned (shift, rotation): {lie}.{without} A part that is not located is never accepted."


def try_alignment(order: TeachingConfig, report: Report) -> AlignmentTrial:
    """What alignment brings on good photos of an order, by what the default detector sees of them.

    Learned from every other one and judged on the rest; the other way round too, unless it is not worthwhile by then.
    Raises NoAlignment as `learn_alignment` and for fewer than FEWEST_TRIED photos, and ValueError as `with_taps`.
    """
    photos = _evenly(order.photos.train, MOST_TRIED)
    if len(photos) < FEWEST_TRIED:
        raise NoAlignment(f"alignment is tried on {FEWEST_TRIED} good photos or more, and there are {len(photos)}")
    extractor = default_extractor(order)
    halves = photos[::2], photos[1::2]

    def trial(learned: Sequence[PhotoFile], others: Sequence[PhotoFile], report: Report) -> AlignmentTrial:
        alignment = _learned(learned, stage(report, 0.0, 0.8))
        return measured(_pixels(others, stage(report, 0.8, 1.0)), alignment, extractor)

    first = trial(*halves, stage(report, 0.0, 0.5))
    return first + trial(*halves[::-1], stage(report, 0.5, 1.0)) if first.is_worthwhile else first


def default_extractor(order: TeachingConfig) -> FeatureExtractor:
    """By which photos are compared before anything is learned, on the usual grid. Raises ValueError as `with_taps`."""
    methods = methods_of(DEFAULT_METHOD)
    backbone, taps = order.network(methods)
    grid = grid_of(order.size)
    return FeatureExtractor(
        backbone, grid, patch_feature_specs(methods, parameters_of(methods, {}, None), backbone, taps, 0)
    )


def measured(photos: Iterable[np.ndarray], alignment: Alignment, extractor: FeatureExtractor) -> AlignmentTrial:
    """What an alignment brings on good photos, (H, W, 3) uint8, processed one after the other.

    Two runs of the network per photo.
    """
    moments = {way: [torch.zeros(1), torch.zeros(1)] for way in ("before", "after")}
    missed, turned = 0, []
    for pixels in photos:
        located = alignment.locate(pixels)
        if located is None:
            missed += 1
            continue
        turned.append(located.angle)
        laid_over = located.squash(pixels, extractor.backbone.size, alignment.reference)
        for way, picture in (("before", pixels), ("after", laid_over)):
            features = extractor.features(picture)[0].double().cpu()
            moments[way] = [moments[way][0] + features, moments[way][1] + features**2]
    if not turned:
        return AlignmentTrial(0.0, 0.0, missed, 0)
    inspected = torch.from_numpy(alignment.known(extractor.grid))
    before, after = (
        float((squares / len(turned) - (sums / len(turned)) ** 2)[0, inspected].mean())
        for sums, squares in moments.values()
    )
    return AlignmentTrial(before, after, missed + len(turned), len(turned), float(np.abs(turned).max()))


def _evenly(samples: Sequence[PhotoFile], most: int) -> Sequence[PhotoFile]:
    return samples[:: -(-len(samples) // most)]


def _learned(samples: Sequence[PhotoFile], report: Report, **bounds: Any) -> Alignment:
    """As `learn_alignment`. The forecast leaves its time out: the bar moves little, and the step says how far it is."""
    step = f"learning part positions from {len(samples)} photos"
    learning = stage(report, 0.1, 1.0)
    return learn_alignment(
        _pixels(samples, stage(report, 0.0, 0.1)),
        report=lambda fraction, _: learning(fraction, f"{step}: {fraction:.0%}"),
        **bounds,
    )


def _pixels(samples: Sequence[PhotoFile], report: Report) -> Iterator[np.ndarray]:
    for done, sample in enumerate(samples):
        report(done / len(samples), f"reading photo {done + 1} of {len(samples)}")
        with suppress(ImageError):
            yield read(sample.path, sample.depth).pixels
