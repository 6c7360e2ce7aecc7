"""From a photo to its verdict, in the app and on the line alike: all but what runs the network."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.images.alignment import Alignment, NotLocated
from inspect_core.images.areas import Areas
from inspect_core.images.depth import Depth
from inspect_core.images.photo_quality import QualityRange, measured
from inspect_core.images.placement import Placement, place
from inspect_core.images.tiles import TilePlan
from inspect_core.judge.anomaly_map import AREA, largest_area
from inspect_core.recipe_format import arrays as recipe_arrays
from inspect_core.recipe_format.recipe_package import refusing
from inspect_core.recipe_format.recorded_photos import Calibrated, ChallengePart, read_challenge
from inspect_core.verdict import InView, Limits, Verdict, assemble, inspected, not_located
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.product_check import ProductCheck

PARTS = {
    "guard": ("product_check", ProductCheck, "the product check"),
    "kinds": ("defect_types", DefectTypes, "the defect type classifier"),
    "alignment": ("alignment", Alignment, "the alignment"),
}
"""Parts that may be missing: name in recipe.json -> field of `PhotoInspector`, its class, and the part in words."""


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
    calibration: tuple[Calibrated, ...]
    challenge: tuple[ChallengePart, ...]
    depth: Depth | None
    product_check: ProductCheck | None
    defect_types: DefectTypes | None
    alignment: Alignment | None
    areas: Areas | None
    tiles: TilePlan | None
    quality: QualityRange | None
    digest: str = ""
    release: str = ""

    @cached_property
    def good_scores(self) -> np.ndarray:
        """(n,) float64, ascending, of the good parts that set the limits."""
        return np.sort(np.array([part.score for part in self.calibration], np.float64))

    @cached_property
    def taught(self) -> frozenset[str]:
        """Digests of the good photos that set the limits."""
        return frozenset(part.digest for part in self.calibration)

    @property
    def map_size(self) -> tuple[int, int]:
        """(height, width) of the anomaly maps."""
        return self.size if self.tiles is None else self.tiles.map_size

    @abstractmethod
    def see(self, image: np.ndarray, placement: Placement, picture: np.ndarray, *, head: bool) -> Sequence[np.ndarray]:
        """The calibrated map (H, W) float32 and, with `head`, embedding (1, d) and logits (1, c) of the whole photo.

        picture: (h, w, 3) uint8, the image as placed, at the size of the network's input or of the tiles.
        """

    @abstractmethod
    def embed(self, picture: np.ndarray) -> np.ndarray:
        """(d,) float32 penultimate features of a picture, (H, W, 3) uint8 of any size."""

    def inspect(self, image: np.ndarray) -> Verdict:
        """The verdict on one part, (H, W, 3) uint8 RGB of any size, from one run of the network; types by region take
        one more on what stands out.

        The anomaly map is at `map_size`, regions are in pixels of `image`; a part that is not found in it is "not
        located". Raises ValueError when the picture is not RGB bytes, and for a score that is not finite.
        """
        try:
            placement = place(image, self.alignment)
        except NotLocated as error:
            return not_located(str(error), self.map_size, area=self.area)
        product_check, types = self.product_check, self.defect_types
        picture = placement.at(image, self.size if self.tiles is None else self.tiles.size)
        head = (product_check is not None and product_check.is_on) or (types is not None and not types.by_region)
        pixel_map, *seen = self.see(image, placement, picture, head=head)
        check = product_check.check(*seen) if product_check is not None and seen else None
        whole = seen[0][0] if seen else None
        view = InView.of(placement, self.map_size, self.areas)

        weighted, picture_of = inspected(pixel_map, view.left_out, self.areas), placement.picture
        quality = None if self.quality is None else measured(picture)
        return assemble(
            weighted,
            self.limits,
            placement,
            area=self.area,
            view=view,
            check=check,
            quality=quality,
            taught=self.quality,
            name_type=None if types is None else lambda found: types.name(picture_of(image), found, self.embed, whole),
        )


def read_facts(
    document: Mapping, arrays: Mapping[str, np.ndarray], where: Path, parts: Mapping[str, tuple] = PARTS
) -> dict[str, Any]:
    """What recipe.json, its fields checked, and the arrays of the parts say of an inspection, by the names of fields.

    Raises ValueError for parts that do not fit together; RecipeError, naming the part, for one that cannot be used.
    """
    geometry, area, found = document["geometry"], document["live"].get(AREA), {}
    for name, (field, kind, words) in parts.items():
        with refusing(where, f"{words} cannot be used"):
            found[field] = document[name] and kind.from_arrays(recipe_arrays.of_part(name, arrays), document[name])
    size = tuple(geometry["size"])
    tiles = document["tiles"] and TilePlan.from_params(document["tiles"], size)
    if tiles is not None and list(tiles.grid) != geometry["grid"]:
        raise ValueError(f"geometry.grid is {geometry['grid']}, and its tiles give {list(tiles.grid)}")
    map_size = size if tiles is None else tiles.map_size
    if area is None or not 1 <= area <= largest_area(map_size):
        raise ValueError(f"live.area is {area}, outside 1..{largest_area(map_size)} pixels of the map")
    areas = document["areas"] and Areas.from_params(document["areas"])
    if areas:
        areas.check(map_size, found["alignment"], least=area)
    return found | {
        "product": document["product"],
        "limits": Limits(**document["limits"]),
        "challenge": read_challenge(document),
        "depth": document["depth"] and Depth(**document["depth"]),
        "areas": areas,
        "tiles": tiles,
        "quality": QualityRange.loaded(document["quality"]),
    }
