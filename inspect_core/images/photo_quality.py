"""Blur and exposure of good photos, each compared with the others: what to look at before they are learned."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from inspect_core.images.outliers import STANDS_OUT, distances

BLUR, EXPOSURE = "blur", "exposure"
LONGEST = 1024
"""Pixels of the longer side to which larger photos are reduced for measuring."""
DARKEST, BRIGHTEST = 2, 253
"""Grey levels from which a pixel counts as clipped: compression moves it a little."""
_SHARPNESS, _BRIGHTNESS, _CLIPPED = 0.06, 3.0, 0.003
"""Least deviations of the logarithm of sharpness, of grey levels, and of the share of clipped pixels."""


@dataclass(frozen=True)
class Quality:
    """sharpness: strength of the finest detail, relative to the contrast of the photo, without unit; brightness: mean
    grey level, 0 to 255; black, white: shares of clipped pixels.
    """

    sharpness: float
    brightness: float
    black: float
    white: float


@dataclass(frozen=True)
class Finding:
    """Why a photo deserves a look. topic: one word; sentence: for the user, with a figure."""

    topic: str
    sentence: str


def measured(pixels: np.ndarray) -> Quality:
    """The quality of a photo, (H, W, 3) uint8 RGB."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    black, white = float((grey <= DARKEST).mean()), float((grey >= BRIGHTEST).mean())
    if (longest := max(grey.shape)) > LONGEST:
        grey = cv2.resize(grey, None, fx=LONGEST / longest, fy=LONGEST / longest, interpolation=cv2.INTER_AREA)
    smooth = cv2.GaussianBlur(grey.astype(np.float32), (0, 0), 1.0)  # noise must not count as sharpness
    contrast = max(float(smooth.std()), 1.0)
    return Quality(float(cv2.Laplacian(smooth, cv2.CV_32F).std()) / contrast, float(grey.mean()), black, white)


def findings(qualities: Sequence[Quality]) -> list[list[Finding]]:
    """For each photo, what stands out in comparison with all of them."""
    found: list[list[Finding]] = [[] for _ in qualities]
    sharpness, brightness, black, white = np.array(
        [(one.sharpness, one.brightness, one.black, one.white) for one in qualities]
    ).T.reshape(4, -1)
    median, middle = (float(np.median(values)) if len(values) else 0.0 for values in (sharpness, brightness))
    blurred = -distances(np.log(np.maximum(sharpness, 1e-6)), least=_SHARPNESS)
    shifted = distances(brightness, least=_BRIGHTNESS)
    for i, own in enumerate(found):
        if blurred[i] > STANDS_OUT:
            sentence = f"Blurred: sharpness {100 * sharpness[i] / median:.0f} % of the others' median."
            own.append(Finding(BLUR, sentence))
        if abs(shifted[i]) > STANDS_OUT:
            word = "Brighter" if shifted[i] > 0 else "Darker"
            sentence = f"{word} than the others: mean grey level {brightness[i]:.0f} of 255, their median {middle:.0f}."
            own.append(Finding(EXPOSURE, sentence))
    for word, shares in (("black", black), ("white", white)):
        for i, distance in enumerate(distances(shares, least=_CLIPPED)):
            if distance > STANDS_OUT:
                others = 100 * np.median(shares)
                sentence = f"{100 * shares[i]:.1f} % of its pixels are {word}, {others:.1f} % of the others' (median)."
                found[i].append(Finding(EXPOSURE, sentence))
    return found
