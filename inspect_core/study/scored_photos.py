"""The photos on the bench under one fitted detector: every score and map, at any value of the live parameter.

The grid errors of each photo are computed once, at up to 64 stops of the live parameter, and kept in a memory-mapped
file; a move of the parameter only reads one slice and smooths it.
"""

import copy
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from torch import Tensor

from inspect_core.images.areas import Areas
from inspect_core.images.placement import Placement
from inspect_core.judge.anomaly_map import AREA, SIGMA, default_area, largest_area, largest_values, to_pixels
from inspect_core.judge.cost_limit import limits_with_defects
from inspect_core.judge.limits import limits_from_good
from inspect_core.judge.local_scale import GoodMaps, LocalScale, joined
from inspect_core.methods.view import View
from inspect_core.package.fields import LARGEST
from inspect_core.study.blocks import Blocks
from inspect_core.study.latest import Latest
from inspect_core.study.scored_photo import ScoredPhoto, UnscoredPhoto
from inspect_core.verdict import InView, Limits, inspected, is_partly_out

BLOCK_PIXELS = 1 << 21
"""Pixels of the maps that are ranked at once."""
Which = int | slice | np.ndarray | list[int]


class ScoredPhotos:
    """Photos with their grid errors under a detector of one or more views.

    size: (H, W) of the anomaly maps; areas: by which they are judged; live: by name, the values of the live parameters
    to begin with, `area` among them; unscored: photos that have no score; latest: figures of the last moves.
    A view without scales of its own learns them from the good calibrate photos; with none of these its map stays raw.
    Adding a photo returns a new value of this class, with the photo at its end: a reader never sees the photos change.
    """

    def __init__(
        self, views: Sequence[View], grid: tuple[int, int], size: tuple[int, int], *, area: int | None = None,
        areas: Areas | None = None,
    ):  # fmt: skip
        self.views, self.grid, self.size = tuple(views), grid, size
        self.live = {view.live: view.start for view in self.views if view.live}
        self.live[AREA] = default_area(size) if area is None else area
        self.photos: tuple[ScoredPhoto, ...] = ()
        self.unscored: tuple[UnscoredPhoto, ...] = ()
        self.areas = areas
        self._in_view: np.ndarray | None = None
        self._empty = np.zeros(0, object)
        self._first = np.cumsum([0, *(len(view.stops) for view in self.views)])
        self._blocks, self._rows = Blocks((int(self._first[-1]), *grid)), np.zeros(0, int)
        self._again = np.zeros(0, int)
        self._scales: dict[tuple[int, int], LocalScale | None] = {}
        self.latest = Latest()

    def with_photo(self, photo: ScoredPhoto, *looks: Sequence[Tensor]) -> "ScoredPhotos":
        """These with one more photo at the end, given its (1, h, w, k) features for each view, then those of a copy.

        Raises ValueError naming the photo when an error is not finite.
        """
        seen = self.seen_by()
        errors = ([view.sweep(own, to) for (view, to), own in zip(seen, look, strict=True)] for look in looks)
        return self.with_errors(photo, *errors)

    def of_views(self, which: Sequence[int]) -> "ScoredPhotos":
        """These photos under some of the views, by position."""
        other = ScoredPhotos([self.views[i] for i in which], self.grid, self.size, areas=self.areas)
        other.live[AREA] = self.live[AREA]
        other.photos, other.unscored, other._empty = self.photos, self.unscored, self._empty
        other._blocks, other._rows, other._again = self._blocks, self._rows, self._again
        other._first = self._first[list(which)]
        return other

    def errors(self, position: int) -> list[np.ndarray]:
        """(stops, h, w) float32 grid errors of one photo under each view."""
        block = self._blocks.read()[self._rows[position]]
        starts = zip(self._first, self.views, strict=False)  # after the last start stands the end
        return [np.array(block[first : first + len(view.stops)]) for first, view in starts]

    def seen_by(self, views: Sequence[View] = ()) -> list[tuple[View, tuple[int, ...]]]:
        """(view, values of its live parameter) for the errors of a photo; views: to use instead, fitted without it."""
        return [
            (other, tuple(min(stop, other.stops[-1]) for stop in view.stops))
            for view, other in zip(self.views, views or self.views, strict=True)
        ]

    def with_errors(
        self, photo: ScoredPhoto, errors: Sequence[np.ndarray], again: Sequence[np.ndarray] = ()
    ) -> "ScoredPhotos":
        """These with one more photo, given its (stops, h, w) float32 errors for each view; again: those of the same
        part photographed again, none where it was not. Raises as `with_photo`.
        """
        more = copy.copy(self)
        more._scales, more.latest, more._in_view = {}, Latest(), None
        more.photos, more._rows = (*self.photos, photo), np.append(self._rows, self._kept(photo, errors))
        more._again = np.append(self._again, self._kept(photo, again) if again else -1)
        empty = photo.placed.empty(self.size)
        more._empty = np.append(self._empty, [None])
        more._empty[-1] = np.packbits(empty) if empty.any() else None
        return more

    def _kept(self, photo: ScoredPhoto, errors: Sequence[np.ndarray]) -> int:
        """Keep the errors of a photo and return their row."""
        block = np.zeros(self._blocks.shape, np.float32)  # with room for views that are not among these
        for first, view, own in zip(self._first, self.views, errors, strict=False):
            block[first : first + len(view.stops)] = own
        if not (np.abs(block) <= LARGEST).all():
            raise ValueError(f"{photo.name} has no finite score; look at the photo, or teach again")
        return self._blocks.append(block)

    def with_areas(self, areas: Areas | None) -> "ScoredPhotos":
        """These photos, judged by areas."""
        other = copy.copy(self)
        other.areas, other.latest, other._in_view = areas, Latest(), None
        return other

    def partly_out(self, area: int) -> np.ndarray:
        """(photos,) bool: those whose part a verdict would call partly out of view at this smallest area."""
        if self._in_view is None:  # counted once for all areas: a move of the area only compares
            views = [InView.of(photo.placed, self.size, self.areas) for photo in self.photos]
            self._in_view = np.array([(view.missing, view.left) for view in views], int).reshape(-1, 2)
        return is_partly_out(*self._in_view.T, area)

    def stops(self, name: str) -> tuple[int, ...]:
        """The values of a live parameter at which errors are kept, ascending. Raises ValueError for another name."""
        for view in self.views:
            if view.live == name:
                return view.stops
        raise ValueError(f"there is no live parameter {name!r}; there is {', '.join(self.live)}")

    def stop_of(self, name: str, value: int) -> int:
        """The largest stop not above `value`, else the first."""
        stops = self.stops(name)
        return stops[max(int(np.searchsorted(stops, value, side="right")) - 1, 0)]

    def has(self, live: Mapping[str, int]) -> bool:
        """Whether errors are stored at these values; at any other they have to be computed."""
        return all(view.live not in live or live[view.live] in view.stops for view in self.views)

    def grid_errors(self, **live: int) -> np.ndarray:
        """(photos, h, w) float32 calibrated errors of the patch grid, all views together.

        Raises ValueError for a parameter that does not move live here, or a value that is not kept.
        """
        return self._joined(slice(None), self._chosen(live)[0])

    def maps(self, which: Which = slice(None), *, view: int | None = None, **live: int) -> np.ndarray:
        """(photos, H, W) float32 anomaly maps of all photos, or of those at the given positions.

        view: position of a view, for its own calibrated map in its own unit; None: all views together.
        """
        return self._in_pixels(self._joined(which, self._chosen(live)[0], view), which)

    def map(self, image: int | str, *, view: int | None = None, **live: int) -> np.ndarray:
        """(H, W) float32 anomaly map of one photo, by position or name; otherwise as `maps`."""
        return self.maps(self.index(image), view=view, **live)

    def map_of(self, features: Sequence[Tensor], placement: Placement, **live: int) -> np.ndarray:
        """(H, W) float32 anomaly map of any photo, given its (1, h, w, k) features for each view; nothing is kept."""
        stops, _ = self._chosen(live)
        errors = [view.sweep(own, (stop,))[0] for view, own, stop in zip(self.views, features, stops, strict=True)]
        scaled = joined(errors, [self.scale(i, stop) for i, stop in enumerate(stops)])
        return inspected(to_pixels(scaled, self.size, sigma=SIGMA), placement.empty(self.size), self.areas)

    def scores(self, **live: int) -> np.ndarray:
        """(photos,) float32 image scores, read-only: equal to the bit to those of `inspect`.

        The largest values of each map are ranked once for given live values of the views, so that a move of the area or
        of the limit computes no map.
        """
        stops, area = self._chosen(live)
        return self._ranked(stops)[:, area - 1]

    def scores_again(self, **live: int) -> np.ndarray:
        """(photos,) float32 scores of the same parts photographed again, NaN where they were not, read-only."""
        stops, area = self._chosen(live)

        def rank() -> np.ndarray:
            for view, stop in enumerate(stops):
                self.scale(view, stop)  # learned from the photos as taken
            other, taken = copy.copy(self), np.flatnonzero(self._again >= 0)
            other._rows = self._again
            found = np.full((len(self.photos), largest_area(self.size)), np.nan, np.float32)
            found[taken] = other._largest(stops, taken)
            return found

        return self.latest.of(("again", *stops), rank)[:, area - 1]

    def calibration_scores(self, **live: int) -> np.ndarray:
        """(n,) float32 scores of the good photos that set limits, in their order: those that the bench draws.

        These are the calibrate photos, none scored by a detector that has seen it; if there are none, the judge photos.
        """
        return self.scores(**live)[self.setters()]

    def default_limits(self, **live: int) -> Limits:
        """The suggested limits: about 5 in 100 of the next good parts to review or beyond, 1 to rejection.

        Where known defects were kept to choose by, they may lower the review limit (`limits_with_defects`). Raises
        ValueError when there is no good photo to set them.
        """
        good = self.calibration_scores(**live)
        if not len(good):
            raise ValueError("no good photo was kept to set the limit; keep some when teaching, then teach again")
        ceiling, known = self.ceiling(**live), self.chosen_defects()
        if not known.any():
            return Limits(*limits_from_good(good, ceiling=ceiling))
        return Limits(*limits_with_defects(good, self.scores(**live)[known], ceiling=ceiling))

    def ceiling(self, **live: int) -> float | None:
        """Upper end of the scores, for a single method that has a ceiling and without areas, which would change it."""
        if len(self.views) > 1 or self.areas is not None:
            return None
        return self.views[0].row.ceiling(self.views[0].detector, self._chosen(live)[0][0])

    def setters(self) -> np.ndarray:
        """(photos,) bool: the good photos that set limits, the calibrate photos or else the judge photos."""
        good, _ = self.good_and_defect()
        kept = good & self.of_subset("calibrate")
        return kept if kept.any() else good & self.of_subset("judge")

    def chosen_defects(self) -> np.ndarray:
        """(photos,) bool: the known defects kept to choose settings and limits by, which no figure counts."""
        return self.of_subset("choose") & self.good_and_defect()[1]

    def scale(self, view: int, stop: int) -> LocalScale | None:
        """The local scale of a view at a kept value of its live parameter; None for a raw map."""
        own = self.views[view]
        if own.scales or not self._learns_scales():
            return own.scales.get(stop)
        if (view, stop) not in self._scales:
            setters = np.flatnonzero(self.setters())
            errors = self._errors(setters, view, stop)
            manner = self._manner(view, errors, self._groups(setters))
            self._scales[view, stop] = GoodMaps.of(errors).finish(self.size, **manner)
        return self._scales[view, stop]

    def scales(self, view: int, stops: Iterable[int]) -> dict[int, LocalScale]:
        """The local scales of a view by value, none for a raw map."""
        found = {stop: self.scale(view, stop) for stop in stops}
        return {stop: scale for stop, scale in found.items() if scale is not None}

    def index(self, image: int | str) -> int:
        """Position of a photo given its position or its name. Raises ValueError for a name that is not here."""
        if isinstance(image, int):
            return image
        for position, photo in enumerate(self.photos):
            if photo.name == image:
                return position
        raise ValueError(f"{image!r} is not among the {len(self.photos)} scored photos")

    def of_subset(self, *parts: str) -> np.ndarray:
        """(photos,) bool: which belong to one of the named parts."""
        return np.array([photo.part in parts for photo in self.photos], dtype=bool)

    def good_and_defect(self) -> tuple[np.ndarray, np.ndarray]:
        """(good, defect), each (photos,) bool; a photo whose truth is unknown is neither."""
        good = np.array([photo.kind == "good" for photo in self.photos], dtype=bool)
        return good, np.array([photo.is_defect for photo in self.photos], dtype=bool)

    def _learns_scales(self) -> bool:
        return any(photo.part == "calibrate" and photo.kind == "good" for photo in self.photos)

    def _errors(self, which: Which, view: int, stop: int) -> np.ndarray:
        """A copy of a view's grid errors at these positions and this stop, (h, w) for one and (n, h, w) for several."""
        return np.array(self._blocks.read()[self._rows[which], self._first[view] + self.views[view].stops.index(stop)])

    def _joined(self, which: Which, stops: Sequence[int], view: int | None = None) -> np.ndarray:
        chosen = range(len(self.views)) if view is None else (view,)
        return joined([self._errors(which, i, stops[i]) for i in chosen], [self.scale(i, stops[i]) for i in chosen])

    def _groups(self, which: np.ndarray) -> np.ndarray:
        """(n,) the group of each of these photos."""
        return np.array([self.photos[i].split_group or f"alone {i}" for i in which])

    def _manner(self, view: int, errors: np.ndarray, groups: np.ndarray) -> dict[str, bool]:
        """How a view's scales are learned; photos of one group count as one there."""
        own = self.views[view]
        if own.row.ceiling(own.detector, own.start) is not None:
            return {"uniform": True}
        each = np.stack([errors[groups == group].mean(axis=0) for group in dict.fromkeys(groups)])
        return {"fixed": GoodMaps.of(each).is_fixed(self.size)}

    def _in_pixels(self, errors: np.ndarray, which: Which) -> np.ndarray:
        """Maps of the grid errors of the photos at these positions, under the areas and 0 where a photo is empty."""
        maps = to_pixels(errors, self.size, sigma=SIGMA)
        empty = self._empty[which] if maps.ndim == 3 else [self._empty[which]]
        for own, packed in zip(maps.reshape(-1, *self.size), empty, strict=True):
            if packed is not None or self.areas is not None:
                bits = np.zeros(own.size, np.uint8) if packed is None else np.unpackbits(packed, count=own.size)
                own[:] = inspected(own, bits.reshape(own.shape).astype(bool), self.areas)
        return maps

    def _ranked(self, stops: tuple[int, ...]) -> np.ndarray:
        """(photos, m) the largest values of each map at these stops, largest first; computed once per stops."""

        return self.latest.of(("ranked", *stops), lambda: self._largest(stops, np.arange(len(self.photos))))

    def _largest(self, stops: tuple[int, ...], which: np.ndarray) -> np.ndarray:
        """(n, m) the largest values of the maps at these positions, largest first."""
        count, errors = largest_area(self.size), self._joined(which, stops)
        rows = [np.zeros((0, count), np.float32)]
        block = max(1, BLOCK_PIXELS // math.prod(self.size))
        for i in range(0, len(errors), block):
            maps = self._in_pixels(errors[i : i + block], which[i : i + block])
            rows.append(largest_values(maps, count))
        return np.concatenate(rows)

    def _chosen(self, live: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
        """(stop of each view, area) at these values, by default at those to begin with."""
        unknown = sorted(set(live) - set(self.live))
        if unknown:
            raise ValueError(f"there is no live parameter {unknown[0]!r}; there is {', '.join(self.live)}")
        values = self.live | dict(live)
        for view in self.views:
            if view.live and values[view.live] not in view.stops:
                raise ValueError(
                    f"{view.live} is {values[view.live]}, not one of the kept stops from {view.stops[0]} to "
                    f"{view.stops[-1]}; use {self.stop_of(view.live, values[view.live])}"
                )
        if not 1 <= values[AREA] <= largest_area(self.size):
            raise ValueError(f"area is {values[AREA]}, outside 1..{largest_area(self.size)} pixels of the map")
        return tuple(values[view.live] if view.live else 0 for view in self.views), values[AREA]
