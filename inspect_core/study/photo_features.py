"""The patch features of photos: from the store if they are there, else from the network."""

import math
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from inspect_core.datasets.folders import PhotoFile
from inspect_core.features.extraction import FeatureExtractor, rows_of
from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import NotLocated
from inspect_core.images.photo_quality import PhotoQuality, measure_quality
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.placement import Placement
from inspect_core.images.tolerances import CaptureVariation, Tolerances
from inspect_core.runtime.ordered_pool import in_batches
from inspect_core.study.scored_photo import ScoredPhoto, UnscoredPhoto
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED

Result = TypeVar("Result")
Features = tuple[Tensor, ...]
"""(1, h, w, k) float32 of one photo for each view, on the backbone's device."""
Embedding = tuple[np.ndarray, np.ndarray]
"""Embedding (d,) and logits (c,) of a whole photo, float32."""
Looks = list[Features]
"""The features of a photo and of its copies; none for a photo that is damaged, or in which the part is not located."""

INPUT_BYTES = 1 << 26
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


@dataclass(eq=False)
class _Reading:
    """A photo on its way through the network.

    stored: its features, where they need no run; pictures: what the network is to see, the photo itself unless it is
    stored, then its copies; whole: it at the network's input, where its embedding is wanted too; looks, entries: what
    came of it, and what of that is stored, by key; result: what is asked of it.
    """

    sample: PhotoFile
    digest: str = ""
    stored: Features | None = None
    pictures: list[np.ndarray] = field(default_factory=list)
    whole: np.ndarray | None = None
    looks: Looks = field(default_factory=list)
    entries: dict[str, np.ndarray] = field(default_factory=dict)
    result: Any = None


@dataclass(frozen=True, eq=False)
class PhotoFeatures:
    """Features of photos by one extractor. Safe to use from several threads.

    streamed: names of the photos whose features are not stored; embedded: of those whose embedding is stored with their
    features, in the same run of the network; notes: of the photos looked at so far; inputs: what the network saw of
    some large ones, by name, until their copies are made; threads: as `ordered_pool.in_batches` takes them.
    """

    extractor: FeatureExtractor
    store: FeatureStore
    streamed: Collection[str] = ()
    embedded: Collection[str] = ()
    notes: PhotoNotes = field(default_factory=PhotoNotes)
    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    threads: int | None = 1

    @classmethod
    def here(cls, extractor: FeatureExtractor, store: FeatureStore, streamed: Collection[str] = ()) -> Self:
        """Create it for this process, which has all cores to itself."""
        return cls(extractor, store, streamed, threads=None)

    def in_batches(
        self,
        work: Callable[[list[tuple[PhotoFile, Looks]]], Sequence[Result]],
        samples: Iterable[PhotoFile],
        tolerances: Tolerances | None = None,
    ) -> Generator[Result]:
        """Yield a result for each photo, in their order.

        work: given some photos, each with its features and those of its copies within the tolerances, returns a result
        for each. Features of photos come from the store if they are there, else from the network; copies are not
        stored.
        """

        def compute(readings: list[_Reading]) -> list[_Reading]:
            self._run(readings)
            results = work([(reading.sample, reading.looks) for reading in readings])
            for reading, result in zip(readings, results, strict=True):
                reading.result, reading.looks = result, []
            return readings

        def finish(reading: _Reading) -> Result:
            self._keep(reading)
            return reading.result

        read_photo = partial(self._read, tolerances=tolerances)
        return in_batches(read_photo, compute, finish, samples, at_once=self.extractor.at_once, threads=self.threads)

    def features_of(self, sample: PhotoFile) -> Features | None:
        """The features of one photo, as `in_batches`; None for one that cannot be used."""
        [reading] = self._run([self._read(sample)])
        self._keep(reading)
        return reading.looks[0] if reading.looks else None

    def of_pictures(self, pictures: Sequence[np.ndarray]) -> list[Features]:
        """The features of each of some pictures that the extractor's `network_input` returned."""
        return rows_of(self.extractor.features_of_inputs(pictures)) if pictures else []

    def _read(self, sample: PhotoFile, tolerances: Tolerances | None = None) -> _Reading:
        """A photo with everything that needs no network."""
        notes, name, reading = self.notes, sample.name, _Reading(sample)
        if name in notes.not_located:
            return reading
        pixels = picture = None
        if name in notes.placements:
            reading.digest = notes.placements[name][0]
            reading.stored = self._from_store(reading.digest)
        if reading.stored is None:
            if (looked := self._looked(sample)) is None:
                return reading
            reading.digest, pixels, placement = looked
            notes.placements[name] = (reading.digest, placement)
            picture = self.extractor.network_input(pixels, placement)
            notes.quality[name] = measure_quality(picture, pixels)
            reading.stored = self._from_store(reading.digest)
            if reading.stored is None:
                reading.pictures.append(picture)
                if name in self.embedded:
                    is_whole = self.extractor.tiles is None
                    reading.whole = picture if is_whole else self.extractor.whole_network_input(pixels, placement)
        if tolerances is not None:
            reading.pictures += self._copies(sample, tolerances, pixels, picture)
        if (
            pixels is not None
            and picture is not None
            and pixels.size >= LARGE * picture.size
            and (1 + len(self.inputs)) * picture.nbytes <= INPUT_BYTES
        ):
            self.inputs[name] = picture
        return reading

    def _copies(
        self, sample: PhotoFile, tolerances: Tolerances, pixels: np.ndarray | None, picture: np.ndarray | None
    ) -> Iterator[np.ndarray]:
        """Yield the pictures of a photo's copies; pixels, picture: of the photo, where it was read just now."""
        digest, placement = self.notes.placements[sample.name]
        if picture is None:
            picture = self.inputs.get(sample.name)
        if picture is None:
            pixels = read(sample.path, sample.depth).pixels
            picture = self.extractor.network_input(pixels, placement)

        def keep(variation: CaptureVariation) -> np.ndarray:
            photo = read(sample.path, sample.depth).pixels if pixels is None else pixels
            return self.extractor.network_input(variation.compress(photo), placement)

        is_large = math.prod(placement.photo_size) * 3 >= LARGE * picture.size
        return tolerances.copies_of(picture, placement.photo_size, digest, None if is_large else keep)

    def _run(self, readings: list[_Reading]) -> list[_Reading]:
        """Give photos their looks, and what is to be stored of them in one transfer from the device."""
        stored = [reading for reading in readings if reading.stored is not None]
        on_device = [values.to(self.extractor.backbone.device) for values in _joined(r.stored for r in stored)]
        for reading, features in zip(stored, rows_of(on_device), strict=True):
            reading.looks.append(features)
        if described := [reading for reading in readings if reading.whole is not None]:
            pictures = [reading.pictures.pop(0) for reading in described]
            rows, embeddings, _ = self.extractor.describe(pictures, [r.whole for r in described if r.whole is not None])
            for reading, features, embedding in zip(described, rows_of(rows), embeddings, strict=True):
                reading.looks.append(features)
                reading.entries[f"{reading.digest}-{self.extractor.embedding_key}"] = embedding
        features_of_pictures = iter(self.of_pictures([picture for reading in readings for picture in reading.pictures]))
        for reading in readings:
            reading.looks += [next(features_of_pictures) for _ in reading.pictures]
            reading.pictures = []
        new = [r for r in readings if r.looks and r.stored is None and r.sample.name not in self.streamed]
        to_store = [values.cpu() for values in _joined(reading.looks[0] for reading in new)]
        for reading, features in zip(new, rows_of(to_store), strict=True):
            for key, values in zip(self.extractor.keys, features, strict=True):
                reading.entries[f"{reading.digest}-{key}"] = values.numpy()
        return readings

    def _keep(self, reading: _Reading) -> None:
        for key, values in reading.entries.items():
            self.store.put(key, values)

    def embedding(self, sample: PhotoFile) -> np.ndarray | None:
        """The stored embedding (d,) of a whole photo that was looked at before, float32; None without one."""
        if sample.name not in self.notes.placements:
            return None
        digest, _ = self.notes.placements[sample.name]
        return self.store.get(f"{digest}-{self.extractor.embedding_key}", (self.extractor.backbone.embedding_width,))

    def embed_and_classify(
        self, samples: Iterable[PhotoFile], known: Callable[[PhotoFile], np.ndarray | None] = lambda sample: None
    ) -> Generator[Embedding | None]:
        """Yield embedding and logits of each whole photo; None for one that cannot be used.

        known: returns an embedding that needs no run of the network; it comes without logits, (0,).
        """

        def whole_of(sample: PhotoFile) -> Embedding | np.ndarray | None:
            if (embedding := known(sample)) is not None:
                return embedding, embedding[:0]
            if (looked := self._looked(sample)) is None:
                return None
            _, pixels, placement = looked
            return self.extractor.whole_network_input(pixels, placement)

        def compute(wholes: list[Embedding | np.ndarray | None]) -> list[Embedding | None]:
            described = iter(self._described([item for item in wholes if isinstance(item, np.ndarray)]))
            return [next(described) if isinstance(item, np.ndarray) else item for item in wholes]

        at_once = self.extractor.backbone.at_once
        return in_batches(whole_of, compute, lambda row: row, samples, at_once=at_once, threads=self.threads)

    def _described(self, wholes: list[np.ndarray]) -> list[Embedding]:
        if not wholes:
            return []
        _, *outputs = self.extractor.backbone.describe(np.stack(wholes))
        embeddings, logits = (values.cpu().numpy() for values in outputs)
        # Copies: a view would keep the network's whole output buffer of every photo.
        return [(embedding.copy(), row.copy()) for embedding, row in zip(embeddings, logits, strict=True)]

    def _looked(self, sample: PhotoFile) -> tuple[str, np.ndarray, Placement] | None:
        """Digest, pixels and placement of a photo; None where it is noted why there are none."""
        try:
            picture = read(sample.path, sample.depth)
            return picture.digest, picture.pixels, self.extractor.place(picture.pixels)
        except ImageError as error:
            self.notes.damaged[sample.name] = str(error)
        except NotLocated as error:
            self.notes.not_located[sample.name] = str(error)
        return None

    def photo(self, sample: PhotoFile, part: str, groups: Mapping[str, str] | None = None) -> ScoredPhoto:
        """A photo that was read, as one of a part of the study; groups: by name, those of the split."""
        digest, placement = self.notes.placements[sample.name]
        known = sample.name, digest, placement.size, sample.label, part, sample.path, sample.mask, sample.group
        return ScoredPhoto(*known, (groups or {}).get(sample.name), sample.depth, placement)

    def digests(self, samples: Iterable[PhotoFile]) -> dict[str, str]:
        """That of the content of the usable photos, by name; those not looked at yet are read."""
        notes = self.notes
        known = {name: digest for name, (digest, _) in notes.placements.items()}
        for sample in samples:
            if sample.name not in {**known, **notes.damaged, **notes.not_located}:
                with suppress(ImageError):
                    known[sample.name] = read(sample.path, sample.depth).digest
        return known

    def unscored(self, photos: Iterable[tuple[str, PhotoFile]]) -> tuple[UnscoredPhoto, ...]:
        """Those of these photos, (part, sample), that have no features, each under its first part."""
        reason = self.notes.damaged | self.notes.not_located
        unscored_by_name: dict[str, UnscoredPhoto] = {}
        for part, sample in photos:
            if (name := sample.name) in reason:
                word = NOT_LOCATED if name in self.notes.not_located else NOT_JUDGED
                unscored_by_name.setdefault(name, UnscoredPhoto(sample, part, word, reason[name]))
        return tuple(unscored_by_name.values())

    def stored(self, digest: str) -> Features | None:
        """The features of a photo of this content for each view; None when one of them is not in the store."""
        features = self._from_store(digest)
        return features and tuple(values.to(self.extractor.backbone.device) for values in features)

    def _from_store(self, digest: str) -> Features | None:
        """`stored` in the memory of this machine."""
        arrays: dict[str, Tensor] = {}
        for key, shape in dict(zip(self.extractor.keys, self.extractor.shapes, strict=True)).items():
            stored = self.store.get(f"{digest}-{key}", shape)
            if stored is None:
                return None
            arrays[key] = torch.from_numpy(stored)
        return tuple(arrays[key] for key in self.extractor.keys)


def _joined(photos: Iterable[Features | None]) -> list[Tensor]:
    """(n, h, w, k) for each view, of the features of n photos."""
    views = zip(*(features for features in photos if features is not None), strict=True)
    return [torch.cat(values) if len(values) > 1 else values[0] for values in views]
