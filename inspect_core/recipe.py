"""A recipe is everything needed to inspect a part, frozen; `inspect` applies it to one photo."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from inspect_core.features.backbones import Backbone, shared
from inspect_core.features.extraction import Preparation, embed
from inspect_core.images.alignment import Alignment, NotLocated
from inspect_core.images.areas import Areas
from inspect_core.images.depth import Depth
from inspect_core.images.photo_quality import QualityRange, differs
from inspect_core.images.tiles import TilePlan
from inspect_core.judge.anomaly_map import AREA, SIGMA, to_pixels
from inspect_core.methods.table import JOIN
from inspect_core.package.known_parts import Calibrated, ChallengePart
from inspect_core.verdict import InView, Limits, Verdict, assemble, inspected, not_located
from inspect_core.view import View, joined_errors
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.known_cases import KnownCases
from inspect_core.whole_part.product_check import Guard


@dataclass(frozen=True)
class BackboneChoice:
    """Which network, which taps, which weights (by digest), at which input size (height, width)."""

    name: str
    taps: tuple[str, ...]
    weight_digest: str
    size: tuple[int, int]


@dataclass(frozen=True)
class Provenance:
    """Who made a recipe, when, why and from what.

    created: ISO 8601 with its time zone; photos: the folder they were in.
    """

    created: str
    author: str = "you"
    reason: str = ""
    parent: str | None = None
    seeds: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    photos: str | None = None
    calibration_note: str = ""


@dataclass(frozen=True, eq=False)
class Recipe:
    """Everything needed to inspect.

    views: fitted detectors whose maps are added; live: by name, the values in force of their live parameters and of the
    smallest area, in pixels of the map; guard, gallery, defect_types: the product check, known cases and classifier, if
    taught; judged: photos on which its limits were judged; challenge: its challenge parts; depth: the bit depth at
    which photos are read, None takes any; alignment: locates the part, None takes photos as they are; areas: drawn on
    the part; tiles: how large photos are cut, None squashes them to the network's input; mm_per_pixel: of the photos,
    None when not known, used in texts only; quality: noise, brightness and sharpness of the photos taught; digest:
    identity of the saved recipe, None before it is saved.
    """

    product: str
    backbone: BackboneChoice
    grid: tuple[int, int]
    nearest: bool
    views: tuple[View, ...]
    live: Mapping[str, int]
    limits: Limits
    calibration: tuple[Calibrated, ...]
    provenance: Provenance
    guard: Guard | None = None
    gallery: KnownCases | None = None
    defect_types: DefectTypes | None = None
    judged: tuple[Calibrated, ...] = ()
    challenge: tuple[ChallengePart, ...] = ()
    depth: Depth | None = None
    alignment: Alignment | None = None
    areas: Areas | None = None
    tiles: TilePlan | None = None
    mm_per_pixel: float | None = None
    quality: QualityRange | None = None
    digest: str | None = None

    @property
    def method(self) -> str:
        """Name of its detector: the names of the methods, joined."""
        return JOIN.join(view.method for view in self.views)

    @property
    def map_size(self) -> tuple[int, int]:
        """(height, width) of its anomaly maps."""
        return self.backbone.size if self.tiles is None else self.tiles.map_size

    def prepare(self, backbone: Backbone) -> Preparation:
        """How this recipe turns a photo into patch features on a loaded backbone."""
        looks = tuple(view.look for view in self.views)
        return Preparation(backbone, self.grid, looks, self.nearest, self.alignment, self.tiles)

    def revised(self, *, author: str, reason: str, **changed: Any) -> "Recipe":
        """An unsaved recipe of the same fit with the fields `changed`, and this one as its parent.

        Challenge parts that prove nothing under its limits are left out.
        """
        provenance = replace(
            self.provenance,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            author=author,
            reason=reason,
            parent=self.digest,
        )
        new = replace(self, provenance=provenance, digest=None, **changed)
        challenge = (part.under(new.limits) for part in self.challenge)
        return replace(new, challenge=tuple(part for part in challenge if part is not None))

    def with_challenge(self, parts: tuple[ChallengePart, ...], *, author: str) -> "Recipe":
        """An unsaved recipe with these challenge parts, and this one as its parent."""
        return replace(self.revised(author=author, reason="challenge parts named"), challenge=parts)


def inspect(image: np.ndarray, recipe: Recipe, *, backbone: Backbone | None = None) -> Verdict:
    """The recipe's verdict on one part, from one run of the network; types by region take one more on what stands out.

    image: (H, W, 3) uint8 RGB of any size. The anomaly map is float32 at the recipe's map size, regions are in pixels
    of `image`; a part that is not found in it is "not located". `backbone`: the recipe's, when already loaded.
    Raises ValueError when the picture is not RGB bytes, or the backbone's weights are missing or differ.
    """
    backbone = backbone or loaded_backbone(recipe.backbone)
    preparation, guard, types = recipe.prepare(backbone), recipe.guard, recipe.defect_types
    try:
        placement = preparation.place(image)
    except NotLocated as error:
        return not_located(str(error), recipe.map_size, area=recipe.live[AREA])
    picture, check, whole = preparation.picture(image, placement), None, None
    if (guard is not None and guard.is_on) or (types is not None and not types.by_region):
        features, embedding, logits = preparation.describe(image, placement, picture)
        if guard is not None:
            check = guard.check(embedding, logits)
        whole = embedding[0]
    else:
        features = preparation.of_picture(picture)
    pixel_map = to_pixels(joined_errors(recipe.views, features, recipe.live), recipe.map_size, sigma=SIGMA)
    view = InView.of(placement, recipe.map_size, recipe.areas)

    embed_crop = partial(embed, backbone=backbone)
    return assemble(
        inspected(pixel_map, view.left_out, recipe.areas), recipe.limits, placement,
        area=recipe.live[AREA], view=view, check=check, photo=differs(picture, recipe.quality),
        name_type=None if types is None else lambda found: types.name(
            placement.picture(image), found, embed_crop, whole
        ),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class LoadedRecipe:
    """A saved recipe with its network; batch and watch folder inspect with it (an `Inspector` of `line.inspector`)."""

    recipe: Recipe
    backbone: Backbone

    @property
    def product(self) -> str:
        return self.recipe.product

    @property
    def digest(self) -> str:
        return self.recipe.digest or ""

    @property
    def limits(self) -> Limits:
        return self.recipe.limits

    @property
    def area(self) -> int:
        return self.recipe.live[AREA]

    @cached_property
    def good_scores(self) -> np.ndarray:
        return np.sort(np.array([part.score for part in self.recipe.calibration], np.float64))

    @property
    def challenge(self) -> tuple[ChallengePart, ...]:
        return self.recipe.challenge

    @property
    def depth(self) -> Depth | None:
        return self.recipe.depth

    @property
    def engine(self) -> str:
        return self.backbone.engine

    @property
    def release(self) -> str:
        """None: only an export has one."""
        return ""

    def inspect(self, image: np.ndarray) -> Verdict:
        """As `inspect` of this module; safe to call from several threads."""
        return inspect(image, self.recipe, backbone=self.backbone)


@lru_cache(maxsize=4)
def loaded_backbone(choice: BackboneChoice, device: str = "auto") -> Backbone:
    """The recipe's network, loaded once per process and device; two callers at once wait for one load.

    Raises ValueError when the weights found are not those the recipe was made with.
    """
    backbone = shared(choice.name, taps=choice.taps, size=choice.size, device=device)
    if backbone.weight_digest != choice.weight_digest:
        raise ValueError(
            f"the weights found for {choice.name} have digest {backbone.weight_digest[:12]}, the recipe was made with "
            f"{choice.weight_digest[:12]}; put that weights file in place"
        )
    return backbone
