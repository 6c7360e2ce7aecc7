"""The photos on the bench under one fitted detector: every score and map, at any value of the live parameter.

The grid errors of each photo are computed once, at up to 64 stops of the live parameter, and kept in a file; a move of
the parameter only reads one slice and smooths it.
"""

import copy
import math
import operator
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from torch import Tensor

from inspect_core.images.areas import InspectionAreas, Outline
from inspect_core.images.placement import Placement
from inspect_core.methods.fitted_method import FittedMethod, sweep_errors
from inspect_core.scoring.anomaly_map import (
    AREA,
    SIGMA,
    area_stops,
    default_area,
    largest_area,
    scores_by_area,
    to_pixels,
)
from inspect_core.scoring.cost_limit import limits_with_defects
from inspect_core.scoring.limits import limits_from_good, with_contradicting
from inspect_core.scoring.local_scale import GoodMaps, LocalScale, sum_error_maps
from inspect_core.study.scored_photo import ScoredPhoto, UnscoredPhoto
from inspect_core.study.stored_errors import StoredErrors, Which
from inspect_core.verdict import Limits, Visibility, is_partly_out, mask_uninspected

BLOCK_PIXELS = 1 << 21
"""Pixels of the maps that are ranked at once."""
CACHE_SIZE = 8
"""A move needs all rankings, those that set the limit, and where defects are found, each before and after."""

_remembering = threading.Lock()
"""For what windows share: held while something is remembered, not while it is computed."""


class ScoredPhotos:
    """Photos with their grid errors under a detector of one or more views: an immutable value.

    size: (H, W) of the anomaly maps; areas: by which they are judged; live: by name, the values of the live parameters
    to begin with, `area` among them; unscored: photos that have no score; stored: the grid errors; set_on: scores of
    the good photos that set the limits, where these are not here. A view without scales of its own learns them from the
    good calibration photos; its map stays raw with none of these, or if the view is.
    """

    def __init__(
        self,
        views: Sequence[FittedMethod],
        grid: tuple[int, int],
        size: tuple[int, int],
        *,
        area: int | None = None,
        areas: InspectionAreas | None = None,
        set_on: Sequence[float] | None = None,
    ):
        self.views = tuple(views)
        self.grid = grid
        self.size = size
        self.areas = areas
        self.set_on = set_on
        self.live: Mapping[str, int] = {
            view.live_parameter: view.start for view in self.views if view.live_parameter
        } | {AREA: default_area(size) if area is None else area}
        self.photos: tuple[ScoredPhoto, ...] = ()
        self.unscored: tuple[UnscoredPhoto, ...] = ()
        self.stored = StoredErrors.empty([view.stops for view in self.views], grid)
        self._empty = np.zeros(0, object)
        self._scales: dict[tuple[int, int], LocalScale | None] = {}
        self._clear_cache()

    def _clear_cache(self) -> None:
        self._latest: dict[tuple, np.ndarray] = {}
        self._in_view: np.ndarray | None = None

    def _with(self, **changed: Any) -> Self:
        """These with other attributes; of what is remembered, scales alone stay unless they change."""
        other = copy.copy(self)
        vars(other).update(changed)
        other._clear_cache()
        return other

    def cached(self, key: tuple, make: Callable[[], np.ndarray]) -> np.ndarray:
        """What `make` returns, read-only; the last CACHE_SIZE that were asked for are remembered."""
        with _remembering:
            made = self._latest.pop(key, None)
            if made is not None:
                self._latest[key] = made
                return made
        made = make()
        made.flags.writeable = False
        with _remembering:
            self._latest[key] = made
            while len(self._latest) > CACHE_SIZE:
                del self._latest[next(iter(self._latest))]
        return made

    def with_photo(self, photo: ScoredPhoto, *looks: Sequence[Tensor]) -> Self:
        """These with one more photo at the end, given its (1, h, w, k) features by view, then a copy's.

        Raises ValueError naming the photo when an error is not finite.
        """
        return self.with_errors([(photo, sweep_errors(self.seen_by(), looks))])

    def with_errors(self, rows: Iterable[tuple[ScoredPhoto, Sequence[Sequence[np.ndarray]]]]) -> Self:
        """These with more photos at the end, each with its (stops, h, w) float32 errors for each view, then
        those of the same part photographed again where it was. Raises as `with_photo`.
        """
        photos = list(self.photos)
        empties = list(self._empty)
        blocks = []
        for photo, errors_by_copy in rows:
            empty = photo.placed.uninspected_mask(self.size)
            photos.append(photo)
            empties.append(np.packbits(empty) if empty.any() else None)
            blocks.append([self.stored.append(photo.name, errors) for errors in errors_by_copy])
        return self._with(
            photos=tuple(photos),
            stored=self.stored.with_blocks(blocks),
            _empty=np.fromiter(empties, object),
            _scales={},
        )

    def with_views(self, views: Sequence[FittedMethod]) -> "ScoredPhotos":
        """No photo yet, under other views of the same grid, with the same size, area and areas."""
        return ScoredPhotos(views, self.grid, self.size, area=self.live[AREA], areas=self.areas)

    def index(self, image: int | str) -> int:
        """A photo's position, given that or its name. Raises ValueError for a name that is not here."""
        if not isinstance(image, str):
            return operator.index(image)
        for position, photo in enumerate(self.photos):
            if photo.name == image:
                return position
        raise ValueError(f"{image!r} is not among the {len(self.photos)} scored photos")

    def of_subset(self, *parts: str) -> np.ndarray:
        """(photos,) bool: which belong to one of the named parts."""
        return np.array([photo.subset in parts for photo in self.photos], dtype=bool)

    def good_and_defect(self) -> tuple[np.ndarray, np.ndarray]:
        """(good, defect), each (photos,) bool; a photo whose truth is unknown is neither."""
        good = np.array([photo.label == "good" for photo in self.photos], dtype=bool)
        return good, np.array([photo.is_defect for photo in self.photos], dtype=bool)

    def typical_score(self, **live: int) -> float:
        """The median grid error of good photos, where colour begins; of all if none is good, 0 without any."""
        good = self.good_and_defect()[0]
        errors = self.grid_errors(**live)
        chosen = errors[good] if good.any() else errors
        return float(np.median(chosen)) if chosen.size else 0.0

    def setters(self) -> np.ndarray:
        """(photos,) bool: the good photos that set limits, calibration photos or else test photos."""
        good, _ = self.good_and_defect()
        calibration = good & self.of_subset("calibration")
        return (calibration if calibration.any() else good & self.of_subset("test")) & (self.set_on is None)

    def tested_good(self) -> np.ndarray:
        """(photos,) bool: the good test photos beside those that set limits."""
        good, _ = self.good_and_defect()
        return good & self.of_subset("test") & ~self.setters() & (self.set_on is None)

    def chosen_defects(self) -> np.ndarray:
        """(photos,) bool: the known defects kept to choose settings and limits by, which no figure counts."""
        drawn = np.array([bool(photo.drawn) for photo in self.photos], dtype=bool)
        return (self.of_subset("validation") | drawn) & self.good_and_defect()[1]

    def with_unscored(self, photos: Iterable[UnscoredPhoto]) -> Self:
        """These, and the photos that have no score."""
        return self._with(unscored=tuple(photos))

    def labelled(self, labels: Mapping[str, str]) -> Self:
        """These with other labels, by content digest (`ScoredPhoto.labelled`); limits and scales follow."""
        photos = tuple(photo.labelled(labels.get(photo.digest, photo.label)) for photo in self.photos)
        return self._with(photos=photos, _scales={})

    def with_areas(self, areas: InspectionAreas | None) -> Self:
        """These photos, judged by areas."""
        return self._with(areas=areas)

    def with_initial_live(self, live: Mapping[str, int]) -> Self:
        """These, with live parameters that begin at these values, or at the next smaller stops.

        Raises ValueError for a parameter that does not move live here.
        """
        began = {name: int(value) if name == AREA else self.stop_of(name, int(value)) for name, value in live.items()}
        return self._with(live={**self.live, **began})

    def reordered(self, positions: Sequence[int]) -> Self:
        """Some of these photos, by position, in this order; what is learned from them follows."""
        order = np.asarray(positions, int)
        photos = tuple(self.photos[i] for i in positions)
        return self._with(photos=photos, stored=self.stored.reordered(order), _empty=self._empty[order], _scales={})

    def drawn(self, outlines: Mapping[str, tuple[Outline, ...]]) -> Self:
        """These with defects drawn, by content digest (`ScoredPhoto.with_drawing`); limits follow."""
        photos = tuple(
            photo.with_drawing(outlines[photo.digest]) if photo.digest in outlines else photo for photo in self.photos
        )
        return self._with(photos=photos)

    def with_view(self, view: FittedMethod, errors: Sequence[np.ndarray]) -> Self:
        """These photos under one more view, which has no live parameter, given the (h, w) float32 errors of each."""
        return self._with(views=(*self.views, view), stored=self.stored.with_view(errors), _scales={})

    def of_views(self, positions: Sequence[int]) -> Self:
        """These photos under some of the views, by position."""
        views = tuple(self.views[i] for i in positions)
        live = {view.live_parameter: view.start for view in views if view.live_parameter} | {AREA: self.live[AREA]}
        return self._with(views=views, live=live, stored=self.stored.of_views(positions), _scales={})

    def seen_by(self, views: Sequence[FittedMethod] = ()) -> list[tuple[FittedMethod, tuple[int, ...]]]:
        """(view, value of its live parameter) for a photo's errors; views: others, fitted without it."""
        return [
            (other, tuple(min(stop, other.stops[-1]) for stop in view.stops))
            for view, other in zip(self.views, views or self.views, strict=True)
        ]

    def errors(self, position: int) -> list[np.ndarray]:
        """(stops, h, w) float32 grid errors of one photo under each view."""
        return self.stored.errors_of(position)

    def partly_out(self, area: int) -> np.ndarray:
        """(photos,) bool: those whose part a verdict would call partly out of view at this smallest area."""
        if self._in_view is None:  # counted once for all areas: a move of the area only compares
            views = (Visibility.from_placement(photo.placed, self.size, self.areas) for photo in self.photos)
            pixels = [(view.missing_pixels, view.inspected_pixels) for view in views]
            self._in_view = np.array(pixels, int).reshape(-1, 2)
        return is_partly_out(*self._in_view.T, area)

    def stops(self, name: str) -> tuple[int, ...]:
        """The values of a live parameter with stored errors, ascending. Raises ValueError for another name."""
        for view in self.views:
            if view.live_parameter == name:
                return view.stops
        raise ValueError(f"there is no live parameter {name!r}; there is {', '.join(self.live)}")

    def stop_of(self, name: str, value: int) -> int:
        """The largest stop not above `value`, else the first."""
        stops = self.stops(name)
        return stops[max(int(np.searchsorted(stops, value, side="right")) - 1, 0)]

    def has(self, live: Mapping[str, int]) -> bool:
        """Whether errors are stored at these values; at any other they have to be computed."""
        return all(view.live_parameter not in live or live[view.live_parameter] in view.stops for view in self.views)

    def grid_errors(self, **live: int) -> np.ndarray:
        """(photos, h, w) float32 calibrated errors of the patch grid, all views together.

        Raises ValueError for a parameter that does not move live here, or a value that is not kept.
        """
        return self._joined(slice(None), self._chosen(live)[0])

    def maps(self, positions: Which = slice(None), *, view: int | None = None, **live: int) -> np.ndarray:
        """(photos, H, W) float32 anomaly maps of all photos, or of those at the given positions.

        view: position of a view, for its own calibrated map in its own unit; None: all views together.
        """
        return self._in_pixels(self._joined(positions, self._chosen(live)[0], view), positions)

    def map(self, image: int | str, *, view: int | None = None, **live: int) -> np.ndarray:
        """(H, W) float32 anomaly map of one photo, by position or name; otherwise as `maps`."""
        return self.maps(self.index(image), view=view, **live)

    def map_from_features(self, features: Sequence[Tensor], placement: Placement, **live: int) -> np.ndarray:
        """(H, W) float32 anomaly map of any photo, given its (1, h, w, k) features by view; nothing is kept."""
        stops, _ = self._chosen(live)
        [errors] = sweep_errors([(view, (stop,)) for view, stop in zip(self.views, stops, strict=True)], [features])
        scaled = sum_error_maps([first for first, *_ in errors], [self.scale(i, stop) for i, stop in enumerate(stops)])
        return mask_uninspected(
            to_pixels(scaled, self.size, sigma=SIGMA), placement.uninspected_mask(self.size), self.areas
        )

    def scores(self, **live: int) -> np.ndarray:
        """(photos,) float32 image scores, read-only: equal to the bit to those of `inspect`.

        Each map is ranked once for given live values of the views, so that a move of the area to one of its stops or of
        the limit computes no map.
        """
        stops, area = self._chosen(live)
        areas = self._areas_with(area)
        ranked = self.cached(
            ("ranked", *stops, *areas), lambda: self._scores_by_area(stops, np.arange(len(self.photos)), areas)
        )
        return ranked[:, areas.index(area)]

    def repeat_scores(self, **live: int) -> np.ndarray:
        """(photos,) float32 scores of the same parts photographed again, NaN where they were not, read-only."""
        stops, area = self._chosen(live)
        areas = self._areas_with(area)

        def rank() -> np.ndarray:
            for view, stop in enumerate(stops):
                self.scale(view, stop)  # learned from the photos as taken
            other = self._with(stored=self.stored.photographed_again())
            repeated = np.flatnonzero(self.stored.repeat_rows >= 0)
            ranks = np.full((len(self.photos), len(areas)), np.nan, np.float32)
            ranks[repeated] = other._scores_by_area(stops, repeated, areas)
            return ranks

        return self.cached(("again", *stops, *areas), rank)[:, areas.index(area)]

    def _areas_with(self, area: int) -> tuple[int, ...]:
        """The areas to rank the maps at so that this one is among them: its stops, else it alone."""
        stops = area_stops(self.size)
        return stops if area in stops else (area,)

    def calibration_scores(self, **live: int) -> np.ndarray:
        """(n,) float32 scores of the good photos that set limits, in their order: those that the bench draws.

        These are the calibration photos, none scored by a detector that has seen it; without any, the test photos.
        """
        if self.set_on is not None:
            return np.array(self.set_on, np.float32)
        return self.scores(**live)[self.setters()]

    def default_limits(self, **live: int) -> Limits:
        """The suggested limits: about 5 in 100 of the next good parts to review or beyond, 1 to rejection.

        They follow good test photos that contradict the others (`with_contradicting`). Where known defects were kept to
        choose by, they may lower the review limit (`limits_with_defects`). Raises ValueError when there is no good
        photo to set them.
        """
        good = self.calibration_scores(**live)
        if not len(good):
            raise ValueError("no good photos are available to set the limit; reserve some and teach again")
        ceiling = self.ceiling(**live)
        good = with_contradicting(good, self.scores(**live)[self.tested_good()], ceiling=ceiling)
        known = self.chosen_defects()
        if not known.any():
            return Limits(*limits_from_good(good, ceiling=ceiling))
        return Limits(*limits_with_defects(good, self.scores(**live)[known], ceiling=ceiling))

    def ceiling(self, **live: int) -> float | None:
        """Upper end of the scores, for a single method that has a ceiling and without areas, which would change it."""
        if len(self.views) > 1 or self.areas is not None:
            return None
        return self.views[0].definition.ceiling(self.views[0].detector, self._chosen(live)[0][0])

    def scale(self, view: int, stop: int) -> LocalScale | None:
        """The local scale of a view at a kept value of its live parameter; None for a raw map."""
        fitted_method = self.views[view]
        good, _ = self.good_and_defect()
        setters = np.flatnonzero(good & self.of_subset("calibration"))
        if fitted_method.is_uncalibrated or fitted_method.scales or not len(setters):
            return fitted_method.scales.get(stop)
        if (view, stop) not in self._scales:
            scale = self._learned_scale(fitted_method, *self._as_taken_and_again(setters, view, stop))
            self._scales[view, stop] = scale.with_votes(fitted_method.definition.votes)
        return self._scales[view, stop]

    def scales(self, view: int, stops: Iterable[int]) -> dict[int, LocalScale]:
        """The local scales of a view by value, none for a raw map."""
        scales = {stop: self.scale(view, stop) for stop in stops}
        return {stop: scale for stop, scale in scales.items() if scale is not None}

    def _as_taken_and_again(self, positions: np.ndarray, view: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """(n, h, w) errors of some photos and of the same parts photographed again, and the position of each:
        what varies within the tolerances, such as the compression, varies on new photos too.
        """
        repeated = positions[self.stored.repeat_rows[positions] >= 0]
        errors = [self.stored.at(positions, view, stop), self.stored.photographed_again().at(repeated, view, stop)]
        return np.concatenate(errors), np.concatenate([positions, repeated])

    def _learned_scale(self, view: FittedMethod, errors: np.ndarray, setters: np.ndarray) -> LocalScale:
        """The scale of a view's errors on these photos; whether content is fixed, a group tells as one photo."""
        maps = GoodMaps.from_errors(errors)
        if view.definition.ceiling(view.detector, view.start) is not None:
            return maps.finish(self.size, uniform=True)
        if view.definition.has_one_scale:
            scale = maps.finish(self.size, uniform=True)
            is_excess = view.definition.counts_excess and len(self.views) > 1
            return scale.with_excess(errors) if is_excess else scale.with_photo_levels(errors)
        groups = np.array([self.photos[i].split_group or f"alone {i}" for i in setters])
        group_means = np.stack([errors[groups == group].mean(axis=0) for group in dict.fromkeys(groups)])
        is_fixed = GoodMaps.from_errors(group_means).is_fixed(self.size)
        return maps.winsorised(errors, self.size).finish(self.size, fixed=is_fixed).with_photo_levels(errors)

    def _joined(self, positions: Which, stops: Sequence[int], view: int | None = None) -> np.ndarray:
        chosen = range(len(self.views)) if view is None else (view,)
        return sum_error_maps(
            [self.stored.at(positions, i, stops[i]) for i in chosen], [self.scale(i, stops[i]) for i in chosen]
        )

    def _in_pixels(self, errors: np.ndarray, positions: Which) -> np.ndarray:
        """Maps of the grid errors of the photos at these positions, under the areas and 0 where a photo is empty."""
        maps = to_pixels(errors, self.size, sigma=SIGMA)
        empty = self._empty[positions] if maps.ndim == 3 else [self._empty[positions]]
        for anomaly_map, packed in zip(maps.reshape(-1, *self.size), empty, strict=True):
            if packed is not None or self.areas is not None:
                bits = (
                    np.zeros(anomaly_map.size, np.uint8)
                    if packed is None
                    else np.unpackbits(packed, count=anomaly_map.size)
                )
                anomaly_map[:] = mask_uninspected(anomaly_map, bits.reshape(anomaly_map.shape).astype(bool), self.areas)
        return maps

    def _scores_by_area(self, stops: tuple[int, ...], positions: np.ndarray, areas: Sequence[int]) -> np.ndarray:
        """(n, areas) float32 image scores of the photos at these positions."""
        errors = self._joined(positions, stops)
        scores = np.empty((len(errors), len(areas)), np.float32)
        block = max(1, BLOCK_PIXELS // math.prod(self.size))
        for i in range(0, len(errors), block):
            maps = self._in_pixels(errors[i : i + block], positions[i : i + block])
            scores[i : i + block] = scores_by_area(maps, areas)
        return scores

    def _chosen(self, live: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
        """(stop of each view, area) at these values, by default at those to begin with."""
        unknown = sorted(set(live) - set(self.live))
        if unknown:
            raise ValueError(f"there is no live parameter {unknown[0]!r}; there is {', '.join(self.live)}")
        values = {**self.live, **live}
        for view in self.views:
            if (name := view.live_parameter) and values[name] not in view.stops:
                stops = f"the kept stops from {view.stops[0]} to {view.stops[-1]}"
                raise ValueError(
                    f"{name} is {values[name]}, not one of {stops}; use {self.stop_of(name, values[name])}"
                )
        if not 1 <= values[AREA] <= largest_area(self.size):
            raise ValueError(f"area is {values[AREA]}, outside 1..{largest_area(self.size)} pixels of the map")
        return tuple(values[view.live_parameter] if view.live_parameter else 0 for view in self.views), values[AREA]
