"""How a photo was taken: its frame, the balance of its colours, where the light falls from, compression, blur by
motion, and which way round the part lies; those of good photos, and how a new photo differs from them. And its shades:
the brightness of coarse blocks against the photo's own median, which shows stains without an edge and parts that lack;
and how steep its brightness is, which shows that there is no part at all.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import cv2
import numpy as np

from inspect_core.runtime.json_record import BOUNDS, DISTANCE, FINITE, FieldRule, is_number, numbers

LAYOUT = 16
"""Rows and columns of the brightness that is compared with that of the good photos."""
SLOPES = 5
"""Measures of how much there is to be seen."""
DRAGGED = "blurred by motion"
SHADED = "an area is paler or darker"
EMPTY = "less to be seen"
"""How a photo differs from all good ones, whatever its score."""
_BLOCK = 8  # pixels of a JPEG's blocks
_WITHIN = (2, 3, 4)  # steps of a block that are compared with those at its border
_FAINT = np.uint8(8)  # grey levels: larger steps are edges of the part
_MEASURED = 384  # pixels of the longer side of the part of a photo in which blocks are looked for
_ALIKE = 0.02  # most difference of two aspect ratios that are one frame
_WIDER = 0.5  # by how much of itself a range is widened on either side: the photos taught are a sample
_LEAST_ALIKE = 0.6  # least correlation of the good photos with their mean, for their way round to mean anything
_UNLIKE = 0.02  # by how much less alike than all good ones a photo is that lies another way round
_RESEMBLES = 0.85  # least correlation of a photo that lies another way round with the good ones
_PLAINLY = 0.15  # by how much more another way round must resemble the good photos
_EXPLAINED = 0.9  # least correlation of a photo with the good ones under another light that is no more than that
FEWEST_SHADED = 8
"""Good photos from which a limit of shades is learned."""
_SHADE_MARGIN = 1.1  # of the largest deviation among the good photos
_LEAST_LIMIT = 2.0  # deviations
_PRIOR = 2.5  # photos that the deviation of all blocks counts for at each
_LEAST_SPREAD, _LEAST_GREY = 0.004, 0.5  # as a share, and in grey levels, to which compression rounds
DARKEST = 4.0  # grey levels of a block: a share of less says nothing
_EVEN = 8.0  # standard deviation of grey levels of a mean that shows no part
EMPTY_SHARE = 0.5
"""Share of the least slope of a good photo below which something is missing: on six sets of real parts, even surfaces
in a camera's noise have 0.01 to 0.2 of it, and no defective part has less than 0.8."""
MIDDLE = 0.7  # of either side of the photo
SMOOTHED_BY = 2.0  # pixels of the picture by which noise is smoothed before slopes are taken
_MOST_SHIFT = LAYOUT // 2
_LEAST = {"red": 0.05, "blue": 0.05, "blocks": 0.3, "light_x": 0.12, "light_y": 0.12, "drag_x": 0.45, "drag_y": 0.45}
"""By how much the range of each measure is widened at least, on either side."""
_WORDS = {
    "red": ("less red than taught", "redder than taught"),
    "blue": ("less blue than taught", "bluer than taught"),
    "blocks": ("", "compressed more strongly than taught"),
}
_LIGHT = {
    "light_x": ("light comes more from the left than taught", "light comes more from the right than taught"),
    "light_y": ("light comes more from above than taught", "light comes more from below than taught"),
}
_WAYS = {
    "upside down": lambda layout: layout[::-1, ::-1],
    "mirrored": lambda layout: layout[:, ::-1],
    "mirrored top to bottom": lambda layout: layout[::-1],
}
_ACROSS = np.linspace(-0.5, 0.5, LAYOUT)


Bounds = Annotated[tuple[float, float], BOUNDS]


@dataclass(frozen=True)
class PhotoSetup:
    """height, width: of the photo as taken, in pixels; red, blue: logarithms of their mean over that of green; drag_x,
    drag_y: logarithms of the curvature across over that down, and of that along one diagonal over the other; blocks:
    logarithm of the steps at the borders of a JPEG's blocks over those within; slopes: of brightness, in grey levels a
    pixel of the picture: root mean squares over all of it, over that of its halves which has least, and in its middle,
    then medians over the half and the middle; grey: the LAYOUT ** 2 float32 grey levels of its layout, as bytes, since
    thousands of these are kept.
    """

    height: int
    width: int
    red: float
    blue: float
    drag_x: float
    drag_y: float
    blocks: float
    slopes: tuple[float, ...]
    grey: bytes

    @property
    def layout(self) -> np.ndarray:
        """(LAYOUT ** 2,) float64 grey levels."""
        return np.frombuffer(self.grey, np.float32).astype(np.float64)


def measure_setup(picture: np.ndarray, photo: np.ndarray) -> PhotoSetup:
    """How a photo was taken. picture: (h, w, 3) uint8 RGB, as placed, at the size of the network's input; photo:
    (H, W, 3), as taken.
    """
    red, green, blue = (max(level, 1.0) for level in cv2.mean(picture)[:3])
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    layout = cv2.resize(grey, (LAYOUT, LAYOUT), interpolation=cv2.INTER_AREA)
    colours = math.log(red / green), math.log(blue / green)
    return PhotoSetup(*photo.shape[:2], *colours, *_drag(grey), _blocks(photo), _slopes(grey), layout.tobytes())


def _slopes(grey: np.ndarray) -> tuple[float, ...]:
    smooth = cv2.GaussianBlur(grey, (0, 0), SMOOTHED_BY)
    across, down = (cv2.Sobel(smooth, cv2.CV_32F, *way, scale=1 / 8) for way in ((1, 0), (0, 1)))
    squares = across * across + down * down
    height, width = grey.shape
    halves = squares[: height // 2], squares[height // 2 :], squares[:, : width // 2], squares[:, width // 2 :]
    top, left = (round((1 - MIDDLE) / 2 * side) for side in (height, width))
    middle = squares[top : height - top, left : width - left]
    # A mean sees the edges of an even part, a median is not deceived by the edge of what covers a rough one; every
    # other pixel suffices for it, since they are smoothed.
    means = _mean(squares), min(map(_mean, halves)), _mean(middle)
    medians = min(np.median(half[::2, ::2]) for half in halves), np.median(middle[::2, ::2])
    return tuple(math.sqrt(float(square)) for square in (*means, *medians))


def _drag(grey: np.ndarray) -> tuple[float, float]:
    smooth = cv2.GaussianBlur(grey, (0, 0), 1.0)
    xx, yy, xy = (cv2.Sobel(smooth, cv2.CV_32F, *way, scale=1 / 4) for way in ((2, 0), (0, 2), (1, 1)))
    curves = xx, yy, (xx + yy) / 2 + xy, (xx + yy) / 2 - xy
    across, down, falling, rising = (cv2.norm(curve) / math.sqrt(grey.size) + 0.05 for curve in curves)
    return math.log(across / down), math.log(falling / rising)


def _blocks(photo: np.ndarray) -> float:
    """The logarithm of the mean faint step of brightness over the borders of blocks of eight pixels to that
    within, of the middle of a photo; about 0 for one that was never compressed.
    """
    height, width = photo.shape[:2]
    top, left = (max(0, (side - _MEASURED) // 2) // _BLOCK * _BLOCK for side in (height, width))
    part = np.ascontiguousarray(photo[top : top + _MEASURED, left : left + _MEASURED])
    grey = cv2.cvtColor(part, cv2.COLOR_RGB2GRAY)
    border, within = [], []
    for axis, (lines, next_lines) in enumerate(((grey[:, :-1], grey[:, 1:]), (grey[:-1], grey[1:]))):
        if not lines.size:
            continue
        faint = np.minimum(cv2.absdiff(next_lines, lines), _FAINT)
        steps = cv2.reduce(faint, axis, cv2.REDUCE_AVG, dtype=cv2.CV_32F).ravel()
        place = np.arange(len(steps)) % _BLOCK
        border += steps[place == _BLOCK - 1].tolist()
        within += steps[np.isin(place, _WITHIN)].tolist()
    return math.log((np.mean(border) + 0.1) / (np.mean(within) + 0.1)) if border and within else 0.0


def _mean(values: np.ndarray) -> float:
    """Of float32 values, (h, w), summed in float64; by OpenCV, in half of NumPy's time."""
    return cv2.mean(values)[0]


_NUMBER = FieldRule("a number", is_number)
_SLOPE = FieldRule("a number of 0 or more", lambda value: is_number(value) and value >= 0)
_SPREAD = FieldRule("a number above 0", lambda value: is_number(value) and value > 0)


@dataclass(frozen=True)
class SetupRange:
    """(least, most) of every measure over the good photos, widened; light_x, light_y: change of brightness across the
    photo against their mean, as a share; layout: their mean in grey levels; least_alike: the least correlation of one
    with it; least_slopes: the least of each of their slopes; shade_spread: standard deviation of the shade of each
    block, a share of its brightness; shade_limit: the most such deviations of a block, None for fewer than
    FEWEST_SHADED good photos.
    """

    height: Annotated[tuple[int, int], BOUNDS]
    width: Annotated[tuple[int, int], BOUNDS]
    red: Bounds
    blue: Bounds
    light_x: Bounds
    light_y: Bounds
    drag_x: Bounds
    drag_y: Bounds
    blocks: Bounds
    layout: Annotated[tuple[float, ...], numbers(LAYOUT**2, _NUMBER, "numbers")]
    least_alike: Annotated[float, FINITE]
    least_slopes: Annotated[tuple[float, ...], numbers(SLOPES, _SLOPE, "numbers of 0 or more")]
    shade_spread: Annotated[tuple[float, ...], numbers(LAYOUT**2, _SPREAD, "numbers above 0")]
    shade_limit: Annotated[float, DISTANCE] | None

    @classmethod
    def from_setups(cls, setups: Sequence[PhotoSetup]) -> Self:
        """Create it from what was measured of one photo or more."""

        def ends(values: Sequence[float], least: float) -> tuple[float, float]:
            wider = max(_WIDER * (max(values) - min(values)), least)
            return min(values) - wider, max(values) + wider

        layouts = np.array([setup.layout for setup in setups])
        mean = layouts.mean(axis=0)
        light_x, light_y, _ = zip(*(_light(setup, mean) for setup in setups), strict=True)
        measured: dict[str, Sequence[float]] = {"light_x": light_x, "light_y": light_y}
        measured |= {name: [getattr(setup, name) for setup in setups] for name in _LEAST.keys() - measured.keys()}
        spread = _shade_spread((_shades(layouts, mean) ** 2).sum(axis=0), len(layouts), mean)
        sides = {}
        for name in ("height", "width"):
            low, high = ends([getattr(setup, name) for setup in setups], 0.0)
            sides[name] = math.floor(low), math.ceil(high)
        return cls(
            **sides,
            **{name: ends(values, _LEAST[name]) for name, values in measured.items()},
            shade_spread=tuple(map(float, spread)),
            shade_limit=_shade_limit(layouts),
            layout=tuple(map(float, mean)),
            least_alike=min(_correlation(setup.layout, mean) for setup in setups),
            least_slopes=tuple(map(min, zip(*(setup.slopes for setup in setups), strict=True))),
        )

    def widened_by(self, shift: float, size: tuple[int, int]) -> Self:
        """The range of the same photos shifted by so many pixels of a picture of (height, width).

        That share of a block then changes by about what parts its neighbours on either side.
        """
        square = np.array(self.layout).reshape(LAYOUT, LAYOUT)
        steps = np.zeros_like(square)
        for axis in (0, 1):
            step = np.abs(np.diff(square, axis=axis)) * shift * LAYOUT / size[axis]
            ahead, behind = [(0, 0), (0, 0)], [(0, 0), (0, 0)]
            ahead[axis], behind[axis] = (0, 1), (1, 0)
            steps += np.pad(step, ahead) + np.pad(step, behind)
        spread = np.array(self.shade_spread) + (steps / np.maximum(square, DARKEST)).ravel()
        return replace(self, shade_spread=tuple(map(float, spread)))

    def reason_to_review(self, setup: PhotoSetup) -> str | None:
        """EMPTY or SHADED, whatever the score is; None for a photo that shows what good ones show."""
        if any(slope < EMPTY_SHARE * least for slope, least in zip(setup.slopes, self.least_slopes, strict=True)):
            return EMPTY
        return SHADED if self.is_shaded(setup) else None

    def is_shaded(self, setup: PhotoSetup) -> bool:
        """Whether an area of a photo is paler or darker than in any good one."""
        if self.shade_limit is None:
            return False
        shade = _shades(setup.layout[None], np.array(self.layout))
        return float((np.abs(shade) / self.shade_spread).max()) > self.shade_limit

    def deviations(self, setup: PhotoSetup) -> Iterator[str]:
        """Yield how a photo differs, each in words."""
        frame = self._frame_of(setup)
        if frame:
            yield frame
        for name, words in _WORDS.items():
            if word := self._outside(name, getattr(setup, name), words):
                yield word
        mean = np.array(self.layout)
        shows_part = self.least_alike < _LEAST_ALIKE or _correlation(setup.layout, mean) >= _LEAST_ALIKE
        if not frame and shows_part and any(self._beyond(name, getattr(setup, name)) for name in ("drag_x", "drag_y")):
            yield DRAGGED
        light_x, light_y, explained = _light(setup, mean)
        if way := self._way_of(setup.layout, mean):
            yield way
        elif explained >= _EXPLAINED and (self.least_alike >= _LEAST_ALIKE or mean.std() < _EVEN):
            for name, value in (("light_x", light_x), ("light_y", light_y)):
                if word := self._outside(name, value, _LIGHT[name]):
                    yield word

    def _beyond(self, name: str, value: float) -> bool:
        least, most = getattr(self, name)
        return not least <= value <= most

    def _outside(self, name: str, value: float, words: tuple[str, str]) -> str:
        least, most = getattr(self, name)
        return words[0] if value < least else words[1] if value > most else ""

    def _frame_of(self, setup: PhotoSetup) -> str:
        """How the size of a photo differs, "" for one of the size of the good ones."""
        if not (self._beyond("height", setup.height) or self._beyond("width", setup.width)):
            return ""
        height, width = (sum(getattr(self, name)) / 2 for name in ("height", "width"))
        is_alike = abs(math.log(setup.width * height / (setup.height * width))) <= _ALIKE
        frame = "another size" if is_alike else "another frame"
        return f"{setup.width} × {setup.height} px, {frame} than the {round(width)} × {round(height)} px taught"

    def _way_of(self, layout: np.ndarray, mean: np.ndarray) -> str:
        """How a photo lies that resembles none of the good ones as it is, "" for any other."""
        as_is = _correlation(layout, mean)
        if self.least_alike < _LEAST_ALIKE or as_is >= self.least_alike - _UNLIKE:
            return ""
        square = layout.reshape(LAYOUT, LAYOUT)
        turned = {words: _correlation(way(square).ravel(), mean) for words, way in _WAYS.items()}
        turned |= _shifted(square, mean.reshape(LAYOUT, LAYOUT))
        words = max(turned, key=turned.__getitem__, default="")
        is_other = turned[words] >= max(self.least_alike - 2 * _UNLIKE, _RESEMBLES) and turned[
            words
        ] - as_is > _PLAINLY * (1 - as_is)
        return words if is_other else ""


def _shades(layouts: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """(n, blocks) the brightness of the blocks of photos over that of good ones, both in grey levels, as a share
    above what most blocks of the photo have: a dim lamp changes none.
    """
    ratios = layouts / np.maximum(mean, DARKEST)
    return ratios / np.maximum(np.median(ratios, axis=1, keepdims=True), 1e-3) - 1


def _shade_spread(squares: np.ndarray, count: int, mean: np.ndarray) -> np.ndarray:
    """The standard deviation of the shade of each block, drawn towards that of all blocks.

    squares: (…, blocks) sums of squared shades over `count` photos of this mean.
    """
    squares = squares * count / max(count - 1, 1)
    pooled = squares.mean(axis=-1, keepdims=True) / count
    spread = np.sqrt((squares + _PRIOR * pooled) / (count + _PRIOR))
    least = np.maximum(_LEAST_SPREAD, _LEAST_GREY / np.maximum(mean, DARKEST))
    return np.maximum(spread, np.maximum(np.sqrt(pooled) / 2, least))


def _shade_limit(layouts: np.ndarray) -> float | None:
    """The most deviations of a block in any of (n, blocks) layouts, each against the others, and a margin."""
    count = len(layouts)
    if count < FEWEST_SHADED:
        return None
    mean = layouts.mean(axis=0)
    of_others = (count * mean - layouts) / (count - 1)
    squares = _shades(layouts, mean) ** 2
    spread = _shade_spread(squares.sum(axis=0) - squares, count - 1, of_others)
    largest = float((np.abs(_shades(layouts, of_others)) / spread).max())
    return max(_SHADE_MARGIN * largest, _LEAST_LIMIT)


def _correlation(first: np.ndarray, other: np.ndarray) -> float:
    """The correlation of two sets of grey levels, 0 where one is even."""
    first, other = first - first.mean(), other - other.mean()
    lengths = float(np.linalg.norm(first) * np.linalg.norm(other))
    return float(first.ravel() @ other.ravel()) / lengths if lengths > 1.0 else 0.0


def _light(setup: PhotoSetup, mean: np.ndarray) -> tuple[float, float, float]:
    """By which share of it the brightness of a photo changes across and down against the good ones' mean, and
    how well that explains the photo: the least squares of mean · (a + b x + c y) + d.
    """
    grey = setup.layout
    x, y = (way.ravel() for way in np.meshgrid(_ACROSS, _ACROSS))
    columns = np.stack([mean, mean * x, mean * y, np.ones_like(mean)], axis=1)
    scale, across, down, level = np.linalg.lstsq(columns, grey, rcond=None)[0]
    if scale <= 0 or mean.std() < 1.0:  # an even part: the light is all that there is
        scale, across, down = (
            max(float(np.mean(grey)), 1.0),
            *(float((grey * way).sum() / (way**2).sum()) for way in (x, y)),
        )
        fitted = scale + across * x + down * y
        return across / scale, down / scale, _correlation(fitted, grey)
    return float(across / scale), float(down / scale), _correlation(columns @ [scale, across, down, level], grey)


def _shifted(layout: np.ndarray, mean: np.ndarray) -> dict[str, float]:
    """The words and the correlation of the best shift of a photo by whole cells of its layout."""
    best = ("", -1.0)
    for down in range(-_MOST_SHIFT, _MOST_SHIFT + 1):
        for across in range(-_MOST_SHIFT, _MOST_SHIFT + 1):
            if (down, across) == (0, 0):
                continue
            here = layout[max(down, 0) : LAYOUT + min(down, 0), max(across, 0) : LAYOUT + min(across, 0)]
            there = mean[max(-down, 0) : LAYOUT - max(down, 0), max(-across, 0) : LAYOUT - max(across, 0)]
            alike = _correlation(here, there)
            if alike > best[1]:
                x, y = (round(100 * abs(way) / LAYOUT) for way in (across, down))
                ways = [f"{x}% to the {'right' if across > 0 else 'left'}"] * bool(across)
                ways += [f"{y}% {'down' if down > 0 else 'up'}"] * bool(down)
                best = f"shifted {' and '.join(ways)}", alike
    return dict([best])
