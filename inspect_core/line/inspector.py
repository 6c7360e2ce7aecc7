"""The interface by which batch and watch folder inspect photos: a recipe with torch, or an exported one without."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from inspect_core.images.depth import Depth
from inspect_core.recipe_format.recorded_photos import ChallengePart
from inspect_core.verdict import Limits, Verdict


class Inspector(Protocol):
    """A loaded recipe. Its methods may be called from several threads at once.

    A photo is inspected in three steps: `prepare`, `compute` for up to `at_once` photos together, `judge`.

    product: its name; digest: of the recipe; limits, area: in force, the area in pixels of the map; good_scores: (n,)
    float64, ascending, of the good parts that set the limits; calibration_digests: digests of their photos;
    challenge_parts: its challenge parts; depth: bit depth at which photos are read; engine: what runs the network, in
    words; release: digest of the export, "" for a recipe with torch.
    """

    @property
    def product(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def area(self) -> int: ...
    @property
    def good_scores(self) -> np.ndarray: ...
    @property
    def calibration_digests(self) -> frozenset[str]: ...
    @property
    def challenge_parts(self) -> tuple[ChallengePart, ...]: ...
    @property
    def depth(self) -> Depth | None: ...
    @property
    def engine(self) -> str: ...
    @property
    def release(self) -> str: ...

    @property
    def at_once(self) -> int: ...

    def prepare(self, image: np.ndarray) -> Any:
        """(H, W, 3) uint8 RGB of any size with everything that is done before the network runs."""
        ...

    def compute(self, photos: Sequence[Any]) -> Sequence[Any]:
        """Prepared photos with what the network says of them. Raises ValueError as `judge`."""
        ...

    def judge(self, photo: Any) -> Verdict:
        """The verdict on a computed photo. Raises ValueError when it cannot be judged."""
        ...
