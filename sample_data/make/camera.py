"""A lens and a sensor: from the radiance of a scene to the 8-bit picture a camera would deliver."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from sample_data.make.scene import CANVAS

SIZE = CANVAS // 2


@dataclass(frozen=True)
class Camera:
    """One exposure.

    exposure: gain per colour, (3,). blur: standard deviation of the focused spot in picture pixels. defocus: further
    blur at unit depth. vignette: fraction of light lost in the corners. electrons: full well; sets the shot noise.
    """

    exposure: tuple[float, float, float]
    blur: float = 0.5
    defocus: float = 2.0
    vignette: float = 0.22
    electrons: float = 9000.0


def photograph(radiance: np.ndarray, depth: np.ndarray, camera: Camera, rng: np.random.Generator) -> np.ndarray:
    """Return the picture `(SIZE, SIZE, 3)` uint8 sRGB of a canvas of linear radiance `(3, CANVAS, CANVAS)`.

    depth: `(CANVAS, CANVAS)`, 0 in focus, 1 fully out of focus. The noise depends on `rng` and the light alone: two
    scenes photographed with generators in the same state differ only where the scenes do.
    """
    light = _focus(_halve(radiance), _halve(depth), camera)
    # Veiling glare: a little of everything bright spreads over the whole field.
    veil = ndimage.gaussian_filter(light, (0, 12, 12), mode="nearest", truncate=2)
    light = 0.965 * light + 0.035 * veil
    axis = np.linspace(-1, 1, SIZE, dtype=np.float32)
    off_axis = (axis[:, None] ** 2 + axis[None, :] ** 2) / 2
    light *= (1 - camera.vignette * off_axis) * np.asarray(camera.exposure, np.float32)[:, None, None]

    draw = rng.standard_normal((2, 3, SIZE, SIZE)).astype(np.float32)
    # Demosaicing leaves the sensor's noise correlated between neighbours, more in colour than in brightness.
    grain = _correlated(draw)
    light = light + grain[0] * np.sqrt(np.maximum(light, 0) / camera.electrons) + grain[1] * 0.0022
    return np.ascontiguousarray(np.moveaxis(np.round(255 * _encode(light)).astype(np.uint8), 0, 2))


def _focus(light: np.ndarray, depth: np.ndarray, camera: Camera) -> np.ndarray:
    """Blur by depth, blending a focused and a defocused picture, and a little more towards the corners."""
    axis = np.linspace(-1, 1, SIZE, dtype=np.float32)
    corner = 0.18 * ((axis[:, None] ** 2 + axis[None, :] ** 2) / 2) ** 1.5
    fraction = np.clip(depth + corner, 0, 1)
    sharp, soft = (
        ndimage.gaussian_filter(light, (0, sigma, sigma), mode="nearest", truncate=3)
        for sigma in (camera.blur, float(np.hypot(camera.blur, camera.defocus)))
    )
    return sharp + fraction * (soft - sharp)


def _halve(canvas: np.ndarray) -> np.ndarray:
    """Average 2 x 2 canvas pixels into one picture pixel."""
    rows = canvas[..., ::2, :] + canvas[..., 1::2, :]
    return (rows[..., ::2] + rows[..., 1::2]) / 4


def _correlated(noise: np.ndarray) -> np.ndarray:
    """Return noise of about unit variance whose brightness is nearly white and whose colour is blotchy."""
    bright = noise.mean(axis=1, keepdims=True)
    colour = ndimage.uniform_filter(noise - bright, (0, 0, 3, 3), mode="nearest")
    return bright * 1.5 + colour * 1.5


def _encode(light: np.ndarray) -> np.ndarray:
    """Return sRGB values 0 to 1 of linear light, with a soft shoulder above 0.8 instead of a hard clip."""
    over = np.maximum(light - 0.8, 0)
    light = np.clip(np.minimum(light, 0.8) + 0.2 * (1 - np.exp(-over / 0.35)), 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.power(np.maximum(light, 1e-6), 1 / 2.4) - 0.055)
