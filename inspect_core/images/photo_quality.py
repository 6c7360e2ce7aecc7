"""Noise, brightness and sharpness of photos: those of good photos compared with each other, and new ones with those."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import cv2
import numpy as np

from inspect_core.images.photo_reader import squash
from inspect_core.images.photo_setup import Bounds, PhotoSetup, SetupRange, measure_setup

BLUR, EXPOSURE = "blur", "exposure"
DEVIATION_SEPARATOR = "; "
"""Between the ways in which one photo differs from those taught."""
STANDS_OUT = 3.5
"""Robust standard deviations from which a value stands out."""
FEWEST_COMPARED = 10
"""Fewest values among which one can."""
_PER_DEVIATION = 1.4826  # standard deviation of a normal distribution over its median absolute deviation
LONGEST = 1024  # pixels of the longer side to which larger photos are reduced for measuring
DARKEST, BRIGHTEST = 2, 253  # grey levels from which a pixel counts as clipped: compression moves it a little
FEWEST = 5  # photos from which a range is learned
_WIDER = 0.5  # by how much of itself a range is widened on either side: the photos taught are a sample
_SHARPER = 0.35  # the same for the range of the logarithms of sharpness
_WIDENED = {
    "noise": (0.15, "less noisy", "noisier"),
    "brightness": (0.04, "darker", "brighter"),
    "sharpness": (0.04, "less sharp", "sharper"),
}
"""Of each, the least share of its median to widen by, and the words below and above its range."""
_IMMERKAER = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)
_BLOCK = 8
_TRIED = 64  # pixels of the side to which noise is squashed to see how much of it is read
_FAINTEST = 0.1  # least slope, in grey levels a pixel, by which curvature is divided
_SHARPNESS = 0.03  # least deviation of the logarithm of sharpness
_BRIGHTNESS = 3.0  # least deviation of grey levels
_CLIPPED = 0.003  # least deviation of the share of clipped pixels


@dataclass(frozen=True)
class PhotoQuality:
    """noise: in grey levels, of the calmest quarter of the photo; sharpness: curvature over slope of its grey levels,
    per pixel; brightness: mean grey level, 0 to 255; black, white: shares of clipped pixels; setup: how it was taken,
    None where only a picture of it is known.
    """

    noise: float
    sharpness: float
    brightness: float
    black: float
    white: float
    setup: PhotoSetup | None = None


class Finding(NamedTuple):
    """Why a photo deserves a look. topic: one word; sentence: for the user, with a figure."""

    topic: str
    sentence: str


def measure_quality(pixels: np.ndarray, photo: np.ndarray | None = None) -> PhotoQuality:
    """The quality of a photo, (H, W, 3) uint8 RGB, as the network sees it; photo: as taken."""
    setup = None if photo is None else measure_setup(pixels, photo)
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    black, white = (float(np.count_nonzero(out)) / grey.size for out in (grey <= DARKEST, grey >= BRIGHTEST))
    if (longest := max(grey.shape)) > LONGEST:
        grey = cv2.resize(grey, None, fx=LONGEST / longest, fy=LONGEST / longest, interpolation=cv2.INTER_AREA)
    smooth = cv2.GaussianBlur(grey.astype(np.float32), (0, 0), 1.0)  # noise must not count as sharpness
    slopes = [cv2.Sobel(smooth, cv2.CV_32F, *way, scale=1 / 8) for way in ((1, 0), (0, 1))]
    slope = math.hypot(*(float(cv2.norm(gradient)) for gradient in slopes)) / math.sqrt(grey.size)
    _, curvature = cv2.meanStdDev(cv2.Laplacian(smooth, cv2.CV_32F))
    sharpness = float(curvature[0, 0]) / max(slope, _FAINTEST)
    return PhotoQuality(_noise(grey), sharpness, cv2.mean(grey)[0], black, white, setup)


def noise_as_read(spread: float, photo: tuple[int, int], size: tuple[int, int]) -> float:
    """What is measured of noise of this spread, in grey levels, in a (height, width) photo at this size."""
    height, width = (max(_TRIED * side // to, 1) for side, to in zip(photo, size, strict=True))
    grey = 128 + spread * np.random.default_rng(0).standard_normal((height, width, 1))
    noisy = np.clip(np.rint(grey), 0, 255).astype(np.uint8).repeat(3, axis=2)
    return measure_quality(squash(noisy, (_TRIED, _TRIED))).noise


def _noise(grey: np.ndarray) -> float:
    """Spread of the noise of a photo, (H, W) uint8, where it is calmest; after Immerkaer, "Fast noise variance
    estimation" (1996): a difference of two Laplacians answers to noise, and hardly to edges.
    """
    answer = np.abs(cv2.filter2D(grey.astype(np.float32), cv2.CV_32F, _IMMERKAER))
    height, width = (max(1, side // _BLOCK) for side in grey.shape)
    blocks = np.sort(cv2.resize(answer, (width, height), interpolation=cv2.INTER_AREA), axis=None)
    return math.sqrt(math.pi / 2) / 6 * float(blocks[: max(1, blocks.size // 4)].mean())


@dataclass(frozen=True)
class QualityRange:
    """(least, most) noise, brightness and sharpness of the good photos that were taught, widened; setup: how they were
    taken, None where that was not measured.
    """

    noise: Bounds
    brightness: Bounds
    sharpness: Bounds
    setup: SetupRange | None = None

    @classmethod
    def from_qualities(cls, qualities: Sequence[PhotoQuality]) -> Self | None:
        """Create it from what was measured; None for fewer photos than FEWEST."""
        if len(qualities) < FEWEST:
            return None
        ranges = {}
        for name, (least, _, _) in _WIDENED.items():
            values = [getattr(photo, name) for photo in qualities]
            wider = max(_WIDER * (max(values) - min(values)), least * float(np.median(values)))
            ranges[name] = (max(min(values) - wider, 0.0), max(values) + wider)
        low = min(quality.sharpness for quality in qualities)
        high = max(quality.sharpness for quality in qualities)
        wider = max((high / max(low, 1e-6)) ** _SHARPER, 1 + _WIDENED["sharpness"][0])
        ranges["sharpness"] = low / wider, high * wider
        setups = [quality.setup for quality in qualities if quality.setup is not None]
        return cls(**ranges, setup=SetupRange.from_setups(setups) if setups else None)

    def widened_by(
        self, noise: float, light: float, focus: float, shift: float = 0.0, size: tuple[int, int] = (256, 256)
    ) -> Self:
        """The range of the same photos taken again with so much noise (as read), light (± %), blur and shift (in
        pixels of a picture of this size).

        A blur takes (1 + focus²)^-1.5 of the finest detail if that is white noise, and less of edges;
        (1 + focus²)^-.5 of curvature over slope.
        """
        (quiet, noisy), (dark, bright), (soft, sharp) = self.noise, self.brightness, self.sharpness
        softer = (1 + focus**2) ** -1.5
        return replace(
            self,
            noise=(quiet * softer, math.hypot(noisy, noise)),
            brightness=(dark * (1 - light / 100), bright * (1 + light / 100)),
            sharpness=(soft * softer ** (1 / 3), sharp),
            setup=None if self.setup is None else self.setup.widened_by(shift, size),
        )

    def reason_to_review(self, quality: PhotoQuality) -> str | None:
        """What sends a photo to review whatever its score, None for nothing (`SetupRange.reason_to_review`)."""
        if self.setup is None or quality.setup is None:
            return None
        return self.setup.reason_to_review(quality.setup)

    def describe_deviation(self, quality: PhotoQuality) -> str:
        """How a photo differs, "noisier than taught; darker than taught"; "" for one within."""
        deviations: list[str] = []
        for name, (_, below, above) in _WIDENED.items():
            (least, most), value = getattr(self, name), getattr(quality, name)
            if value < least or value > most:
                deviations.append(f"{below if value < least else above} than taught")
        if self.setup is not None and quality.setup is not None:
            deviations = [*self.setup.deviations(quality.setup), *deviations]
        return DEVIATION_SEPARATOR.join(deviations)


def find_outliers(qualities: Sequence[PhotoQuality]) -> list[list[Finding]]:
    """For each photo, what stands out in comparison with all of them."""
    findings_by_photo: list[list[Finding]] = [[] for _ in qualities]
    names = ("sharpness", "brightness", "black", "white")
    sharpness, brightness, black, white = (
        np.array([getattr(quality, name) for quality in qualities]) for name in names
    )
    median, middle = (float(np.median(values)) if len(values) else 0.0 for values in (sharpness, brightness))
    blurred = -robust_z_scores(np.log(np.maximum(sharpness, 1e-6)), least=_SHARPNESS)
    shifted = robust_z_scores(brightness, least=_BRIGHTNESS)
    for i, photo_findings in enumerate(findings_by_photo):
        if blurred[i] > STANDS_OUT:
            sentence = f"Blurred: sharpness is {100 * sharpness[i] / median:.0f}% of the median."
            photo_findings.append(Finding(BLUR, sentence))
        if abs(shifted[i]) > STANDS_OUT:
            word = "Brighter" if shifted[i] > 0 else "Darker"
            sentence = f"{word} than the others: mean grey level {brightness[i]:.0f} of 255, median {middle:.0f}."
            photo_findings.append(Finding(EXPOSURE, sentence))
    for word, shares in (("black", black), ("white", white)):
        for i, distance in enumerate(robust_z_scores(shares, least=_CLIPPED)):
            if distance > STANDS_OUT:
                others = 100 * np.median(shares)
                sentence = f"{100 * shares[i]:.1f}% of its pixels are {word}, {others:.1f}% of the others' (median)."
                findings_by_photo[i].append(Finding(EXPOSURE, sentence))
    return findings_by_photo


def robust_z_scores(values: np.ndarray, *, least: float) -> np.ndarray:
    """(n,) how far each value lies above the median, in robust standard deviations (Iglewicz and Hoaglin, How to
    Detect and Handle Outliers, 1993); 0 for fewer than FEWEST_COMPARED.

    least: lower bound of the deviation, so that differences too small to matter do not stand out.
    """
    if len(values) < FEWEST_COMPARED:
        return np.zeros(len(values))
    above = values - np.median(values)
    return above / max(_PER_DEVIATION * float(np.median(np.abs(above))), least)
