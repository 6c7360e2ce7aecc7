"""Points in the plane, the same in several panels side by side: dragged in the browser, judged here."""

import base64
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import streamlit as st

from inspect_core.playgrounds.fields import Box
from inspect_core.ui.bench.bench import MALFORMED, NEVER, stamp_of

_FRONTEND = Path(__file__).with_name("frontend")
_PLANE = st.components.v2.component(
    "loupe_plane",
    html=(_FRONTEND / "plane.html").read_text(encoding="utf-8"),
    css=(_FRONTEND / "plane.css").read_text(encoding="utf-8"),
    js=(_FRONTEND / "plane.js").read_text(encoding="utf-8"),
)
_MOVING = "Drag a point. Keys: arrows move it (Shift: further), Page Up and Page Down select another"
_ADDING = "Click to add a point, drag to move one. Keys: arrows move it (Shift: further), Page Up and Page Down choose "

FARTHEST = 1e3
"""Largest coordinate of a point: a drawn plane has units of about one."""
MAX_POINTS = 500


@dataclass(frozen=True)
class Group:
    """Points of one kind: their name, colour and size; whether they can be added; whether a move leads all others."""

    name: str
    colour: str
    size: float = 1.3
    adds: bool = False
    leads: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture: scores of the grid (rows, columns) about a limit, and lines as (pieces (k, 2, 2), colour, width)."""

    title: str
    words: str
    shares: np.ndarray | None = None
    lines: list[tuple[np.ndarray, str, float]] = field(default_factory=list)

    def sent(self) -> dict:
        shown = None
        if self.shares is not None:
            levels = np.round(128 + 127 * np.clip(self.shares[::-1], -1, 1)).astype(np.uint8)
            shown = {"size": levels.shape[::-1], "bytes": _text(levels)}
        lines = [
            {"pieces": _text(part.astype(np.float32)), "colour": colour, "width": w} for part, colour, w in self.lines
        ]
        return {"title": self.title, "words": self.words, "field": shown, "lines": lines}


def points(key: str, version: str, begun: np.ndarray) -> np.ndarray:
    """(n, 3) places and groups: the browser's, or `begun` where it has none of that version that can be used."""
    moved = (st.session_state.get(key) or {}).get("points") or {}
    if stamp_of(moved) == NEVER or moved.get("version") != version:
        return begun
    try:
        sent = np.array(moved["points"], float).reshape(-1, 3)
    except MALFORMED:
        return begun
    return sent if len(sent) <= MAX_POINTS and (np.abs(sent) <= FARTHEST).all() else begun


def draw(
    key: str, version: str, shown: np.ndarray, groups: list[Group], panels: list[Panel], box: Box,
    *, colours: tuple[str, str], across: int, chosen: int = 0,
) -> None:  # fmt: skip
    """Show the panels, so many in a row. shown: (n, 3); colours: of fields below and above 0."""
    adds = [number for number, group in enumerate(groups) if group.adds]
    stamp = stamp_of((st.session_state.get(key) or {}).get("points"))
    keys = f"{_ADDING}another, Enter adds one, Delete removes it." if adds else f"{_MOVING}."
    _PLANE(
        key=key,
        data={
            "version": version, "points": shown.tolist(), "taken": stamp, "chosen": chosen,
            "groups": [{"name": g.name, "colour": g.colour, "size": g.size, "leads": g.leads} for g in groups],
            "adds": adds, "panels": [panel.sent() for panel in panels], "box": box, "colours": colours,
            "across": across, "keys": keys,
        },
        on_points_change=lambda: None,
    )  # fmt: skip


def _text(numbers: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode()
