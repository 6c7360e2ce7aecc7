"""From a photo to its verdict, in the app and on the line alike: all but what runs the network."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.images.alignment import Alignment, NotLocated
from inspect_core.images.areas import InspectionAreas
from inspect_core.images.depth import Depth
from inspect_core.images.photo_quality import PhotoQuality, QualityRange, measure_quality
from inspect_core.images.placement import AS_TAKEN, Placement, place
from inspect_core.images.tiles import TilePlan
from inspect_core.recipe_format import arrays as recipe_arrays
from inspect_core.recipe_format.fields import PARTS
from inspect_core.recipe_format.recipe_package import recipe_errors
from inspect_core.recipe_format.recorded_photos import CalibrationPhoto, ChallengePart, read_challenge
from inspect_core.runtime.json_record import from_table
from inspect_core.runtime.ordered_pool import in_batches
from inspect_core.scoring.anomaly_map import AREA, SIGMA, largest_area, to_pixels
from inspect_core.verdict import Limits, Region, Verdict, Visibility, assemble, mask_uninspected, not_located
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.product_check import ProductCheck


@dataclass(frozen=True, eq=False)
class PlacedPhoto:
    """A photo on its way to its verdict.

    picture: (h, w, 3) uint8, as placed, at the size of the network's input or of the tiles; whole: at the network's
    input, where embedding and logits are asked for; image: as taken, where regions of it are named; outputs: as
    `PhotoInspector.compute_maps`; why_not_located: why it goes no further.
    """

    placement: Placement = AS_TAKEN
    picture: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 3), np.uint8))
    whole: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 3), np.uint8))
    quality: PhotoQuality | None = None
    image: np.ndarray | None = None
    outputs: Sequence[np.ndarray] = ()
    why_not_located: str | None = None


@dataclass(eq=False, kw_only=True)
class PhotoInspector(ABC):
    """What a recipe says of an inspection, besides its network. Its methods may be called from several threads at once.

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

    @property
    def at_once(self) -> int:
        """Photos that `compute` is best given at once."""
        return 1

    @abstractmethod
    def compute_maps(self, photos: Sequence[PlacedPhoto], *, head: bool) -> list[Sequence[np.ndarray]]:
        """The calibrated map (H, W) float32 of each photo and, with `head`, its embedding (1, d) and logits."""

    @abstractmethod
    def embed(self, picture: np.ndarray) -> np.ndarray:
        """(d,) float32 penultimate features of a picture, (H, W, 3) uint8 of any size."""

    def inspect(self, image: np.ndarray) -> Verdict:
        """The verdict on one part, (H, W, 3) uint8 RGB of any size, from one run of the network; types by region
        take one more on what stands out.

        The anomaly map is at `map_size`, regions are in pixels of `image`; a part that is not found in it is "not
        located". Raises ValueError when the picture is not RGB bytes, and for a score that is not finite.
        """
        return self.judge(*self.compute([self.prepare(image)]))

    def inspect_all(self, images: Iterable[np.ndarray]) -> Iterator[Verdict]:
        """Yield the verdict on each part, as `inspect`, several at a time."""
        return in_batches(self.prepare, self.compute, self.judge, images, at_once=self.at_once)

    def prepare(self, image: np.ndarray) -> PlacedPhoto:
        """A part's photo, (H, W, 3) uint8 RGB, with everything that is done before the network runs."""
        try:
            placement = place(image, self.alignment)
        except NotLocated as error:
            return PlacedPhoto(why_not_located=str(error))
        picture = placement.render(image, self.size if self.tiles is None else self.tiles.size)
        return PlacedPhoto(
            placement,
            picture,
            picture if self.tiles is None or not self._head else placement.render(image, self.size),
            None if self.quality is None else measure_quality(picture, image),
            None if self.defect_types is None else image,
        )

    def compute(self, photos: Sequence[PlacedPhoto]) -> list[PlacedPhoto]:
        """The same with what the network says of them."""
        located = [photo for photo in photos if photo.why_not_located is None]
        outputs = iter(self.compute_maps(located, head=self._head) if located else ())
        return [photo if photo.why_not_located else replace(photo, outputs=next(outputs)) for photo in photos]

    def judge(self, photo: PlacedPhoto) -> Verdict:
        """The verdict that follows, as `inspect`."""
        if photo.why_not_located is not None:
            return not_located(photo.why_not_located, self.map_size, area=self.area)
        anomaly_map, *whole_photo = photo.outputs
        check = self.product_check.check(*whole_photo) if self.product_check is not None and whole_photo else None
        whole = whole_photo[0][0] if whole_photo else None
        view = Visibility.from_placement(photo.placement, self.map_size, self.areas)
        return assemble(
            mask_uninspected(anomaly_map, view.uninspected, self.areas),
            self.limits,
            photo.placement,
            area=self.area,
            view=view,
            check=check,
            quality=photo.quality,
            quality_range=self.quality,
            name_type=self._naming(photo, whole),
        )

    def _naming(self, photo: PlacedPhoto, whole: np.ndarray | None) -> Callable[[Sequence[Region]], Any] | None:
        types, image = self.defect_types, photo.image
        if types is None or image is None:
            return None
        return lambda regions: types.name(photo.placement.picture(image), regions, self.embed, whole)

    @property
    def _head(self) -> bool:
        """Whether a verdict takes the embedding and the logits of the whole photo."""
        by_whole = self.defect_types is not None and not self.defect_types.by_region
        return by_whole or (self.product_check is not None and self.product_check.is_on)


def maps_of(errors: np.ndarray, further: Sequence[np.ndarray], map_size: tuple[int, int]) -> list[Sequence[np.ndarray]]:
    """The outputs of `PhotoInspector.compute_maps`; errors: (n, h, w) on the patch grid, further: rows beside them."""
    maps = [to_pixels(errors_of_photo, map_size, sigma=SIGMA) for errors_of_photo in errors]
    return [(anomaly_map, *(rows[i : i + 1] for rows in further)) for i, anomaly_map in enumerate(maps)]


USED = tuple(name for name in PARTS if name in PhotoInspector.__annotations__)
"""Parts of a recipe that an inspection takes."""


def read_facts(
    document: Mapping, arrays: Mapping[str, np.ndarray], path: Path, parts: Iterable[str] = USED
) -> dict[str, Any]:
    """What recipe.json, checked, and the arrays of these parts say of an inspection, by the names of fields.

    Raises ValueError for parts that do not fit together; RecipeError, naming the part, for one that cannot be used.
    """
    geometry = document["geometry"]
    area = document["live_values"].get(AREA)
    facts: dict[str, Any] = {}
    for name in parts:
        kind, words = PARTS[name]
        with recipe_errors(path, f"{words} cannot be used"):
            facts[name] = document[name] and kind.from_arrays(recipe_arrays.strip_prefix(name, arrays), document[name])
    size = tuple(geometry["size"])
    tiles = document["tiles"] and from_table(TilePlan, document["tiles"], tile=size)
    if tiles is not None and list(tiles.grid) != geometry["grid"]:
        raise ValueError(f"geometry.grid is {geometry['grid']}, and its tiles give {list(tiles.grid)}")
    map_size = size if tiles is None else tiles.map_size
    if area is None or not 1 <= area <= largest_area(map_size):
        raise ValueError(f"live_values.area is {area}, outside 1..{largest_area(map_size)} pixels of the map")
    areas = document["areas"] and from_table(InspectionAreas, document["areas"])
    if areas:
        areas.check(map_size, facts["alignment"], least=area)
    return facts | {
        "product": document["product"],
        "limits": from_table(Limits, document["limits"]),
        "challenge_parts": read_challenge(document),
        "depth": document["depth"] and from_table(Depth, document["depth"]),
        "areas": areas,
        "tiles": tiles,
        "quality": document["quality"] and from_table(QualityRange, document["quality"]),
    }
