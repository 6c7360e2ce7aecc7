"""The patch features of photos: from the store where they are kept, else from the network."""

from collections.abc import Collection
from dataclasses import dataclass, field

import torch
from torch import Tensor

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.images.folders import Sample
from inspect_core.images.read import ImageError, read


@dataclass(frozen=True, eq=False)
class PhotoFeatures:
    """Features of photos by one preparation.

    streamed: names of the photos whose features are not stored. found: digest and (height, width) of each photo read
    so far; skipped: (name, reason) of the damaged ones.
    """

    preparation: Preparation
    store: Store
    streamed: Collection[str] = ()
    found: dict[str, tuple[str, tuple[int, int]]] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def of(self, sample: Sample) -> tuple[Tensor, ...] | None:
        """(1, h, w, k) for each view, from the store when there, else from the network; None for a damaged photo."""
        if sample.name in self.found and (stored := self.stored(self.found[sample.name][0])) is not None:
            return stored
        try:
            picture = read(sample.path, sample.depth)
        except ImageError as error:
            self.skip(sample.name, str(error))
            return None
        self.found[sample.name] = picture.digest, picture.pixels.shape[:2]
        if (stored := self.stored(picture.digest)) is not None:
            return stored
        features = self.preparation.features(picture.pixels)
        if sample.name not in self.streamed:
            for key, own in zip(self.preparation.keys, features, strict=True):
                self.store.put(f"{picture.digest}-{key}", own.cpu().numpy())
        return features

    def skip(self, name: str, reason: str) -> None:
        """Note that a photo is damaged."""
        if (name, reason) not in self.skipped:
            self.skipped.append((name, reason))

    def stored(self, digest: str) -> tuple[Tensor, ...] | None:
        """The features of a photo of this content for each view; None when one of them is not in the store."""
        found = []
        for key, shape in zip(self.preparation.keys, self.preparation.shapes, strict=True):
            stored = self.store.get(f"{digest}-{key}", shape)
            if stored is None:
                return None
            found.append(torch.from_numpy(stored).to(self.preparation.backbone.device))
        return tuple(found)
