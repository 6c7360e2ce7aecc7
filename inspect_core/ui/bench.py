"""The bench: gallery, picture, verdict and limit in one browser component, and the films that feed it pixels.

What follows a drag (contours, verdicts, the sentence in parts) is computed in the browser from what is sent here once;
on release the numbers come back and Python counts again. The scripts beside this file are read as they are: no build,
nothing from outside.

Pixels travel apart from the figures, each under a token that names its content, so that a move of the limit sends no
picture and a move of a live parameter sends no photo.
"""

import hashlib
import io
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import streamlit as st
from PIL import Image

from inspect_core.judge.limits import upper_bound
from inspect_core.verdict import Limits

PHOTO_SIDE = 2048
SCRIPTS = ("film_shelf", "bench_judging", "bench_map", "bench_stage", "bench_gallery", "bench_card", "bench_axis",
           "bench_histogram", "bench_limits", "bench")  # fmt: skip


def _text(*names: str) -> str:
    return "\n".join((Path(__file__).parent / name).read_text(encoding="utf-8") for name in names)


_BENCH = st.components.v2.component(
    "loupe_bench",
    html=_text("bench.html"),
    css=_text("bench.css"),
    js=_text(*(f"{name}.js" for name in SCRIPTS)),
)
_FILM = st.components.v2.component("loupe_film", js=_text("film_shelf.js", "film.js"))


@dataclass(frozen=True)
class Part:
    """One part of the gallery, in the order of the tray.

    kind: "good", a kind of defect, or "unknown"; part: "calibrate", "judge" or "added"; group: its lot, if known;
    score: finite, in the detector's unit.
    """

    name: str
    kind: str
    part: str
    group: str | None
    score: float

    @property
    def truth(self) -> str:
        """ "good", "defect" or "unknown"."""
        return self.kind if self.kind in ("good", "unknown") else "defect"


@dataclass(frozen=True, eq=False)
class Shown:
    """The part on the bench.

    position: its place in the gallery; image: (H, W, 3) uint8, the original; anomaly_map: (h, w) float32, finite; mask:
    (h, w) bool, the true defect, or None; guard and note: plain sentences, or None.
    """

    position: int
    image: np.ndarray
    anomaly_map: np.ndarray
    mask: np.ndarray | None = None
    guard: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class BenchResult:
    """What the engineer has set: the limits, and the position of the part she looks at."""

    limits: Limits
    position: int


def film(key: str, token: str, thumbnails: Sequence[bytes]) -> None:
    """Hand over the gallery's pictures, one for each part in order, outside the fragment that reruns with a slider.

    thumbnails: WebP, JPEG or PNG files; the bench finds them by `token`, which changes when they do. Nothing is seen.
    """
    _FILM(key=key, data=pack({"token": token}, thumbnails))


def bench(
    key: str,
    parts: Sequence[Part],
    shown: Shown,
    limits: Limits,
    *,
    calm: float,
    suggested: Limits,
    sentence: str,
    thumbs: str,
    heat: np.ndarray,
    small_maps: np.ndarray | None = None,
) -> BenchResult:
    """Draw the bench with `limits` and `shown` in force, and say what the engineer has set since.

    calm: the score at which colour begins. sentence: the limits in parts, as `judge.limits.in_parts` says it. thumbs: the
    token given to `film`. heat: (512, 4) uint8 from `plots.heat_colours`. small_maps: (parts, h, w) anomaly maps of
    any small size, smoothed as the large ones, to colour the thumbnails; None leaves them plain.

    The caller takes the result over and reruns; until the limits or the position in force equal what was set, the
    result stays, so that no move is lost when a rerun is cut short. Raises ValueError for arrays of another shape, a map
    that is not finite, or a position outside the gallery.
    """
    _check(parts, shown, heat, small_maps)
    moves = st.session_state.get(key) or {}
    taken = st.session_state.setdefault(f"{key}-taken", {})
    set_limits = _take("limits", moves, taken, limits, lambda move: Limits(move["review"], move["reject"]))
    set_position = _take("position", moves, taken, shown.position, lambda move: int(move["value"]))
    if not 0 <= set_position < len(parts):
        set_position = shown.position
    photo, size = _photo(_digest(shown.image), shown.image)
    pictures = {
        "photo": _hand_over(f"{key}-photo", [photo]),
        "map": _hand_over(f"{key}-map", _planes(shown)),
        "small": None if small_maps is None else _hand_over(f"{key}-small", _quantised(small_maps)),
    }
    data = payload(parts, shown, limits, calm=calm, suggested=suggested, sentence=sentence)
    data |= {"key": key, "films": pictures | {"thumbs": thumbs}, "photo_size": size, "taken": dict(taken)}
    data["heat"] = np.ascontiguousarray(heat).ravel().tolist()
    _BENCH(key=key, data=data, on_limits_change=_noted, on_position_change=_noted)
    return BenchResult(set_limits, set_position)


def payload(
    parts: Sequence[Part], shown: Shown, limits: Limits, *, calm: float, suggested: Limits, sentence: str
) -> dict:
    """The figures of the bench as JSON-able data; scores keep every bit.

    counted: per part "good" or "defect" where the sentence counts it, else ""; own: whether the limit was set on the
    good parts it counts; setters: positions of the good parts a wanted overkill is met on; bounds: for every number of
    good parts rejected, the largest share of overkill in percent, as the sentence prints it.
    """
    counted, own = counted_parts(parts)
    setters = _setters(parts)
    return {
        "names": [part.name for part in parts],
        "kinds": [part.kind for part in parts],
        "truths": [part.truth for part in parts],
        "groups": [part.group for part in parts],
        "scores": [float(part.score) for part in parts],
        "counted": counted,
        "own": own,
        "setters": setters,
        "bounds": list(_bounds(counted.count("good"))),
        "position": shown.position,
        "image_size": list(shown.image.shape[:2]),
        "map_size": list(shown.anomaly_map.shape),
        "guard": shown.guard,
        "note": shown.note,
        "limits": _as_data(limits),
        "suggested": _as_data(suggested),
        "calm": float(calm),
        "sentence": sentence,
    }


def counted_parts(parts: Sequence[Part]) -> tuple[list[str], bool]:
    """Which parts the sentence counts, as `evaluation.in_parts_of` does, and whether the limit was set on the good ones."""
    good = {part: [p.truth == "good" and p.part == part for p in parts] for part in ("judge", "calibrate")}
    shown = good["judge"] if any(good["judge"]) else good["calibrate"]
    counted = [
        "defect" if part.truth == "defect" else "good" if here else "" for part, here in zip(parts, shown, strict=True)
    ]
    return counted, not (any(good["judge"]) and any(good["calibrate"]))


def pack(header: Mapping, blobs: Sequence[bytes]) -> bytes:
    """Bytes of a film: the header's length as little-endian uint32, the header as JSON with the blobs' lengths, the blobs."""
    head = json.dumps({**header, "lengths": [len(blob) for blob in blobs]}).encode()
    return b"".join([struct.pack("<I", len(head)), head, *blobs])


def _noted() -> None:
    """A move needs no work of its own: the run that follows reads it."""


def _take(name: str, moves: Mapping, taken: dict, in_force, read):
    """What was last set under `name`, or what is in force when that move was taken over already."""
    move = moves.get(name)
    if not move or move["stamp"] == taken.get(name):
        return in_force
    value = read(move)
    if value == in_force:
        taken[name] = move["stamp"]
    return value


def _check(parts: Sequence[Part], shown: Shown, heat: np.ndarray, small_maps: np.ndarray | None) -> None:
    if not 0 <= shown.position < len(parts):
        raise ValueError(f"position is {shown.position}, outside a gallery of {len(parts)} parts")
    if shown.image.ndim != 3 or shown.image.shape[2] != 3 or shown.image.dtype != np.uint8:
        raise ValueError(f"image is {shown.image.shape} {shown.image.dtype}; give (H, W, 3) uint8")
    if shown.anomaly_map.ndim != 2 or not np.isfinite(shown.anomaly_map).all():
        raise ValueError(f"anomaly_map is {shown.anomaly_map.shape}; give one finite map, (h, w)")
    if shown.mask is not None and shown.mask.shape != shown.anomaly_map.shape:
        raise ValueError(f"mask is {shown.mask.shape}, the map {shown.anomaly_map.shape}; bring it to the map's size")
    if heat.shape != (512, 4) or heat.dtype != np.uint8:
        raise ValueError(f"heat is {heat.shape} {heat.dtype}; give (512, 4) uint8 from plots.heat_colours")
    if small_maps is not None and (small_maps.ndim != 3 or len(small_maps) != len(parts)):
        raise ValueError(f"small_maps is {small_maps.shape} for {len(parts)} parts; give (parts, h, w)")


def _hand_over(key: str, blobs: Sequence[bytes]) -> str:
    """Mount a film under a token that names the content; the token."""
    digest = hashlib.sha256()
    for blob in blobs:
        digest.update(blob)
    token = f"{key}:{digest.hexdigest()[:24]}"
    film(key, token, blobs)
    return token


@st.cache_data(max_entries=12, show_spinner=False)
def _photo(digest: str, _image: np.ndarray) -> tuple[bytes, list[int]]:
    """The photo as a PNG, pixel for pixel up to PHOTO_SIDE and averaged down to that beyond, and its (height, width)."""
    photo = Image.fromarray(_image)
    if max(photo.size) > PHOTO_SIDE:
        share = PHOTO_SIDE / max(photo.size)
        photo = photo.resize([max(1, round(side * share)) for side in photo.size], Image.Resampling.BOX)
    held = io.BytesIO()
    photo.save(held, "PNG", compress_level=1)
    return held.getvalue(), [photo.height, photo.width]


def _digest(image: np.ndarray) -> str:
    return hashlib.sha256(repr(image.shape).encode() + np.ascontiguousarray(image).tobytes()).hexdigest()


def _planes(shown: Shown) -> list[bytes]:
    """The map as little-endian float32, row by row, then the mask as a byte per pixel when there is one."""
    planes = [np.ascontiguousarray(shown.anomaly_map, "<f4").tobytes()]
    if shown.mask is not None:
        planes.append(np.ascontiguousarray(shown.mask, np.uint8).tobytes())
    return planes


def _quantised(maps: np.ndarray) -> list[bytes]:
    """Small maps in 256 steps over their common range: height, width, low and high as JSON, then a byte per pixel."""
    low, high = float(maps.min()), float(maps.max())
    steps = np.round((maps - low) * (255 / ((high - low) or 1))).astype(np.uint8)
    return [json.dumps([*maps.shape[1:], low, high]).encode(), steps.tobytes()]


def _setters(parts: Sequence[Part]) -> list[int]:
    """Positions of the good parts that set a limit: those kept to calibrate, else those to judge."""
    for part in ("calibrate", "judge"):
        if found := [i for i, p in enumerate(parts) if p.truth == "good" and p.part == part]:
            return found
    return []


@lru_cache(maxsize=32)
def _bounds(total: int) -> tuple[str, ...]:
    return tuple(f"{max(100 * upper_bound(k, total), 0.1):.1f}" for k in range(total + 1))


def _as_data(limits: Limits) -> dict[str, float]:
    return {"review": limits.review, "reject": limits.reject}
