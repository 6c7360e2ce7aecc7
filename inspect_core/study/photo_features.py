"""The patch features of photos: from the store if they are there, else from the network."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import NotLocated
from inspect_core.images.folders import PhotoFile
from inspect_core.images.photo_quality import PhotoQuality, measure_quality
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.placement import Placement
from inspect_core.images.tolerances import CaptureVariation, Tolerances
from inspect_core.line.ordered_pool import in_order
from inspect_core.study.scored_photo import ScoredPhoto, UnscoredPhoto
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED

INPUT_BYTES = 1 << 25
"""Bytes of network inputs that are kept for the augmented copies of their photos."""
LARGE = 16
"""How many times the pixels of its network input a photo has from which on it is not decoded twice."""


@dataclass(frozen=True, eq=False)
class PhotoNotes:
    """What is known of photos, by name. placements: digest and placement of those read; quality: of these; damaged,
    not_located: why a photo cannot be read, why the part was not located in it.
    """

    placements: dict[str, tuple[str, Placement]] = field(default_factory=dict)
    quality: dict[str, PhotoQuality] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)
    not_located: dict[str, str] = field(default_factory=dict)

    def add(self, other: "PhotoNotes") -> None:
        """Note what is known elsewhere."""
        for name, noted in vars(self).items():
            noted.update(getattr(other, name))


@dataclass(frozen=True, eq=False)
class PhotoFeatures:
    """Features of photos by one extractor. Safe to use from several threads.

    streamed: names of the photos whose features are not stored; embedded: of those whose embedding is stored with their
    features, in the same run of the network; notes: of the photos looked at so far; inputs: what the network saw of
    some large ones, by name, until their copies are made; map_photos: `map`, or as it works on several items at a time.
    """

    extractor: FeatureExtractor
    store: FeatureStore
    streamed: Collection[str] = ()
    embedded: Collection[str] = ()
    notes: PhotoNotes = field(default_factory=PhotoNotes)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    map_photos: Callable[..., Iterable[Any]] = map

    @classmethod
    def here(cls, extractor: FeatureExtractor, store: FeatureStore, streamed: Collection[str] = ()) -> Self:
        """Create it for this process, which looks at some photos at a time where the network runs on a CPU."""
        map_photos = in_order if extractor.backbone.device.type == "cpu" else map
        return cls(extractor, store, streamed, map_photos=map_photos)

    def features_of(self, sample: PhotoFile) -> tuple[Tensor, ...] | None:
        """Return (1, h, w, k) for each view, from the store when there, else from the network.

        None for a photo that is damaged, or in which the part is not located.
        """
        notes, name = self.notes, sample.name
        if name in notes.not_located:
            return None
        if name in notes.placements and (stored := self.stored(notes.placements[name][0])) is not None:
            return stored
        if (looked := self._looked(sample)) is None:
            return None
        digest, pixels, placement = looked
        notes.placements[name] = (digest, placement)
        picture = self.extractor.network_input(pixels, placement)
        notes.quality[name] = measure_quality(picture, pixels)
        if pixels.size >= LARGE * picture.size and (1 + len(self.inputs)) * picture.nbytes <= INPUT_BYTES:
            self.inputs[name] = picture
        if (stored := self.stored(digest)) is not None:
            return stored
        if name in self.embedded:
            features, embedding, _ = self.extractor.describe(pixels, placement, picture)
            self.store.put(f"{digest}-{self.extractor.embedding_key}", embedding[0])
        else:
            features = self.extractor.features_of_input(picture)
        if name not in self.streamed:
            for key, spec_features in zip(self.extractor.keys, features, strict=True):
                self.store.put(f"{digest}-{key}", spec_features.cpu().numpy())
        return features

    def embedding(self, sample: PhotoFile) -> np.ndarray | None:
        """Return the stored embedding (d,) of a whole photo that was looked at before, float32; None without one."""
        if sample.name not in self.notes.placements:
            return None
        digest, _ = self.notes.placements[sample.name]
        return self.store.get(f"{digest}-{self.extractor.embedding_key}", (self.extractor.backbone.embedding_width,))

    def embed_and_classify(self, sample: PhotoFile) -> tuple[np.ndarray, np.ndarray] | None:
        """Return embedding (d,) and logits (c,) of a whole photo, float32; None where `features_of` gives none."""
        if (looked := self._looked(sample)) is None:
            return None
        _, pixels, placement = looked
        whole = self.extractor.whole_network_input(pixels, placement)
        _, embedding, logits = self.extractor.backbone.describe(whole[None])
        # Copies: a view would keep the network's whole output buffer of every photo.
        return embedding[0].cpu().numpy().copy(), logits[0].cpu().numpy().copy()

    def _looked(self, sample: PhotoFile) -> tuple[str, np.ndarray, Placement] | None:
        """Return digest, pixels and placement of a photo; None where it is noted why there are none."""
        try:
            picture = read(sample.path, sample.depth)
            return picture.digest, picture.pixels, self.extractor.place(picture.pixels)
        except ImageError as error:
            self.notes.damaged[sample.name] = str(error)
        except NotLocated as error:
            self.notes.not_located[sample.name] = str(error)
        return None

    def augmented_features(self, sample: PhotoFile, tolerances: Tolerances | None) -> list[tuple[Tensor, ...]]:
        """Return the features of a photo and of its copies in the tolerances, never stored; empty if it has none."""
        features = self.features_of(sample)
        if features is None or tolerances is None:
            return [] if features is None else [features]
        digest, placement = self.notes.placements[sample.name]
        picture = self.inputs.pop(sample.name, None)
        pixels = None
        if picture is None:
            pixels = read(sample.path, sample.depth).pixels
            picture = self.extractor.network_input(pixels, placement)

        def keep(variation: CaptureVariation) -> np.ndarray:
            photo = read(sample.path, sample.depth).pixels if pixels is None else pixels
            return self.extractor.network_input(variation.compress(photo), placement)

        is_large = math.prod(placement.photo_size) * 3 >= LARGE * picture.size
        copies = tolerances.copies_of(picture, placement.photo_size, digest, None if is_large else keep)
        return [features, *map(self.extractor.features_of_input, copies)]

    def photo(self, sample: PhotoFile, part: str, groups: Mapping[str, str] | None = None) -> ScoredPhoto:
        """Return a photo that was read, as one of a part of the study; groups: by name, those of the split."""
        digest, placement = self.notes.placements[sample.name]
        known = sample.name, digest, placement.size, sample.label, part, sample.path, sample.mask, sample.group
        return ScoredPhoto(*known, (groups or {}).get(sample.name), sample.depth, placement)

    def digests(self, samples: Iterable[PhotoFile]) -> dict[str, str]:
        """Return that of the content of the usable photos, by name; those not looked at yet are read."""
        notes = self.notes
        known = {name: digest for name, (digest, _) in notes.placements.items()}
        for sample in samples:
            if sample.name not in {**known, **notes.damaged, **notes.not_located}:
                with suppress(ImageError):
                    known[sample.name] = read(sample.path, sample.depth).digest
        return known

    def unscored(self, photos: Iterable[tuple[str, PhotoFile]]) -> tuple[UnscoredPhoto, ...]:
        """Return those of these photos, (part, sample), that have no features, each under its first part."""
        reason = self.notes.damaged | self.notes.not_located
        unscored_by_name: dict[str, UnscoredPhoto] = {}
        for part, sample in photos:
            if (name := sample.name) in reason:
                word = NOT_LOCATED if name in self.notes.not_located else NOT_JUDGED
                unscored_by_name.setdefault(name, UnscoredPhoto(sample, part, word, reason[name]))
        return tuple(unscored_by_name.values())

    def stored(self, digest: str) -> tuple[Tensor, ...] | None:
        """Return the features of a photo of this content for each view; None when one of them is not in the store."""
        arrays = []
        for key, shape in zip(self.extractor.keys, self.extractor.shapes, strict=True):
            stored = self.store.get(f"{digest}-{key}", shape)
            if stored is None:
                return None
            arrays.append(torch.from_numpy(stored).to(self.extractor.backbone.device))
        return tuple(arrays)
