"""Moves on the bench with 100 photos: every score and the shown heatmap after a move of k, q or the limit; previews.

The core's part alone, without the page. Every move goes to another value than the one before.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle

import numpy as np
import torch

from benchmarks.main_job.setting import Setting, all_shown, study
from benchmarks.measure import Stopwatch, spread, timed
from inspect_core.features.store import Store
from inspect_core.judge.anomaly_map import regions
from inspect_core.study.evaluation import in_parts_of
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.tuning.patch_sample import PatchSample
from inspect_core.verdict import Limits

PREVIEWS = {"corp": {"gamma": 2.0}, "kernel_pca": {"sigma": 1.5}}
"""Method -> what its parameter moves to: a value, or for σ a multiple of the fitted one."""


def figures(setting: Setting) -> dict:
    """Milliseconds of each move; seconds of a preview until the shown photo is there and until all are."""
    found: dict = {"photos": setting.shown, "threads": torch.get_num_threads()}
    for side in setting.sides:
        with _fitted(setting, side, "mahalanobis") as fitted:
            found[f"{side}x{side}"] = {
                "k": move_live(fitted.scored, setting.repeats),
                "limit": move_limit(fitted.scored, setting.repeats),
            }
    for method in PREVIEWS:
        with _fitted(setting, setting.sides[0], method) as fitted:
            found[method] = {"q": move_live(fitted.scored, setting.repeats)} | preview(fitted, setting.runs)
    return found


def move_live(scored: ScoredPhotos, repeats: int) -> dict:
    """All image scores and the shown photo's map at another stop of the live parameter."""
    stops = cycle(scored.stops[:: max(1, len(scored.stops) // 16)])

    def move() -> None:
        live = {scored.live_name: next(stops)}
        scored.scores(**live)
        scored.map(0, **live)

    return timed(move, repeats=repeats)


def move_limit(scored: ScoredPhotos, repeats: int) -> dict:
    """Every verdict, the sentence in parts and the shown photo's regions at another limit; no score is computed."""
    scores, shown = scored.scores(), scored.map(0)
    limits = cycle(np.quantile(scores, np.linspace(0.05, 0.95, 17)).tolist())

    def move() -> None:
        limit = next(limits)
        both = Limits(limit, limit)
        for score in scores:
            both.verdict(score)
        in_parts_of(scored, scores, both)
        regions(shown, limit)

    return timed(move, repeats=repeats)


def preview(fitted: Study, runs: int) -> dict:
    """A refit on the patch sample, which is drawn once a study, then the shown photo, then all the others."""
    watch = Stopwatch()
    watch.start()
    sample = PatchSample.of(fitted)
    watch.lap("draw_sample")
    moved = _moved(fitted)
    for _ in range(runs):
        watch.start()
        detector = sample.fit(moved)
        watch.lap("refit")
        scored = ScoredPhotos(fitted.method, detector, fitted.preparation.grid, fitted.preparation.backbone.size)
        for photo in fitted.photos:
            scored = scored.with_photo(photo, fitted.features(photo))
            if len(scored.photos) == 1:
                scored.map(0)
                watch.lap("first")
        scored.scores()
        watch.lap("others")
    took = {name: np.array(values) / 1000 for name, values in watch.took.items()}
    shown = took["refit"] + took["first"]
    return {
        "patches": len(sample.patches),
        "draw_sample": spread(took["draw_sample"].tolist(), "s"),
        "refit": spread(took["refit"].tolist(), "s"),
        "preview_shown": spread(shown.tolist(), "s"),
        "preview_all": spread((shown + took["others"]).tolist(), "s"),
    }


def _moved(fitted: Study) -> dict[str, float]:
    ((name, value),) = PREVIEWS[fitted.method].items()
    return {name: value * fitted.scored.detector.kernel.sigma if name == "sigma" else value}


@contextmanager
def _fitted(setting: Setting, side: int, method: str) -> Iterator[Study]:
    """A fitted study whose feature store lives as long as the block."""
    with tempfile.TemporaryDirectory(prefix="loupe-features-") as folder:
        yield study(setting, all_shown(setting), side, Store(folder), method=method).fit()
