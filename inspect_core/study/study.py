"""A study: photos, their stored features and one fit, from which parameters and limits are moved live."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import Preparation, published_with_nearest
from inspect_core.features.store import Store
from inspect_core.images.alignment import Alignment
from inspect_core.images.depth import Depth
from inspect_core.images.folders import Sample, Samples, Split, split
from inspect_core.images.photo_quality import QualityRange, noise_as_read
from inspect_core.images.read import read
from inspect_core.images.tiles import TilePlan
from inspect_core.images.tolerances import Tolerances, looks_in
from inspect_core.judge.anomaly_map import AREA, largest_area
from inspect_core.methods.table import FIRST, known_parameters, methods_of, parameters_of
from inspect_core.methods.view import View, costs_of, looks_of
from inspect_core.recipe import Recipe
from inspect_core.runtime.progress import Cancel, Report, stage, tell
from inspect_core.study.crossing import Crossing
from inspect_core.study.fitting import Fitting
from inspect_core.study.freezing import frozen
from inspect_core.study.passes import Passes
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.workers import Workers
from inspect_core.verdict import Limits

Tried = tuple[ScoredPhoto, list[np.ndarray]]
"""A photo with its (stops, h, w) float32 errors under each view."""
Trying = Callable[[Sequence[Sample]], Iterable[tuple[ScoredPhoto, tuple[Tensor, ...]]]]
"""Further photos made from some good ones, each with its (1, h, w, k) features for each view."""


class Study:
    """Photos and a backbone, one detector fitted on the good ones, and every score that follows.

    samples: what `scan` found (split here by `seed`), or a Split; method: a name in METHODS, or several joined by "+",
    whose maps are added (a tuple: methods that are fitted one by one, to be compared); parameters: what the methods
    take for the fit (k, ridge, gamma, M, sigma, q, m), by default their own defaults; taps: for each method those of
    the backbone's taps that it sees, None: all see all. area: the smallest that counts, in pixels of the map.
    alignment: photos are laid over its reference; `lost` holds, by name, why the part was not located in a photo.
    tiles: how large photos are cut, and their grid; None squashes them to the backbone's size. tolerances: within them
    copies of every photo to fit are made and learned from too, and of the others one each is scored. Photos that turn
    out damaged are left out and listed in `skipped` as (name, reason). nearest: repeat coarse taps instead of
    interpolating; None follows the published backbone. workers: process the photos instead of this process, with
    results equal to the bit. After `fit`, `scored` holds the calibrate, choose and judge photos.
    Raises ValueError for no photo to learn from, an unknown method or parameter, and more memory than a fit may take.
    """

    def __init__(
        self,
        samples: Samples | Split,
        backbone: Backbone,
        store: Store,
        *,
        method: str | tuple[str, ...] = FIRST,
        parameters: Mapping[str, float | None] | None = None,
        grid: tuple[int, int] = (32, 32),
        taps: Sequence[tuple[str, ...]] | None = None,
        nearest: bool | None = None,
        area: int | None = None,
        alignment: Alignment | None = None,
        tiles: TilePlan | None = None,
        tolerances: Tolerances | None = None,
        seed: int = 0,
        workers: Workers | None = None,
    ):
        self.split = samples if isinstance(samples, Split) else split(samples, seed=seed)
        if not self.split.fit:
            raise ValueError("there is no good photo to learn from; add photos of good parts")
        self.method, self.seed, self.store = method, seed, store
        self.methods = methods_of(method) if isinstance(method, str) else method
        self.given = dict(parameters or {})
        self.parameters = parameters_of(self.methods, self.given, tiles)
        nearest = published_with_nearest(backbone.name) if nearest is None else nearest
        looks = looks_of(self.methods, self.parameters, backbone, taps, seed)
        grid = grid if tiles is None else tiles.grid
        self.preparation = Preparation(backbone, grid, looks, nearest, alignment, tiles)
        self.area = self.preparation.default_area if area is None else area
        if not 1 <= self.area <= largest_area(self.preparation.map_size):
            raise ValueError(f"area is {area}, outside 1..{largest_area(self.preparation.map_size)} pixels of the map")
        shown = len(self.split.calibrate) + len(self.split.choose) + len(self.split.judge)
        self.tolerances = None if tolerances is None else replace(tolerances, seed=seed)
        fit = len(self.split.fit) * looks_in(self.tolerances)
        costs = costs_of(self.methods, self.parameters, self.preparation, fit=fit, shown=shown)
        self.scored: ScoredPhotos | None = None
        self._exact: tuple[dict[str, int], ScoredPhotos] | None = None
        self.tried: list[Tried] = []
        self._keep_all = store.would_fit(self.preparation.bytes_per_photo * (len(self.split.fit) + shown))
        streamed = frozenset() if self._keep_all else frozenset(sample.name for sample in self.split.fit)
        self._features = PhotoFeatures(self.preparation, store, streamed)
        again = None if self.tolerances is None else replace(self.tolerances, copies=1)
        self.passes = Passes(self._features, workers, self._keep_all, costs.memory, again)
        self._fitting = Fitting(self.methods, self.parameters, seed, self.passes, self.tolerances)

    def extract(self, progress: Report | None = None, cancelled: Cancel | None = None) -> "Study":
        """Run the network once over every photo whose features are stored; photos already stored need no run.

        The photos to fit are stored too if all of them fit into the store; else they are streamed during the fit.
        Workers do this when they first process the photos.
        progress(share, step) is called after each photo. Raises Cancelled when `cancelled` returns True.
        """
        if self.passes.workers is not None:
            return self
        to_do = [*self.split.calibrate, *self.split.choose, *self.split.judge]
        to_do += self.split.fit if self._keep_all else ()
        for done, sample in enumerate(to_do, start=1):
            self._features.of(sample)
            tell(progress, cancelled, done / len(to_do), f"reading photo {done} of {len(to_do)}")
        return self

    def fit(
        self, progress: Report | None = None, cancelled: Cancel | None = None, *, trying: Trying | None = None
    ) -> "Study":
        """Fit the detector on the good photos and score all others.

        Extracts first what was not extracted. Without calibrate photos, those of the fit take their place, in folds,
        each scored by a detector fitted to the other folds. trying: asked for more photos made from those that set
        limits, which are scored like these and kept in `tried`.
        Same seed, same machine: the same model to the bit.
        """
        if not self._features.found:
            self.extract(stage(progress, 0.0, 0.7), cancelled)
        crossing, learning = self._crossing(), stage(progress, 0.7, 0.8)
        if crossing is None:
            views = self._fitting.views(self.split.fit, learning, cancelled)
        else:
            views = crossing.gather(learning, cancelled).views(None, cancelled)
        self.tried, self._exact = [], None
        self.scored = self._scored(views, crossing, stage(progress, 0.8, 1.0), cancelled, trying)
        if self.scored.photos and isinstance(self.method, str):
            self.scored.scores()  # photos that cannot be judged raise here, not on the bench
        return self

    def of_detector(self, method: str, backbone: Backbone, taps: Sequence[tuple[str, ...]]) -> "Study":
        """The fitted study of one detector, of methods that were fitted one by one here; nothing is computed again.

        backbone, taps: as `view.with_taps` gives them for this detector. Equal to the bit to a study of that detector
        alone. Raises ValueError for a method that was not fitted here on such features.
        """
        names, now, known = methods_of(method), self.preparation, known_parameters(method)
        which = [self.methods.index(name) for name in names]
        given = {name: value for name, value in self.given.items() if name in known}
        other = self._like(backbone, method, given, taps)
        if other.preparation.keys != tuple(now.keys[i] for i in which):
            raise ValueError(f"{method} was not fitted on the features of {backbone.name}; make a study of its own")
        other.scored = self.results.of_views(which)
        other.tried = [(photo, [errors[i] for i in which]) for photo, errors in self.tried]
        return other

    def _crossing(self) -> Crossing | None:
        """The photos to fit in folds, where they set the limits."""
        folds = self.split.folds(self.seed)
        return Crossing(self._fitting, folds, self.split.setters(self.seed)) if folds else None

    def _scored(
        self, views: Sequence[View], crossing: Crossing | None, progress: Report | None, cancelled: Cancel | None,
        trying: Trying | None = None,
    ) -> ScoredPhotos:  # fmt: skip
        """All photos of the study under fitted views, those in folds each under what was fitted to the other folds."""
        scored = ScoredPhotos(views, self.preparation.grid, self.preparation.map_size, area=self.area)
        apart = [(list(self.split.calibrate), ())] if crossing is None else crossing.left_out(cancelled)
        folds = 1 if crossing is None else len(crossing.folds)
        for number, (samples, left_out) in enumerate(apart):
            seen = scored.seen_by(left_out)
            step = stage(progress, 0.6 * number / folds, 0.6 * (number + 1) / folds)
            for sample, errors in self.passes.score(seen, samples, step, cancelled):
                scored = scored.with_errors(self._photo(sample, "calibrate"), *errors)
            for photo, features in () if trying is None else trying(samples):
                tell(step, cancelled, 1.0, "trying synthetic defects")
                errors = [view.sweep(own, stops) for (view, stops), own in zip(seen, features, strict=True)]
                self.tried.append((photo, errors))
        seen = scored.seen_by()
        parts = {sample.name: "choose" for sample in self.split.choose} | {s.name: "judge" for s in self.split.judge}
        rest, step = [*self.split.choose, *self.split.judge], stage(progress, 0.6, 1.0)
        for sample, errors in self.passes.score(seen, rest, step, cancelled, self.passes.again) if rest else ():
            scored = scored.with_errors(self._photo(sample, parts[sample.name]), *errors)
        setters = [sample for fold in self.split.setters(self.seed) for sample in fold]
        every = [*(("calibrate", s) for s in setters), *((parts[s.name], s) for s in rest)]
        scored.unscored = self._features.unscored([*every, *(("fit", sample) for sample in self.split.fit)])
        return scored

    def errors(self, photo: ScoredPhoto) -> list[np.ndarray]:
        """(stops, h, w) float32 errors of a photo under each view, as scored; computed for one added on the bench."""
        for position, own in enumerate(self.photos):
            if (own.name, own.digest) == (photo.name, photo.digest):
                return self.results.errors(position)
        seen = self.results.seen_by()
        return [view.sweep(own, stops) for (view, stops), own in zip(seen, self.features(photo), strict=True)]

    def fit_view(self, number: int, progress: Report | None = None, *, samples: Sequence[Sample] | None = None) -> View:
        """The method at this position alone, fitted on these photos, by default those to fit."""
        samples = self.split.fit if samples is None else samples
        return self._fitting.views(samples, progress, None, numbers=[number])[0]

    def with_parameters(self, parameters: Mapping[str, float | None]) -> "Study":
        """An unfitted study of the same photos and features with other parameters of the fit; nothing is read again.

        Raises ValueError for a parameter that determines the features (k), or one that the methods do not know.
        """
        now = self.preparation
        taps = [look.taps for look in now.looks]
        other = self._like(now.backbone, self.method, self.given | dict(parameters), taps)
        if other.preparation.keys != now.keys:
            raise ValueError(f"parameters {dict(parameters)} need other features; make a new study of the photos")
        return other

    def _like(
        self, backbone: Backbone, method: str | tuple[str, ...], parameters: Mapping[str, float | None],
        taps: Sequence[tuple[str, ...]],
    ) -> "Study":  # fmt: skip
        """An unfitted study of the same photos, with what is known of each."""
        now = self.preparation
        other = Study(
            self.split, backbone, self.store, method=method, parameters=parameters, grid=now.grid, taps=taps,
            nearest=now.nearest, area=self.area, alignment=now.alignment, tiles=now.tiles, tolerances=self.tolerances,
            seed=self.seed, workers=self.passes.workers,
        )  # fmt: skip
        other._features.found.update(self._features.found)
        other._features.skipped.extend(self._features.skipped)
        other._features.lost.update(self._features.lost)
        other._features.quality.update(self._features.quality)
        return other

    def patch_sample(self, count: int, cancelled: Cancel | None = None, *, view: int = 0) -> Tensor:
        """(n, k) patches of the photos to fit as one view sees them, drawn evenly over the photos with the seed.

        n is `count` or all. Raises Cancelled when `cancelled` returns True.
        """
        return self._fitting.patch_sample(self.split.fit, count, view, cancelled)

    def scored_photo(self, sample: Sample, part: str) -> tuple[ScoredPhoto, tuple[Tensor, ...]] | None:
        """A photo of the study, and its (1, h, w, k) features for each view; None for a damaged one."""
        features = self._features.of(sample)
        if features is None:
            return None
        return self._photo(sample, part), features

    def features(self, photo: ScoredPhoto) -> tuple[Tensor, ...]:
        """(1, h, w, k) patch features of a photo for each view, from the store when there, else from the network."""
        stored = self._features.stored(photo.digest)
        if stored is not None:
            return stored
        return self.preparation.features(read(photo.path, photo.depth).pixels, photo.placement)

    def begin_with(self, **live: int) -> None:
        """Make live parameters begin at these values, or at the next smaller stored ones.

        Raises ValueError for a parameter that does not move live in this detector.
        """
        scored = self.results
        for name, value in live.items():
            scored.live[name] = int(value) if name == AREA else scored.stop_of(name, int(value))

    @property
    def depth(self) -> Depth | None:
        """Bit depth of the photos it learned from, at which every photo is read; None takes any."""
        return self.split.fit[0].depth

    @property
    def quality(self) -> QualityRange | None:
        """Range of the good photos that set limits, and of their copies; None where too few were read."""
        known = self._features.quality
        setters = [photo.name for photo, sets in zip(self.photos, self.results.setters(), strict=True) if sets]
        found, wider = QualityRange.of([known[name] for name in setters if name in known]), self.tolerances
        if found is None or wider is None:
            return found
        noise = noise_as_read(wider.noise, self.photos[0].placed.photo, self.preparation.size)
        return found.within(noise, wider.light, wider.focus)

    @property
    def skipped(self) -> list[tuple[str, str]]:
        """(name, reason) of the photos that turned out damaged."""
        return self._features.skipped

    @property
    def lost(self) -> dict[str, str]:
        """By name, why the part was not located in a photo."""
        return self._features.lost

    @property
    def photos(self) -> tuple[ScoredPhoto, ...]:
        """The calibrate and judge photos, in the order of every score and map."""
        return self.results.photos

    @property
    def live(self) -> dict[str, int]:
        """The live parameters at their values to begin with, by name."""
        return dict(self.results.live)

    def scores(self, **live: int) -> np.ndarray:
        """(photos,) image scores in the order of `photos`: equal to the bit to those of `inspect`.

        Except photos of the fit that replace calibrate photos: they are scored as if they had not been learned from.
        """
        return self.at(live).scores(**live)

    def map(self, image: int | str, **live: int) -> np.ndarray:
        """(H, W) float32 anomaly map of one study photo, by position or name."""
        return self.at(live).map(image, **live)

    def at(self, live: Mapping[str, int]) -> ScoredPhotos:
        """The scored photos with errors stored at these live values; missing ones are computed.

        Raises ValueError for a value outside the fit.
        """
        scored = self.results
        if scored.has(live):
            return scored
        wanted = {name: value for name, value in (scored.live | dict(live)).items() if name != AREA}
        if self._exact is None or self._exact[0] != wanted:
            views = [replace(view, only=(view.value(wanted),)) for view in scored.views]
            crossing = self._crossing()
            anew = self._scored(views, None if crossing is None else crossing.gather(None, None), None, None)
            anew.live |= scored.live | wanted
            self._exact = wanted, anew.with_areas(scored.areas)
        return self._exact[1]

    def calibration_scores(self, **live: int) -> np.ndarray:
        """Scores of the good photos that set limits, as `ScoredPhotos.calibration_scores`."""
        return self.at(live).calibration_scores(**live)

    def default_limits(self, **live: int) -> Limits:
        """The suggested limits at these live values, as `ScoredPhotos.default_limits`."""
        return self.at(live).default_limits(**live)

    def recipe(self, limits: Limits | None = None, **chosen: Any) -> Recipe:
        """The recipe of this study; limits: by default the suggested ones; chosen: arguments of `freezing.frozen`."""
        return frozen(self, limits, **chosen)

    @property
    def results(self) -> ScoredPhotos:
        """`scored`. Raises ValueError before the fit."""
        if self.scored is None:
            raise ValueError("nothing has been fitted yet; call fit first")
        return self.scored

    def _photo(self, sample: Sample, part: str) -> ScoredPhoto:
        """A photo that was read."""
        digest, placement = self._features.found[sample.name]
        group = self.split.groups.get(sample.name)
        return ScoredPhoto(
            sample.name, digest, placement.size, sample.kind, part, sample.path, sample.mask, sample.group, group,
            sample.depth, placement,
        )  # fmt: skip
