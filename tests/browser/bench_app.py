"""A bench on made-up parts, for the browser tests: no network, no fit, every number from one seed.

Query: parts (how many), band=1 (two limits), area (the smallest that counts, in pixels of the map), told=1 (where the
defects are found, and three photos without a score). A button stands for a live parameter: it sends other maps and
scores of the same parts.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import streamlit as st

from inspect_core.images import heatmap
from inspect_core.images.samples import Sample
from inspect_core.judge.anomaly_map import image_score, to_pixels
from inspect_core.judge.counts import count_parts, in_parts
from inspect_core.judge.limits import limit_for_overkill
from inspect_core.study.evaluation import unscored_counts
from inspect_core.study.scored_photo import UnscoredPhoto
from inspect_core.ui.bench import bench
from inspect_core.verdict import Limits

SIZE, ORIGINAL = (96, 96), (144, 192)


@st.cache_resource
def made_up(parts: int, area: int = 1) -> tuple[list[bench.Part], np.ndarray]:
    """Parts and their (parts, 12, 12) grids: three in four good, the others with a bright spot or two."""
    rng = np.random.default_rng(7)
    grids = rng.gamma(20, 0.4, size=(parts, 12, 12)).astype(np.float32)
    defect_types = ["good" if i % 4 else ("scratch", "dent")[i // 4 % 2] for i in range(parts)]
    for i, kind in enumerate(defect_types):
        if kind != "good":
            for row, column in rng.integers(1, 11, size=(1 + i % 2, 2)):
                grids[i, row : row + 2, column : column + 2] += rng.uniform(4, 16)
    where = ["judge" if kind != "good" or i % 2 else "calibrate" for i, kind in enumerate(defect_types)]
    scores = image_score(to_pixels(grids, SIZE), area=area)
    return [
        bench.Part(f"part <i>{i:03d}</i>.png", kind, part, f"lot {i % 3}", float(score))
        for i, (kind, part, score) in enumerate(zip(defect_types, where, scores, strict=True))
    ], grids


def crossed(parts: list[bench.Part]) -> list[float]:
    """Scores of the parts that set the limit, as detectors that were not taught with them might give them."""
    return [1.03 * part.score + 0.1 for part in parts if part.truth == "good" and part.part == "calibrate"]


def told(parts: list[bench.Part]) -> list[bench.Part]:
    """The parts; of every second defect it is known up to which limit it is found, of every fourth to far below."""
    return [
        replace(part, found_up_to=part.score * (0.85, 1)[i // 8 % 2]) if part.truth == "defect" and i % 8 else part
        for i, part in enumerate(parts)
    ]


def unscored() -> list[UnscoredPhoto]:
    """Photos of a good part and a defect that were not located, and one that is damaged."""

    def of(name: str, kind: str, word: str, reason: str) -> UnscoredPhoto:
        return UnscoredPhoto(Sample(Path(name), name, kind, ORIGINAL), "judge", word, reason)

    return [
        of("away.png", "good", "not located", "nothing in the photo fits the reference"),
        of("armless.png", "dent", "not located", "it is turned by 12°; good photos: −5° to 4°"),
        of("<i>torn</i>_*.png", "dent", "not judged", "the file ends early: <too_dark>"),
    ]


def photo(position: int) -> np.ndarray:
    """A round part on a grey table, a little different each time."""
    rng = np.random.default_rng(position)
    y, x = np.mgrid[: ORIGINAL[0], : ORIGINAL[1]]
    round_part = np.hypot(y - 72, x - 96) < 62
    grey = 96 + 70 * round_part + 10 * np.sin(np.hypot(y - 72, x - 96) / 3) + rng.normal(0, 4, ORIGINAL)
    return np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[..., None], 3, axis=2)


@st.fragment
def page() -> None:
    state = st.session_state
    gain = 1.0 + 0.25 * state.setdefault("moves", 0)
    area = int(st.query_params.get("area", 1))
    parts, grids = made_up(int(st.query_params.get("parts", 40)), area)
    parts = [bench.Part(p.name, p.kind, p.part, p.group, float(np.float32(p.score * gain))) for p in parts]
    grids = grids * np.float32(gain)
    scores = np.array([part.score for part in parts])
    good = np.array([part.truth == "good" for part in parts])
    judged = np.array([part.part == "judge" for part in parts])
    limit = limit_for_overkill(scores[good & ~judged], rate=0.01)
    suggested = Limits(0.97 * limit, 1.1 * limit) if st.query_params.get("band") else Limits(limit, limit)
    state.setdefault("limits", suggested)
    state.setdefault("position", int(scores.argmax()))
    moved = bench.latest("bench", state["limits"], state["position"])
    limits = state["limits"] = moved.limits
    position = state["position"] = min(moved.position, len(parts) - 1)
    anomaly_map = to_pixels(grids[position], SIZE)
    mask = None if good[position] else anomaly_map > 0.8 * anomaly_map.max()
    without = unscored() if st.query_params.get("told") else ()
    if without:
        parts = told(parts)
    counts = count_parts(
        scores[good & judged], scores[~good], review=limits.review, reject=limits.reject,
        found_up_to=[part.found_up_to for part in parts if part.truth == "defect"], **unscored_counts(without),
    )  # fmt: skip
    bench.bench(
        "bench",
        parts,
        bench.Shown(position, photo(position), anomaly_map, mask, "This looks like the part taught.", area=area),
        limits,
        calm=float(np.median(grids)),
        suggested=suggested,
        sentence=in_parts(counts),
        setting_scores=crossed(parts),
        thumbs=f"made-up-{len(parts)}",
        unscored=without,
    )
    st.button("Move k", on_click=lambda: state.update(moves=state["moves"] + 1))
    st.text(f"In force: {limits.review!r} {limits.reject!r} at {position}")


if __name__ == "__main__":
    st.set_page_config(layout="wide")
    count = int(st.query_params.get("parts", 40))
    some = [heatmap.thumbnail(photo(i)) for i in range(20)]
    shown = [some[i % len(some)] for i in range(count)]
    bench.film("film", f"made-up-{count}", [*shown, some[1], some[2], b"", some[0]])
    page()
