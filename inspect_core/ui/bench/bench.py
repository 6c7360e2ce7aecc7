"""The bench: gallery, picture, verdict and limit in one browser component, and the assets that feed it pixels.

What changes during a drag (contours, verdicts, the sentence in parts) is computed in the browser from data sent once;
on release the numbers come back and Python counts again. The scripts beside this file are used as they are: no build,
nothing from outside.

Pixels are sent separately from the figures, each asset under a token of its content, so that a move of the limit sends
no picture and a move of a live parameter sends no photo. What the browser lacks after all it asks for.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from inspect_core.images.heatmap import heat_colours
from inspect_core.ui.bench import pixels
from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.verdict import Limits

SCRIPTS = ("asset_cache", "judging", "map", "scale", "viewport", "stage", "gallery", "card",
           "axis", "handles", "histogram", "limits", "shortcuts", "bench")  # fmt: skip
STYLES = ("bench", "gallery", "stage", "card", "histogram", "narrow")

FRONTEND = Path(__file__).with_name("frontend")
NEVER = 0.0
"""The stamp of no message."""
MALFORMED = (ValueError, TypeError, LookupError, OverflowError, RecursionError)
"""What reading a message raises that the component's own script did not send: it is passed over."""
KEPT = 8
"""Assets that the browser is taken to have: the last ones sent, fewer than its cache holds."""


def _text(*names: str) -> str:
    return "\n".join((FRONTEND / name).read_text(encoding="utf-8") for name in names)


_BENCH = st.components.v2.component(
    "loupe_bench",
    html=_text("bench.html"),
    css=_text(*(f"{name}.css" for name in STYLES)),
    js=_text(*(f"{name}.js" for name in SCRIPTS)),
)
_ASSET = st.components.v2.component("loupe_asset", js=_text("asset_cache.js", "asset_receiver.js"))


def send_assets(key: str, token: str, thumbnails: Sequence[bytes]) -> None:
    """Send the gallery's pictures, one for each part in order.

    thumbnails: WebP, JPEG or PNG files; the bench finds them by `token`, which changes when they do. Draws nothing.
    One sent shortly before is only named: the browser has it, or asks for it.
    """
    sent = st.session_state.setdefault("assets-sent", {})
    missing = (st.session_state.get(key) or {}).get("missing")
    is_cached = sent.pop(token, False) and missing != token
    sent[token] = True
    if len(sent) > KEPT:
        del sent[next(iter(sent))]
    _ASSET(key=key, data=pixels.pack(token, None if is_cached else thumbnails), on_missing_change=ignore_callback)


def bench(key: str, drawn: BenchState, thumbs: str) -> None:
    """Draw the bench. thumbs: the token given to `_send_asset`: photos in order, unscored ones, the reference.

    What the engineer sets on it is asked for by `read_input` at the top of the next run. Raises ValueError for what
    cannot be drawn.
    """
    drawn.validate()
    photo, size = pixels.photo_file(drawn.image)
    assets = {
        "thumbs": thumbs,
        "photo": _send_asset(f"{key}-photo", [photo]),
        "map": _send_asset(f"{key}-map", pixels.planes(drawn.anomaly_map, drawn.mask)),
    }
    if drawn.uninspected is not None:
        uninspected = np.ascontiguousarray(drawn.uninspected, np.uint8).tobytes()
        assets["uninspected"] = _send_asset(f"{key}-uninspected", [uninspected])
    data = drawn.payload() | {"key": key, "assets": assets, "photo_size": size, "taken": _stamps(key)}
    data["heat"] = heat_colours().ravel().tolist()
    _BENCH(
        key=key,
        data=data,
        on_limits_change=ignore_callback,
        on_position_change=ignore_callback,
        on_label_change=ignore_callback,
    )


class BenchInput(NamedTuple):
    """What was set on the bench; position: of the part to show; label: (position, label) of a part.

    A position is one of the parts that the browser last knew.
    """

    limits: Limits | None
    position: int | None
    label: tuple[int, str] | None


def read_input(key: str) -> BenchInput:
    """What was set on the bench since it was last taken; each once.

    Called before anything is computed, so that one run puts it in force and draws it.
    """
    moves = st.session_state.get(key) or {}
    stamps = _stamps(key)
    fresh = {}
    for name, parse in _MOVES.items():
        if stamp_of(move := moves.get(name) or {}) != stamps.get(name, NEVER):
            stamps[name] = stamp_of(move)
            with suppress(*MALFORMED):
                fresh[name] = parse(move)
    return BenchInput(*map(fresh.get, _MOVES))


_MOVES: dict[str, Callable[[Mapping], Any]] = {
    "limits": lambda move: Limits(move["review"], move["reject"]),
    "position": lambda move: int(move["value"]),
    "label": lambda move: (int(move["value"]), str(move["label"])),
}


def stamp_of(message: object) -> float:
    """When a component sent a message; NEVER for what its own script did not send."""
    stamp = message.get("stamp") if isinstance(message, Mapping) else None
    return stamp if isinstance(stamp, int | float) and math.isfinite(stamp) else NEVER


def _stamps(key: str) -> dict[str, float]:
    """By name of a move, the stamp of the last one put in force."""
    return st.session_state.setdefault(f"{key}-taken", {})


def ignore_callback() -> None:
    """For a component's callback: a move needs none, the run that follows reads it."""


def _send_asset(key: str, blobs: Sequence[bytes]) -> str:
    """Mount a asset under a token of its content; returns the token."""
    digest = hashlib.sha256()
    for blob in blobs:
        digest.update(blob)
    token = f"{key}:{digest.hexdigest()[:24]}"
    send_assets(key, token, blobs)
    return token
