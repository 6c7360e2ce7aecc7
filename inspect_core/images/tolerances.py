"""Photos of the same part, taken again: noise, light, place, focus and compression within what a station allows."""

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import cv2
import numpy as np
from PIL import Image

COPIES = 4  # photos made of each good one
OVERSHOOT = (
    1.5  # how far beyond the tolerances copies go, so that a photo at their edge is still among what was learned
)
NONE = "none"
RANGES = {
    "noise": (0, 20, "grey levels"),
    "light": (0, 30, "%"),
    "shift": (0, 16, "pixels"),
    "focus": (0, 3, "pixels"),
    "jpeg": (30, 100, "as the quality"),
    "turn": (0, 180, "degrees"),
}
"""Of each tolerance, the least and the most, and its unit."""
MAX_COPIES = 64


@dataclass(frozen=True)
class CaptureVariation:
    """How a photo is taken again.

    noise: standard deviation in grey levels of the photo as taken; light: gain, 1 as taken; right, down: shift, and
    focus: standard deviation of the blur, in pixels of the picture that the network sees; jpeg: quality at which the
    photo is kept, 100 for none; turn: degrees about the middle of the picture, against the clock; what comes into view
    is filled by reflection.
    """

    noise: float = 0.0
    light: float = 1.0
    right: float = 0.0
    down: float = 0.0
    focus: float = 0.0
    jpeg: int = 100
    turn: float = 0.0

    def apply(self, picture: np.ndarray, photo: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
        """What the network would see, (h, w, 3) uint8; picture: as it sees it now; photo: (H, W) as taken."""
        size = picture.shape[:2]
        if self.right or self.down or self.turn:
            middle = (size[1] - 1) / 2, (size[0] - 1) / 2
            moved = cv2.getRotationMatrix2D(middle, self.turn, 1.0) + np.array([[0, 0, self.right], [0, 0, self.down]])
            edge = cv2.BORDER_REFLECT_101
            picture = cv2.warpAffine(picture, moved, size[::-1], flags=cv2.INTER_CUBIC, borderMode=edge)
        values = picture.astype(np.float32)
        if self.focus > 0:
            values = cv2.GaussianBlur(values, (0, 0), self.focus, borderType=cv2.BORDER_REFLECT_101)
        values = values * np.float32(self.light)
        if self.noise > 0:
            values = values + self.noise * _noise(size, photo, rng, mono=bool((picture == picture[..., :1]).all()))
        return np.clip(np.rint(values), 0, 255).astype(np.uint8)

    def compress(self, photo: np.ndarray) -> np.ndarray:
        """A photo as taken, (H, W, 3) uint8, as it is kept: with halved colour, before anything is resized."""
        if self.jpeg >= 100:
            return photo
        file = io.BytesIO()
        Image.fromarray(photo).save(file, "JPEG", quality=self.jpeg, subsampling="4:2:0")
        return np.array(Image.open(file))


def _noise(size: tuple[int, int], photo: tuple[int, int], rng: np.random.Generator, *, mono: bool) -> np.ndarray:
    """(h, w, 1 or 3) float32: noise of spread 1 in every pixel of the photo, squashed as the photo is."""
    channels = 1 if mono else 3
    height, width = (min(photo_side, to) for photo_side, to in zip(photo, size, strict=True))
    drawn = rng.standard_normal((height, width, channels), dtype=np.float32)
    for photo_side, to in zip(photo, size, strict=True):
        drawn *= _left(photo_side, to)
    if (height, width) != size:
        drawn = cv2.resize(drawn, size[::-1], interpolation=cv2.INTER_LINEAR).reshape(*size, channels)
    return drawn


def photos_per_original(tolerances: "Tolerances | None") -> int:
    """Photos that are learned from for each good one: itself and its copies."""
    return 1 if tolerances is None else 1 + tolerances.copies


@lru_cache(maxsize=64)
def _left(photo: int, to: int) -> np.float32:
    """The share of the spread of independent pixels that squashing leaves (`photo_reader.squash`: triangle)."""
    times = max(photo / to, 1.0)
    centres = (np.arange(min(to, 64)) + 0.5) * times
    weights = np.maximum(1 - np.abs(np.arange(math.ceil(66 * times)) + 0.5 - centres[:, None]) / times, 0)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.float32(np.sqrt((weights**2).sum(axis=1).mean()))


AS_TAKEN = CaptureVariation()


@dataclass(frozen=True)
class Tolerances:
    """The most by which photos of one part may differ, either way: light in percent, others as in `CaptureVariation`;
    up to `turn` every angle is as likely.

    copies: how many are made of every photo; seed: by which they are drawn. Raises ValueError for a value out of range.
    """

    noise: float = 1.5
    light: float = 3.0
    shift: float = 1.0
    focus: float = 0.5
    jpeg: int = 90
    turn: float = 0.0
    copies: int = COPIES
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (least, most, unit) in RANGES.items():
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} is {getattr(self, name)}; give {least:g} to {most:g} {unit}")
        if not 0 <= self.copies <= MAX_COPIES:
            raise ValueError(f"copies is {self.copies}; give 0 to {MAX_COPIES}")

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Create it from "noise=2,light=4", others 0; None from "none". Raises ValueError with what is wrong."""
        if text.strip() == NONE:
            return None
        values: dict[str, Any] = dict.fromkeys(RANGES, 0.0) | {"jpeg": 100}
        for part in text.split(","):
            name, _, value = part.partition("=")
            if (name := name.strip()) not in RANGES:
                known = f"give {NONE}, or some of {', '.join(RANGES)}: noise=2"
                raise ValueError(f"unknown tolerance {part.strip()!r}; {known}")
            try:
                values[name] = int(value) if name == "jpeg" else float(value)
            except ValueError as error:
                raise ValueError(f"{name} is {value!r}, not a number") from error
        return cls(**values)

    def __str__(self) -> str:
        """What `parse` reads."""
        return ",".join(f"{name}={getattr(self, name):g}" for name in RANGES)

    def sample_variations(self, rng: np.random.Generator) -> Iterator[CaptureVariation]:
        """Yield how the copies of one photo are taken: each differs in about half of the ways, mostly by much."""
        for _ in range(self.copies):
            differs = rng.uniform(size=5) < 0.5
            signs = rng.choice((-1.0, 1.0), 3)
            light, right, down, noise, focus, jpeg = (
                OVERSHOOT * np.sqrt(rng.uniform(size=6)) * differs[[0, 1, 1, 2, 3, 4]]
            )
            gain = 1 + self.light / 100 * signs[0] * light
            quality = max(round(100 - (100 - self.jpeg) * jpeg), 1)
            x, y = self.shift * signs[1] * right, self.shift * signs[2] * down
            turn = rng.uniform(-self.turn, self.turn) if self.turn else 0.0
            yield CaptureVariation(self.noise * noise, gain, x, y, self.focus * focus, quality, turn)

    def extreme_variation(self, side: int) -> CaptureVariation:
        """All of them at once, at the darker (-1) or the brighter end (1)."""
        gain, shift = 1 + side * self.light / 100, side * self.shift
        return CaptureVariation(self.noise, gain, shift, shift, self.focus, self.jpeg)

    def copies_of(
        self,
        picture: np.ndarray,
        photo: tuple[int, int],
        digest: str,
        keep: Callable[[CaptureVariation], np.ndarray] | None = None,
    ) -> Iterator[np.ndarray]:
        """The copies of one photo, as `CaptureVariation.apply`; the same for the same digest of its content.

        keep: the picture of the photo as a variation compresses it; None for a photo so large that nothing of that is
        left when it is reduced.
        """
        rng = np.random.default_rng([self.seed, int(digest[:16], 16)])
        for variation in self.sample_variations(rng):
            kept_picture = picture if keep is None or variation.jpeg >= 100 else keep(variation)
            yield variation.apply(kept_picture, photo, rng)


DEFAULT_TOLERANCES = Tolerances()  # those of a careful station
