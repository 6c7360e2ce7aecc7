"""The printed layers of the sample board, drawn once in its frame: copper, mask openings, white print, drills, solder.

Lengths in mm from the middle of the board; x right, y down. Layers are `(DOTS, DOTS)` float32, `EXTENT` mm wide.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

EXTENT = 44.0
DOTS = 1320
HALF = 20.5
MOUNTING = [(17.6 * i, 17.6 * j) for i in (-1, 1) for j in (-1, 1)]


@dataclass(frozen=True)
class Part:
    """One component: `shape` names its drawing in `parts.py`, `turn` its angle in degrees."""

    shape: str
    name: str
    x: float
    y: float
    turn: float = 0.0
    value: str = ""


PARTS = (
    *(
        Part("resistor", f"R{i + 1}", -2 + (i - 3.5) * 2.4, -14.3, 90, v)
        for i, v in enumerate(("103", "103", "472", "472", "221", "221", "102", "102"))
    ),
    Part("capacitor", "C1", -11.2, -8.0, 0),
    Part("capacitor", "C2", -15.6, -8.0, 0),
    Part("capacitor", "C3", 6.3, 4.4, 90),
    Part("capacitor", "C4", -8.9, 5.0, 90),
    Part("capacitor", "C5", 17.9, -8.0, 90),
    Part("led", "D1", 10.6, -15.2, 0),
    Part("crystal", "Y1", -13.6, -1.4, 0),
    Part("soic", "U2", 12.6, -7.6, 0, "24C64"),
    Part("inductor", "L1", -14.2, 9.6, 0, "100"),
    Part("can", "C6", 13.6, 7.4, 0, "47"),
    Part("header", "J1", 0.0, 17.0, 0),
    Part("quad", "U1", -2.0, -1.0, 0, "LM3S08"),
)

# Half sizes of the pads of each shape, as (x, y, half width, half height) from the middle of the component.
_CHIP = ((-1.0, 0.0, 0.55, 0.68), (1.0, 0.0, 0.55, 0.68))
PADS = {
    "resistor": _CHIP,
    "capacitor": _CHIP,
    "led": _CHIP,
    "crystal": ((-2.0, 0.0, 0.85, 1.35), (2.0, 0.0, 0.85, 1.35)),
    "soic": tuple((side * 2.75, (j - 1.5) * 1.27, 0.75, 0.32) for side in (-1, 1) for j in range(4)),
    "inductor": ((-2.5, 0.0, 0.75, 1.6), (2.5, 0.0, 0.75, 1.6)),
    "can": ((-2.9, 0.0, 1.1, 0.45), (2.9, 0.0, 1.1, 0.45)),
    "header": tuple(((i - 3.5) * 2.54, 0.0, 0.75, 0.75) for i in range(8)),
    "quad": tuple(
        pad
        for i in range(8)
        for side in (-1, 1)
        for pad in ((side * 4.35, (i - 3.5) * 0.8, 0.7, 0.22), ((i - 3.5) * 0.8, side * 4.35, 0.22, 0.7))
    ),
}

_VIAS = (
    *((5.0, -0.6), (6.1, 0.2), (5.0, 1.0), (6.1, 1.8), (-8.2, -3.0), (-8.9, 1.8), (-17.8, 4.2), (17.8, 1.4)),
    *((2.6, 12.4), (-18.2, -12.2), (8.3, -12.0), (16.2, -12.6), (4.9, 13.0), (11.6, 12.9), (-13.4, 15.6), (17.8, 13.0)),
)
_FIDUCIALS = ((-18.4, -4.6), (18.3, -1.8))


def _traces() -> list[tuple[float, list[tuple[float, float]]]]:
    """Return every trace as its width and its corners, in 45 degree bends."""
    traces = []
    for i in range(8):
        pad, pin = -2 + (i - 3.5) * 0.8, (i - 3.5) * 2.54
        traces.append((0.24, [(pad, 3.3), (pad, 5.3), (pin, 5.3 + abs(pin - pad)), (pin, 17)]))
        chip = -2 + (i - 3.5) * 2.4
        traces.append((0.24, [(pad, -5.3), (pad, -6.5), (chip, -6.5 - abs(chip - pad)), (chip, -13.3)]))
        traces.append((0.24, [(chip, -15.3), (chip, -16.6)]))
    traces.append((0.5, [(-10.4, -16.6), (8.6, -16.6), (9.6, -15.6)]))
    for i in range(4):
        row, target = -1 + (i - 3.5) * 0.8, -7.6 + (i - 1.5) * 1.27
        traces.append((0.24, [(2.4, row), (3.3, row), (3.3 + abs(target - row), target), (9.9, target)]))
        traces.append((0.24, [(2.4, row + 3.2), _VIAS[i]]))
    traces.append((0.3, [(-6.3, -1.4), (-11.6, -1.4)]))
    traces.append((0.3, [(-6.3, -2.2), (-8.2, -3.0)]))
    traces.append((0.3, [(-6.3, -3.0), (-7.5, -3.0), (-8.9, -4.4), (-14.6, -4.4), (-16.2, -2.8), (-16.2, -1.4)]))
    traces.append((0.3, [(-6.3, 0.2), (-7.3, 0.2), (-8.9, 1.8)]))
    traces.append((0.3, [(-6.3, 1.8), (-7.4, 1.8), (-8.9, 3.3), (-8.9, 4.0)]))
    traces.append((0.9, [(-16.7, 9.6), (-17.8, 8.5), (-17.8, 4.2)]))
    traces.append((0.9, [(-11.7, 9.6), (-8.9, 6.8), (-8.9, 6.0)]))
    traces.append((0.9, [(16.5, 7.4), (17.8, 6.1), (17.8, 1.4)]))
    traces.append((0.3, [(6.3, 3.4), (6.1, 1.8)]))
    traces.append((0.5, [(15.3, -8.9), (17.9, -8.9)]))
    traces.append((0.5, [(-10.2, -8.0), (-8.2, -6.0), (-8.2, -3.0)]))
    traces.append((0.5, [(-16.6, -8.0), (-18.2, -9.6), (-18.2, -12.2)]))
    traces.append((0.5, [(11.6, -15.2), (14.2, -12.6), (16.2, -12.6)]))
    return traces


@dataclass(frozen=True)
class Artwork:
    """copper under the mask, mask openings, white print, drilled holes, solder height in mm over the pads."""

    copper: np.ndarray
    openings: np.ndarray
    print: np.ndarray
    drills: np.ndarray
    solder: np.ndarray


@cache
def artwork() -> Artwork:
    """Return the layers of the board."""
    lines, pads, paste, drills = _Layer(), _Layer(), _Layer(), _Layer()
    for width, corners in _traces():
        lines.line(corners, width)
    for part in PARTS:
        for x, y, half_width, half_height in PADS[part.shape]:
            px, py = (part.x + x, part.y + y) if part.turn == 0 else (part.x - y, part.y + x)
            wide, high = (half_width, half_height) if part.turn == 0 else (half_height, half_width)
            pads.box(px, py, wide, high)
            if part.shape != "header":
                paste.box(px, py, wide - 0.05, high - 0.05)
    for x, y in _VIAS:
        lines.disc(x, y, 0.42)
        drills.disc(x, y, 0.17)
    for x, y in MOUNTING:
        pads.disc(x, y, 2.5)
        drills.disc(x, y, 1.5)
    bare = _Layer()
    for x, y in _FIDUCIALS:
        pads.disc(x, y, 0.55)
        bare.disc(x, y, 1.1)
    conductor = np.maximum(lines.coverage(), pads.coverage())
    clearance = ndimage.grey_dilation(np.maximum(conductor, bare.coverage())[::2, ::2], footprint=_disc(4))
    clearance = np.asarray(Image.fromarray(clearance).resize((DOTS, DOTS), Image.Resampling.BILINEAR))
    axis = (np.arange(DOTS) + 0.5) * EXTENT / DOTS - EXTENT / 2
    inner = np.maximum(np.abs(axis)[:, None], np.abs(axis)[None, :]) < HALF - 0.7
    copper = np.maximum(conductor, (1 - clearance) * inner)
    reach = ndimage.distance_transform_edt(paste.coverage() > 0.5) * (EXTENT / DOTS)
    solder = 0.13 * np.sqrt(1 - (1 - np.clip(reach / 0.42, 0, 1)) ** 2)
    return Artwork(
        copper=copper.astype(np.float32),
        openings=np.maximum(pads.coverage(), bare.coverage()),
        print=_legend(),
        drills=drills.coverage(),
        solder=ndimage.gaussian_filter(solder, 1.5).astype(np.float32),
    )


def _legend() -> np.ndarray:
    """Return the white print: names, outlines, pin-one marks and the board's title."""
    layer = _Layer()
    for part in PARTS:
        if part.shape == "resistor":
            layer.text(part.name, part.x, part.y - 3.2, 1.15)
        elif part.shape in ("capacitor", "led"):
            down = 2.3 if part.turn else 1.7
            layer.text(part.name, part.x, part.y + down, 1.15)
            if part.shape == "led":
                layer.outline(part.x, part.y, 2.0, 1.05)
    layer.outline(-13.6, -1.4, 3.2, 2.0)
    layer.text("Y1", -13.6, 1.6, 1.3)
    layer.outline(-14.2, 9.6, 3.6, 3.0)
    layer.text("L1", -14.2, 13.4, 1.3)
    layer.outline(0, 17.0, 10.5, 1.6)
    layer.text("J1", -11.6, 17.4, 1.3)
    layer.outline(13.6, 7.4, 3.9, 3.7)
    layer.text("C6", 13.6, 12.0, 1.3)
    layer.text("+", 9.2, 5.6, 2.0)
    layer.text("U2", 12.6, -11.2, 1.3)
    layer.disc(9.3, -10.6, 0.22)
    layer.text("U1", 3.2, -6.0, 1.3)
    for i in (-1, 1):
        for j in (-1, 1):
            x, y = -2 + 3.85 * i, -1 + 3.85 * j
            layer.line([(x - 0.6 * i, y), (x, y), (x, y - 0.6 * j)], 0.16)
    layer.disc(-7.6, -5.4, 0.28)
    layer.text("CTRL-8", -3.9, 9.0, 1.9)
    layer.text("REV C", -3.9, 11.2, 1.2)
    layer.text("1", -10.0, 14.5, 1.2)
    layer.text("8", 10.0, 14.5, 1.2)
    return layer.coverage()


def _disc(radius: int) -> np.ndarray:
    axis = np.arange(-radius, radius + 1)
    return axis[:, None] ** 2 + axis[None, :] ** 2 <= radius**2


class _Layer:
    """A black picture drawn on in millimetres, at twice the density of the finished layer so that edges are smooth."""

    _SCALE = 2 * DOTS / EXTENT

    def __init__(self):
        self._picture = Image.new("L", (2 * DOTS, 2 * DOTS))
        self._draw = ImageDraw.Draw(self._picture)

    def _at(self, x: float, y: float) -> tuple[float, float]:
        return (x + EXTENT / 2) * self._SCALE, (y + EXTENT / 2) * self._SCALE

    def line(self, corners: list[tuple[float, float]], width: float) -> None:
        self._draw.line([self._at(*c) for c in corners], fill=255, width=round(width * self._SCALE), joint="curve")
        for x, y in (corners[0], corners[-1]):
            self.disc(x, y, width / 2)

    def box(self, x: float, y: float, half_width: float, half_height: float) -> None:
        low, high = self._at(x - half_width, y - half_height), self._at(x + half_width, y + half_height)
        self._draw.rounded_rectangle((low, high), radius=0.1 * self._SCALE, fill=255)

    def outline(self, x: float, y: float, half_width: float, half_height: float) -> None:
        low, high = self._at(x - half_width, y - half_height), self._at(x + half_width, y + half_height)
        self._draw.rectangle((low, high), outline=255, width=round(0.17 * self._SCALE))

    def disc(self, x: float, y: float, radius: float) -> None:
        self._draw.ellipse((self._at(x - radius, y - radius), self._at(x + radius, y + radius)), fill=255)

    def text(self, text: str, x: float, y: float, height: float) -> None:
        font = ImageFont.load_default(1.35 * height * self._SCALE)
        self._draw.text(self._at(x, y), text, font=font, fill=255, anchor="mm", stroke_width=2)

    def coverage(self) -> np.ndarray:
        small = self._picture.resize((DOTS, DOTS), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.float32) / 255
