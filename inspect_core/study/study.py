"""A study: photos, their stored features and one fit, from which parameters and limits are moved live."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from torch import Tensor

from inspect_core.datasets.folders import Dataset, PhotoFile, Split, split
from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import FeatureExtractor, published_with_nearest
from inspect_core.features.store import FeatureStore
from inspect_core.images.areas import InspectionAreas
from inspect_core.images.depth import Depth
from inspect_core.images.photo_quality import QualityRange, noise_as_read
from inspect_core.images.photo_reader import read
from inspect_core.images.tolerances import photos_per_original
from inspect_core.methods.fitted_method import (
    FittedMethod,
    chosen_taps,
    costs_of,
    patch_feature_specs,
    remarks,
    sweep_errors,
)
from inspect_core.methods.method import Costs, Parameters
from inspect_core.methods.patch_sampling import PatchSampler
from inspect_core.methods.registry import DEFAULT_METHOD, METHODS, methods_of, parameters_of
from inspect_core.recipe import Recipe
from inspect_core.runtime.progress import Cancel, Report, ignore_progress, report_progress, stage
from inspect_core.scoring.anomaly_map import AREA, largest_area
from inspect_core.scoring.evidence import Evidence
from inspect_core.study.fitting import CrossFitter, StudyFitter, Tried, Trying
from inspect_core.study.known_defects import FEWEST, DefectLearner, KnownDefects, teaching
from inspect_core.study.photo_evidence import evidence_of, reasons_of
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.recipe_builder import build_recipe
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study_tasks import IN_PROCESS, Workers
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.study.time_estimates import StepTimes
from inspect_core.verdict import Limits
from inspect_core.whole_part.product_check import STOP, ProductCheck


@dataclass(frozen=True, eq=False)
class Study:
    """An order with a backbone: what is fitted, on which photos, from which features; `fit` does it.

    method: the detector, or a tuple of methods that are fitted one by one, to be compared; methods, parameters: by the
    position of each; extractor: of the features that they see; area: the smallest that counts, in pixels of the map;
    photo_features: the photos as they are read, with what is noted of each; fitting: what fits and scores; workers: who
    processes the photos, with results equal to the bit.

    Photos that turn out damaged are left out and listed in `skipped` as (name, reason); `not_located` holds, by name,
    why the part was not located in a photo.
    """

    order: TeachingConfig
    store: FeatureStore
    method: str | tuple[str, ...]
    methods: tuple[str, ...]
    parameters: tuple[Parameters, ...]
    extractor: FeatureExtractor
    area: int
    photo_features: PhotoFeatures
    fitting: StudyFitter
    workers: Workers

    @classmethod
    def from_order(
        cls,
        order: TeachingConfig,
        backbone: Backbone,
        store: FeatureStore,
        *,
        method: str | tuple[str, ...] | None = None,
        taps: Sequence[tuple[str, ...]] | None = None,
        nearest: bool | None = None,
        workers: Workers = IN_PROCESS,
    ) -> "Study":
        """A study of the photos of an order.

        method: in place of the order's, DEFAULT_METHOD where neither is named. taps: for each method those of the
        backbone's taps that it sees, None: all see all. nearest: repeat coarse taps instead of interpolating; None
        follows the published backbone. Raises ValueError for no photo to learn from, an unknown method or parameter,
        and more memory than a fit may take.
        """
        method = method or order.method or DEFAULT_METHOD
        order = replace(order, method=method if isinstance(method, str) else order.method, tolerances=order.copied)
        if not order.photos.train:
            raise ValueError("no good photos for training; add good photos")
        methods = methods_of(method) if isinstance(method, str) else method
        if joined := [METHODS[name].title for name in methods if METHODS[name].learns_from_defects]:
            raise ValueError(f"{joined[0]} is joined to a detector when known defects are drawn; leave it out")
        parameters = parameters_of(methods, order.parameters, order.tiles)
        nearest = published_with_nearest(backbone.name) if nearest is None else nearest
        grid = order.grid if order.tiles is None else order.tiles.grid
        looks = patch_feature_specs(methods, parameters, backbone, taps, order.seed)
        extractor = FeatureExtractor(backbone, grid, looks, nearest, order.alignment, order.tiles)
        area = extractor.default_area if order.area is None else order.area
        if not 1 <= area <= (most := largest_area(extractor.map_size)):
            raise ValueError(f"area is {area}, outside 1..{most} pixels of the map")
        keep = store.would_fit(extractor.bytes_per_photo * (len(order.photos.train) + len(order.scored)))
        streamed = frozenset() if keep else frozenset(sample.name for sample in order.photos.train)
        features = PhotoFeatures.here(extractor, store, streamed)
        repeats = None if order.tolerances is None else replace(order.tolerances, copies=1)
        fitting = StudyFitter(order, methods, parameters, features, repeats, workers)
        study = Study(order, store, method, methods, parameters, extractor, area, features, fitting, workers)
        workers.require(study.costs.memory)
        return study

    @classmethod
    def from_photos(
        cls,
        photos: Dataset | Split,
        backbone: Backbone,
        store: FeatureStore,
        *,
        method: str | tuple[str, ...] | None = None,
        taps: Sequence[tuple[str, ...]] | None = None,
        nearest: bool | None = None,
        workers: Workers = IN_PROCESS,
        **choices: Any,
    ) -> "Study":
        """A study of photos as scanned (split here by seed) or as split, without tolerances unless `choices` name them.

        choices: fields of the order; the others as of `from_order`, which raises ValueError.
        """
        if isinstance(photos, Dataset):
            photos = split(photos, seed=choices.get("seed", TeachingConfig.seed))
        order = TeachingConfig("part", photos, backbone.name, size=backbone.size, tolerances=None)
        order = replace(order, **choices)
        return cls.from_order(order, backbone, store, method=method, taps=taps, nearest=nearest, workers=workers)

    @property
    def costs(self) -> Costs:
        """What its fit is expected to take. Raises ValueError as `costs_of`."""
        learned = len(self.split.train) * photos_per_original(self.order.tolerances)
        return costs_of(self.methods, self.parameters, self.extractor, fit=learned, shown=len(self.order.scored))

    @property
    def split(self) -> Split:
        """The photos, by what each is for."""
        return self.order.photos

    def extract(
        self, progress: Report | None = None, cancelled: Cancel | None = None, *, embed: bool = False
    ) -> "Study":
        """Run the network once over every photo whose features are stored; photos already stored need no run.

        The photos to fit are stored too if all of them fit into the store; else they are streamed during the fit.
        Workers do this when they first process the photos. embed: store the embeddings of good photos too.
        progress(share, step) is called after each photo. Raises Cancelled when `cancelled` returns True.
        """
        to_do = [*self.order.scored, *(() if self.photo_features.streamed else self.split.train)]
        embedded = {sample.name for sample in (*self.split.train, *self.split.calibration)} if embed else ()
        self.workers.extract(
            replace(self.photo_features, embedded=embedded), to_do, partial(report_progress, progress, cancelled)
        )
        return self

    def fit(
        self,
        progress: Report | None = None,
        cancelled: Cancel | None = None,
        *,
        trying: Trying | None = None,
        expected: StepTimes | None = None,
    ) -> "FittedStudy":
        """Fit the detector on the good photos and score all others; this study stays as it is.

        Extracts first what was not extracted. Without calibration photos, those of the fit take their place, in folds,
        each scored by a detector fitted to the other folds. trying: asked for more photos made from those that set
        limits, which are scored like these and are in `tried`. expected: `expected` with these, for the progress.
        Same seed, same machine: the same model to the bit.
        """
        report = partial(report_progress, progress, cancelled)
        expected = expected or (StepTimes.unknown() if progress is None else self.expected())
        read = 0.0 if self.photo_features.notes.placements else expected.extract
        learnt, all_of_it = read + expected.learn, read + expected.learn + expected.cross_fit + expected.score
        if not self.photo_features.notes.placements:
            self.extract(stage(report, 0.0, read / all_of_it))
        crossing = CrossFitter(self.fitting)
        views = crossing.views(stage(report, read / all_of_it, learnt / all_of_it))
        crossed = expected.cross_fit / max(expected.cross_fit + expected.score, 1e-9)
        step = stage(report, learnt / all_of_it, 1.0)
        scored, tried = crossing.score(views, self.area, step, trying, crossed=crossed)
        self.photo_features.inputs.clear()
        if scored.photos and isinstance(self.method, str):
            scored.scores()  # photos that cannot be judged raise here, not on the bench
        return self._fitted(scored, tried)

    def expected(self, made: int = 0) -> StepTimes:
        """What the steps of the fit are expected to take; made: photos that are tried."""
        return StepTimes.from_order(self.order, self.methods, self.parameters, self.extractor, made=made)

    def fit_view(
        self, number: int, report: Report = ignore_progress, *, samples: Sequence[PhotoFile] | None = None
    ) -> FittedMethod:
        """The method at this position alone, fitted on these photos, by default those to fit."""
        samples = self.split.train if samples is None else samples
        return self.fitting.views(samples, report, numbers=[number])[0]

    def with_method(self, method: str, backbone: Backbone, taps: Sequence[tuple[str, ...]]) -> "Study":
        """An unfitted study of the same photos by one detector; backbone, taps: of `TeachingConfig.network`."""
        return self._like(backbone, method, taps, self.order.parameters_for(methods_of(method)))

    def with_parameters(self, parameters: Mapping[str, float | None]) -> "Study":
        """An unfitted study of the same features with other parameters of the fit; nothing is read again.

        Raises ValueError for a parameter that determines the features (k), or one that the methods do not know.
        """
        extractor = self.fitting.features.extractor
        taps = [spec.taps for spec in extractor.looks]
        values = {**self.order.parameters, **parameters}
        other = self._like(extractor.backbone, self.method, taps, values)
        if other.extractor.keys != extractor.keys:
            raise ValueError(f"parameters {dict(parameters)} need other features; make a new study of the photos")
        return other

    def _fitted(self, scored: ScoredPhotos, tried: Sequence[Tried]) -> "FittedStudy":
        return FittedStudy(
            **{field.name: getattr(self, field.name) for field in fields(Study)}, scored=scored, tried=tried
        )

    def _like(
        self,
        backbone: Backbone,
        method: str | tuple[str, ...],
        taps: Sequence[tuple[str, ...]],
        parameters: Mapping[str, float | None],
    ) -> "Study":
        """An unfitted study of the same photos, with what is known of each."""
        other = Study.from_order(
            replace(self.order, parameters=parameters),
            backbone,
            self.store,
            method=method,
            taps=taps,
            nearest=self.extractor.nearest_upsampling,
            workers=self.workers,
        )
        other.photo_features.notes.add(self.photo_features.notes)
        return other

    def features(self, photo: ScoredPhoto) -> tuple[Tensor, ...]:
        """(1, h, w, k) patch features of a photo by view, from the store, else from the network."""
        stored = self.photo_features.stored(photo.digest)
        if stored is not None:
            return stored
        return self.extractor.features(read(photo.path, photo.depth).pixels, photo.placement)

    def scored_photo(self, sample: PhotoFile, part: str) -> tuple[ScoredPhoto, tuple[Tensor, ...]] | None:
        """A photo of the study, and its (1, h, w, k) features for each view; None for a damaged one."""
        features = self.photo_features.features_of(sample)
        return None if features is None else (self.photo_features.photo(sample, part, self.split.groups), features)

    def patch_sample(self, count: int, cancelled: Cancel | None = None, *, view: int = 0) -> Tensor:
        """(n, k) patches of the photos to fit as one view sees them, drawn evenly over the photos with the seed.

        n is `count` or all. Raises Cancelled when `cancelled` returns True.
        """
        return self.patch_sampler(count, cancelled, view=view).rows()

    def patch_sampler(self, count: int, cancelled: Cancel | None = None, *, view: int = 0) -> PatchSampler:
        """What drew those patches, which knows the photo of each, by its number among those to fit."""
        fitted_view = self.fitting.features.extractor.keys.index(self.extractor.keys[view])
        report = partial(report_progress, None, cancelled)
        return self.fitting.patch_sampler(self.split.train, count, fitted_view, report)

    @property
    def depth(self) -> Depth | None:
        """Bit depth of the photos it learned from, at which every photo is read; None takes any."""
        return self.split.train[0].depth

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """(name, reason) of the photos that turned out damaged, by name."""
        return sorted(self.photo_features.notes.damaged.items())

    @property
    def not_located(self) -> dict[str, str]:
        """By name, why the part was not located in a photo."""
        return self.photo_features.notes.not_located


@dataclass(frozen=True, eq=False)
class FittedStudy(Study):
    """A study, and what its fit found. scored: the calibration, validation and test photos under the fitted methods;
    tried: photos that were made for a trial, with their errors by view; known_defects: what was learned from known
    defects, None without enough of them; bare: this without the view that they gave, None where it has none.
    """

    scored: ScoredPhotos
    tried: Sequence[Tried]
    known_defects: KnownDefects | None = None
    bare: "FittedStudy | None" = None
    _exact: dict[tuple[tuple[str, int], ...], ScoredPhotos] = field(default_factory=dict)
    """The photos at the live values that were asked for last and are not among those stored."""

    def of_detector(self, method: str, backbone: Backbone, taps: Sequence[tuple[str, ...]]) -> "FittedStudy":
        """The fitted study of one detector, of methods fitted one by one here; nothing is computed again.

        backbone, taps: as `TeachingConfig.network` gives them for this detector. Equal to the bit to a study of that
        detector alone. Raises ValueError for a method that was not fitted here on such features.
        """
        positions = [self.methods.index(name) for name in methods_of(method)]
        other = self.with_method(method, backbone, taps)
        if other.extractor.keys != tuple(self.extractor.keys[i] for i in positions):
            raise ValueError(f"{method} was not fitted on the features of {backbone.name}; create a separate study")
        tried = [(photo, [errors[i] for i in positions]) for photo, errors in self.tried]
        return other._fitted(self.scored.of_views(positions), tried)

    def at(self, live: Mapping[str, int]) -> ScoredPhotos:
        """The scored photos with errors stored at these live values; missing ones are computed.

        Raises ValueError for a value outside the fit.
        """
        scored = self.scored
        if scored.has(live):
            return scored
        requested_live = {name: value for name, value in {**scored.live, **live}.items() if name != AREA}
        moved = tuple(sorted(requested_live.items()))
        exact = self._exact.get(moved)  # another window may ask for other values meanwhile
        if exact is None:
            fitted_views = scored.views[: len(self.fitting.methods)]
            views = [replace(view, selected_stops=(view.value(requested_live),)) for view in fitted_views]
            crossing = CrossFitter(self.fitting)
            if crossing.folds:
                crossing.views(ignore_progress)  # as when it was fitted: folds go on from what was chosen of all
            rescored, _ = crossing.score(views, self.area, ignore_progress)
            exact = rescored.with_initial_live({**scored.live, **requested_live}).with_areas(scored.areas)
            if self.known_defects is not None and self.bare is not None:
                errors = [scored.errors(position)[-1][0] for position in range(len(scored.photos))]
                exact = exact.with_view(self.known_defects.view, errors)
            self._exact.clear()
            self._exact[moved] = exact
        return exact

    def with_known_defects(self, scored: ScoredPhotos) -> tuple["FittedStudy", ScoredPhotos]:
        """This study and photos scored by it, both with the view that known defects among the photos teach, where that
        helps (`KnownDefects.helps`), and without one where not. What was taught before is forgotten.

        scored: those of this study as they are labelled and drawn by now, and others after them.
        """
        bare = self if self.bare is None else self.bare
        bare = replace(bare, scored=bare.scored.drawn({photo.digest: photo.drawn for photo in scored.photos}))
        plain = scored if self.bare is None else scored.of_views(range(len(bare.methods)))
        is_published = any(view.is_uncalibrated for view in plain.views)
        if is_published or len(teaching(plain)) < FEWEST or not plain.setters().any():
            return replace(bare, known_defects=None), plain
        known, joined = bare._defect_learner.learn(plain)
        if not known.helps:
            return replace(bare, known_defects=known), plain
        extractor = replace(bare.extractor, looks=(*bare.extractor.looks, known.view.spec))
        count = len(bare.photos)
        learned = replace(
            bare,
            methods=(*bare.methods, known.view.method),
            parameters=(*bare.parameters, {}),
            extractor=extractor,
            photo_features=replace(bare.photo_features, extractor=extractor),
            scored=joined.reordered(range(count)).with_unscored(bare.scored.unscored),
            known_defects=known,
            bare=bare,
            _exact={},
        )
        return learned, joined

    @cached_property
    def _defect_learner(self) -> DefectLearner:
        return DefectLearner(self.fitting, self.features)

    def scores(self, **live: int) -> np.ndarray:
        """(photos,) image scores in the order of `photos`: equal to the bit to those of `inspect`.

        Except photos of the fit that replace calibration photos: they are scored as if they had not been learned from.
        """
        return self.at(live).scores(**live)

    def map(self, image: int | str, **live: int) -> np.ndarray:
        """(H, W) float32 anomaly map of one study photo, by position or name."""
        return self.at(live).map(image, **live)

    def calibration_scores(self, **live: int) -> np.ndarray:
        """Scores of the good photos that set limits, as `ScoredPhotos.calibration_scores`."""
        return self.at(live).calibration_scores(**live)

    def default_limits(self, **live: int) -> Limits:
        """The suggested limits at these live values, as `ScoredPhotos.default_limits`."""
        return self.at(live).default_limits(**live)

    def recipe(
        self,
        limits: Limits | None = None,
        *,
        areas: InspectionAreas | None = None,
        foreign: Collection[str] | None = None,
        **chosen: Any,
    ) -> Recipe:
        """The recipe of this study; limits: by default the suggested ones; foreign: what its product check stops, as
        `photo_evidence.evidence_of`, None for what `self.foreign` finds.

        chosen: values of live parameters, by default those to begin with, and arguments of
        `recipe_builder.build_recipe`.
        """
        live = self.live | {name: chosen.pop(name) for name in self.live if name in chosen}
        scored = self.at(live).with_areas(areas)
        digests = self.photo_features.digests((*self.split.train, *self.order.scored))
        drawn = {photo.name: photo.drawn for photo in self.photos if photo.drawn}
        foreign = self.foreign(chosen.get("product_check")) if foreign is None else foreign
        chosen |= {
            "quality": self.quality,
            "teaching": self.order.record(digests, chosen_taps(self.methods, self.extractor), drawn),
            "learned": "" if self.known_defects is None else self.known_defects.sentence(),
            "reasons": reasons_of(scored, live[AREA], self.differ(photo.name for photo in scored.photos), foreign),
        }
        return build_recipe(self.order, self.extractor, self.scored, scored, live, limits, **chosen)

    def errors(self, photo: ScoredPhoto) -> list[np.ndarray]:
        """(stops, h, w) float32 errors of a photo by view, as scored; computed for one added on the bench."""
        for position, known in enumerate(self.photos):
            if (known.name, known.digest) == (photo.name, photo.digest):
                return self.scored.errors(position)
        return sweep_errors(self.scored.seen_by(), [self.features(photo)])[0]

    def remarks(self, live: Mapping[str, int]) -> tuple[str, ...]:
        """What an engineer should know of the fit at these live values, as `methods.fitted_method.remarks`."""
        fitted = self.scored.views, self.extractor, self.parameters
        return remarks(*fitted, self.live | dict(live), photos=len(self.split.train))

    @property
    def photos(self) -> tuple[ScoredPhoto, ...]:
        """The calibration and test photos, in the order of every score and map."""
        return self.scored.photos

    @property
    def live(self) -> dict[str, int]:
        """The live parameters at their values to begin with, by name."""
        return dict(self.scored.live)

    @property
    def quality(self) -> QualityRange | None:
        """Range of the good photos that set limits, and of their copies; None where too few were read."""
        known, wider = self.photo_features.notes.quality, self.order.tolerances
        setters = [self.photos[i].name for i in np.flatnonzero(self.scored.setters())]
        quality_range = QualityRange.from_qualities([known[name] for name in setters if name in known])
        if quality_range is None or wider is None:
            return quality_range
        noise = noise_as_read(wider.noise, self.photos[0].placed.photo_size, self.extractor.size)
        return quality_range.widened_by(noise, wider.light, wider.focus, wider.shift, self.extractor.size)

    def differ(self, names: Iterable[str]) -> list[str]:
        """How photos, by name, differ from all good ones, so that no score accepts them, "" for one that does not
        (`QualityRange.reason_to_review`).
        """
        known, quality_range = self.photo_features.notes.quality, self.quality
        if quality_range is None:
            return ["" for _ in names]
        return [(name in known and quality_range.reason_to_review(known[name])) or "" for name in names]

    def evidence(self, foreign: Collection[str] = ()) -> Evidence:
        """That of its photos at the live values to begin with; foreign: as `photo_evidence.evidence_of`."""
        differ = self.differ(photo.name for photo in self.photos)
        return evidence_of(self.scored, differ=differ, foreign=foreign)

    def foreign(self, product_check: ProductCheck | None) -> frozenset[str]:
        """Digests of its photos that a product check stops; none unless it stops parts.

        Runs the network on those whose embedding is not stored.
        """
        if product_check is None or product_check.mode != STOP:
            return frozenset()
        features = self.photo_features
        known = {} if product_check.fused else {"known": features.embedding}
        described = features.embed_and_classify([photo.sample for photo in self.photos], **known)
        results = (
            (photo.digest, row and product_check.check(*(values[None] for values in row)))
            for photo, row in zip(self.photos, described, strict=True)
        )
        return frozenset(digest for digest, result in results if result is not None and result.rejects)
