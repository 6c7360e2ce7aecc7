"""Have we seen this before: a gallery of known parts with what it takes to answer that, kept in a recipe."""

import itertools
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.images.boxes import Box, cropped
from inspect_core.images.read import squash
from inspect_core.judge.checks import as_finite_number
from inspect_core.whole_part.gallery import Gallery, Match
from inspect_core.whole_part.known_surface import KnownSurface, to_unit

PICTURE = 64
_GALLERY = ("embeddings", "outlier_scores")


@dataclass(frozen=True, eq=False)
class Case:
    """One known part: its (d,) embedding, (64, 64, 3) uint8 picture, name, kind ("good" or a defect's) and note.

    digest: of the photo's content, since two photos may have one name; group: its part or lot; cases of one group never
    both fit the surface and set the limit.
    """

    embedding: np.ndarray
    picture: np.ndarray
    digest: str
    name: str
    kind: str
    note: str = ""
    group: Hashable = None


@dataclass(frozen=True, eq=False)
class KnownCases:
    """gallery: the known parts; surface: measures distance from them; limit: t of eq. 17; suggested: t as learned.

    pictures: (n, 64, 64, 3) uint8, what each looks like; digests: of the photos, n texts; by_region: an embedding is
    that of the crop around what stands out, else of the whole part. Raises ValueError when these differ in number, and
    for a limit that is not a finite distance.
    """

    gallery: Gallery
    surface: KnownSurface
    limit: float
    suggested: float
    pictures: np.ndarray
    digests: tuple[str, ...]
    by_region: bool

    def __post_init__(self) -> None:
        for name, count in (("pictures", len(self.pictures)), ("digests", len(self.digests))):
            if count != len(self.gallery.names):
                raise ValueError(f"there are {count} {name} for {len(self.gallery.names)} known parts")
        for name in ("limit", "suggested"):
            if as_finite_number(getattr(self, name), name=name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give a distance, 0 or more")

    def row_of(self, digest: str) -> int | None:
        """Gallery row of the photo with that content; None when it is not there."""
        return self.digests.index(digest) if digest in self.digests else None

    def nearest(self, embedding: np.ndarray, *, count: int, besides: str | None = None) -> list[Match]:
        """The known parts most like a (d,) embedding, except the photo with digest `besides`; empty: nothing like this.

        A part that is known only because one near it was vouched for is similar to its neighbours only.
        """
        score = float(self.surface.score(embedding[None])[0])
        found = self.gallery.nearest(embedding, score, limit=self.limit, count=count + 1)
        if self.surface.off_surface(embedding[None])[0] >= self.limit:
            found = [match for match in found if 2 - 2 * match.similarity < self.limit**2]
        return [match for match in found if self.digests[match.index] != besides][:count]

    def add(self, case: Case) -> "KnownCases":
        """These with one more case, vouched for by a person: it and parts like it are known from now on."""
        gallery = self.gallery.add(case.embedding, 0.0, name=case.name, kind=case.kind, note=case.note)
        surface = self.surface.vouch(case.embedding[None])
        pictures, digests = np.concatenate([self.pictures, case.picture[None]]), (*self.digests, case.digest)
        return replace(self, gallery=gallery, surface=surface, pictures=pictures, digests=digests)

    def without(self, index: int) -> "KnownCases":
        """These without the case in that row. The surface keeps what it learned; a vouch for that part is withdrawn."""
        known = self.gallery
        keep = np.arange(len(known.names)) != index
        gone = to_unit(known.embeddings[index : index + 1])
        apart = np.abs(self.surface.vouched - gone).max(axis=1) if len(self.surface.vouched) else np.empty(0)
        return replace(
            self,
            gallery=Gallery(
                known.embeddings[keep],
                known.outlier_scores[keep],
                *(tuple(itertools.compress(texts, keep)) for texts in (known.names, known.defect_types, known.notes)),
            ),
            surface=replace(self.surface, vouched=self.surface.vouched[apart > 0]),
            pictures=self.pictures[keep],
            digests=tuple(itertools.compress(self.digests, keep)),
        )

    def with_limit(self, limit: float) -> "KnownCases":
        """The same cases with another t: lower calls more parts unlike anything. Raises ValueError for one below 0."""
        return replace(self, limit=float(limit))

    def arrays(self) -> dict[str, np.ndarray]:
        surface = {f"surface_{name}": value for name, value in self.surface.arrays().items()}
        return {**self.gallery.arrays(), **surface, "pictures": self.pictures}

    def params(self) -> dict:
        return {
            "gallery": self.gallery.params(),
            "surface": self.surface.params(),
            "limit": self.limit,
            "suggested": self.suggested,
            "digests": list(self.digests),
            "by_region": self.by_region,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], params: Mapping) -> "KnownCases":
        """The cases of a recipe; every answer is equal to the bit."""
        surface = {
            name.removeprefix("surface_"): value for name, value in arrays.items() if name.startswith("surface_")
        }
        return cls(
            gallery=Gallery.from_arrays({name: arrays[name] for name in _GALLERY}, params["gallery"]),
            surface=KnownSurface.from_arrays(surface, params["surface"]),
            limit=float(params["limit"]),
            suggested=float(params["suggested"]),
            pictures=np.array(arrays["pictures"], np.uint8),
            digests=tuple(params["digests"]),
            by_region=bool(params["by_region"]),
        )


def strangest_box(pixel_map: np.ndarray, size: tuple[int, int]) -> Box:
    """A small box around the highest value of an anomaly map, in pixels of a photo of `size` (height, width)."""
    row, column = np.unravel_index(int(pixel_map.argmax()), pixel_map.shape)
    y = int((row + 0.5) * size[0] / pixel_map.shape[0])
    x = int((column + 0.5) * size[1] / pixel_map.shape[1])
    half = max(min(size) // 16, 1)
    return max(x - half, 0), max(y - half, 0), min(x + half, size[1]), min(y + half, size[0])


def picture_of(image: np.ndarray, box: Box | None) -> np.ndarray:
    """(64, 64, 3) uint8 of a photo, or of the square around a box on it: what the embedding looked at."""
    return squash(cropped(image, box), (PICTURE, PICTURE))
