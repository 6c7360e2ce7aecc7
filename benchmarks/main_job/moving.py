"""Moves on the bench with 100 photos: every score and the shown heatmap after a move of k, q or the limit; previews;
all that the page computes at a move of k; and, in Chromium, the time from a key press on the limit to its overlay.

Every move goes to a value whose scores are not there yet.
"""

import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.main_job.setting import QUICK, Setting, all_shown, sample, study, taught
from benchmarks.main_job.start import FINISHED, ON_THE_BENCH, PATIENCE_S, open_browser, served
from benchmarks.measure import Stopwatch, spread, timed
from inspect_core.datasets.splitting import Split
from inspect_core.features.store import FeatureStore
from inspect_core.images.tolerances import DEFAULT_TOLERANCES, Tolerances
from inspect_core.methods.registry import LOOSE
from inspect_core.runtime.threads import cores
from inspect_core.scoring.anomaly_map import area_stops, regions
from inspect_core.study import scored_photos
from inspect_core.study.photo_evidence import evidence_of
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import FittedStudy
from inspect_core.tuning.patch_sample import PatchSample
from inspect_core.ui.bench import pixels
from inspect_core.ui.inspect import bench_states
from inspect_core.verdict import Limits
from inspect_core.workbench import fitted_product, transitions
from inspect_core.workbench.previews import PreviewRun

PREVIEWS = ("corp", "kernel_pca")
FEATURES = (512, 1024, 2048)
"""M of the previews of γ; the fit of the largest takes minutes, so it is measured once."""
POLLED_S = 0.005
BETWEEN_KEYS_MS, WARM_UP = 400, 2
# Resolves to milliseconds from the key event to the end of the first frame in which a pixel of the overlay differs.
KEY_TO_OVERLAY = """overlay => new Promise(resolve => {
  const pixels = () => {
    const { width, height } = overlay;
    return new Uint32Array(overlay.getContext("2d").getImageData(0, 0, width, height).data.buffer);
  };
  const before = pixels();
  window.addEventListener("keydown", event => {
    const look = () => requestAnimationFrame(() => setTimeout(() => {
      const now = performance.now();
      if (pixels().some((pixel, i) => pixel !== before[i])) resolve(now - event.timeStamp);
      else look();
    }));
    look();
  }, { capture: true, once: true });
})"""


def figures(setting: Setting) -> dict:
    """Milliseconds of each move; seconds of a preview until the shown photo is there and until all are."""
    results: dict = {"photos": setting.shown, "threads": cores()}
    for side in setting.sides:
        with _fitted(setting, side, "mahalanobis") as fitted:
            results[f"{side}x{side}"] = {
                "k": move_live(fitted.scored, setting.repeats),
                "limit": move_limit(fitted.scored, setting.repeats),
            }
            if side == setting.sides[0]:
                results["page"] = {
                    "suggested_limit": move_on_page(fitted, setting.repeats, by_hand=False),
                    "limit_by_hand": move_on_page(fitted, setting.repeats, by_hand=True),
                }
    with _fitted(setting, setting.sides[0], LOOSE) as fitted:
        results["joined"] = {
            "q_on_the_page": move_on_page(fitted, setting.repeats, by_hand=True),
            "q": move_live(fitted.scored, setting.repeats),
            "area": move_area(fitted.scored, setting.repeats),
        }
    for method in PREVIEWS:
        with _fitted(setting, setting.sides[0], method, _in_folds(setting), DEFAULT_TOLERANCES) as fitted:
            results[method] = {"q": move_live(fitted.scored, setting.repeats)} | preview(fitted, setting.runs)
        one_move = results[f"{setting.sides[0]}x{setting.sides[0]}"]["k"]["median_ms"] / 1000
        results[method]["in_moves_of_k"] = {
            name: figure["median_s"] / one_move
            for name, figure in results[method].items()
            if isinstance(figure, dict) and "median_s" in figure
        }
    return results | ({} if setting == QUICK else in_browser(setting.repeats))


def move_area(scored: ScoredPhotos, repeats: int) -> dict:
    """All image scores at another smallest area."""
    areas = cycle(area_stops(scored.size))
    return timed(lambda: scored.scores(area=next(areas)), repeats=repeats, warm_up=WARM_UP)


def move_live(scored: ScoredPhotos, repeats: int) -> dict:
    """All image scores and the shown photo's map at another stop of the first view's live parameter."""
    stops = _other_stops(scored)

    def move() -> None:
        live = {scored.views[0].live_parameter: next(stops)}
        scored.scores(**live)
        scored.map(0, **live)

    return timed(move, repeats=min(repeats, len(scored.views[0].stops) - 1 - WARM_UP), warm_up=WARM_UP)


def move_on_page(fitted: FittedStudy, repeats: int, *, by_hand: bool) -> dict:
    """All that Inspect computes when the live parameter moves: limits, scores, verdicts, map, and what is sent.

    by_hand: whether the limit was set by hand, so that it is carried over. scoring_passes: how often a move computes
    each photo's score.
    """
    part = fitted_product.product_from_study("flange", fitted)
    scored = part.scored
    stops = _other_stops(part.scored)
    scored._latest.clear()
    part = replace(part, limits_by_hand=part.suggested_limits(scored.live) if by_hand else None)
    passes = []
    scores_by_area = scored_photos.scores_by_area

    def counted(maps: np.ndarray, areas: Sequence[int]) -> np.ndarray:
        passes.append(len(maps))
        return scores_by_area(maps, areas)

    def move() -> None:
        nonlocal part
        part = transitions.moved(part, {scored.views[0].live_parameter: next(stops)})
        view = bench_states.of_model(part, 0)
        verdict = bench_states.verdict_of(part, view, photo_missing=False)
        drawn = replace(view, image=part.pixels(0), check=verdict.product_check)
        drawn.validate()
        drawn.payload()
        pixels.planes(drawn.anomaly_map, None)

    moves = min(repeats, len(scored.views[0].stops) - 1 - WARM_UP)
    with patch.object(scored_photos, "scores_by_area", counted):
        timing = timed(move, repeats=moves, warm_up=WARM_UP)
    return timing | {"scoring_passes": sum(passes) / len(scored.photos) / (moves + WARM_UP)}


def in_browser(presses: int) -> dict:
    """Milliseconds from a key press on the limit's slider to a changed pixel of its overlay; empty without Chromium."""
    with tempfile.TemporaryDirectory(prefix="loupe-moving-") as folder, open_browser() as browser:
        if browser is None:
            return {}
        with served(Path(folder)) as (address, _):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(1000 * PATIENCE_S)
            page.goto(address)
            page.wait_for_selector(ON_THE_BENCH)
            page.wait_for_function(FINISHED)
            page.wait_for_selector(".bench:not(.waiting):not(.empty)")
            overlay, limit = page.locator(".bench .marks"), page.locator(".bench .handle.reject")
            limit.focus()
            timings = []
            for press in range(presses + WARM_UP):
                answer = overlay.evaluate_handle(f"overlay => ({{ took: ({KEY_TO_OVERLAY})(overlay) }})")
                page.keyboard.press("ArrowRight" if press % 8 < 4 else "ArrowLeft")
                timings.append(answer.evaluate("answer => answer.took"))
                page.wait_for_timeout(BETWEEN_KEYS_MS)
            return {"browser": f"Chromium {browser.version}", "key_to_overlay": spread(timings[WARM_UP:], "ms")}


def move_limit(scored: ScoredPhotos, repeats: int) -> dict:
    """Every verdict, the sentence in parts and the shown photo's regions at another limit; no score is computed."""
    evidence, shown = evidence_of(scored), scored.map(0)
    limits = cycle(np.quantile(evidence.scores, np.linspace(0.05, 0.95, 17)).tolist())

    def move() -> None:
        limit = next(limits)
        both = Limits(limit, limit)
        evidence.ranks(both)
        evidence.sentence(both)
        regions(shown, limit)

    return timed(move, repeats=repeats)


def preview(fitted: FittedStudy, runs: int) -> dict:
    """A move of γ, M or σ: the heatmap of the shown photo, then scores, limits and verdicts of all, by folds, then the
    fit of all good photos.

    The sample of patches is drawn once a study.
    """
    watch = Stopwatch()
    watch.start()
    drawn = PatchSample.from_study(fitted)
    watch.lap("draw_sample")
    results = {"patches": len(drawn.patches), "draw_sample": spread(_seconds(watch, "draw_sample"), "s")}
    for name, moved in _moved(fitted).items():
        for _ in range(1 if moved.get("M") == FEATURES[-1] else runs):
            run = PreviewRun(moved, fitted.photos, 0, fitted.live)
            watch.start()
            worker = threading.Thread(target=run.work, args=(lambda: drawn, partial(_fit_all, fitted)))
            worker.start()
            while not run.ready(0) and not run.ended.is_set():
                time.sleep(POLLED_S)
            watch.lap(f"{name}_shown")
            while not run.complete and not run.ended.is_set():
                time.sleep(POLLED_S)
            run.scored.default_limits(**run.live)
            watch.lap(f"{name}_others")
            worker.join()
            watch.lap(f"{name}_rest")
        laps = np.array([_seconds(watch, f"{name}_{lap}") for lap in ("shown", "others", "rest")])
        for word, seconds in zip(("shown", "all", "fitted"), laps.cumsum(axis=0), strict=True):
            results[f"{name}_{word}"] = spread(seconds.tolist(), "s")
    return results


def _fit_all(fitted: FittedStudy, run: PreviewRun) -> None:
    fitted.with_parameters(run.parameters).fit(run.report)


def _seconds(watch: Stopwatch, name: str) -> list[float]:
    return [milliseconds / 1000 for milliseconds in watch.took[name]]


def _other_stops(scored: ScoredPhotos) -> Iterator[int]:
    """Every stop of the first view but the one to begin with, each once: a score is not computed again."""
    return (stop for stop in scored.views[0].stops if stop != scored.views[0].start)


def _moved(fitted: FittedStudy) -> dict[str, dict[str, float]]:
    """The values of each move by its name."""
    if fitted.method == "kernel_pca":
        return {"preview": {"sigma": 1.5 * fitted.scored.views[0].detector.kernel.sigma}}
    return {f"preview_{M}": {"gamma": 2.0, "M": M} for M in FEATURES}


def _in_folds(setting: Setting) -> Split:
    """Half of the photos shown are learned from and set limits in folds, the others are judged."""
    fit, calibrate, _ = taught(setting)
    good = (*fit, *calibrate)[: setting.shown // 2]
    others = sorted({*sample().good, *sample().defects} - {*good}, key=lambda photo: photo.name)
    return Split(good, (), tuple(others[: setting.shown - len(good)]))


@contextmanager
def _fitted(
    setting: Setting, side: int, method: str, photos: Split | None = None, tolerances: Tolerances | None = None
) -> Iterator[FittedStudy]:
    """A fitted study whose feature store lives as long as the block."""
    with tempfile.TemporaryDirectory(prefix="loupe-features-") as folder:
        photos, store = photos or all_shown(setting), FeatureStore(folder)
        yield study(setting, photos, side, store, method=method, tolerances=tolerances).fit()
