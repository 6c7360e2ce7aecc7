"""Arrays to pictures: the one colour scale of every heatmap, overlays, thumbnails."""

import io

import numpy as np
from PIL import Image

from inspect_core.images.boxes import downscale
from inspect_core.images.decode_memory import bands

COOL = ((15, 118, 110), (37, 99, 235))
HOT = ((250, 176, 5), (220, 38, 38), (127, 15, 60))
COOL_ALPHA, HOT_ALPHA = (0, 96), (150, 225)
STEPS = 256
MAX_THUMBNAIL = 512  # pixels of the longer side
HATCH = (226, 232, 240, 170)


def heat_colours() -> np.ndarray:
    """The colour scale as (512, 4) uint8 RGBA.

    The first half runs from the calm level (the median of good pixels), where it is transparent, to the limit in cool
    colours; the second from the limit to as far above it in hot colours. The break at the limit is the message.
    """
    return np.concatenate([_ramp(COOL, COOL_ALPHA), _ramp(HOT, HOT_ALPHA)])


def colourise(anomaly_map: np.ndarray, *, typical_score: float, limit: float) -> np.ndarray:
    """(H, W) scores -> (H, W, 4) uint8 colours on the scale tied to the limit; calm is where colour begins."""
    span = max(limit - typical_score, np.finfo(np.float32).tiny)
    with np.errstate(over="ignore"):  # the span is 0 if more than half of the map lies above the limit
        position = (anomaly_map - typical_score) / span
        below = np.clip(position * STEPS, 0, STEPS - 1)
        above = STEPS + np.clip((position - 1) * STEPS, 0, STEPS - 1)
    return heat_colours()[np.where(anomaly_map > limit, above, below).astype(np.intp)]


def overlay(
    pixels: np.ndarray,
    anomaly_map: np.ndarray,
    limit: float,
    *,
    typical_score: float | None = None,
    left_out: np.ndarray | None = None,
) -> Image.Image:
    """The photo, (H, W, 3) uint8, at its own size with the heatmap over it; calm defaults to the map's median.

    left_out: (h, w) bool, what was not inspected, hatched.
    """
    typical_score = min(float(np.median(anomaly_map)), limit) if typical_score is None else typical_score
    colours = Image.fromarray(colourise(anomaly_map, typical_score=typical_score, limit=limit))
    height, width = pixels.shape[:2]
    hatch = None if left_out is None else Image.fromarray(left_out)
    shown = Image.new("RGB", (width, height))
    for rows in bands(height, width):
        part = Image.fromarray(pixels[rows]).convert("RGBA")
        box = (0, rows.start * colours.height / height, colours.width, rows.stop * colours.height / height)
        part.alpha_composite(colours.resize(part.size, Image.Resampling.BILINEAR, box))
        if hatch is not None:
            hatched = np.asarray(hatch.resize(part.size, Image.Resampling.NEAREST, box))
            part.alpha_composite(_hatched(hatched, rows.start, max(height, width)))
        shown.paste(part.convert("RGB"), (0, rows.start))
    return shown


def rainbow(pixels: np.ndarray, anomaly_map: np.ndarray, low: float, high: float) -> Image.Image:
    """The photo, (H, W, 3) uint8, under the papers' colours (jet): scores clamped to low .. high."""
    place = np.clip((anomaly_map - low) / (high - low), 0, 1)[..., None]
    ramp = np.clip(1.5 - np.abs(4 * place - np.array([3, 2, 1])), 0, 1) * 255
    colours = np.concatenate([ramp, np.full_like(place, HOT_ALPHA[0])], axis=-1).round().astype(np.uint8)
    shown = Image.fromarray(pixels).convert("RGBA")
    shown.alpha_composite(Image.fromarray(colours).resize(shown.size, Image.Resampling.BILINEAR))
    return shown.convert("RGB")


def thumbnail(pixels: np.ndarray, *, side: int = 96) -> bytes:
    """A small WebP of the photo at its own aspect, at most `side` pixels: for finding, never for judging."""
    buffer = io.BytesIO()
    Image.fromarray(downscale(pixels, side)).save(buffer, "WEBP", quality=80)
    return buffer.getvalue()


def is_thumbnail(content: bytes) -> bool:
    """Whether these bytes are a WebP picture of at most MAX_THUMBNAIL pixels a side."""
    try:
        with Image.open(io.BytesIO(content), formats=["WEBP"]) as picture:
            small = max(picture.size) <= MAX_THUMBNAIL
            if small:
                picture.load()
            return small
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False


def _hatched(mask: np.ndarray, first_row: int, side: int) -> Image.Image:
    """Slanted lines where `mask`, (h, w) bool, a band of a picture with this longer side."""
    step = max(6, side // 48)
    y, x = np.ogrid[first_row : first_row + mask.shape[0], : mask.shape[1]]
    lines = mask & ((x + y) % step < max(1, step // 5))
    return Image.fromarray(np.where(lines[..., None], np.array(HATCH, np.uint8), np.uint8(0)))


def _ramp(colours: tuple[tuple[int, int, int], ...], alpha: tuple[int, int]) -> np.ndarray:
    places = np.linspace(0, 1, len(colours))
    at = np.linspace(0, 1, STEPS)
    channels = [np.interp(at, places, [colour[i] for colour in colours]) for i in range(3)]
    return np.stack([*channels, np.linspace(*alpha, STEPS)], axis=1).round().astype(np.uint8)
