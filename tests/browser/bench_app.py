"""A bench on made-up parts, for the browser tests: no network, no fit, every number from one seed.

Query: parts (how many), band=1 (two limits), area (the smallest that counts, in pixels of the map), told=1 (where the
defects are found, and three photos without a score), unknown=1 (the first three parts are not labelled). A button
stands for a live parameter: it sends other maps and scores of the same parts.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import streamlit as st

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.images import heatmap
from inspect_core.scoring.anomaly_map import image_score, to_pixels
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.limits import limit_for_overkill
from inspect_core.study.evaluation_scores import unscored_counts
from inspect_core.study.scored_photo import ScoredPhoto, UnscoredPhoto
from inspect_core.ui.bench import bench
from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.verdict import Limits

SIZE, ORIGINAL = (96, 96), (144, 192)


@st.cache_resource
def made_up(parts: int, area: int = 1) -> tuple[list[ScoredPhoto], np.ndarray, np.ndarray]:
    """Photos, scores and (parts, 12, 12) grids: three in four good, the others with a bright spot or two."""
    rng = np.random.default_rng(7)
    grids = rng.gamma(20, 0.4, size=(parts, 12, 12)).astype(np.float32)
    defect_types = ["good" if i % 4 else ("scratch", "dent")[i // 4 % 2] for i in range(parts)]
    for i, kind in enumerate(defect_types):
        if kind != "good":
            for row, column in rng.integers(1, 11, size=(1 + i % 2, 2)):
                grids[i, row : row + 2, column : column + 2] += rng.uniform(4, 16)
    where = ["test" if kind != "good" or i % 2 else "calibration" for i, kind in enumerate(defect_types)]
    scores = image_score(to_pixels(grids, SIZE), area=area)
    photos = [
        ScoredPhoto(f"part <i>{i:03d}</i>.png", f"{i}", ORIGINAL, kind, part, Path(), group=f"lot {i % 3}")
        for i, (kind, part) in enumerate(zip(defect_types, where, strict=True))
    ]
    return photos, scores.astype(np.float64), grids


def crossed(photos: list[ScoredPhoto], scores: np.ndarray) -> np.ndarray:
    """Scores of the parts that set the limit, as detectors that were not taught with them might give them."""
    return 1.03 * scores[[photo.label == "good" and photo.subset == "calibration" for photo in photos]] + 0.1


def hit_limits_of(photos: list[ScoredPhoto], scores: np.ndarray) -> np.ndarray:
    """Up to which limit each part is found: known of every second defect, of every fourth to far below its score."""
    known = [photo.is_defect and i % 8 > 0 for i, photo in enumerate(photos)]
    return np.where(known, scores * np.where(np.arange(len(photos)) // 8 % 2, 1, 0.85), np.nan)


def unscored() -> list[UnscoredPhoto]:
    """Photos of a good part and a defect that were not located, and one that is damaged."""

    def photo_without_score(name: str, kind: str, word: str, reason: str) -> UnscoredPhoto:
        return UnscoredPhoto(PhotoFile(Path(name), name, kind, ORIGINAL), "test", word, reason)

    return [
        photo_without_score("away.png", "good", "not located", "nothing in the photo matches the reference"),
        photo_without_score("armless.png", "dent", "not located", "it is turned by 12°; good photos: −5° to 4°"),
        photo_without_score("<i>torn</i>_*.png", "dent", "not judged", "the file ends early: <too_dark>"),
    ]


def photo(position: int) -> np.ndarray:
    """A round part on a grey table, a little different each time."""
    rng = np.random.default_rng(position)
    y, x = np.mgrid[: ORIGINAL[0], : ORIGINAL[1]]
    round_part = np.hypot(y - 72, x - 96) < 62
    grey = 96 + 70 * round_part + 10 * np.sin(np.hypot(y - 72, x - 96) / 3) + rng.normal(0, 4, ORIGINAL)
    return np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[..., None], 3, axis=2)


@st.cache_data
def thumbnail(position: int) -> bytes:
    return heatmap.thumbnail(photo(position % 20))


@st.fragment
def page() -> None:
    state = st.session_state
    gain = 1.0 + 0.25 * state.setdefault("moves", 0)
    area = int(st.query_params.get("area", 1))
    photos, scores, grids = made_up(int(st.query_params.get("parts", 40)), area)
    scores, grids = (scores * gain).astype(np.float32).astype(float), grids * np.float32(gain)
    good = np.array([photo.label == "good" for photo in photos])
    is_test = np.array([photo.subset == "test" for photo in photos])
    limit = limit_for_overkill(scores[good & ~is_test], rate=0.01)
    suggested = Limits(0.97 * limit, 1.1 * limit) if st.query_params.get("band") else Limits(limit, limit)
    state.setdefault("limits", suggested)
    state.setdefault("position", int(scores.argmax()))
    moved, chosen, labelled = bench.read_input("bench")
    labels = state.setdefault("labels", dict.fromkeys(range(3), "unknown") if st.query_params.get("unknown") else {})
    labels.update([labelled] if labelled else ())
    photos = [replace(photo, label=labels.get(i, photo.label)) for i, photo in enumerate(photos)]
    limits = state["limits"] = moved or state["limits"]
    position = state["position"] = state["position"] if chosen is None else chosen
    anomaly_map = to_pixels(grids[position], SIZE)
    mask = None if good[position] else anomaly_map > 0.8 * anomaly_map.max()
    without = unscored() if st.query_params.get("told") else ()
    hit_limits = hit_limits_of(photos, scores) if without else np.full(len(photos), np.nan)
    evidence = Evidence(
        scores=scores, good=good & is_test, defect=~good, hit_limits=hit_limits, **unscored_counts(without)
    )
    shown = [thumbnail(i) for i in range(len(photos))]
    bench.send_assets("film", f"made-up-{len(photos)}", [*shown, thumbnail(1), thumbnail(2), b"", thumbnail(0)])
    drawn = BenchState(
        photos, evidence, position, anomaly_map, limits, suggested, float(np.median(grids)), evidence.sentence(limits),
        crossed(photos, scores), area, without, image=photo(position), mask=mask,
        check="This looks like the part taught.",
    )  # fmt: skip
    bench.bench("bench", drawn, f"made-up-{len(photos)}")
    st.button("Move k", on_click=lambda: state.update(moves=state["moves"] + 1))
    st.text(f"In force: {limits.review!r} {limits.reject!r} at {position}")


if __name__ == "__main__":
    st.set_page_config(layout="wide")
    page()
