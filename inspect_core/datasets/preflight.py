"""What is worth saying about a folder before anything is taught, each as a sentence with its remedy."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from inspect_core.datasets.dataset import GOOD, PhotoFile, SkippedFile
from inspect_core.images.shape import ALIKE, mixed_shapes
from inspect_core.runtime.wording import join_first_names, pluralise

FEW_GOOD = 20


def warnings(
    samples: Sequence[PhotoFile], skipped: Sequence[SkippedFile], *, file_digests: Sequence[bytes]
) -> tuple[str, ...]:
    """The warnings on few good images, skipped images and masks, mixed sizes, and copies.

    file_digests: n digests, in the order of `samples`. Photos that are nearly the same are found by `photo_screening`.
    """
    count = sum(sample.label == GOOD and sample.split_side != "test" for sample in samples)
    few = f"Only {count} good photos: limits based on so few are imprecise" if count < FEW_GOOD else ""
    if count == 1:
        few = "Only one good photo: Loupe cannot learn how good parts differ from it"
    sentences = [
        few and f"{few}; add more, ideally 60.",
        _skipped(skipped, "photo", "skipped"),
        _skipped(skipped, "mask", "ignored"),
        mixed_shapes([sample.size for sample in samples if sample.label == GOOD]) or _mixed_sizes(samples),
        _copies(samples, file_digests),
    ]
    return tuple(filter(None, sentences))


def _skipped(skipped: Sequence[SkippedFile], role: str, done: str) -> str:
    names = [file.name for file in skipped if file.role == role]
    return (
        f"{pluralise(len(names), role)} {done} ({join_first_names(names)}); see the table for the reasons."
        if names
        else ""
    )


def _mixed_sizes(samples: Sequence[PhotoFile]) -> str:
    sizes = Counter(sample.size for sample in samples)
    sides = [max(side) / min(side) for side in zip(*sizes, strict=True)] if sizes else [1.0]
    if max(sides) <= ALIKE:
        return ""
    (height, width), most = sizes.most_common(1)[0]
    odd = [sample.name for sample in samples if sample.size != (height, width)]
    if len(odd) < most:
        size_sentence = (
            f"{len(odd)} of {len(samples)} photos differ in size from the rest ({width} × {height} px): "
            f"{join_first_names(odd)}"
        )
    else:
        smallest = min(sizes, key=np.prod)
        largest = max(sizes, key=np.prod)
        size_sentence = f"The photos have {len(sizes)} different sizes, from {smallest[1]} × {smallest[0]} to "
        size_sentence += f"{largest[1]} × {largest[0]} px"
    reason = "All are resized to one size; where they show parts at different scales, crop them alike"
    return f"{size_sentence}. {reason}."


def _copies(samples: Sequence[PhotoFile], file_digests: Sequence[bytes]) -> str:
    """Files equal byte by byte; worst where they are called both good and a defect."""
    same = defaultdict(list)
    for sample, digest in zip(samples, file_digests, strict=True):
        same[digest].append(sample)
    groups = [group for group in same.values() if len(group) > 1]
    if not groups:
        return ""
    contradictory = [group for group in groups if len({sample.label for sample in group}) > 1]
    twins = " = ".join(f"{sample.name} ({sample.label})" for sample in (contradictory or groups)[0][:2])
    count = sum(len(group) - 1 for group in groups)
    sentence = f"{pluralise(count, 'file')} copied from another ({twins}); delete the copies, or results look too good."
    if contradictory:
        sentence += f" {len(contradictory)} of them labelled with two defect types: correct one of the labels."
    return sentence
