"""The patch features of photos: from the store if they are there, else from the network."""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.images.alignment import NotLocated
from inspect_core.images.folders import Sample
from inspect_core.images.photo_quality import Quality, measured
from inspect_core.images.placement import Placement
from inspect_core.images.read import ImageError, read
from inspect_core.images.tolerances import Tolerances
from inspect_core.line.overlap import Item, Result, in_order
from inspect_core.study.scored_photo import ScoredPhoto, UnscoredPhoto
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED


def described(sample: Sample, preparation: Preparation) -> tuple[np.ndarray, np.ndarray]:
    """Embedding (d,) and logits (c,) of a whole photo, float32. Raises ImageError, and NotLocated."""
    picture = preparation.whole(read(sample.path, sample.depth).pixels)
    _, embedding, logits = preparation.backbone.describe(picture[None])
    # Copies: a view would keep the network's whole output buffer of every photo.
    return embedding[0].cpu().numpy().copy(), logits[0].cpu().numpy().copy()


class Unusable(NamedTuple):
    """(name, reason) of photos that are damaged, and of those in which the part was not located."""

    damaged: list[tuple[str, str]]
    lost: list[tuple[str, str]]


@dataclass(frozen=True, eq=False)
class PhotoFeatures:
    """Features of photos by one preparation. Safe to use from several threads.

    streamed: names of the photos whose features are not stored. By name, found: digest and placement of each photo read
    so far; damaged, lost: why it cannot be read, why the part was not located in it; quality: of each.
    """

    preparation: Preparation
    store: Store
    streamed: Collection[str] = ()
    found: dict[str, tuple[str, Placement]] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    quality: dict[str, Quality] = field(default_factory=dict)

    def of(self, sample: Sample) -> tuple[Tensor, ...] | None:
        """(1, h, w, k) for each view, from the store when there, else from the network.

        None for a photo that is damaged, or in which the part is not located.
        """
        if sample.name in self.lost:
            return None
        if sample.name in self.found and (stored := self.stored(self.found[sample.name][0])) is not None:
            return stored
        try:
            picture = read(sample.path, sample.depth)
        except ImageError as error:
            self.damaged[sample.name] = str(error)
            return None
        try:
            placement = self.preparation.place(picture.pixels)
        except NotLocated as error:
            self.lost[sample.name] = str(error)
            return None
        self.found[sample.name], seen = (picture.digest, placement), self.preparation.picture(picture.pixels, placement)
        self.quality[sample.name] = measured(seen)
        if (stored := self.stored(picture.digest)) is not None:
            return stored
        features = self.preparation.of_picture(seen)
        if sample.name not in self.streamed:
            for key, own in zip(self.preparation.keys, features, strict=True):
                self.store.put(f"{picture.digest}-{key}", own.cpu().numpy())
        return features

    def looks(self, sample: Sample, tolerances: Tolerances | None) -> list[tuple[Tensor, ...]]:
        """The features of a photo and of its copies within the tolerances, which are never stored; empty where `of`
        gives none.
        """
        features = self.of(sample)
        if features is None or tolerances is None:
            return [] if features is None else [features]
        digest, placement = self.found[sample.name]
        photo = read(sample.path, sample.depth).pixels
        picture = self.preparation.picture(photo, placement)
        copies = tolerances.copies_of(picture, photo.shape[:2], digest)
        return [features, *map(self.preparation.of_picture, copies)]

    def photo(self, sample: Sample, part: str, groups: Mapping[str, str] | None = None) -> ScoredPhoto:
        """A photo that was read, as one of a part of the study; groups: by name, those of the split."""
        digest, placement = self.found[sample.name]
        known = sample.name, digest, placement.size, sample.kind, part, sample.path, sample.mask, sample.group
        return ScoredPhoto(*known, (groups or {}).get(sample.name), sample.depth, placement)

    def digests(self, samples: Iterable[Sample]) -> dict[str, str]:
        """Of the content of the usable photos, by name; those that only workers looked at are read."""
        known = {name: digest for name, (digest, _) in self.found.items()}
        for sample in samples:
            if sample.name not in known and sample.name not in self.damaged and sample.name not in self.lost:
                with suppress(ImageError):
                    known[sample.name] = read(sample.path, sample.depth).digest
        return known

    def learn_from(self, other: "PhotoFeatures") -> None:
        """Note what is known of each photo elsewhere."""
        self.found.update(other.found)
        self.quality.update(other.quality)
        self.leave_out(other.unusable)

    @property
    def each(self) -> Callable[[Callable[[Item], Result], Iterable[Item]], Iterable[Result]]:
        """`map`; on a CPU some items at a time, with results in their order."""
        return in_order if self.preparation.backbone.device.type == "cpu" else map

    def leave_out(self, unusable: Unusable) -> None:
        """Note the unusable photos that others found."""
        self.damaged.update(unusable.damaged)
        self.lost.update(unusable.lost)

    @property
    def unusable(self) -> Unusable:
        """The photos that have no features."""
        return Unusable(sorted(self.damaged.items()), sorted(self.lost.items()))

    def unscored(self, photos: Iterable[tuple[str, Sample]]) -> tuple[UnscoredPhoto, ...]:
        """Those of these photos, (part, sample), that have no features, each under its first part."""
        why = self.damaged | self.lost
        found: dict[str, UnscoredPhoto] = {}
        for part, sample in photos:
            if (name := sample.name) in why:
                word = NOT_LOCATED if name in self.lost else NOT_JUDGED
                found.setdefault(name, UnscoredPhoto(sample, part, word, why[name]))
        return tuple(found.values())

    def stored(self, digest: str) -> tuple[Tensor, ...] | None:
        """The features of a photo of this content for each view; None when one of them is not in the store."""
        found = []
        for key, shape in zip(self.preparation.keys, self.preparation.shapes, strict=True):
            stored = self.store.get(f"{digest}-{key}", shape)
            if stored is None:
                return None
            found.append(torch.from_numpy(stored).to(self.preparation.backbone.device))
        return tuple(found)
