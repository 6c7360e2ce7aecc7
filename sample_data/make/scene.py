"""A part under light: a height field with its materials, and the radiance it sends to the camera.

Conventions: arrays are `(S, S)` float32 on the canvas, twice as fine as the photograph; lengths are mm; x runs right, y
runs down, heights rise towards the camera, and angles turn from x towards y. A slope is the gradient of the height: the
surface normal is `(-slope_x, -slope_y, 1)` up to length. Colours are linear light, 0 to 1, `(3, S, S)`. Windows are a
pair of slices, rows and columns.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image
from scipy import ndimage

CANVAS = 640


@dataclass(frozen=True)
class Pose:
    """Where the part lies: `shift` (x, y) in mm from the optical axis, `angle` in radians, `field` of view in mm."""

    shift: tuple[float, float]
    angle: float
    field: float

    @property
    def pitch(self) -> float:
        """Millimetres per canvas pixel."""
        return self.field / CANVAS

    def axes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance in mm from the optical axis to the right, `(1, S)`, and down, `(S, 1)`, float32."""
        axis = ((np.arange(CANVAS) - (CANVAS - 1) / 2) * self.pitch).astype(np.float32)
        return axis[None, :], axis[:, None]

    def grid(self, where: tuple[slice, slice] = np.s_[:, :]) -> tuple[np.ndarray, np.ndarray]:
        """Return the part's own coordinates (x, y) in mm of every canvas pixel in the window, float32."""
        u, v = self.axes()
        u, v = u[:, where[1]] - np.float32(self.shift[0]), v[where[0]] - np.float32(self.shift[1])
        c, s = np.float32(np.cos(self.angle)), np.float32(np.sin(self.angle))
        return c * u + s * v, c * v - s * u

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return where the part's point (x, y) lies, in mm right of and below the optical axis."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        return float(c * x - s * y + self.shift[0]), float(s * x + c * y + self.shift[1])

    def window(self, x: float, y: float, reach: float) -> tuple[slice, slice]:
        """Return the rows and columns of the canvas within `reach` mm of the part's point (x, y)."""
        u, v = self.place(x, y)
        column, row = (coordinate / self.pitch + (CANVAS - 1) / 2 for coordinate in (u, v))
        span = reach / self.pitch + 2

        def cut(centre: float) -> slice:
            low, high = np.clip([centre - span, centre + span + 1], 0, CANVAS).astype(int)
            return slice(int(low), int(high))

        return cut(row), cut(column)

    def sample(self, artwork: np.ndarray, extent: float) -> np.ndarray:
        """Return artwork drawn in the part's own frame, `extent` mm wide about its origin, as seen on the canvas."""
        scale = artwork.shape[1] / extent
        c, s = np.cos(self.angle) * self.pitch * scale, np.sin(self.angle) * self.pitch * scale
        left, top = -CANVAS / 2 - self.shift[0] / self.pitch, -CANVAS / 2 - self.shift[1] / self.pitch
        half = artwork.shape[1] / 2
        matrix = (c, s, half + c * left + s * top, -s, c, half - s * left + c * top)
        picture = Image.fromarray(np.asarray(artwork, dtype=np.float32))
        return np.asarray(
            picture.transform((CANVAS, CANVAS), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR)
        )


@dataclass
class Scene:
    """Shape and materials of one part: `paint` and the defects edit it, a product's `build` returns a fresh one.

    tilt: `(2, S, S)` slopes (x, y) too fine or too steep for the height field, such as grooves and the walls of holes.
    rough: `(2, S, S)` standard deviation of the unresolved slopes along and across the `grain` (radians).
    opening: fraction of the surroundings that a point sees. depth: 0 in focus, 1 as far out of it as the lens blurs.
    """

    height: np.ndarray
    tilt: np.ndarray
    diffuse: np.ndarray
    specular: np.ndarray
    rough: np.ndarray
    grain: np.ndarray
    opening: np.ndarray
    depth: np.ndarray

    @classmethod
    def flat(cls, diffuse: tuple, specular: tuple, rough: float) -> "Scene":
        """Return an even, level sheet of one material."""
        shape = (CANVAS, CANVAS)

        def colour(rgb: tuple) -> np.ndarray:
            return np.broadcast_to(_colour(rgb), (3, *shape)).copy()

        zero = np.zeros(shape, dtype=np.float32)
        return cls(
            height=zero.copy(),
            tilt=np.zeros((2, *shape), dtype=np.float32),
            diffuse=colour(diffuse),
            specular=colour(specular),
            rough=np.full((2, *shape), rough, dtype=np.float32),
            grain=zero.copy(),
            opening=np.ones(shape, dtype=np.float32),
            depth=zero.copy(),
        )

    def paint(
        self,
        cover: np.ndarray,
        where: tuple = np.s_[:, :],
        *,
        diffuse: tuple | None = None,
        specular: tuple | None = None,
        rough: tuple | float | None = None,
    ) -> None:
        """Lay a material over the scene where `cover` (0 to 1, the shape of the window `where`) says so."""
        for layer, rgb in ((self.diffuse, diffuse), (self.specular, specular)):
            if rgb is not None:
                part = layer[(slice(None), *where)]
                part += cover * (_colour(rgb) - part)
        if rough is not None:
            for layer, value in zip(self.rough, np.broadcast_to(np.asarray(rough, np.float32), 2), strict=True):
                layer[where] += cover * (value - layer[where])

    def fade(self, other: "Scene", cover: np.ndarray) -> None:
        """Put the other scene in place of this one where `cover` (0 to 1, `(S, S)`) says so."""
        for name, layer in vars(self).items():
            layer += cover * (getattr(other, name) - layer)

    def differs(self, other: "Scene") -> np.ndarray:
        """Return where shape or material differ at all, `(S, S)` bool."""
        changed = (self.height != other.height) | (self.opening != other.opening) | (self.grain != other.grain)
        for layer in ("tilt", "diffuse", "specular", "rough"):
            changed |= (getattr(self, layer) != getattr(other, layer)).any(axis=0)
        return changed


@dataclass(frozen=True)
class Light:
    """A distant lamp: `azimuth` it comes from and `elevation` (radians), linear `colour`, angular `size` as a slope."""

    azimuth: float
    elevation: float
    colour: tuple[float, float, float]
    size: float


def smooth_noise(rng: np.random.Generator, scale: float, shape: tuple[int, int] = (CANVAS, CANVAS)) -> np.ndarray:
    """Return noise of about unit variance whose features are `scale` canvas pixels wide, `shape` float32."""
    rows, columns = (int(np.ceil(side / scale)) + 3 for side in shape)
    coarse = Image.fromarray(rng.standard_normal((rows, columns)).astype(np.float32))
    box = (1.0, 1.0, 1.0 + shape[1] / scale, 1.0 + shape[0] / scale)
    return 1.25 * np.asarray(coarse.resize((shape[1], shape[0]), Image.Resampling.BICUBIC, box=box))


def ramp(value: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return 0 below `low`, 1 above `high` and a smooth step between (low may be the larger: then it falls)."""
    t = np.clip((value - low) / (high - low), 0.0, 1.0).astype(np.float32)
    return t * t * (3 - 2 * t)


def radiance(scene: Scene, pose: Pose, lights: tuple[Light, ...], sky: tuple[float, float, float]) -> np.ndarray:
    """Return the light sent to the camera, `(3, S, S)` linear.

    Diffuse reflection is Lambert's. The gloss is an anisotropic Gaussian distribution of facet slopes (Ward, "Measuring
    and modeling anisotropic reflection", 1992, written in slopes), widened by the size of the lamp: the fan on a turned
    face comes from it. A broad `sky` of one colour stands for the room and the dome.
    """
    slope_y, slope_x = np.gradient(scene.height, pose.pitch)
    slope_x += scene.tilt[0]
    slope_y += scene.tilt[1]
    upright = 1 / np.sqrt(1 + slope_x**2 + slope_y**2)
    along_x, along_y = np.cos(scene.grain), np.sin(scene.grain)
    seen = scene.opening * _openness(scene.height, pose.pitch)

    # Steep facets mirror the dark room beside the part, level ones the bright dome above it.
    dome = seen * (0.25 + 0.75 * np.exp(-0.5 * ((slope_x - 0.05) ** 2 + (slope_y - 0.12) ** 2) / 0.55**2))
    matt = seen * (0.5 + 0.5 * upright) * _colour(sky)
    gloss = dome * _colour(sky)
    for light in lights:
        across = np.cos(light.elevation)
        lx, ly, lz = across * np.cos(light.azimuth), across * np.sin(light.azimuth), np.sin(light.elevation)
        lit = _lit_fraction(scene.height, pose.pitch, (lx, ly), lz / across) * scene.opening
        facing = lit * np.maximum((lz - slope_x * lx - slope_y * ly) * upright, 0)
        dx, dy = -lx / (1 + lz) - slope_x, -ly / (1 + lz) - slope_y
        wide_along, wide_across = scene.rough[0] ** 2 + light.size**2, scene.rough[1] ** 2 + light.size**2
        exponent = (dx * along_x + dy * along_y) ** 2 / wide_along + (dy * along_x - dx * along_y) ** 2 / wide_across
        # A lobe is the brighter the narrower it is; 0.08 balances gloss with Lambert's reflection.
        lobe = lit * np.exp(-0.5 * exponent) * (0.08 / np.sqrt(wide_along * wide_across))
        matt += facing * _colour(light.colour)
        gloss += lobe * _colour(light.colour)
    return scene.diffuse * matt + scene.specular * gloss


def _colour(rgb: tuple[float, float, float]) -> np.ndarray:
    return np.asarray(rgb, np.float32)[:, None, None]


def _openness(height: np.ndarray, pitch: float) -> np.ndarray:
    """Return ambient occlusion from the heights around each point, at two reaches."""
    small = height[::2, ::2]
    shade = np.zeros_like(small)
    for reach, weight in ((0.009, 0.6), (0.025, 0.35)):
        sigma = reach * small.shape[0]
        rise = ndimage.gaussian_filter(small, sigma, mode="nearest", truncate=2.5) - small
        shade += weight * np.maximum(rise, 0) / (sigma * pitch)
    return _double(1 / (1 + 1.6 * shade))


def _lit_fraction(height: np.ndarray, pitch: float, towards: tuple[float, float], rise: float) -> np.ndarray:
    """Return 1 in the light, 0 in the cast shadow: the ray to the lamp is followed for up to 80 canvas pixels."""
    small = height[::2, ::2]
    side = small.shape[0]
    blocked = np.zeros_like(small)
    relief = float(small.max() - small.min())
    for step in np.unique(np.round(np.geomspace(1, 40, 16)).astype(int)):
        climb = step * 2 * pitch * rise / np.hypot(*towards)
        if climb > relief:
            break
        dx, dy = (int(np.round(step * t / np.hypot(*towards))) for t in towards)
        rows, columns = np.clip(np.arange(side) + dy, 0, side - 1), np.clip(np.arange(side) + dx, 0, side - 1)
        above = small[rows][:, columns] - small - np.float32(climb)
        np.maximum(blocked, above / np.float32(0.15 * climb + 2 * pitch), out=blocked)
    return _double(1 - ndimage.gaussian_filter(np.clip(blocked, 0, 1), 0.7))


def _double(small: np.ndarray) -> np.ndarray:
    """Return the half-resolution field at canvas resolution, sampled where it was taken."""
    size = (2 * small.shape[1], 2 * small.shape[0])
    # Canvas pixel 2 i was kept as pixel i, whose box begins half a canvas pixel earlier.
    picture = Image.fromarray(np.pad(small, ((0, 1), (0, 1)), mode="edge"))
    box = (0.25, 0.25, 0.25 + small.shape[1], 0.25 + small.shape[0])
    return np.asarray(picture.resize(size, Image.Resampling.BILINEAR, box=box))
