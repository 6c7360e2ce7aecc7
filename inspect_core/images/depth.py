"""How photo values represent brightness: 8 bits, or 10 to 16 bits stored in 16; found from good photos, then fixed.

A 12-bit camera stores 0 to 4095 (right-aligned) or 16 times that (left-aligned); no header says which. Once found, the
depth is the same for every photo: no photo is stretched individually, which would hide a dim lamp.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np

from inspect_core.images.decode_memory import bands
from inspect_core.images.header import require
from inspect_core.runtime.json_record import one_of, whole

DEPTHS = (10, 12, 14, 16)  # bits of a value stored in 16
DEEPEST = 2**16 - 1
FEWEST_LEVELS = 48
"""Grey levels that the good photos fill at least; fewer hide faint defects, so that a window is learned."""
BARS = 32  # of the histogram that is shown
_BINS = 1024  # of a photo's histogram: 16 of them are left for 10 bits
_TAILS = (0.001, 0.999)  # shares of the pixels below the dark and the bright value: no hot pixel sets a window
_MARGIN = 0.1  # of the span of the good photos, on both sides of a learned window: defects may be darker or brighter
_NO_LIGHT = 3  # a photo whose largest value is below that of every good photo by this factor is not of this depth
_AS_TAUGHT = "restore the camera settings used for the good photos, or teach with photos like this one"


@dataclass(frozen=True, eq=False)
class ValueStatistics:
    """Statistics of the values of a 16-bit photo, or of several.

    bits: all that are set in any value; darkest, brightest: values at the shares `_TAILS` of the pixels; largest: value
    of the photo (of several photos: the smallest of their largest); histogram: (_BINS,) int64 pixels.
    """

    bits: int
    darkest: int
    brightest: int
    largest: int
    histogram: np.ndarray

    @classmethod
    def from_photo(cls, stored: np.ndarray) -> Self:
        """Create it from one photo, (H, W) uint16."""
        counts = np.zeros(DEEPEST + 1, np.int64)
        for rows in bands(*stored.shape):
            counts += np.bincount(stored[rows].ravel(), minlength=len(counts))
        below = np.cumsum(counts)
        used_values = np.flatnonzero(counts)
        darkest, brightest = (int(np.searchsorted(below, tail * below[-1], side="right")) for tail in _TAILS)
        bits = int(np.bitwise_or.reduce(used_values))
        return cls(bits, darkest, brightest, int(used_values[-1]), counts.reshape(_BINS, -1).sum(axis=1))

    @classmethod
    def together(cls, photos: Sequence[Self]) -> Self:
        """Create it from several photos, one or more."""
        return cls(
            int(np.bitwise_or.reduce([photo.bits for photo in photos])),
            min(photo.darkest for photo in photos),
            max(photo.brightest for photo in photos),
            min(photo.largest for photo in photos),
            np.sum([photo.histogram for photo in photos], axis=0),
        )


@dataclass(frozen=True)
class Depth:
    """How stored values become brightness: `black` and below are 0, `white` and above are 255.

    stored_bits: of a value in the file, 8 or 16; bits: those that the camera fills, 8 when stored_bits is 8;
    left_aligned: whether it fills the upper ones; black, white: stored values, the full range of the bits unless a
    window was learned; min_peak: the smallest of the good photos' largest values, 0 when unknown. Raises ValueError for
    what does not fit.
    """

    stored_bits: Annotated[int, one_of(8, 16)]
    bits: Annotated[int, one_of(8, *DEPTHS)]
    left_aligned: bool
    black: Annotated[int, whole(0, DEEPEST)]
    white: Annotated[int, whole(0, DEEPEST)]
    min_peak: Annotated[int, whole(0, DEEPEST)] = 0

    def __post_init__(self) -> None:
        if self.stored_bits == self.bits == 8 and not self.left_aligned and self.is_full:
            return
        if self.stored_bits != 16:
            raise ValueError(
                f"the depth is {self.bits} bits in {self.stored_bits}; there are 8 in 8, and {DEPTHS} in 16"
            )
        if not 0 <= self.black < self.white <= self.largest:
            raise ValueError(f"the window is {self.black} to {self.white}, outside 0 to {self.largest} or empty")

    @classmethod
    def full(cls, bits: int, *, left_aligned: bool = False, min_peak: int = 0) -> Self:
        """The full range of so many bits in 16. Raises ValueError for bits that are not among DEPTHS."""
        return cls(16, bits, left_aligned, 0, _mask(bits, left_aligned), min_peak)

    @property
    def largest(self) -> int:
        """The largest value there can be."""
        return 255 if self.stored_bits == 8 else _mask(self.bits, self.left_aligned)

    @property
    def is_full(self) -> bool:
        """Whether the window is the full range."""
        return (self.black, self.white) == (0, self.largest)

    def with_bits(self, bits: int, values: ValueStatistics) -> Self:
        """The full range of another number of bits, aligned as it is.

        values: of the good photos. Raises ValueError when they are not of so few bits.
        """
        left_aligned = self.left_aligned and bits < DEPTHS[-1]
        if values.bits & ~_mask(bits, left_aligned):
            raise ValueError(f"depth is {bits} bits, and the good photos fill {self.bits}; give {self.bits} or more")
        return type(self).full(bits, left_aligned=left_aligned, min_peak=self.min_peak)

    def with_learned_window(self, values: ValueStatistics) -> Self:
        """The same depth with the window that these good photos fill, and a margin."""
        margin = round(_MARGIN * (values.brightest - values.darkest))
        black = min(max(values.darkest - margin, 0), self.largest - 1)  # overexposed photos have no darker value
        return replace(self, black=black, white=max(min(values.brightest + margin, self.largest), black + 1))

    def is_narrow(self, values: ValueStatistics) -> bool:
        """Whether good photos of these values fill fewer than FEWEST_LEVELS of the 256 levels that are seen."""
        return (values.brightest - values.darkest) * 256 < FEWEST_LEVELS * (self.white - self.black)

    def check_file(self, name: str, *, is_deep: bool) -> None:
        """Raise ImageError when a file stores another number of bits per pixel: 16 when `is_deep`, else 8."""
        reason = f"it stores {(16 if is_deep else 8)} bits per pixel, but the good photos store {self.stored_bits}"
        require(name, is_deep == (self.stored_bits == 16), reason, _AS_TAUGHT)

    def check(self, name: str, stored: np.ndarray) -> None:
        """Raise ImageError when the values of a photo, (H, W) uint16, are not of this depth."""
        largest = int(stored.max())
        reason = f"it contains the value {largest}, but the maximum for {self.words} is {self.largest}"
        require(name, largest <= self.largest, reason, _AS_TAUGHT)
        empty = np.uint16(DEEPEST - _mask(self.bits, self.left_aligned))
        used = bool(empty) and any((stored[rows] & empty).any() for rows in bands(*stored.shape))
        require(name, not used, f"it uses bits that must be zero in {self.words}", _AS_TAUGHT)
        reason = f"its brightest value is {largest}, but every good photo reaches {self.min_peak}: "
        reason += "it has fewer bits or is almost black"
        require(name, largest >= self.min_peak / _NO_LIGHT, reason, _AS_TAUGHT)

    def brightness(self, stored: np.ndarray) -> np.ndarray:
        """(...) uint16 as stored -> (...) uint8, rounded."""
        above = np.clip(stored.astype(np.int64), self.black, self.white) - self.black
        span = self.white - self.black
        return ((255 * above + span // 2) // span).astype(np.uint8)

    @property
    def words(self) -> str:
        """ "12 bits, right-aligned in 16"."""
        if self.bits == self.stored_bits:
            return f"{self.bits} bits"
        return f"{self.bits} bits, {'left' if self.left_aligned else 'right'}-aligned in 16"

    def sentence(self) -> str:
        """The depth and the window, in a sentence for the user."""
        if self.stored_bits == 8:
            return "The photos have 8 bits."
        window = "the full range" if self.is_full else "learned from the good photos"
        return f"The photos have {self.words}: {self.black:,} maps to black, {self.white:,} to white ({window})."

    def histogram(self, values: ValueStatistics) -> list[tuple[int, float]]:
        """(first value, share of the pixels) of each of BARS parts of the range, at most."""
        used = max((self.largest + 1) * _BINS // (DEEPEST + 1), 1) if not self.left_aligned else _BINS
        bars = min(BARS, used)
        parts = values.histogram[:used].reshape(bars, -1).sum(axis=1)
        first = np.arange(bars) * (used * ((DEEPEST + 1) // _BINS) // bars)
        return list(zip(first.tolist(), (parts / parts.sum()).tolist(), strict=True))


EIGHT = Depth(8, 8, False, 0, 255)


def depth_of(good: Sequence[ValueStatistics | None]) -> Depth | None:
    """The depth of most good photos; None without photos.

    If no photo sets the bits above the filled ones: right-aligned; else, if the low bits are empty: left-aligned.
    """
    deep = [values for values in good if values is not None]
    if not deep or 2 * len(deep) < len(good):
        return EIGHT if good else None
    values = ValueStatistics.together(deep)
    high = values.bits.bit_length()
    low = (values.bits & -values.bits).bit_length() - 1
    left_aligned = high > DEPTHS[-2] and low >= DEPTHS[-1] - DEPTHS[-2]
    used = DEPTHS[-1] - low if left_aligned else high
    bits = next(bits for bits in DEPTHS if bits >= used)
    return Depth.full(bits, left_aligned=left_aligned, min_peak=values.largest)


def _mask(bits: int, left_aligned: bool) -> int:
    if bits not in DEPTHS:
        raise ValueError(f"depth is {bits} bits; give one of {', '.join(map(str, DEPTHS))}")
    return (2**bits - 1) << (16 - bits if left_aligned else 0)
