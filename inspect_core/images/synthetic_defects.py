"""Made-up defects on photos of good parts, with exact masks: to try starting values on before a defect is known.

Four kinds with little in common, so that no one look is favoured: a piece of a part in the wrong place, a thin scar, a
soft blotch, and a piece grown in without a seam. None imitates a defect of any product. After Li et al., "CutPaste:
self-supervised learning for anomaly detection and localization" (2021), with strengths that reach down to the barely
visible.

Convention: pixels are (H, W, 3) uint8 RGB; a mask is (H, W) bool; lengths are shares of the photo's shorter side. donor
is another photo of the same size that pieces are taken from; without one they come from the photo itself.
"""

from collections.abc import Callable

import cv2
import numpy as np
from PIL import Image, ImageDraw
from scipy.ndimage import gaussian_filter

PATCH_SIDE, PATCH_SHIFT = (0.03, 0.12), (4.0, 20.0)
SCAR_WIDTH, SCAR_LENGTH, SCAR_SHIFT = (0.008, 0.02), (0.08, 0.25), (20.0, 70.0)
CLONE_RADIUS = (0.025, 0.08)
BLOTCH_RADIUS, BLOTCH_SHIFT = (0.025, 0.08), (10.0, 40.0)

Made = tuple[np.ndarray, np.ndarray]


def misplaced_patch(pixels: np.ndarray, rng: np.random.Generator, donor: np.ndarray | None = None) -> Made:
    """A rectangle copied from elsewhere, a little off in colour: the photo and its mask."""
    side = min(pixels.shape[:2])
    height, width = (max(2, round(side * _between(rng, PATCH_SIDE, logarithmic=True))) for _ in range(2))
    y, x = _corner(pixels, height, width, rng)
    from_y, from_x = _corner(pixels, height, width, rng)
    donor = pixels if donor is None else donor
    piece = donor[from_y : from_y + height, from_x : from_x + width] + _shift(rng, PATCH_SHIFT)
    weight = np.zeros(pixels.shape[:2])
    weight[y : y + height, x : x + width] = 1.0
    colours = pixels.astype(float)
    colours[y : y + height, x : x + width] = piece
    return _blend(pixels, colours, weight)


def scar(pixels: np.ndarray, rng: np.random.Generator, donor: np.ndarray | None = None) -> Made:
    """A thin, slightly bent line, darker or brighter than what it crosses."""
    height, width = pixels.shape[:2]
    side = min(height, width)
    length = side * _between(rng, SCAR_LENGTH)
    heading, bend = rng.uniform(0, np.pi), rng.uniform(-0.2, 0.2)
    along = np.linspace(-0.5, 0.5, 32)
    across = bend * (along**2 - 0.25)
    start = np.array([rng.uniform(0.1, 0.9) * width, rng.uniform(0.1, 0.9) * height])
    turn = np.array([[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]])
    path = start + length * (np.stack([along, across], axis=1) @ turn.T)
    drawn = Image.new("L", (width, height))
    thickness = max(1, round(side * _between(rng, SCAR_WIDTH)))
    ImageDraw.Draw(drawn).line([tuple(point) for point in path], fill=255, width=thickness, joint="curve")
    weight = gaussian_filter(np.asarray(drawn) / 255.0, 0.4)
    return _blend(pixels, pixels + _shift(rng, SCAR_SHIFT), weight)


def blotch(pixels: np.ndarray, rng: np.random.Generator, donor: np.ndarray | None = None) -> Made:
    """A soft oval change of colour without an edge, such as a stain or a shadow leaves."""
    height, width = pixels.shape[:2]
    radius = min(height, width) * _between(rng, BLOTCH_RADIUS)
    oval, turn = rng.uniform(1.0, 2.0), rng.uniform(0, np.pi)
    y, x = np.ogrid[:height, :width]
    y, x = y - rng.uniform(0.1, 0.9) * height, x - rng.uniform(0.1, 0.9) * width
    first, second = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    weight = np.exp(-0.69 * ((first / oval) ** 2 + (second * oval) ** 2) ** 2 / radius**4)
    return _blend(pixels, pixels + _shift(rng, BLOTCH_SHIFT), weight)


def grown_in(pixels: np.ndarray, rng: np.random.Generator, donor: np.ndarray | None = None) -> Made:
    """An oval piece from elsewhere, turned, whose texture stays while its edge takes the colours around it.

    After Perez, Gangnet and Blake, "Poisson image editing" (2003), by OpenCV.
    """
    height, width = pixels.shape[:2]
    radii = [max(4, round(min(height, width) * _between(rng, CLONE_RADIUS))) for _ in range(2)]
    side = 2 * max(radii) + 5  # OpenCV leaves out the outermost pixels of a piece
    y, x = _corner(pixels, side, side, rng)
    from_y, from_x = _corner(pixels, side, side, rng)
    piece = (pixels if donor is None else donor)[from_y : from_y + side, from_x : from_x + side]
    piece = np.ascontiguousarray(np.rot90(piece, int(rng.integers(1, 4))))
    oval = cv2.ellipse(np.zeros((side, side), np.uint8), (side // 2, side // 2), radii, 0, 0, 360, 255, -1)
    mask = np.zeros((height, width), bool)
    mask[y : y + side, x : x + side] = cv2.erode(oval, np.ones((3, 3), np.uint8)) > 0  # its rim equals the ground
    # OpenCV writes into its mask and its ground, so each is its own.
    made = cv2.seamlessClone(piece, pixels.copy(), oval, (x + side // 2, y + side // 2), cv2.NORMAL_CLONE)
    return made, mask


KINDS: tuple[Callable[..., Made], ...] = (misplaced_patch, scar, blotch, grown_in)


def _between(rng: np.random.Generator, bounds: tuple[float, float], *, logarithmic: bool = False) -> float:
    return float(np.exp(rng.uniform(*np.log(bounds)))) if logarithmic else float(rng.uniform(*bounds))


def _shift(rng: np.random.Generator, size: tuple[float, float]) -> np.ndarray:
    """(3,) grey levels: one sign for all colours, mostly grey, a little tinted."""
    sign = 1.0 if rng.random() < 0.5 else -1.0
    return sign * rng.uniform(*size) * rng.uniform(0.7, 1.3, 3)


def _corner(pixels: np.ndarray, height: int, width: int, rng: np.random.Generator) -> tuple[int, int]:
    rows, columns = pixels.shape[:2]
    return int(rng.integers(rows - height + 1)), int(rng.integers(columns - width + 1))


def _blend(pixels: np.ndarray, colours: np.ndarray, weight: np.ndarray) -> Made:
    """The mask of where the defect weighs at least half."""
    mixed = pixels + weight[:, :, None] * (colours - pixels)
    return np.clip(mixed, 0, 255).round().astype(np.uint8), weight >= 0.5
