"""The bench: gallery, picture, verdict and limit in one browser component, and the films that feed it pixels.

What changes during a drag (contours, verdicts, the sentence in parts) is computed in the browser from data sent once;
on release the numbers come back and Python counts again. The scripts beside this file are used as they are: no build,
nothing from outside.

Pixels are sent separately from the figures, each film under a token of its content, so that a move of the limit sends
no picture and a move of a live parameter sends no photo. What the browser lacks after all it asks for.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import streamlit as st

from inspect_core.images.heatmap import heat_colours
from inspect_core.study.scored_photo import UnscoredPhoto
from inspect_core.ui.bench import pixels
from inspect_core.ui.bench.payload import Part, Shown, check, payload
from inspect_core.verdict import Limits

__all__ = ["BenchResult", "Part", "Shown", "bench", "film", "latest"]

SCRIPTS = ("film_shelf", "judging", "map", "scale", "viewport", "stage", "gallery", "card",
           "axis", "handles", "histogram", "limits", "bench")  # fmt: skip
STYLES = ("bench", "gallery", "stage", "card", "histogram", "narrow")

FRONTEND = Path(__file__).with_name("frontend")
KEPT = 8
"""Films that the browser is taken to have: the last ones sent to it, fewer than its shelf holds."""


def _text(*names: str) -> str:
    return "\n".join((FRONTEND / name).read_text(encoding="utf-8") for name in names)


_BENCH = st.components.v2.component(
    "loupe_bench",
    html=_text("bench.html"),
    css=_text(*(f"{name}.css" for name in STYLES)),
    js=_text(*(f"{name}.js" for name in SCRIPTS)),
)
_FILM = st.components.v2.component("loupe_film", js=_text("film_shelf.js", "film.js"))


@dataclass(frozen=True)
class BenchResult:
    """The engineer's settings: the limits, and the position of the part shown."""

    limits: Limits
    position: int


def film(key: str, token: str, thumbnails: Sequence[bytes]) -> None:
    """Send the gallery's pictures, one for each part in order, outside the fragment that reruns with a slider.

    thumbnails: WebP, JPEG or PNG files; the bench finds them by `token`, which changes when they do. Draws nothing.
    One sent shortly before is only named: the browser has it, or asks for it.
    """
    sent = st.session_state.setdefault("films-sent", {})
    missing = (st.session_state.get(key) or {}).get("missing")
    kept = sent.pop(token, False) and missing != token
    sent[token] = True
    if len(sent) > KEPT:
        del sent[next(iter(sent))]
    _FILM(key=key, data=pixels.pack(token, None if kept else thumbnails), on_missing_change=noted)


def bench(
    key: str,
    parts: Sequence[Part],
    shown: Shown,
    limits: Limits,
    *,
    calm: float,
    suggested: Limits,
    sentence: str,
    setting_scores: Sequence[float] | np.ndarray,
    thumbs: str,
    unscored: Sequence[UnscoredPhoto] = (),
) -> BenchResult:
    """Draw the bench with `limits` and `shown` in force, and return what the engineer has set since.

    calm: the score at which colour begins. sentence: the limits in parts, from `judge.counts.in_parts`.
    setting_scores: the scores on which a requested overkill is met. thumbs: the token given to `film`;
    unscored: photos without a score, whose pictures follow in that film, and after them that of the reference.

    A caller that called `latest` first has nothing more to do. Any other puts the result in force and reruns; the
    result stays until it is in force, so that no move is lost when a rerun is cut short. Raises ValueError for arrays
    of another shape, a map or score that is not finite, a position outside the gallery, or an area outside the map.
    """
    check(parts, shown, setting_scores)
    result = latest(key, limits, shown.position)
    if not 0 <= result.position < len(parts):
        result = BenchResult(result.limits, shown.position)
    photo, size = pixels.photo_file(shown.image)
    pictures = {
        "photo": _hand_over(f"{key}-photo", [photo]),
        "map": _hand_over(f"{key}-map", pixels.planes(shown.anomaly_map, shown.mask)),
    }
    if shown.left_out is not None:
        left_out = np.ascontiguousarray(shown.left_out, np.uint8).tobytes()
        pictures["left_out"] = _hand_over(f"{key}-left-out", [left_out])
    data = payload(
        parts, shown, limits, calm=calm, suggested=suggested, sentence=sentence, setting_scores=setting_scores,
        unscored=unscored,
    )  # fmt: skip
    data |= {"key": key, "films": pictures | {"thumbs": thumbs}, "photo_size": size, "taken": _taken(key)}
    data["heat"] = heat_colours().ravel().tolist()
    _BENCH(key=key, data=data, on_limits_change=noted, on_position_change=noted)
    return result


def latest(key: str, limits: Limits, position: int) -> BenchResult:
    """What the engineer has set on the bench by hand, or else the given values in force.

    Called before anything is computed, it saves the second run that putting the result of `bench` in force would take.
    The position is one of the parts that the browser last knew.
    """
    moves, taken = st.session_state.get(key) or {}, _taken(key)
    set_limits = _take("limits", moves, taken, limits, lambda move: Limits(move["review"], move["reject"]))
    return BenchResult(set_limits, _take("position", moves, taken, position, lambda move: int(move["value"])))


def _taken(key: str) -> dict[str, float]:
    """By name of a move, the stamp of the last one put in force."""
    return st.session_state.setdefault(f"{key}-taken", {})


def noted() -> None:
    """For a component's callback: a move needs none, the run that follows reads it."""


def _take(name: str, moves: Mapping, taken: dict, in_force, read):
    """What was last set under `name`, or the value in force if that move is already in force."""
    move = moves.get(name)
    if not move or move["stamp"] == taken.get(name):
        return in_force
    value = read(move)
    if value == in_force:
        taken[name] = move["stamp"]
    return value


def _hand_over(key: str, blobs: Sequence[bytes]) -> str:
    """Mount a film under a token of its content; returns the token."""
    digest = hashlib.sha256()
    for blob in blobs:
        digest.update(blob)
    token = f"{key}:{digest.hexdigest()[:24]}"
    film(key, token, blobs)
    return token
