"""From a photo to its verdict, in the app and on the line alike: all but what runs the network."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.images.alignment import Alignment, NotLocated
from inspect_core.images.areas import InspectionAreas
from inspect_core.images.depth import Depth
from inspect_core.images.photo_quality import QualityRange, measure_quality
from inspect_core.images.placement import Placement, place
from inspect_core.images.tiles import TilePlan
from inspect_core.recipe_format import arrays as recipe_arrays
from inspect_core.recipe_format.recipe_package import recipe_errors
from inspect_core.recipe_format.recorded_photos import CalibrationPhoto, ChallengePart, read_challenge
from inspect_core.scoring.anomaly_map import AREA, largest_area
from inspect_core.verdict import Limits, Verdict, Visibility, assemble, mask_uninspected, not_located
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.product_check import ProductCheck

PARTS = {
    "product_check": (ProductCheck, "the product check"),
    "defect_types": (DefectTypes, "the defect type classifier"),
    "alignment": (Alignment, "the alignment"),
}
"""Parts that may be missing: field of recipe.json and of `PhotoInspector` -> its class, and the part in words."""


@dataclass(eq=False, kw_only=True)
class PhotoInspector(ABC):
    """What a recipe says of an inspection, besides its network. `inspect` may be called from several threads at once.

    Fields are those of `recipe.Recipe`; area: the smallest that counts, in pixels of the map; size: (height, width) of
    the network's input; digest: "" before it is saved; release: digest of an export, "" for a recipe.
    """

    product: str
    limits: Limits
    area: int
    size: tuple[int, int]
    calibration_photos: tuple[CalibrationPhoto, ...]
    challenge_parts: tuple[ChallengePart, ...]
    depth: Depth | None
    product_check: ProductCheck | None
    defect_types: DefectTypes | None
    alignment: Alignment | None
    areas: InspectionAreas | None
    tiles: TilePlan | None
    quality: QualityRange | None
    digest: str = ""
    release: str = ""

    @cached_property
    def good_scores(self) -> np.ndarray:
        """(n,) float64, ascending, of the good parts that set the limits."""
        return np.sort(np.array([part.score for part in self.calibration_photos], np.float64))

    @cached_property
    def calibration_digests(self) -> frozenset[str]:
        """Digests of the good photos that set the limits."""
        return frozenset(part.digest for part in self.calibration_photos)

    @property
    def map_size(self) -> tuple[int, int]:
        """(height, width) of the anomaly maps."""
        return self.size if self.tiles is None else self.tiles.map_size

    @abstractmethod
    def compute_map(
        self, image: np.ndarray, placement: Placement, picture: np.ndarray, *, head: bool
    ) -> Sequence[np.ndarray]:
        """Return the calibrated map (H, W) float32 and, with `head`, embedding (1, d) and logits (1, c) of the photo.

        picture: (h, w, 3) uint8, the image as placed, at the size of the network's input or of the tiles.
        """

    @abstractmethod
    def embed(self, picture: np.ndarray) -> np.ndarray:
        """Return (d,) float32 penultimate features of a picture, (H, W, 3) uint8 of any size."""

    def inspect(self, image: np.ndarray) -> Verdict:
        """Return the verdict on one part, (H, W, 3) uint8 RGB of any size, from one run of the network; types by region
        take one more on what stands out.

        The anomaly map is at `map_size`, regions are in pixels of `image`; a part that is not found in it is "not
        located". Raises ValueError when the picture is not RGB bytes, and for a score that is not finite.
        """
        try:
            placement = place(image, self.alignment)
        except NotLocated as error:
            return not_located(str(error), self.map_size, area=self.area)
        product_check, types = self.product_check, self.defect_types
        picture = placement.render(image, self.size if self.tiles is None else self.tiles.size)
        head = (product_check is not None and product_check.is_on) or (types is not None and not types.by_region)
        anomaly_map, *whole_photo = self.compute_map(image, placement, picture, head=head)
        check = product_check.check(*whole_photo) if product_check is not None and whole_photo else None
        whole = whole_photo[0][0] if whole_photo else None
        view = Visibility.from_placement(placement, self.map_size, self.areas)

        weighted = mask_uninspected(anomaly_map, view.uninspected, self.areas)
        picture_of = placement.picture
        quality = None if self.quality is None else measure_quality(picture, image)
        return assemble(
            weighted,
            self.limits,
            placement,
            area=self.area,
            view=view,
            check=check,
            quality=quality,
            quality_range=self.quality,
            name_type=None
            if types is None
            else lambda regions_found: types.name(picture_of(image), regions_found, self.embed, whole),
        )


def read_facts(
    document: Mapping, arrays: Mapping[str, np.ndarray], path: Path, parts: Mapping[str, tuple] = PARTS
) -> dict[str, Any]:
    """Return what recipe.json, checked, and the parts' arrays say of an inspection, by the names of fields.

    Raises ValueError for parts that do not fit together; RecipeError, naming the part, for one that cannot be used.
    """
    geometry = document["geometry"]
    area = document["live_values"].get(AREA)
    facts = {}
    for name, (kind, words) in parts.items():
        with recipe_errors(path, f"{words} cannot be used"):
            facts[name] = document[name] and kind.from_arrays(recipe_arrays.strip_prefix(name, arrays), document[name])
    size = tuple(geometry["size"])
    tiles = document["tiles"] and TilePlan.from_params(document["tiles"], size)
    if tiles is not None and list(tiles.grid) != geometry["grid"]:
        raise ValueError(f"geometry.grid is {geometry['grid']}, and its tiles give {list(tiles.grid)}")
    map_size = size if tiles is None else tiles.map_size
    if area is None or not 1 <= area <= largest_area(map_size):
        raise ValueError(f"live_values.area is {area}, outside 1..{largest_area(map_size)} pixels of the map")
    areas = document["areas"] and InspectionAreas.from_params(document["areas"])
    if areas:
        areas.check(map_size, facts["alignment"], least=area)
    return facts | {
        "product": document["product"],
        "limits": Limits(**document["limits"]),
        "challenge_parts": read_challenge(document),
        "depth": document["depth"] and Depth(**document["depth"]),
        "areas": areas,
        "tiles": tiles,
        "quality": QualityRange.from_record(document["quality"]),
    }
