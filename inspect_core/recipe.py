"""A recipe is everything needed to inspect a part, frozen; `inspect` applies it to one photo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from inspect_core.features.backbones import Backbone, shared
from inspect_core.features.extraction import FeatureExtractor, embed, rows_of
from inspect_core.images.alignment import Alignment
from inspect_core.images.photo_reader import read
from inspect_core.methods.fitted_method import FittedMethod, joined_errors
from inspect_core.methods.registry import JOIN
from inspect_core.recipe_format.fields import PlainFields
from inspect_core.recipe_format.origin import BackboneChoice, Provenance
from inspect_core.recipe_format.photo_inspector import PhotoInspector, PlacedPhoto, maps_of
from inspect_core.recipe_format.recorded_photos import CalibrationPhoto, ChallengePart, evidence_of
from inspect_core.scoring.anomaly_map import AREA
from inspect_core.scoring.evidence import Evidence
from inspect_core.verdict import Verdict
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.known_cases import KnownCases
from inspect_core.whole_part.product_check import STOP, ProductCheck


@dataclass(frozen=True, eq=False)
class Recipe(PlainFields):
    """Everything needed to inspect.

    views: fitted detectors whose maps are added; live_values: by name, the values in force of their live parameters and
    of the smallest area, in pixels of the map; product_check, known_cases, defect_types: if taught; alignment: locates
    the part, None takes photos as they are; test_photos: photos on which its limits were tested; digest: identity of
    the saved recipe, None before it is saved.
    """

    backbone: BackboneChoice
    grid: tuple[int, int]
    nearest_upsampling: bool
    views: tuple[FittedMethod, ...]
    live_values: Mapping[str, int]
    calibration_photos: tuple[CalibrationPhoto, ...]
    provenance: Provenance
    product_check: ProductCheck | None = None
    known_cases: KnownCases | None = None
    defect_types: DefectTypes | None = None
    alignment: Alignment | None = None
    test_photos: tuple[CalibrationPhoto, ...] = ()
    digest: str | None = None

    @property
    def method(self) -> str:
        """Name of its detector: the names of the methods, joined."""
        return JOIN.join(view.method for view in self.views)

    @property
    def map_size(self) -> tuple[int, int]:
        """(height, width) of its anomaly maps."""
        return self.backbone.size if self.tiles is None else self.tiles.map_size

    @property
    def facts(self) -> dict[str, Any]:
        """The fields of its `PhotoInspector`."""
        shared = {field.name for field in fields(PhotoInspector)} & {field.name for field in fields(self)}
        network_facts = {"area": self.live_values[AREA], "size": self.backbone.size, "digest": self.digest or ""}
        return {name: getattr(self, name) for name in shared} | network_facts

    @property
    def stops(self) -> bool:
        """Whether its product check rejects what it does not know."""
        return self.product_check is not None and self.product_check.mode == STOP

    def evidence(self) -> Evidence:
        """That of the parts which its limits were tested on, as `recorded_photos.evidence_of`."""
        return evidence_of(self.calibration_photos, self.test_photos, self.unscored, stops=self.stops)

    def prepare(self, backbone: Backbone) -> FeatureExtractor:
        """How this recipe turns a photo into patch features on a loaded backbone."""
        looks = tuple(view.spec for view in self.views)
        return FeatureExtractor(backbone, self.grid, looks, self.nearest_upsampling, self.alignment, self.tiles)

    def with_changes(self, *, author: str, reason: str, **changed: Any) -> "Recipe":
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
        challenge = (part.with_limits(new.limits) for part in self.challenge_parts)
        return replace(new, challenge_parts=tuple(part for part in challenge if part is not None))

    def with_reason(self, reason: str) -> "Recipe":
        """The same unsaved recipe with the reason why it was made."""
        return replace(self, provenance=replace(self.provenance, reason=reason))

    def with_challenge(self, parts: tuple[ChallengePart, ...], *, author: str) -> "Recipe":
        """An unsaved recipe with these challenge parts, and this one as its parent."""
        return replace(self.with_changes(author=author, reason="challenge parts named"), challenge_parts=parts)


class LoadedRecipe(PhotoInspector):
    """A saved recipe with its network; batch and watch folder inspect with it (an `Inspector` of `line.inspector`).

    backbone: the recipe's, None to load it. Raises ValueError as `loaded_backbone`.

    >>> loaded = LoadedRecipe(recipe)
    >>> [verdict.verdict for verdict in loaded.inspect_all([read("good.jpg").pixels, read("scratch.jpg").pixels])]
    ['accept', 'reject']
    """

    def __init__(self, recipe: Recipe, backbone: Backbone | None = None) -> None:
        super().__init__(**recipe.facts)
        self.recipe = recipe
        self.backbone = loaded_backbone(recipe.backbone) if backbone is None else backbone
        self.extractor = recipe.prepare(self.backbone)

    @property
    def engine(self) -> str:
        """What runs the network, in words."""
        return self.backbone.engine

    @property
    def at_once(self) -> int:
        return self.extractor.at_once

    def compute_maps(self, photos: Sequence[PlacedPhoto], *, head: bool) -> list[Sequence[np.ndarray]]:
        wholes = [photo.whole for photo in photos] if head else None
        errors, *further = self.compute_errors([photo.picture for photo in photos], wholes)
        return maps_of(errors, further, self.map_size)

    def compute_errors(
        self, pictures: Sequence[np.ndarray], wholes: Sequence[np.ndarray] | None = None
    ) -> tuple[np.ndarray, ...]:
        """Calibrated errors (n, h, w) float32 on the patch grid and, with `wholes`, embeddings (n, d) and logits.

        pictures, wholes: as of `PlacedPhoto`, n >= 1.
        """
        further: list[np.ndarray] = []
        if wholes is None:
            features = self.extractor.features_of_inputs(pictures)
        else:
            features, *further = self.extractor.describe(pictures, wholes)
        return np.stack(joined_errors(self.recipe.views, rows_of(features), self.recipe.live_values)), *further

    def embed(self, picture: np.ndarray) -> np.ndarray:
        return embed(picture, self.backbone)


def inspect(photo: np.ndarray | str | Path, recipe: Recipe, *, backbone: Backbone | None = None) -> Verdict:
    """The recipe's verdict on one part, as `PhotoInspector.inspect`; backbone as of `LoadedRecipe`.

    photo: its file, which is read at the recipe's depth; or its pixels, (H, W, 3) uint8 RGB. Raises ValueError when the
    backbone's weights are missing or differ, and for pixels where the recipe was taught with 16-bit photos, of which
    they are not the values; ImageError as `read`.

    >>> inspect("scratch.jpg", recipe).verdict
    'reject'
    """
    if isinstance(photo, str | Path):
        photo = read(photo, recipe.depth).pixels
    elif recipe.depth is not None and recipe.depth.stored_bits > 8:
        reason = f"{recipe.product} was taught with {recipe.depth.bits}-bit photos, and pixels do not say their depth"
        raise ValueError(f"{reason}; give the path of the photo, or read(path, recipe.depth) to a LoadedRecipe")
    return LoadedRecipe(recipe, backbone).inspect(photo)


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
