"""Have we seen this before: the known parts most like a new one, where an outlier is like nothing.

Pavutnitskiy et al., "Quadric hypersurface intersection for manifold learning in feature space" (AISTATS 2022), eq. 17.
A cosine similarity between embeddings is high for pairs of outliers that have nothing in common; with an outlier
score o and a limit t, the similarity counts only where both are below t.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.whole_part.known_surface import to_unit

NEVER_SIMILAR = 0.0


def robust_similarity(
    similarity: np.ndarray, outlier_a: np.ndarray, outlier_b: np.ndarray, *, limit: float
) -> np.ndarray:
    """The similarity where max(outlier_a, outlier_b) < limit, strictly, else 0 (eq. 17).

    The three arrays broadcast: for all pairs send similarity (p, q), outlier_a (p, 1) and outlier_b (q,).
    Raises ValueError for a NaN among the arguments, which cannot be compared with a limit.
    """
    similarity, outlier_a, outlier_b = (np.asarray(a, dtype=np.float64) for a in (similarity, outlier_a, outlier_b))
    named = {"similarity": similarity, "outlier_a": outlier_a, "outlier_b": outlier_b, "limit": np.asarray(limit)}
    for name, values in named.items():
        if np.isnan(values).any():
            raise ValueError(f"{name} has NaN; score every part before comparing")
    return np.where(np.maximum(outlier_a, outlier_b) < limit, similarity, NEVER_SIMILAR)


@dataclass(frozen=True)
class Match:
    """A known part like the new one; similarity is the cosine, above 0 and up to 1; index: its gallery row."""

    index: int
    name: str
    kind: str
    note: str
    similarity: float


@dataclass(frozen=True, eq=False)
class Gallery:
    """Known parts, good ones and labelled defects, and notes on them: n rows, in the order they were added.

    embeddings: (n, d) float32, not normalised. outlier_scores: (n,) float64, from the same model as the queries'.
    names, kinds, notes: n texts each. Raises ValueError when the counts differ or a number is not finite.
    """

    embeddings: np.ndarray
    outlier_scores: np.ndarray
    names: tuple[str, ...]
    defect_types: tuple[str, ...]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.embeddings.ndim != 2:
            raise ValueError(f"embeddings have shape {self.embeddings.shape}; give (n, d), a row for every part")
        counts = {
            len(self.embeddings),
            len(self.outlier_scores),
            len(self.names),
            len(self.defect_types),
            len(self.notes),
        }
        if len(counts) != 1:
            raise ValueError(f"the gallery's columns have {sorted(counts)} rows; give one entry for every part")
        for name, values in (("embeddings", self.embeddings), ("outlier_scores", self.outlier_scores)):
            wrong = np.argwhere(~np.isfinite(values))
            if len(wrong):
                raise ValueError(f"{name} is not finite in row {wrong[0, 0]}; remove or repair that part")

    def add(self, embedding: np.ndarray, outlier_score: float, *, name: str, kind: str, note: str = "") -> "Gallery":
        """A gallery with one more part, at the end; this one stays as it was. embedding: (d,)."""
        row = self._query(embedding)[None]
        return replace(
            self,
            embeddings=np.concatenate([self.embeddings, row.astype(np.float32)]),
            outlier_scores=np.append(self.outlier_scores, float(outlier_score)),
            names=(*self.names, name),
            defect_types=(*self.defect_types, kind),
            notes=(*self.notes, note),
        )

    def nearest(self, embedding: np.ndarray, outlier_score: float, *, limit: float, count: int) -> list[Match]:
        """At most `count` known parts, most similar first, ties in gallery order; an empty list: nothing like this.

        Cosine similarity made robust by eq. 17: an outlier, here or in the gallery, is similar to nothing, and a pair
        whose cosine is not above 0 is not similar. A zero embedding has no direction and cosine 0 with everything.
        Raises ValueError for another width, a non-finite embedding or score, and count below 1.
        """
        if count < 1:
            raise ValueError(f"count is {count}; ask for at least one part")
        if not np.isfinite(outlier_score):
            raise ValueError(f"outlier_score is {outlier_score}; score the part before looking for its like")
        cosine = to_unit(self.embeddings.astype(np.float64)) @ to_unit(self._query(embedding)[None])[0]
        similarity = robust_similarity(cosine, self.outlier_scores, np.asarray(outlier_score), limit=limit)
        first = np.argsort(-similarity, kind="stable")[:count]
        return [
            Match(int(i), self.names[i], self.defect_types[i], self.notes[i], float(similarity[i]))
            for i in first
            if similarity[i] > NEVER_SIMILAR
        ]

    def arrays(self) -> dict[str, np.ndarray]:
        return {"embeddings": self.embeddings, "outlier_scores": self.outlier_scores}

    def params(self) -> dict[str, list[str]]:
        return {"names": list(self.names), "kinds": list(self.defect_types), "notes": list(self.notes)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], params: Mapping[str, Sequence[str]]) -> "Gallery":
        """The gallery whose arrays() and params() these are."""
        return cls(
            embeddings=np.asarray(arrays["embeddings"], dtype=np.float32),
            outlier_scores=np.asarray(arrays["outlier_scores"], dtype=np.float64),
            names=tuple(params["names"]),
            defect_types=tuple(params["kinds"]),
            notes=tuple(params["notes"]),
        )

    def _query(self, embedding: np.ndarray) -> np.ndarray:
        """The embedding in float64; raises ValueError unless it is finite and as wide as the gallery."""
        embedding = np.asarray(embedding, dtype=np.float64)
        d = self.embeddings.shape[1]
        if embedding.shape != (d,):
            raise ValueError(f"embedding has shape {embedding.shape}, the gallery's have ({d},); use the same backbone")
        if not np.isfinite(embedding).all():
            raise ValueError("embedding is not finite; repair that part before comparing it")
        return embedding
