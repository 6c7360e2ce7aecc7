"""Blocks, letters and lumps that the components of the sample board are made of. Lengths in mm.

See `images.synthetic.scene` for the conventions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

from sample_data.make.scene import Pose, Scene

TIN = ((0.05, 0.05, 0.05), (0.74, 0.74, 0.73))
GOLD = ((0.09, 0.06, 0.015), (0.80, 0.58, 0.24))
CAMERA_DISTANCE = 140.0


@dataclass(frozen=True)
class Seat:
    """Where one component sits: its middle on the board and its angle in radians."""

    x: float
    y: float
    angle: float

    def spot(self, dx: float, dy: float) -> tuple[float, float]:
        """Return the board's coordinates of a point of the component."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        return float(self.x + c * dx - s * dy), float(self.y + s * dx + c * dy)

    def grid(self, pose: Pose, where: tuple[slice, slice]) -> tuple[np.ndarray, np.ndarray]:
        """Return the component's own coordinates of the pixels in the window."""
        x, y = pose.grid(where)
        c, s = np.float32(np.cos(self.angle)), np.float32(np.sin(self.angle))
        dx, dy = x - np.float32(self.x), y - np.float32(self.y)
        return c * dx + s * dy, c * dy - s * dx


def solid(
    scene: Scene,
    pose: Pose,
    seat: Seat,
    box: tuple[float, float, float, float],
    *,
    top: float,
    material: tuple,
    rough: float,
    bevel: float = 0.08,
    corner: float = 0.08,
    profile: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> None:
    """Place a block with bevelled edges: box is (x, y, half width, half height) in the component, `top` its height.

    profile: height over the box as a function of the place -1 to 1 across and down, instead of a level top.
    """
    x, y, wide, high = box
    where = pose.window(*seat.spot(x, y), float(np.hypot(wide, high)) + 0.3)
    px, py = seat.grid(pose, where)
    px, py = px - np.float32(x), py - np.float32(y)
    qx, qy = np.abs(px) - (wide - corner), np.abs(py) - (high - corner)
    beyond = np.hypot(np.maximum(qx, 0), np.maximum(qy, 0)) + np.minimum(np.maximum(qx, qy), 0) - corner
    cover = np.clip(0.5 - beyond / pose.pitch, 0, 1)
    surface = top - 0.8 * np.clip(beyond + bevel, 0, bevel)
    if profile is not None:
        surface = surface - top + profile(px / wide, py / high)
    scene.height[where] += cover * (surface.astype(np.float32) - scene.height[where])
    scene.tilt[(slice(None), *where)] *= 1 - cover
    scene.paint(cover, where, diffuse=material[0], specular=material[1], rough=rough)


def mark(scene: Scene, pose: Pose, seat: Seat, text: str, *, height: float, tone: tuple, cover: float) -> None:
    """Print or burn `text` of `height` mm on the middle of a component."""
    picture = _lettering(text, round(height / pose.pitch))
    rows, columns = picture.shape
    scale = rows / height
    where = pose.window(seat.x, seat.y, (columns + rows) / (2 * scale))
    x, y = seat.grid(pose, where)
    at = (y * scale + (rows - 1) / 2, x * scale + (columns - 1) / 2)
    ink = cover * ndimage.map_coordinates(picture, at, order=1, mode="constant")
    scene.paint(ink, where, diffuse=tone, specular=(0.04, 0.04, 0.04))


@cache
def _lettering(text: str, dots: int) -> np.ndarray:
    """Return the text as coverage, `dots` pixels high from the top of its letters to their foot."""
    font = ImageFont.load_default(80)
    left, top, right, bottom = font.getbbox(text, stroke_width=2)
    picture = Image.new("L", (int(right - left) + 2, int(bottom - top) + 2))
    ImageDraw.Draw(picture).text((1 - left, 1 - top), text, font=font, fill=255, stroke_width=2)
    small = picture.resize((round(picture.width * dots / picture.height), dots), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float32) / 255


def nearer(seat: Seat, z: float) -> Seat:
    """Return the seat as it appears `z` mm above the board: a lens moves it away from its axis."""
    return Seat(seat.x * (1 + z / CAMERA_DISTANCE), seat.y * (1 + z / CAMERA_DISTANCE), seat.angle)


def blob(
    scene: Scene, pose: Pose, x: float, y: float, radius: tuple[float, float], height: float, angle: float = 0.0
) -> None:
    """Leave an oval lump of molten solder of half axes `radius`."""
    seat = Seat(x, y, angle)
    where = pose.window(x, y, max(radius) + 0.1)
    px, py = seat.grid(pose, where)
    off = (px / radius[0]) ** 2 + (py / radius[1]) ** 2
    inside = np.clip((1 - np.sqrt(off)) * min(radius) / pose.pitch + 0.5, 0, 1).astype(np.float32)
    lump = height * np.sqrt(np.clip(1 - off, 0, 1))
    scene.height[where] += inside * np.maximum(lump + 0.05 - scene.height[where], 0).astype(np.float32)
    scene.tilt[(slice(None), *where)] *= 1 - inside
    scene.paint(inside, where, diffuse=TIN[0], specular=TIN[1], rough=0.11)
