"""A study: photos, their stored features and one fit, from which parameters and limits are moved live."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from torch import Tensor

from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import Preparation, published_with_nearest
from inspect_core.features.store import Store
from inspect_core.images.alignment import Alignment
from inspect_core.images.depth import Depth
from inspect_core.images.folders import Sample, Samples, Split, split
from inspect_core.images.read import read
from inspect_core.images.splitting import crossed
from inspect_core.images.tiles import TilePlan
from inspect_core.judge.anomaly_map import AREA, largest_area
from inspect_core.methods.table import methods_of, parameters_of
from inspect_core.recipe import Recipe
from inspect_core.runtime.progress import Cancel, Report, stage, tell
from inspect_core.study.fitting import Fitting
from inspect_core.study.freezing import frozen
from inspect_core.study.passes import Passes
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.workers import Workers
from inspect_core.verdict import Limits
from inspect_core.view import View, costs_of, looks_of


class Study:
    """Photos and a backbone, one detector fitted on the good ones, and every score that follows.

    samples: what `scan` found (split here by `seed`), or a Split; method: a name in METHODS, or several joined by "+",
    whose maps are added (a tuple: methods that are fitted one by one, to be compared); parameters: what the methods
    take for the fit (k, ridge, gamma, M, sigma, q, m), by default their own defaults; taps: for each method those of
    the backbone's taps that it sees, None: all see all. area: the smallest that counts, in pixels of the map.
    alignment: photos are laid over its reference; `lost` holds, by name, why the part was not located in a photo.
    tiles: how large photos are cut, and their grid; None squashes them to the backbone's size. Photos that turn out
    damaged are left out and listed in `skipped` as (name, reason). nearest: repeat coarse taps instead of
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
        method: str | tuple[str, ...] = "mahalanobis",
        parameters: Mapping[str, float | None] | None = None,
        grid: tuple[int, int] = (32, 32),
        taps: Sequence[tuple[str, ...]] | None = None,
        nearest: bool | None = None,
        area: int | None = None,
        alignment: Alignment | None = None,
        tiles: TilePlan | None = None,
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
        costs = costs_of(self.methods, self.parameters, self.preparation, fit=len(self.split.fit), shown=shown)
        self.scored: ScoredPhotos | None = None
        self._exact: tuple[dict[str, int], ScoredPhotos] | None = None
        self._left_out: dict[str, tuple[View, ...]] = {}
        self._keep_all = store.would_fit(self.preparation.bytes_per_photo * (len(self.split.fit) + shown))
        streamed = frozenset() if self._keep_all else frozenset(sample.name for sample in self.split.fit)
        self._features = PhotoFeatures(self.preparation, store, streamed)
        self.passes = Passes(self._features, workers, self._keep_all, costs.memory)
        self._fitting = Fitting(self.methods, self.parameters, seed, self.passes)

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

    def fit(self, progress: Report | None = None, cancelled: Cancel | None = None) -> "Study":
        """Fit the detector on the good photos and score the calibrate and judge photos.

        Extracts first what was not extracted. Without calibrate photos, photos of the fit take their place, each scored
        by a detector fitted without the third of the photos that it belongs to.
        Same seed, same machine: the same model to the bit.
        """
        if not self._features.found:
            self.extract(stage(progress, 0.0, 0.7), cancelled)
        learning = stage(progress, 0.7, 0.85)
        stand_ins = () if self.split.calibrate else crossed(self.split.fit, self.split.groups, seed=self.seed)
        fits = 1 + len(stand_ins)
        views = self._fitting.views(self.split.fit, stage(learning, 0, 1 / fits), cancelled)
        for number, (fold, others) in enumerate(stand_ins, start=1):
            left_out = self._fitting.views(others, stage(learning, number / fits, (number + 1) / fits), cancelled)
            self._left_out |= {sample.name: left_out for sample in fold}
        shown = [("calibrate", s) for s in self.split.calibrate or [s for fold, _ in stand_ins for s in fold]]
        shown += [("choose", s) for s in self.split.choose] + [("judge", s) for s in self.split.judge]
        scored = ScoredPhotos(views, self.preparation.grid, self.preparation.map_size, area=self.area)
        for photo, errors in self.looked(scored, shown, stage(progress, 0.85, 1.0), cancelled):
            scored = scored.with_errors(photo, errors)
        if scored.photos:
            scored.scores()  # photos that cannot be judged raise here, not on the bench
        every = [*shown, *(("fit", sample) for sample in self.split.fit)]
        self.scored, self._exact, scored.unscored = scored, None, self._features.unscored(every)
        return self

    def looked(
        self,
        scored: ScoredPhotos,
        shown: Sequence[tuple[str, Sample]],
        progress: Report | None = None,
        cancelled: Cancel | None = None,
    ) -> Iterator[tuple[ScoredPhoto, list[np.ndarray]]]:
        """Each (part, sample) as a ScoredPhoto, with its errors under each view of `scored`, (stops, h, w).

        Damaged ones are left out. Raises Cancelled when `cancelled` returns True.
        """
        parts, done = {sample.name: part for part, sample in shown}, 0
        for left_out, some in groupby((s for _, s in shown), lambda sample: self._left_out.get(sample.name, ())):
            samples = list(some)
            step = stage(progress, done / len(shown), (done + len(samples)) / len(shown))
            for sample, errors in self.passes.score(scored.seen_by(left_out), samples, step, cancelled):
                yield self._photo(sample, parts[sample.name]), errors
            done += len(samples)

    def left_out(self, photo: ScoredPhoto, *, but: int | None = None) -> tuple[View | None, ...]:
        """The views that were fitted without this photo, where it stands in for a calibrate photo; () otherwise.

        but: the position of a view that is fitted anew, None in its place.
        """
        return tuple(None if i == but else view for i, view in enumerate(self._left_out.get(photo.name, ())))

    def fit_view(self, number: int, progress: Report | None = None, *, samples: Sequence[Sample] | None = None) -> View:
        """The method at this position alone, fitted on these photos, by default those to fit."""
        samples = self.split.fit if samples is None else samples
        return self._fitting.views(samples, progress, None, numbers=[number])[0]

    def with_parameters(self, parameters: Mapping[str, float | None], photos: Split | None = None) -> "Study":
        """An unfitted study of the same photos and features with other parameters of the fit; nothing is read again.

        photos: the same ones, split otherwise. Raises ValueError for a parameter that determines the features (k), or
        one that the methods do not know.
        """
        now = self.preparation
        other = Study(
            photos or self.split, now.backbone, self.store, method=self.method,
            parameters=self.given | dict(parameters), grid=now.grid, taps=[look.taps for look in now.looks],
            nearest=now.nearest, area=self.area,
            alignment=now.alignment, tiles=now.tiles, seed=self.seed, workers=self.passes.workers,
        )  # fmt: skip
        if other.preparation.keys != now.keys:
            raise ValueError(f"parameters {dict(parameters)} need other features; make a new study of the photos")
        other._features.found.update(self._features.found)
        other._features.skipped.extend(self._features.skipped)
        other._features.lost.update(self._features.lost)
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
        exact = self._exact
        if exact is None or exact[0] != wanted:

            def chosen(views: Sequence[View]) -> list[View]:
                return [replace(view, only=(view.value(wanted),)) for view in views]

            anew = ScoredPhotos(chosen(scored.views), scored.grid, scored.size, areas=scored.areas)
            anew.live, anew.unscored = scored.live | wanted, scored.unscored
            for photo in scored.photos:
                anew = anew.with_photo(photo, self.features(photo), self.left_out(photo))
            self._exact = exact = wanted, anew
        return exact[1]

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
