"""From the photos on the tray to known cases: which crop of which part, in the background."""

from dataclasses import dataclass, replace

import numpy as np

from inspect_core.defect_types.examples import groups_of
from inspect_core.images.boxes import Box
from inspect_core.images.read import ImageError
from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.similar import known_cases
from inspect_core.similar.known_cases import Case
from inspect_core.ui import crops, shell, taught_part
from inspect_core.ui.defect_types import labels as kinds_labels
from inspect_core.ui.taught_part import InHand
from inspect_core.verdict import Limits

MOST_GOOD = 100


@dataclass(frozen=True)
class Order:
    """What becomes a known case: kind by position on the tray, under which live value and limits to look at it."""

    kinds: dict[int, str]
    live: dict[str, int]
    limits: Limits
    by_region: bool


def known_kinds(hand: InHand) -> dict[int, str]:
    """Kind by position of the parts that can be known cases: the labelled defects and at most MOST_GOOD good parts."""
    labels = kinds_labels.labels_of(hand)
    good = [int(i) for i in np.flatnonzero(hand.tray.kinds()[0]) if i not in labels]
    chosen = {good[i] for i in np.unique(np.linspace(0, len(good) - 1, MOST_GOOD).astype(int))} if good else set()
    return dict(sorted({**labels, **dict.fromkeys(chosen, "good")}.items()))


def start(hand: InHand, order: Order) -> None:
    """Gather and learn in the background; the cases then lie in hand. Raises Busy while another job runs."""

    def work(job: Job) -> None:
        learned = known_cases.learn(_cases(hand, order, job), by_region=order.by_region)
        taught_part.change(hand.id, lambda held: replace(held, cases=learned))

    shell.start(f"Building the gallery of {hand.product}", work)


def box_of(hand: InHand, position: int, live: dict[str, int], limits: Limits, *, known: bool) -> Box:
    """What to look at on a photo: its largest region, else its strangest spot.

    known: for a part whose defect is known, whose true mask comes before the strangest spot.
    """
    found = crops.found_box(hand, position, live, limits)
    if found is None and known:
        found = crops.true_box(hand, position)
    photo = hand.tray.photos[position]
    return found or known_cases.strangest_box(hand.tray.map(position, **live), photo.size)


def case_of(
    hand: InHand, position: int, box: Box | None, *, kind: str, note: str = "", group: str | None = None
) -> Case:
    """A photo on the tray, or the square around a box on it, as a known case. Raises ImageError."""
    return Case(
        crops.embedding(hand, position, box),
        crops.picture(hand, position, box),
        hand.tray.photos[position].digest,
        hand.tray.photos[position].name,
        kind,
        note,
        group,
    )


def _cases(hand: InHand, order: Order, job: Job) -> list[Case]:
    """One case for every photo that can still be read."""
    groups = groups_of([photo.sample for photo in hand.tray.photos])
    cases = []
    with device_lock(hand.preparation.backbone.device):
        for done, (position, kind) in enumerate(order.kinds.items()):
            job.report(0.9 * done / len(order.kinds), f"looking at part {done + 1} of {len(order.kinds)}")
            box = box_of(hand, position, order.live, order.limits, known=True) if order.by_region else None
            group = groups[hand.tray.photos[position].name]
            try:
                cases.append(case_of(hand, position, box, kind=kind, group=group))
            except ImageError:
                continue  # a photo that has gone since is no case; the bench names it when it is chosen
    job.report(0.9, "learning what is known")
    return cases
