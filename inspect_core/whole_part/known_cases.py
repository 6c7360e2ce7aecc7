"""Have we seen this before: the known cases most like a new part, where an outlier is like nothing.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022), eq. 17.
A cosine similarity between embeddings is high for pairs of outliers that have nothing in common; with an outlier
score o and a limit t, the similarity counts only where both are below t.
"""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from inspect_core.images.boxes import Box, crop_square
from inspect_core.images.photo_reader import squash
from inspect_core.runtime.json_record import DISTANCE, FLAG, TEXT, Rules, list_of
from inspect_core.runtime.stored import ArraySpec, floats
from inspect_core.scoring.input_checks import as_finite, as_finite_number
from inspect_core.whole_part.known_surface import KnownSurface, finite_unit, to_unit

PICTURE = 64
NEVER_SIMILAR = 0.0
NOISE = 1e-6
"""Embeddings of length 1 nearer to each other in every feature are of one part: float32 tells no more."""


def robust_similarity(
    similarity: np.ndarray, outlier_a: np.ndarray, outlier_b: np.ndarray, *, limit: float
) -> np.ndarray:
    """The similarity where max(outlier_a, outlier_b) < limit, strictly, else 0 (eq. 17).

    The three arrays broadcast: for all pairs send similarity (p, q), outlier_a (p, 1) and outlier_b (q,).
    Raises ValueError for a NaN among the arguments, which cannot be compared with a limit.
    """
    named = {"similarity": similarity, "outlier_a": outlier_a, "outlier_b": outlier_b, "limit": limit}
    for name, values in named.items():
        if np.isnan(values).any():
            raise ValueError(f"{name} has NaN; score every part before comparing")
    return np.where(np.maximum(outlier_a, outlier_b) < limit, similarity, NEVER_SIMILAR)


@dataclass(frozen=True, eq=False)
class KnownCase:
    """One known part: its (d,) embedding, (64, 64, 3) uint8 picture, name, defect type or "good", and note.

    digest: of the photo's content, since two photos may have one name; group: its part or lot; cases of one group never
    both fit the surface and set the limit.
    """

    embedding: np.ndarray
    picture: np.ndarray
    digest: str
    name: str
    defect_type: str
    note: str = ""
    group: Hashable = None


@dataclass(frozen=True, eq=False)
class KnownCases:
    """cases: n, in the order they were added; outlier_scores: (n,) float64, their distances from the surface.

    surface: measures distance from what is known; limit: t of eq. 17; suggested: t as learned; by_region: an embedding
    is that of the crop around what stands out, else of the whole part. Raises ValueError when the counts differ, for
    a number that is not finite, and for a limit below 0.
    """

    cases: tuple[KnownCase, ...]
    outlier_scores: np.ndarray
    surface: KnownSurface
    limit: float
    suggested: float
    by_region: bool

    def __post_init__(self) -> None:
        if len(self.outlier_scores) != len(self.cases):
            raise ValueError(f"there are {len(self.outlier_scores)} outlier_scores for {len(self.cases)} known parts")
        as_finite(self.outlier_scores, name="outlier_scores")
        as_finite(self.embeddings, name="embeddings")
        for name in ("limit", "suggested"):
            if as_finite_number(getattr(self, name), name=name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; give a distance, 0 or more")

    @cached_property
    def embeddings(self) -> np.ndarray:
        """(n, d) float32, not normalised."""
        rows = np.array([case.embedding for case in self.cases], np.float32)
        return rows.reshape(len(self.cases), len(self.surface.shift))

    def row_of(self, digest: str) -> int | None:
        """Place of the photo with that content among the cases; None when it is not there."""
        return next((row for row, case in enumerate(self.cases) if case.digest == digest), None)

    def nearest(
        self, embedding: np.ndarray, *, count: int, besides: str | None = None
    ) -> list[tuple[KnownCase, float]]:
        """At most `count` (case, similarity), most like a (d,) embedding first, ties in the cases' order.

        The similarity is the cosine where eq. 17 lets it count, above 0; an empty list: nothing like this. besides:
        digest of a photo to leave out. A part that is known only because one near it was vouched for is similar to its
        neighbours only. Raises ValueError for another width and for an embedding that is not finite.
        """
        query = np.asarray(embedding, np.float64)[None]
        score = self.surface.score(query)
        off_surface = self.surface.off_surface(query)
        cosine = to_unit(self.embeddings.astype(np.float64)) @ to_unit(query)[0]
        similarity = robust_similarity(cosine, self.outlier_scores, score, limit=self.limit)
        nearest_cases = []
        for row in np.argsort(-similarity, kind="stable")[: count + 1]:
            near = off_surface < self.limit or 2 - 2 * similarity[row] < self.limit**2
            if similarity[row] > NEVER_SIMILAR and near and self.cases[row].digest != besides:
                nearest_cases.append((self.cases[row], float(similarity[row])))
        return nearest_cases[:count]

    def add(self, case: KnownCase) -> "KnownCases":
        """These with one more case, vouched for by a person: it and parts like it are known from now on."""
        surface = self.surface.mark_as_known(case.embedding[None])
        scores = np.append(self.outlier_scores, 0.0)
        return replace(self, cases=(*self.cases, case), outlier_scores=scores, surface=surface)

    def without(self, row: int) -> "KnownCases":
        """These without the case in that row. The surface keeps it; a vouch for that part is withdrawn."""
        apart = np.abs(self.surface.accepted - finite_unit(self.embeddings[row : row + 1])).max(axis=1)
        return replace(
            self,
            cases=(*self.cases[:row], *self.cases[row + 1 :]),
            outlier_scores=np.delete(self.outlier_scores, row),
            surface=replace(self.surface, accepted=self.surface.accepted[apart > NOISE]),
        )

    def with_limit(self, limit: float) -> "KnownCases":
        """The same cases with another t: lower calls more parts unlike any. Raises ValueError below 0."""
        return replace(self, limit=float(limit))

    def arrays(self) -> dict[str, np.ndarray]:
        """embeddings, outlier_scores, pictures (n, 64, 64, 3) uint8, and the surface's."""
        surface = {f"surface_{name}": value for name, value in self.surface.arrays().items()}
        pictures = np.array([case.picture for case in self.cases], np.uint8).reshape(-1, PICTURE, PICTURE, 3)
        return {"embeddings": self.embeddings, "outlier_scores": self.outlier_scores, **surface, "pictures": pictures}

    def params(self) -> dict:
        return {
            "cases": {
                "names": [case.name for case in self.cases],
                "defect_types": [case.defect_type for case in self.cases],
                "notes": [case.note for case in self.cases],
            },
            "surface": self.surface.params(),
            "limit": self.limit,
            "suggested": self.suggested,
            "digests": [case.digest for case in self.cases],
            "by_region": self.by_region,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], params: Mapping) -> "KnownCases":
        """The cases of a recipe; every answer is equal to the bit. Raises ValueError when the counts differ."""
        surface = {name: value for name, value in arrays.items() if name.startswith("surface_")}
        texts = [params["digests"], *(params["cases"][name] for name in ("names", "defect_types", "notes"))]
        columns = [arrays["embeddings"], np.asarray(arrays["pictures"], np.uint8), *texts]
        if len(counts := {len(column) for column in columns}) != 1:
            raise ValueError(f"the columns of the known parts have {sorted(counts)} rows; give one for every part")
        return cls(
            cases=tuple(KnownCase(*row) for row in zip(*columns, strict=True)),
            outlier_scores=np.asarray(arrays["outlier_scores"], np.float64),
            surface=KnownSurface.from_arrays(
                {name.removeprefix("surface_"): value for name, value in surface.items()}, params["surface"]
            ),
            limit=float(params["limit"]),
            suggested=float(params["suggested"]),
            by_region=bool(params["by_region"]),
        )

    @classmethod
    def array_specs(cls, params: Mapping[str, Any], names: Collection[str]) -> dict[str, ArraySpec]:
        """As `Stored.array_specs`."""
        surface = KnownSurface.array_specs(params["surface"], names)
        return {
            "embeddings": floats("cases e"),
            "outlier_scores": floats("cases", 0),
            "pictures": floats(f"cases {PICTURE} {PICTURE} 3", 0, 255, ("U8",)),
            **{f"surface_{name}": spec for name, spec in surface.items()},
        }

    @classmethod
    def rules(cls) -> Rules:
        """As `Stored.rules`."""
        return {
            "cases": {name: list_of(TEXT) for name in ("names", "defect_types", "notes")},
            "surface": KnownSurface.rules(),
            "limit": DISTANCE,
            "suggested": DISTANCE,
            "digests": list_of(TEXT),
            "by_region": FLAG,
        }


def peak_box(anomaly_map: np.ndarray, size: tuple[int, int]) -> Box:
    """A small box around the highest value of an anomaly map, in pixels of a photo of `size` (height, width)."""
    row, column = np.unravel_index(int(anomaly_map.argmax()), anomaly_map.shape)
    y = int((row + 0.5) * size[0] / anomaly_map.shape[0])
    x = int((column + 0.5) * size[1] / anomaly_map.shape[1])
    half = max(min(size) // 16, 1)
    return max(x - half, 0), max(y - half, 0), min(x + half, size[1]), min(y + half, size[0])


def picture_of(image: np.ndarray, box: Box | None) -> np.ndarray:
    """(64, 64, 3) uint8 of a photo, or of the square around a box on it: what the embedding looked at."""
    return squash(crop_square(image, box), (PICTURE, PICTURE))
