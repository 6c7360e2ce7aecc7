"""Which kind of defect is it: a few labelled examples, a name, and a confidence that falls to the prior.

A kernel density forest or network (Dey et al. 2025) on embeddings of whole parts, or of the region that stands out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from inspect_core.classify.kernel_density import KernelDensityClassifier, fit_kdf, fit_kdn
from inspect_core.features.backbones import Backbone
from inspect_core.images.read import squash
from inspect_core.judge.anomaly_map import Region

FOREST, NETWORK = "forest", "network"
FITS: dict[str, Callable[..., KernelDensityClassifier]] = {FOREST: fit_kdf, NETWORK: fit_kdn}
MARGIN = 1.5
LAM = 1e-3
SMALLEST_CROP = 32


@dataclass(frozen=True, eq=False)
class Kinds:
    """A taught classifier of defects.

    by_region: the embedding is that of the crop around the largest region, else of the whole part; known_from: the
    least probability at which a kind is named; below it the part is "not a known kind".
    """

    classifier: KernelDensityClassifier
    by_region: bool
    known_from: float

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.classifier.classes)

    def name(self, image: np.ndarray, regions: Sequence[Region], backbone: Backbone) -> tuple[str, float] | None:
        """(kind, probability) of one part, (H, W, 3) uint8, or None when it is not a known kind."""
        return self.of_embedding(embed(image, regions if self.by_region else (), backbone))

    def of_embedding(self, embedding: np.ndarray) -> tuple[str, float] | None:
        """(kind, probability) for a (d,) embedding, or None when the posterior is too close to the prior."""
        posterior = self.classifier.predict_proba(embedding[None])[0]
        best = int(posterior.argmax())
        return (self.names[best], float(posterior[best])) if posterior[best] >= self.known_from else None

    def with_limit(self, known_from: float) -> "Kinds":
        """The same kinds, named from another probability on. Raises ValueError outside 0 to 1."""
        if not 0 <= known_from <= 1:
            raise ValueError(f"known_from is {known_from}; give a probability from 0 to 1")
        return replace(self, known_from=float(known_from))

    def arrays(self) -> dict[str, np.ndarray]:
        return self.classifier.arrays()

    def params(self) -> dict:
        return {"by_region": self.by_region, "known_from": self.known_from, "classifier": self.classifier.params()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Tensor], params: Mapping) -> "Kinds":
        """The kinds of a recipe."""
        own = {name: value.numpy() for name, value in arrays.items()}
        classifier = KernelDensityClassifier.from_arrays(own, params["classifier"])
        return cls(classifier, bool(params["by_region"]), 0.0).with_limit(params["known_from"])


def fit(
    embeddings: np.ndarray, labels: Sequence[str], *, parent: str = FOREST, by_region: bool = False, seed: int = 0
) -> Kinds:
    """Learn kinds from (n, d) embeddings and their labels.

    A kind is named from a probability of half way between the largest prior and 1 at first; the limit moves live.
    Raises ValueError for an unknown parent, and what `fit_kdf` and `fit_kdn` raise.
    """
    if parent not in FITS:
        raise ValueError(f"parent is {parent!r}; choose one of {', '.join(FITS)}")
    classifier = FITS[parent](embeddings, list(labels), lam=LAM, seed=seed)
    largest = float(classifier.prior.max())
    return Kinds(classifier, by_region, min(MARGIN * largest, (1 + largest) / 2))


def embed(image: np.ndarray, regions: Sequence[Region], backbone: Backbone) -> np.ndarray:
    """(d,) float32 penultimate features of the whole part, or of the square around the largest of `regions`."""
    crop = image
    if regions:
        x0, y0, x1, y1 = square_around(max(regions, key=lambda region: region.area).box, image.shape[:2])
        crop = image[y0:y1, x0:x1]
    return backbone.embed(squash(crop, backbone.size)[None])[0].cpu().numpy()


def square_around(box: tuple[int, int, int, int], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """The box (x0, y0, x1, y1) widened by half to a square and moved inside an image of `size` (height, width)."""
    x0, y0, x1, y1 = box
    side = min(max(round(1.5 * max(x1 - x0, y1 - y0)), SMALLEST_CROP), *size)
    left = min(max((x0 + x1 - side) // 2, 0), size[1] - side)
    top = min(max((y0 + y1 - side) // 2, 0), size[0] - side)
    return left, top, left + side, top + side
