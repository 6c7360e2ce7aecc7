"""The product that the engineer works with, with its scored photos, shared by all pages of a session."""

import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from inspect_core.features.extraction import FeatureExtractor
from inspect_core.images.areas import InspectionAreas, Outline
from inspect_core.images.depth import Depth
from inspect_core.images.photo_quality import PhotoQuality, QualityRange, measure_quality
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.placement import Placement
from inspect_core.methods.registry import CONTROLS
from inspect_core.plots.explore_plots import figure_of
from inspect_core.recipe import Recipe
from inspect_core.scoring.anomaly_map import AREA, default_area
from inspect_core.scoring.evidence import Evidence
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.photo_evidence import evidence_of
from inspect_core.study.scored_photo import ADDED, ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import FittedStudy
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.patch_sample import PatchSample
from inspect_core.verdict import Limits, ProductCheckResult
from inspect_core.whole_part.defect_types import DefectTypes
from inspect_core.whole_part.known_cases import KnownCases
from inspect_core.whole_part.product_check import OFF, STOP, ProductCheck


class _Memo:
    """Cached results for a product: shared by all its copies, safe from any thread."""

    def __init__(self) -> None:
        self.foreign: dict[tuple[str, bool], float] = {}
        self.read: tuple[Path, np.ndarray] | None = None
        self.picture: tuple[Path, np.ndarray] | None = None
        self.sample: PatchSample | None = None
        self.areas: np.ndarray | None = None
        self.quality: dict[str, PhotoQuality] = {}
        self.quality_range: tuple[QualityRange | None] | None = None
        self.reasons: dict[str, str] = {}
        self.unreadable: set[str] = set()
        self.sampling = threading.Lock()

    def of_another_fit(self, study: FittedStudy) -> "_Memo":
        """What holds for another fit of the same photos as well: all but what their scores decide."""
        other = _Memo()
        for name in ("foreign", "read", "picture", "areas", "quality"):
            setattr(other, name, getattr(self, name))
        other.sample = None if self.sample is None else replace(self.sample, study=study)
        return other


def new_id() -> str:
    """Another one at each call."""
    return uuid.uuid4().hex[:12]


def describe(values: Mapping[str, float]) -> str:
    """Values with their symbols: "γ 0.5, M 1024"."""
    return ", ".join(f"{CONTROLS[name].sign} {figure_of(value)}" for name, value in values.items())


@dataclass(frozen=True, eq=False)
class TaughtProduct:
    """A product on Inspect: from a study just fitted, or from a recipe that was opened.

    Sessions and jobs share it, so it never changes: `shelf().change` replaces it by a changed copy of the
    same id, and a run or job that began with one copy uses that copy to its end.

    thumbnails: small WebP pictures in the order of the gallery; without_score: WebP pictures of the unscored photos in
    their order, then of the reference, empty where there is none; notes: sentences the engineer should see; warnings:
    those to be seen before anything is saved, as `TeachingResult`; moved:
    values of live parameters that were set, by name; limits_by_hand: that a user set, None for the suggested ones;
    detector_reason: why this detector, in a sentence; refit_of: id of the
    product that it was taught again from; before: the product before its last refit, for `undone`; order: that it was
    taught by, with its detector, None where it was opened from a recipe; mm_per_pixel: of the photos, None when not
    known; opened_at, changed_at: when it came on the bench and when it was changed last, in seconds since 1970;
    recipe_digest: of the recipe in the workspace that it was last saved as, or opened from, "" without one;
    saved_contents: its `contents` when its recipe was saved or opened; fit: another one after each refit, for what is
    computed from its scores.
    """

    product: str
    scored: ScoredPhotos
    extractor: FeatureExtractor
    study: FittedStudy | None = None
    recipe: Recipe | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    product_check: ProductCheck | None = None
    defect_types: DefectTypes | None = None
    known_cases: KnownCases | None = None
    moved: Mapping[str, int] = field(default_factory=dict)
    limits_by_hand: Limits | None = None
    detector_reason: str | None = None
    refit_of: str | None = None
    before: "TaughtProduct | None" = field(default=None, repr=False)
    order: TeachingConfig | None = None
    mm_per_pixel: float | None = None
    thumbnails: tuple[bytes, ...] = ()
    without_score: tuple[bytes, ...] = ()
    id: str = field(default_factory=new_id)
    fit: str = field(default_factory=new_id)
    opened_at: float = field(default_factory=time.time)
    changed_at: float = field(default_factory=time.time)
    recipe_digest: str = ""
    saved_contents: tuple[object, ...] = ()
    _memo: _Memo = field(default_factory=_Memo, repr=False)

    @property
    def depth(self) -> Depth | None:
        """Bit depth of the photos taught, at which new ones are read."""
        if self.order is not None:
            return self.order.photos.train[0].depth
        return None if self.recipe is None else self.recipe.depth

    @property
    def is_fixed(self) -> bool:
        """Whether its values are those of a recipe, since its good photos are not at hand to fit or count by."""
        return self.study is None

    @property
    def live(self) -> dict[str, int]:
        """The live values in force by name: those that were set, else what the fit begins with."""
        return dict(self.scored.live) | dict(self.moved)

    @property
    def limits(self) -> Limits | None:
        """The limits in force; None where there is no good photo to set them."""
        if self.limits_by_hand is not None:
            return self.limits_by_hand
        with suppress(ValueError):
            return self.suggested_limits(self.live)
        return None

    def remarks(self, live: Mapping[str, int]) -> tuple[str, ...]:
        """What an engineer should know of the fit at these live values; nothing of one that is fixed."""
        return () if self.study is None else self.study.remarks(live)

    @property
    def own_study(self) -> FittedStudy:
        """The study it comes from. Raises ValueError for a product from a recipe, whose photos are not available."""
        if self.study is None:
            raise ValueError(f"{self.product} was opened from a recipe, without its training photos")
        return self.study

    def latest_order(self) -> TeachingConfig:
        """The order that teaches it again, with what was named, drawn and switched since.

        Raises ValueError for a product from a recipe, whose photos are not available.
        """
        if self.order is None:
            raise ValueError(f"{self.product} was opened from a recipe, without its training photos")
        check = self.product_check
        mode, fused = (OFF, False) if check is None else (check.mode, check.fused)
        order = replace(self.order, product=self.product, areas=self.scored.areas, notes=())
        return replace(order, product_check=mode, fused_product_check=fused)

    @property
    def as_published(self) -> bool:
        """Whether its method is as the paper has it."""
        made = self.order or self.recipe
        return made is not None and made.as_published

    @property
    def is_saved(self) -> bool:
        """Whether a recipe in the workspace holds it as it is, with all that was set, drawn, added and labelled."""
        return bool(self.recipe_digest) and self.contents() == self.saved_contents

    def contents(self) -> tuple[object, ...]:
        """All that is in a recipe, or decides about one, and that a user may change: to be compared."""
        mode = self.product_check.mode if self.product_check else OFF
        by_user = {
            (photo.digest, photo.label)
            for photo in self.scored.photos
            if photo.subset == ADDED or photo.original_label is not None
        }
        learned = self.defect_types, self.known_cases, self.mm_per_pixel
        set_by_user = self.live, self.limits_by_hand, mode, self.scored.areas, by_user
        return self.fit, self.product, *set_by_user, *learned

    def to_recipe(self, **recipe_fields: Any) -> Recipe:
        """The recipe of the product as it is.

        recipe_fields: who, why and what else `Study.recipe` and `Recipe.with_changes` take. Raises ValueError as
        `Study.recipe`.
        """
        recipe_fields = {"product": self.product, "product_check": self.product_check, **recipe_fields}
        recipe_fields |= {
            "known_cases": self.known_cases,
            "defect_types": self.defect_types,
            "areas": self.scored.areas,
        }
        recipe_fields["mm_per_pixel"] = self.mm_per_pixel
        if self.study is None and self.recipe is not None:
            return self.recipe.with_changes(limits=self.limits_by_hand or self.recipe.limits, **recipe_fields)
        recipe_fields |= {"parent": self.recipe_digest or None, "foreign": self.foreign()}
        return self.own_study.recipe(self.limits, **recipe_fields, **self.live)

    def pixels(self, position: int) -> np.ndarray:
        """(H, W, 3) uint8 of one photo on the bench as placed; otherwise as `photo`."""
        photo = self.scored.photos[position]
        picture = self._memo.picture
        if picture is None or picture[0] != photo.path:
            picture = self._memo.picture = photo.path, photo.placed.picture(self.photo(position))
        return picture[1]

    def photo(self, position: int) -> np.ndarray:
        """(H, W, 3) uint8 of one photo on the bench as taken, from its file; the last one stays in memory.

        Raises ImageError for a photo that can no longer be read, and for a file that is another photo by now, which no
        map or verdict here is of.
        """
        photo = self.scored.photos[position]
        image = self._memo.read
        if image is None or image[0] != photo.path:
            image = self._memo.read = None  # frees the last before the next is read
            self._memo.unreadable.add(photo.digest)
            picture = read(photo.path, photo.depth)
            if picture.digest != photo.digest:
                reason = "the file was replaced after it was inspected"
                raise ImageError(photo.name, reason, "add it again to see its verdict, or teach again")
            self._memo.unreadable.discard(photo.digest)
            image = self._memo.read = photo.path, picture.pixels
        return image[1]

    def cache_photo(self, path: Path, pixels: np.ndarray) -> None:
        """Keep pixels just read from a path, (H, W, 3) uint8, as the last photo that `photo` read."""
        self._memo.read = path, pixels

    def suggested_limits(self, live: Mapping[str, int]) -> Limits:
        """The default limits at these live values; an opened recipe's own.

        Raises ValueError when there is no good photo to set them.
        """
        if self.study is None and self.recipe is not None:
            return self.recipe.limits
        return self.scored.default_limits(**live)

    def checked(self, position: int, *, ask: bool = True) -> ProductCheckResult | None:
        """Result of the product check on one photo; None when there is none or it is off.

        ask False: None also if the result is not known yet, since it takes a run of the network. Raises ImageError for
        a photo that can no longer be read.
        """
        product_check = self.product_check
        if product_check is None or not product_check.is_on:
            return None
        digest, known = self.scored.photos[position].digest, self._memo.foreign
        if ask and (digest, product_check.fused) not in known:
            self.extract_features(self.photo(position), digest, self.scored.photos[position].placed)
        return (
            product_check.judge(known[digest, product_check.fused]) if (digest, product_check.fused) in known else None
        )

    def extract_features(self, pixels: np.ndarray, digest: str, placement: Placement) -> tuple[Tensor, ...]:
        """(1, h, w, k) patch features of a photo for each view; the product check of the same run is kept."""
        if self.product_check is None:
            return self.extractor.features(pixels, placement)
        picture = self.extractor.network_input(pixels, placement)
        whole = picture if self.extractor.tiles is None else self.extractor.whole_network_input(pixels, placement)
        features, embedding, logits = self.extractor.describe([picture], [whole])
        self._memo.foreign[digest, self.product_check.fused] = float(self.product_check.score(embedding, logits)[0])
        return features

    @property
    def quality(self) -> QualityRange | None:
        """Noise, light and sharpness of the photos taught; None where they were not measured."""
        if self._memo.quality_range is None:
            source = self.study or self.recipe
            self._memo.quality_range = (None if source is None else source.quality,)
        return self._memo.quality_range[0]

    def quality_of(self, position: int) -> PhotoQuality | None:
        """Those of a photo on the bench, measured once; None where those taught were not. Raises ImageError."""
        if self.quality is None:
            return None
        photo = self.scored.photos[position]
        known = self._memo.quality
        if self.study is not None and photo.name in (measured := self.study.photo_features.notes.quality):
            known.setdefault(photo.digest, measured[photo.name])
        if photo.digest not in known:
            pixels = self.photo(position)
            known[photo.digest] = measure_quality(self.extractor.network_input(pixels, photo.placed), pixels)
        return known[photo.digest]

    def evidence(self, scored: ScoredPhotos | None = None, live: Mapping[str, int] | None = None) -> Evidence:
        """That of its photos at the live values in force; of the product check what is known so far.

        scored, live: the same photos and their values under a preview.
        """
        differ = [self._reason_to_review(position) for position in range(len(self.scored.photos))]
        values = self.live if live is None else live
        return evidence_of(scored or self.scored, differ=differ, foreign=self.foreign(), **values)

    def foreign(self) -> frozenset[str]:
        """Digests of the photos that its product check is known to stop."""
        results = [(i, self.checked(i, ask=False)) for i in range(len(self.scored.photos))]
        return frozenset(self.scored.photos[i].digest for i, result in results if result is not None and result.rejects)

    def unchecked(self) -> list[int]:
        """Positions of the photos of which it is not known yet whether the product check stops them; none unless it
        stops parts.
        """
        product_check = self.product_check
        if product_check is None or product_check.mode != STOP:
            return []
        fused, known, lost = product_check.fused, self._memo.foreign, self._memo.unreadable
        digests = [photo.digest for photo in self.scored.photos]
        return [i for i, digest in enumerate(digests) if digest not in lost and (digest, fused) not in known]

    def _reason_to_review(self, position: int) -> str:
        known, digest = self._memo.reasons, self.scored.photos[position].digest
        quality_range = self.quality
        if quality_range is None:
            return ""
        if digest not in known:
            known[digest] = ""
            with suppress(ImageError):
                quality = self.quality_of(position)
                known[digest] = "" if quality is None else quality_range.reason_to_review(quality) or ""
        return known[digest]

    @property
    def refits(self) -> tuple[str, ...]:
        """The parameters that need a fit each (γ, M, σ); none without the photos to fit."""
        views = self.scored.views if self.study is not None else ()
        return next((view.definition.refit_parameters for view in views if view.definition.refit_parameters), ())

    @property
    def refit_view(self) -> int:
        """Position of the view whose method has them. Raises ValueError without one."""
        return [bool(view.definition.refit_parameters) for view in self.scored.views].index(True)

    def fitted(self) -> dict[str, float]:
        """The refit parameters of the model in force by name, also where its method chose them."""
        if not self.refits:
            return {}
        view = self.scored.views[self.refit_view]
        return view.definition.refit_values(view.detector)

    def values(self) -> tuple[str, ...]:
        """The parameters in force, each with its symbol: those fitted, then the live ones."""
        live = {name: value for name, value in self.live.items() if name in CONTROLS}
        return tuple(describe({name: value}) for name, value in {**self.fitted(), **live}.items())

    def defect_areas(self) -> np.ndarray:
        """(n,) pixels of the map that each known defect with a mask covers, read once."""
        if self._memo.areas is None:
            defects = [i for i, photo in enumerate(self.scored.photos) if photo.is_defect]
            masks = truth_masks(self.scored, defects)
            self._memo.areas = np.array([int(mask.sum()) for mask in masks if mask is not None], int)
        return self._memo.areas

    def patch_sample(self) -> PatchSample:
        """Patches of the good photos for fitting previews; concurrent callers wait for the same draw."""
        with self._memo.sampling:
            if self._memo.sample is None:
                self._memo.sample = PatchSample.from_study(self.own_study, view=self.refit_view)
            return self._memo.sample

    def chosen(self) -> dict[str, int]:
        """The live values in force that are not what a new fit begins with, by name: those that a user chose."""
        area = None if self.study is None else self.study.order.area
        usual = {view.live_parameter: view.start for view in self.scored.views}
        usual[AREA] = default_area(self.scored.size) if area is None else area
        return {name: value for name, value in self.moved.items() if usual.get(name) != value}

    @property
    def relabelled(self) -> dict[str, str]:
        """The labels by content digest that the engineer gave to photos since they were taught."""
        return {photo.digest: photo.label for photo in self.scored.photos if photo.original_label is not None}

    def labelled(self, labels: Mapping[str, str]) -> "TaughtProduct":
        """The product with some photos under other labels, by content digest."""
        return replace(self, scored=self.scored.labelled(labels))

    def with_areas(self, areas: InspectionAreas | None) -> "TaughtProduct":
        """The product inspected by these areas. Raises ValueError as `ScoredPhotos.with_areas`."""
        return replace(self, scored=self.scored.with_areas(areas))

    def with_drawings(self, outlines: Mapping[str, tuple[Outline, ...]]) -> "TaughtProduct":
        """The product with defects of some photos drawn, by content digest, and with what all known defects teach."""
        scored = self.scored.drawn(outlines)
        if scored.photos == self.scored.photos:
            return self
        study, scored = self.own_study.with_known_defects(scored)
        memo = self._memo.of_another_fit(study)
        return replace(self, study=study, scored=scored, extractor=study.extractor, fit=new_id(), _memo=memo)

    def position_of(self, digest: str) -> int | None:
        """The position of the photo with this content on the bench; None when it is not there."""
        return next((i for i, photo in enumerate(self.scored.photos) if photo.digest == digest), None)

    def with_photo(self, photo: ScoredPhoto, features: Sequence[Tensor], thumbnail: bytes) -> "TaughtProduct":
        """The product with one more photo at the end, given its features by view; unchanged if it is there."""
        if self.position_of(photo.digest) is not None:
            return self
        scored = self.scored.with_photo(photo, features)
        return replace(self, scored=scored, thumbnails=(*self.thumbnails, thumbnail))
