"""Which type of defect it is: a name, and a confidence that falls to the prior on anything never seen.

A kernel density forest or network (Dey et al. 2025) on embeddings of whole parts, or of the region that stands out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from inspect_core.classify.kernel_density import KernelDensityClassifier
from inspect_core.images.boxes import Box, crop_square
from inspect_core.runtime.json_record import FLAG, TABLE, Rules, number
from inspect_core.runtime.stored import ArraySpec
from inspect_core.scoring.anomaly_map import Region

MARGIN = 1.5


@dataclass(frozen=True, eq=False)
class DefectTypes:
    """A taught classifier of defects.

    by_region: the embedding is that of the crop around the largest region, else of the whole part;
    minimum_confidence: the least probability at which a type is named; below it the part is "unknown defect type".
    Raises ValueError for a minimum_confidence outside 0 to 1.
    """

    classifier: KernelDensityClassifier
    by_region: bool
    minimum_confidence: float

    def __post_init__(self) -> None:
        if not 0 <= self.minimum_confidence <= 1:
            raise ValueError(f"minimum_confidence is {self.minimum_confidence}; give a probability from 0 to 1")

    @property
    def names(self) -> tuple[str, ...]:
        """The defect types, in the order of every column."""
        return tuple(str(name) for name in self.classifier.classes)

    def name(
        self,
        image: np.ndarray,
        regions: Sequence[Region],
        embed: Callable[[np.ndarray], np.ndarray],
        whole: np.ndarray | None = None,
    ) -> tuple[str, float] | None:
        """(defect type, probability) of one part, (H, W, 3) uint8, or None when its type is unknown.

        regions: what stands out on it, in its pixels; with none, a classifier of regions looks at the whole part.
        embed: from a picture of any size to its (d,) embedding; whole: that of the whole part, if already known, which
        saves a run of the network.
        """
        box = self.box_of(regions)
        return self.of_embedding(whole if box is None and whole is not None else embed(crop_square(image, box)))

    def box_of(self, regions: Sequence[Region]) -> Box | None:
        """What to look at on a part: the box of its largest region, the first of equals; None: the whole."""
        return max(regions, key=lambda region: region.area).box if self.by_region and regions else None

    def of_embedding(self, embedding: np.ndarray) -> tuple[str, float] | None:
        """(defect type, probability) for a (d,) embedding, or None when no type is likely enough."""
        posterior = self.classifier.predict_proba(embedding[None])[0]
        best = int(posterior.argmax())
        return (self.names[best], float(posterior[best])) if posterior[best] >= self.minimum_confidence else None

    def with_limit(self, minimum_confidence: float) -> "DefectTypes":
        """The same defect types with another minimum_confidence. Raises ValueError outside 0 to 1."""
        return replace(self, minimum_confidence=float(minimum_confidence))

    def renamed(self, old: str, new: str) -> "DefectTypes":
        """The same defect types with another name for one of them; nothing is learned again.

        Raises ValueError when `old` is no type here, or `new` already is: joining two types takes training.
        """
        if old not in self.names:
            raise ValueError(f"old is {old!r}, which is not one of the defect types {', '.join(self.names)}")
        if new != old and new in self.names:
            raise ValueError(f"new is {new!r}, already a defect type; to join them, label them alike and train")
        words = np.array([new if name == old else name for name in self.names], dtype=object)
        return replace(self, classifier=replace(self.classifier, classes=words))

    def arrays(self) -> dict[str, np.ndarray]:
        return self.classifier.arrays()

    def params(self) -> dict:
        params = {"by_region": self.by_region, "minimum_confidence": self.minimum_confidence}
        return params | {"classifier": self.classifier.params()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], params: Mapping) -> "DefectTypes":
        """The defect types of a recipe; their posteriors are equal to the bit."""
        classifier = KernelDensityClassifier.from_arrays(arrays, params["classifier"])
        return cls(classifier, params["by_region"], float(params["minimum_confidence"]))

    @classmethod
    def array_specs(cls, params: Mapping[str, Any], names: Collection[str]) -> dict[str, ArraySpec]:
        """As `Stored.array_specs`."""
        return KernelDensityClassifier.array_specs(params["classifier"], names)

    @classmethod
    def rules(cls) -> Rules:
        """As `Stored.rules`; `kernel_density.RULES` are those of its classifier, by parent."""
        return {"by_region": FLAG, "minimum_confidence": number(0, 1), "classifier": TABLE}


def least_limit(prior: np.ndarray) -> float:
    """A probability clearly above the largest prior, (C,): a part below it is like nothing seen before."""
    largest = float(prior.max())
    return min(MARGIN * largest, (1 + largest) / 2)
