"""From the photos on the bench to known cases: which crop of which part, in the background."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from inspect_core.images.boxes import Box
from inspect_core.images.photo_reader import ImageError
from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.tuning import known_cases_training
from inspect_core.ui import crops, defect_labels, open_product_store, shell
from inspect_core.ui.taught_product import TaughtPart
from inspect_core.verdict import Limits
from inspect_core.whole_part import known_cases
from inspect_core.whole_part.known_cases import Case
from inspect_core.whole_part.training_crops import groups_of

MOST_GOOD = 100


def known_types(taught: TaughtPart) -> dict[int, str]:
    """Kind by position of the parts that can be known cases: the labelled defects and at most MOST_GOOD good parts."""
    labels, good = defect_labels.labels_of(taught), good_parts(taught)
    chosen = {good[i] for i in np.unique(np.linspace(0, len(good) - 1, MOST_GOOD).astype(int))} if good else set()
    return dict(sorted({**labels, **dict.fromkeys(chosen, "good")}.items()))


def good_parts(taught: TaughtPart) -> list[int]:
    """Positions of the good parts on the bench that have no label."""
    labels = defect_labels.labels_of(taught)
    return [int(i) for i in np.flatnonzero(taught.scored.good_and_defect()[0]) if i not in labels]


def start(
    taught: TaughtPart, defect_types: dict[int, str], live: dict[str, int], limits: Limits, *, by_region: bool
) -> None:
    """Gather and learn in the background; the part then has the cases. Raises Busy as `Jobs.submit`.

    defect_types: by position, of the photos that become known cases; the live value and limits give the crops.
    """
    live = dict(live)

    def cases(job: Job) -> Iterator[Case]:
        """One case for every photo that can still be read."""
        groups = groups_of([photo.sample for photo in taught.scored.photos])
        for done, (position, kind) in enumerate(defect_types.items()):
            job.report(0.9 * done / len(defect_types), f"processing part {done + 1} of {len(defect_types)}")
            box = box_of(taught, position, live, limits, known=True) if by_region else None
            group = groups[taught.scored.photos[position].name]
            with suppress(ImageError):  # a photo that no longer exists is no case; the bench names it when it is chosen
                yield case_of(taught, position, box, defect_type=kind, group=group)

    def work(job: Job) -> None:
        with device_lock(taught.preparation.backbone.device):
            found = list(cases(job))
        job.report(0.9, "fitting the gallery")
        learned = known_cases_training.learn(found, by_region=by_region)
        open_product_store.change(taught.id, lambda held: replace(held, cases=learned))

    shell.start(f"Building the gallery for {taught.product}", work, about=("gallery", taught.id))


def box_of(taught: TaughtPart, position: int, live: dict[str, int], limits: Limits, *, known: bool) -> Box:
    """What to look at on a photo: its largest region, else its highest score.

    known: the defect of the part is known; its true mask is then preferred to the highest score.
    """
    found = crops.found_box(taught, position, live, limits)
    if found is None and known:
        found = crops.true_box(taught, position)
    photo = taught.scored.photos[position]
    return found or known_cases.strangest_box(taught.scored.map(position, **live), photo.size)


def case_of(taught: TaughtPart, position: int, box: Box | None, *, defect_type: str, group: str | None = None) -> Case:
    """A photo on the bench, or the square around a box on it, as a known case. Raises ImageError."""
    return Case(
        crops.embedding(taught, position, box),
        crops.picture(taught, position, box),
        taught.scored.photos[position].digest,
        taught.scored.photos[position].name,
        defect_type,
        group=group,
    )
