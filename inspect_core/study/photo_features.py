"""The patch features of photos: from the store where they are kept, else from the network."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.images.alignment import NotLocated
from inspect_core.images.folders import Sample
from inspect_core.images.placement import Placement
from inspect_core.images.read import ImageError, read
from inspect_core.methods.method import Patches
from inspect_core.runtime.progress import Cancel, Report, tell

SAMPLING_FRACTION = 0.1
"""Of the progress of a fit that draws a sample of the patches first."""


@dataclass(frozen=True, eq=False)
class PhotoFeatures:
    """Features of photos by one preparation.

    streamed: names of the photos whose features are not stored. found: digest and placement of each photo read so
    far; skipped: (name, reason) of those damaged; lost: of those in which the part was not located.
    """

    preparation: Preparation
    store: Store
    streamed: Collection[str] = ()
    found: dict[str, tuple[str, Placement]] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)

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
            if (sample.name, str(error)) not in self.skipped:
                self.skipped.append((sample.name, str(error)))
            return None
        try:
            placement = self.preparation.place(picture.pixels)
        except NotLocated as error:
            self.lost[sample.name] = str(error)
            return None
        self.found[sample.name] = picture.digest, placement
        if (stored := self.stored(picture.digest)) is not None:
            return stored
        features = self.preparation.features(picture.pixels, placement)
        if sample.name not in self.streamed:
            for key, own in zip(self.preparation.keys, features, strict=True):
                self.store.put(f"{picture.digest}-{key}", own.cpu().numpy())
        return features

    def stored(self, digest: str) -> tuple[Tensor, ...] | None:
        """The features of a photo of this content for each view; None when one of them is not in the store."""
        found = []
        for key, shape in zip(self.preparation.keys, self.preparation.shapes, strict=True):
            stored = self.store.get(f"{digest}-{key}", shape)
            if stored is None:
                return None
            found.append(torch.from_numpy(stored).to(self.preparation.backbone.device))
        return tuple(found)

    def patches(
        self, samples: Sequence[Sample], view: int, *, seed: int, progress: Report | None, cancelled: Cancel | None
    ) -> Patches:
        """The patches of these photos as one view sees them; the seed draws samples of them."""
        _, height, width, channels = self.preparation.shapes[view]
        places = height * width

        def report(fraction: float) -> None:
            tell(progress, cancelled, fraction, "learning what good looks like")

        def stream(whole: float = 1.0) -> Iterator[Tensor]:
            for done, sample in enumerate(samples, start=1):
                if (features := self.of(sample)) is not None:
                    yield features[view]
                report(whole * done / len(samples))

        def sample(count: int) -> Tensor:
            rng, each = np.random.default_rng(seed), -(-count // len(samples))
            rows = []
            for features in stream(SAMPLING_FRACTION):
                chosen = np.sort(rng.permutation(places)[:each])
                rows.append(features.reshape(places, -1)[torch.from_numpy(chosen)])
            return torch.cat(rows)[:count]

        def learned(fraction: float) -> None:
            report(SAMPLING_FRACTION + (1 - SAMPLING_FRACTION) * fraction)

        return Patches(len(samples), (height, width), channels, stream, sample, learned)
