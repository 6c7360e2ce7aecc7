"""A study: photos, their stored features and one fit, from which parameters and limits are moved live."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

import numpy as np
import torch
from torch import Tensor

from inspect_core.defect_types.classifier import DefectTypes
from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import Preparation, published_with_nearest
from inspect_core.features.store import Store
from inspect_core.guard.model import Guard
from inspect_core.images.folders import Sample, Samples, Split, split
from inspect_core.images.read import ImageError, read
from inspect_core.judge.anomaly_map import SIGMA, to_pixels
from inspect_core.judge.limits import DEFAULT_OVERKILL, limit_for_overkill
from inspect_core.methods.method import Patches, Workload
from inspect_core.methods.table import METHODS, parameters_of
from inspect_core.recipe import BackboneChoice, Calibrated, Provenance, Recipe, map_patches
from inspect_core.runtime.progress import Cancel, Report, stage, tell
from inspect_core.runtime.versions import library_versions
from inspect_core.similar.known_cases import KnownCases
from inspect_core.study.scored_photos import ScoredPhoto, ScoredPhotos
from inspect_core.verdict import Limits

SAMPLING_FRACTION = 0.1
"""Of the progress of a fit that draws a sample of the patches first."""


class Study:
    """Photos and a backbone, one detector fitted on the good ones, and every score that follows.

    samples: what `scan` found (split here by `seed`), or a Split; method: a name in METHODS; parameters: what the
    method takes at the fit (k, ridge, gamma, M, sigma, q, m), its defaults otherwise. Photos that turn out damaged
    are left out and listed in `skipped` as (name, reason). nearest: repeat coarse taps instead of interpolating; None
    does as the backbone was published. After `fit`, `scored` holds the calibrate and judge photos.
    Raises ValueError for no photo to learn from, an unknown method or parameter, and more memory than a fit may take.
    """

    def __init__(
        self,
        samples: Samples | Split,
        backbone: Backbone,
        store: Store,
        *,
        method: str = "mahalanobis",
        parameters: Mapping[str, float] | None = None,
        grid: tuple[int, int] = (32, 32),
        nearest: bool | None = None,
        seed: int = 0,
    ):
        self.split = samples if isinstance(samples, Split) else split(samples, seed=seed)
        if not self.split.fit:
            raise ValueError("there is no good photo to learn from; add photos of good parts")
        self.method, self.seed, self.store = method, seed, store
        self.parameters = parameters_of(method, parameters or {})
        columns = METHODS[method].project(sum(backbone.tap_channels), seed, self.parameters)
        self.preparation = Preparation(
            backbone,
            grid,
            None if columns is None else columns.cpu().numpy(),
            METHODS[method].pool,
            published_with_nearest(backbone.name) if nearest is None else nearest,
        )
        shown = len(self.split.calibrate) + len(self.split.judge)
        work = Workload(len(self.split.fit), shown, grid[0] * grid[1], self.preparation.width)
        METHODS[method].costs(work, self.parameters).with_photos(self.preparation.work_bytes)
        self.skipped: list[tuple[str, str]] = []
        self.scored: ScoredPhotos | None = None
        self._seen: dict[str, tuple[str, tuple[int, int]]] = {}
        self._keep_all = store.would_fit(self.preparation.bytes_per_photo * (len(self.split.fit) + shown))
        self._streamed = frozenset() if self._keep_all else frozenset(sample.name for sample in self.split.fit)

    def extract(self, progress: Report | None = None, cancelled: Cancel | None = None) -> "Study":
        """Run the network once over every photo whose features are to be kept; photos already stored cost no run.

        The photos to fit are kept too when all fit into the store, else they stream through at the fit.
        progress(share, step) is called after each photo. Raises Cancelled when `cancelled` returns True.
        """
        to_do = [*self.split.calibrate, *self.split.judge, *(self.split.fit if self._keep_all else ())]
        for done, sample in enumerate(to_do, start=1):
            self._features(sample)
            tell(progress, cancelled, done / len(to_do), f"reading photo {done} of {len(to_do)}")
        return self

    def fit(self, progress: Report | None = None, cancelled: Cancel | None = None) -> "Study":
        """Fit the detector on the good photos and put the calibrate and judge photos among the scored photos.

        Extracts first what was not extracted. Same seed, same machine: the same model to the bit.
        """
        if not self._seen:
            self.extract(stage(progress, 0.0, 0.7), cancelled)
        method, learning = METHODS[self.method], stage(progress, 0.7, 0.85)
        columns = self.preparation.projection
        detector = method.fit(
            self._patches(lambda fraction: tell(learning, cancelled, fraction, "learning what good looks like")),
            None if columns is None else torch.from_numpy(columns).to(self.preparation.backbone.device),
            self.seed,
            self.parameters,
        )
        scored = ScoredPhotos(self.method, detector, self.preparation.grid, self.preparation.backbone.size)
        shown = [("calibrate", s) for s in self.split.calibrate] + [("judge", s) for s in self.split.judge]
        scoring = stage(progress, 0.85, 1.0)
        for done, (part, sample) in enumerate(shown, start=1):
            if (features := self._features(sample)) is not None:
                digest, size = self._seen[sample.name]
                photo = ScoredPhoto(
                    sample.name, digest, size, sample.kind, part, sample.path, sample.mask, sample.group
                )
                scored = scored.with_photo(photo, features)
            tell(scoring, cancelled, done / len(shown), f"scoring photo {done} of {len(shown)}")
        self.scored = scored
        return self

    def with_parameters(self, parameters: Mapping[str, float | None]) -> "Study":
        """An unfitted study of the same photos and features with other parameters of the fit; nothing is read again.

        Raises ValueError for a parameter that decides the features (k), or one the method does not know.
        """
        other = Study(
            self.split,
            self.preparation.backbone,
            self.store,
            method=self.method,
            parameters=self.parameters | dict(parameters),
            grid=self.preparation.grid,
            nearest=self.preparation.nearest,
            seed=self.seed,
        )
        if other.preparation.key != self.preparation.key:
            raise ValueError(f"parameters {dict(parameters)} need other features; make a new study of the photos")
        other._seen, other.skipped = dict(self._seen), list(self.skipped)
        return other

    def patch_sample(self, count: int, cancelled: Cancel | None = None) -> Tensor:
        """(n, k) patches of the photos to fit, drawn evenly over them with the study's seed; n is `count` or all.

        A smaller count is a part of a larger one. Raises Cancelled when `cancelled` returns True.
        """
        return self._patches(lambda fraction: tell(None, cancelled, fraction, "")).sample(count)

    def features(self, photo: ScoredPhoto) -> Tensor:
        """(1, h, w, k) patch features of a photo on a tray, from the store when it is there, else from the network."""
        stored = self.store.get(f"{photo.digest}-{self.preparation.key}", self.preparation.shape)
        if stored is None:
            return self.preparation.features(read(photo.path).pixels)
        return torch.from_numpy(stored).to(self.preparation.backbone.device)

    def begin_with(self, **live: int) -> None:
        """Have the live parameter begin at this value, or at the next smaller one the tray keeps.

        Raises ValueError for a parameter that does not move live in this method.
        """
        scored = self._fitted()
        for name, value in live.items():
            if name != scored.live_name:
                raise ValueError(f"{self.method} has no live parameter {name!r}; it has {scored.live_name or 'none'}")
            scored.start = scored.stop_of(max(int(value), scored.stops[0]))

    @property
    def photos(self) -> tuple[ScoredPhoto, ...]:
        """The calibrate and judge photos, in the order of every score and map."""
        return self._fitted().photos

    @property
    def live(self) -> dict[str, int]:
        """The live parameter at its value to begin with, by name; empty when the method has none."""
        return self._fitted().live

    def scores(self, **live: int) -> np.ndarray:
        """(photos,) image scores in the order of `photos`: equal to the bit to what `inspect` gives."""
        scored = self._fitted()
        if self._kept(live):
            return scored.scores(**live)
        return np.array([self.map(i, **live).max() for i in range(len(scored.photos))], np.float32)

    def map(self, image: int | str, **live: int) -> np.ndarray:
        """(H, W) float32 anomaly map of one study photo, by position or name."""
        scored = self._fitted()
        if self._kept(live):
            return scored.map(image, **live)
        patches = self.features(scored.photos[scored.index(image)])
        return to_pixels(map_patches(self.method, scored.detector, patches, live), scored.size, sigma=SIGMA)

    def calibration_scores(self, **live: int) -> np.ndarray:
        """Scores of the good photos that set limits; those of `judge` when no photo was kept for calibration."""
        scored = self._fitted()
        good, _ = scored.good_and_defect()
        kept = good & scored.of_subset("calibrate")
        return self.scores(**live)[kept if kept.any() else good & scored.of_subset("judge")]

    def default_limits(self, **live: int) -> Limits:
        """One limit from good photos alone: 1 % overkill, or none rejected with fewer than 100 of them."""
        good = self.calibration_scores(**live)
        if not len(good):
            raise ValueError("no good photo was kept to set the limit; keep some with a calibrate share above 0")
        limit = limit_for_overkill(good, rate=DEFAULT_OVERKILL)
        return Limits(limit, limit)

    def recipe(
        self,
        limits: Limits | None = None,
        *,
        product: str = "part",
        author: str = "you",
        reason: str = "",
        parent: str | None = None,
        guard: Guard | None = None,
        gallery: KnownCases | None = None,
        defect_types: DefectTypes | None = None,
        **live: int,
    ) -> Recipe:
        """The recipe with the limits and live parameter in force; default limits when none are given."""
        scored, preparation = self._fitted(), self.preparation
        in_force = scored.live | live
        backbone = preparation.backbone
        rows = zip(scored.photos, self.scores(**in_force), strict=True)
        return Recipe(
            product=product,
            backbone=BackboneChoice(backbone.name, tuple(backbone.taps), backbone.weight_digest, tuple(backbone.size)),
            grid=preparation.grid,
            pool=preparation.pool,
            nearest=preparation.nearest,
            projection=preparation.projection,
            method=self.method,
            detector=scored.detector,
            live=in_force,
            limits=limits or self.default_limits(**in_force),
            calibration=tuple(
                Calibrated(photo.name, photo.digest, float(score)) for photo, score in rows if photo.part == "calibrate"
            ),
            guard=guard,
            gallery=gallery,
            defect_types=defect_types,
            provenance=Provenance(
                created=datetime.now(UTC).isoformat(timespec="seconds"),
                author=author,
                reason=reason,
                parent=parent,
                seeds={"split": self.seed, "detector": self.seed},
                versions=library_versions(),
                calibration_note=f"learned from {len(self.split.fit)} good photos",
            ),
        )

    def _kept(self, live: Mapping[str, int]) -> bool:
        """Whether the tray keeps errors at this value of the live parameter; any other is computed anew."""
        scored = self._fitted()
        return set(live) != {scored.live_name} or live[scored.live_name] in scored.stops

    def _fitted(self) -> ScoredPhotos:
        if self.scored is None:
            raise ValueError("nothing has been fitted yet; call fit first")
        return self.scored

    def _features(self, sample: Sample) -> Tensor | None:
        """(1, h, w, k), from the store when it is there, else from the network; None for a damaged photo."""
        if sample.name in self._seen:
            stored = self.store.get(self._key(sample.name), self.preparation.shape)
            if stored is not None:
                return torch.from_numpy(stored).to(self.preparation.backbone.device)
        try:
            picture = read(sample.path)
        except ImageError as error:
            if (sample.name, str(error)) not in self.skipped:
                self.skipped.append((sample.name, str(error)))
            return None
        self._seen[sample.name] = picture.digest, picture.pixels.shape[:2]
        stored = self.store.get(self._key(sample.name), self.preparation.shape)
        if stored is not None:
            return torch.from_numpy(stored).to(self.preparation.backbone.device)
        features = self.preparation.features(picture.pixels)
        if sample.name not in self._streamed:
            self.store.put(self._key(sample.name), features.cpu().numpy())
        return features

    def _key(self, name: str) -> str:
        return f"{self._seen[name][0]}-{self.preparation.key}"

    def _patches(self, report: Callable[[float], None]) -> Patches:
        samples, preparation = self.split.fit, self.preparation
        places = preparation.grid[0] * preparation.grid[1]

        def stream(whole: float = 1.0) -> Iterator[Tensor]:
            for done, sample in enumerate(samples, start=1):
                if (features := self._features(sample)) is not None:
                    yield features
                report(whole * done / len(samples))

        def sample(count: int) -> Tensor:
            rng, each = np.random.default_rng(self.seed), -(-count // len(samples))
            rows = []
            for features in stream(SAMPLING_FRACTION):
                chosen = np.sort(rng.permutation(places)[:each])
                rows.append(features.reshape(places, -1)[torch.from_numpy(chosen)])
            return torch.cat(rows)[:count]

        def learned(fraction: float) -> None:
            report(SAMPLING_FRACTION + (1 - SAMPLING_FRACTION) * fraction)

        return Patches(len(samples), preparation.grid, preparation.width, stream, sample, learned)
