"""Local scale: a map of detector errors divided, place by place, by the spread that good parts show there.

Errors vary more at some places than at others, and near the border, where the network saw its own padding, their size
is different altogether: one limit for the whole map then depends mostly on those places. With s(p) the spread of good
maps at place p, S their spread over all places and c(p) the level of good maps there,

    m'(p) = c + S (m(p) - c(p)) / sqrt(b(p) (s(p)^2 + f^2 S^2)),    f = 1/2,

so that the unit stays the detector's and a place that hardly ever varies is not amplified without bound. c is the mean
over all places, and so is c(p), except within 16 pixels of the border: there it is the mean over the cells at the same
distances from the nearest two sides, a class of their own. s(p)^2 is smoothed, and with few photos shrunk, as a
multiple of its mean over the class; what one photo shows there counts as EXTREME s(p) at most, so that an odd photo
does not widen the spread of its place, and with it the limit that its own score helps to set. b(p) is 1 but for the
outermost cells, which have fewer neighbours to be smoothed with. Each place has a level of its own only where the good
photos show that content is fixed: where the mean of the other photos explains at least half of how the errors of a
photo differ from c(p).

A photo that is noisier, darker or less sharp than the others differs a little everywhere, and more where it differs
most. Where the good photos show that, their highest values rising with the level of the photo, the median of m'(p) - c
over places, that level is taken off, as far as it lies within REACH standard deviations of theirs; what lies beyond
stays, so that a part which is strange all over is still seen.

The scale acts on the patch grid, before the map is made, so that several detectors can be added cell by cell. Learn it
from good photos that the detector has not seen, by folds or kept apart (six are enough), and from a copy of each within
the tolerances of the station, so that what varies there is no defect; statistics of the fit
down-dated by one photo at a time do not show the spread of new photos (docs/METHODS.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import ndimage

from inspect_core.runtime.stored import floats
from inspect_core.scoring.input_checks import require_shape

FLOOR = 0.5
"""f: the least spread of a place, as a share of the spread over all places."""
SMOOTHING = 8.0
"""Standard deviation, in pixels of the map, with which the variances of places are smoothed."""
BORDER = 16
"""Pixels from the border of the map within which places have a level and a spread of their own."""
EDGE = 1.15
"""b: how much more the variance of errors counts in an outermost cell, for each side of the map that it lies at."""
SMALLEST = 1e-12
"""Least spread: photos that differ by rounding only must not amplify the next one without bound."""
FIXED = 0.5
"""Fraction of the variance of good errors explained by their place from which on the place's own mean is its level."""
EXTREME = 3.0
"""Spreads of a place beyond which the deviation of a good photo counts as so many."""
PRIOR_PHOTOS = 8
"""Photos whose evidence on the variance of a place weighs as much as the mean over its class."""
REACH = 3.0
"""Standard deviations of the levels of good photos within which the level of a photo is taken off."""
HIGHEST = 0.99
"""Quantile over places that stands for the highest values of a photo."""
TOLERATED = 0.999
"""Quantile of good errors up to which one that counts only by its excess is no deviation."""
RISING = 0.5
"""How much these rise, over good photos, for each unit of the level from which on levels are taken off."""


@dataclass(frozen=True, eq=False)
class LocalScale:
    """What calibrates the grid errors of one detector.

    centre, gain: (h, w) float32; level: c; spread: standard deviation of the calibrated errors of good photos, over
    all places, less where the map counts for several; photo_level: mean over good photos of the median of gain (error
    - centre); reach: how far from it that of a photo is taken off, 0 for not at all. A calibrated error is level + gain
    (error - centre), less what is taken off; with tolerated above 0, it is the level plus what the deviation has above
    that, never less.
    """

    centre: Annotated[np.ndarray, floats("h w")]
    gain: Annotated[np.ndarray, floats("h w", SMALLEST)]
    level: Annotated[float, floats("")]
    spread: Annotated[float, floats("", SMALLEST)]
    photo_level: Annotated[float, floats("")] = 0.0
    reach: Annotated[float, floats("", 0)] = 0.0
    tolerated: Annotated[float, floats("", 0)] = 0.0

    def apply(self, errors: ArrayLike) -> np.ndarray:
        """Calibrated errors in the detector's unit, (..., h, w) -> float32 of that shape."""
        return np.float32(self.level) + self._deviations(errors)

    def standardised(self, errors: ArrayLike) -> np.ndarray:
        """(apply(errors) - level) / spread: comparable between detectors. (..., h, w) float32."""
        return np.float32(1 / self.spread) * self._deviations(errors)

    def with_votes(self, votes: float) -> Self:
        """The same scale under which the map counts for so many of those that it is added to."""
        return replace(self, spread=max(self.spread / votes, SMALLEST))

    def with_photo_levels(self, errors: ArrayLike) -> Self:
        """The same scale that also takes off a photo's own level, where good errors (n, h, w) ask for it.

        Raises ValueError for another shape.
        """
        deviations = self._deviations(errors).astype(np.float64)
        levels, highest = _quantile(deviations, 0.5), _quantile(deviations, HIGHEST)
        if np.mean((levels - levels.mean()) * highest) < RISING * levels.var() or not levels.var():
            return self
        return replace(self, photo_level=float(levels.mean()), reach=REACH * float(levels.std()))

    def with_excess(self, errors: ArrayLike) -> Self:
        """The same scale under which only what exceeds good errors, (n, h, w), counts.

        For a detector whose errors tell nothing until they leave what good parts show: added to others, it moves no
        score of a part on which it has nothing to say. Raises ValueError for another shape.
        """
        highest = float(np.quantile(self._deviations(errors), TOLERATED))
        return replace(self, tolerated=max(highest, SMALLEST))

    def _deviations(self, errors: ArrayLike) -> np.ndarray:
        errors = np.asarray(errors, np.float32)
        require_shape(errors, (*errors.shape[:-2], *self.centre.shape), name="errors")
        deviations = self.gain * (errors - self.centre)
        if self.tolerated:
            return np.maximum(deviations - np.float32(self.tolerated), np.float32(0))
        if not self.reach:
            return deviations
        off = np.clip(_quantile(deviations, 0.5) - np.float32(self.photo_level), -self.reach, self.reach)
        return deviations - off.astype(np.float32)[..., None, None]


@dataclass(frozen=True, eq=False)
class GoodMaps:
    """Count, mean and scatter of grid errors of good photos, place by place, in float64.

    mean, scatter: (h, w), scatter the sum of squares about the mean, of limited deviations after `winsorised`.
    """

    count: int
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def from_errors(cls, errors: ArrayLike) -> Self:
        """Create it from errors (n, h, w) of good photos. Raises ValueError for none, or when one is not finite."""
        maps = np.asarray(errors, np.float64)
        if maps.ndim != 3 or 0 in maps.shape:
            raise ValueError(f"errors has shape {maps.shape}; give (n, h, w), at least one photo")
        if not np.isfinite(maps).all():
            photo = int(np.flatnonzero(~np.isfinite(maps).all(axis=(1, 2)))[0])
            raise ValueError(f"errors of photo {photo} are not finite; find out why it has no score")
        mean = maps.mean(axis=0)
        return cls(len(maps), mean, ((maps - mean) ** 2).sum(axis=0))

    def finish(self, size: tuple[int, int], *, uniform: bool = False, fixed: bool | None = None) -> LocalScale:
        """The scale for maps of `size` (H, W) pixels made of these grid errors.

        Where good maps do not differ at all, they stay as they are. uniform: one scale for all places, which leaves
        maps as they are and gives their spread only to joined maps; for errors with an upper bound, which strange
        patches reach wherever they lie. fixed: whether each place has its own level; None decides by `is_fixed`.
        """
        cells = self.mean.shape
        level = self.mean.mean()
        centre = np.full(cells, level) if uniform else self._by_class(self.mean, size)
        if not uniform and (self.is_fixed(size) if fixed is None else fixed):
            centre = (self.count * self.mean + PRIOR_PHOTOS * centre) / (self.count + PRIOR_PHOTOS)
        total = (self.scatter / self.count + (self.mean - centre) ** 2).mean()
        if total == 0:
            return LocalScale(np.full(cells, level, np.float32), np.ones(cells, np.float32), float(level), 1.0)
        gain = np.ones(cells)
        if not uniform:
            gain = np.sqrt(total / (_edges(cells) * (self.variance(size) + FLOOR**2 * total)))
        spread = np.sqrt((gain**2 * (self.scatter / self.count + (self.mean - centre) ** 2)).mean())
        return LocalScale(
            centre.astype(np.float32), gain.astype(np.float32), float(level), max(float(spread), SMALLEST)
        )

    def winsorised(self, errors: ArrayLike, size: tuple[int, int]) -> Self:
        """The same with the deviations of its errors (n, h, w) limited to EXTREME spreads of their place.

        The spread is that of the errors, then of those so limited: one large deviation also widens the first.
        """
        deviations, limited = np.asarray(errors, np.float64) - self.mean, self
        for _ in range(2):
            most = EXTREME * np.sqrt(limited.variance(size))
            limited = replace(self, scatter=(np.clip(deviations, -most, most) ** 2).sum(axis=0))
        return limited

    def variance(self, size: tuple[int, int]) -> np.ndarray:
        """(h, w) the variance at each place, smoothed and shrunk as a multiple of its mean over the class."""
        sigma = [SMOOTHING * count / pixels for count, pixels in zip(self.mean.shape, size, strict=True)]
        expected = self._by_class(self.scatter / self.count, size)
        multiple = np.divide(self.scatter / self.count, expected, out=np.ones(self.mean.shape), where=expected > 0)
        multiple = ndimage.gaussian_filter(multiple, sigma, mode="reflect")
        return expected * (self.count * multiple + PRIOR_PHOTOS) / (self.count + PRIOR_PHOTOS)

    def is_fixed(self, size: tuple[int, int]) -> bool:
        """Whether content is fixed: places explain at least `FIXED` of the variance of errors."""
        return self.explained(self._by_class(self.mean, size)) >= FIXED

    def explained(self, levels: np.ndarray) -> float:
        """The share of the variance of errors about `levels` (h, w) that the mean of the others explains.

        Leave-one-out: below 0 where places have nothing in common; -inf for a single photo.
        """
        squares = float((self.scatter + self.count * (self.mean - levels) ** 2).sum())
        if self.count < 2 or squares == 0:
            return -np.inf
        return 1 - (self.count / (self.count - 1)) ** 2 * float(self.scatter.sum()) / squares

    @staticmethod
    def _by_class(values: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """(h, w): the mean over the cells of a class, those at the same distances from the nearest two sides."""
        steps = [
            np.minimum(np.minimum(np.arange(count), np.arange(count)[::-1]), -(-BORDER * count // pixels))
            for count, pixels in zip(values.shape, size, strict=True)
        ]
        classes = steps[0][:, None] * (steps[1].max() + 1) + steps[1]
        sums = np.bincount(classes.ravel(), weights=values.ravel())
        return (sums / np.maximum(np.bincount(classes.ravel()), 1))[classes]


def _quantile(deviations: np.ndarray, share: float) -> np.ndarray:
    """The value that this share of the places does not reach: (..., h, w) -> (...), the dtype kept."""
    *photos, height, width = deviations.shape
    place = int(share * height * width)
    return np.partition(deviations.reshape(*photos, height * width), place, axis=-1)[..., place]


def _edges(cells: tuple[int, ...]) -> np.ndarray:
    """(h, w): EDGE for each side of the map at which a cell lies, 1 inside."""
    sides = [np.ones(count) for count in cells]
    for side in sides:
        side[[0, -1]] = EDGE
    return np.outer(*sides)


def sum_error_maps(errors: Sequence[ArrayLike], scales: Sequence[LocalScale | None]) -> np.ndarray:
    """The errors of all detectors as one map: (h, w) or (n, h, w) each -> one float32 of that shape.

    The errors of a single detector keep their unit: calibrated by its scale, unchanged without one. Of several, the
    standardised errors are added: a good part is about 0 everywhere, and 1 is the spread of one detector's good errors.
    Raises ValueError for several detectors of which one has no scale.
    """
    if len(errors) == 1:
        return np.asarray(errors[0], np.float32) if scales[0] is None else scales[0].apply(errors[0])
    standardised = [
        scale.standardised(view_errors) for view_errors, scale in zip(errors, scales, strict=True) if scale is not None
    ]
    if len(standardised) < len(errors):
        raise ValueError("a detector without local scale cannot be added to another; keep good photos for it")
    return np.sum(standardised, axis=0)
