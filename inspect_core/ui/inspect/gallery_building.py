"""From the photos on the bench to known cases: which crop of which part, in the background."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from inspect_core.images.boxes import Box
from inspect_core.images.photo_reader import ImageError
from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.tuning import known_cases_training
from inspect_core.ui import crops, shell
from inspect_core.verdict import Limits
from inspect_core.whole_part import known_cases
from inspect_core.whole_part.known_cases import KnownCase
from inspect_core.whole_part.training_crops import groups_of
from inspect_core.workbench import defect_labels
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

MOST_GOOD = 100


def known_types(product: TaughtProduct) -> dict[int, str]:
    """Kind by position of the parts that can be known cases: the labelled defects and at most MOST_GOOD good parts."""
    labels = defect_labels.labels_of(product)
    good = good_parts(product)
    chosen = {good[i] for i in np.unique(np.linspace(0, len(good) - 1, MOST_GOOD).astype(int))} if good else set()
    return dict(sorted({**labels, **dict.fromkeys(chosen, "good")}.items()))


def good_parts(product: TaughtProduct) -> list[int]:
    """Positions of the good parts on the bench that have no label."""
    labels = defect_labels.labels_of(product)
    return [int(i) for i in np.flatnonzero(product.scored.good_and_defect()[0]) if i not in labels]


def start(
    product: TaughtProduct, defect_types: dict[int, str], live: dict[str, int], limits: Limits, *, by_region: bool
) -> None:
    """Gather and learn in the background; the product then has the cases. Raises JobRejected as `Jobs.submit`.

    defect_types: by position, of the photos that become known cases; the live value and limits give the crops.
    """
    live = dict(live)

    def cases(job: Job) -> Iterator[KnownCase]:
        """Yield one case for every photo that can still be read."""
        groups = groups_of([photo.sample for photo in product.scored.photos])
        for done, (position, defect_type) in enumerate(defect_types.items()):
            job.report(0.9 * done / len(defect_types), f"processing part {done + 1} of {len(defect_types)}")
            box = box_of(product, position, live, limits, known=True) if by_region else None
            group = groups[product.scored.photos[position].name]
            with suppress(ImageError):  # a photo that no longer exists is no case; the bench names it when it is chosen
                yield case_of(product, position, box, defect_type=defect_type, group=group)

    def work(job: Job) -> None:
        with device_lock(product.extractor.backbone.device):
            known = list(cases(job))
        job.report(0.9, "fitting the gallery")
        learned = known_cases_training.learn(known, by_region=by_region)
        shelf().change(product.id, lambda current: replace(current, known_cases=learned))

    shell.start(f"Building the gallery for {product.product}", work, subject=("gallery", product.id))


def box_of(product: TaughtProduct, position: int, live: dict[str, int], limits: Limits, *, known: bool) -> Box:
    """What to look at on a photo: its largest region, else its highest score.

    known: the defect of the part is known; its true mask is then preferred to the highest score.
    """
    box = crops.found_box(product, position, live, limits)
    if box is None and known:
        box = crops.true_box(product, position)
    photo = product.scored.photos[position]
    return box or known_cases.peak_box(product.scored.map(position, **live), photo.size)


def case_of(
    product: TaughtProduct, position: int, box: Box | None, *, defect_type: str, group: str | None = None
) -> KnownCase:
    """A photo on the bench, or the square around a box on it, as a known case. Raises ImageError."""
    return KnownCase(
        crops.embedding(product, position, box),
        crops.picture(product, position, box),
        product.scored.photos[position].digest,
        product.scored.photos[position].name,
        defect_type,
        group=group,
    )
