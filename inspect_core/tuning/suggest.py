"""Starting values, by a trial: the setting that best separates made-up and known defects, if it is better beyond
chance.

Each method says which settings are worth trying (`settings`, `trial_stops`). Only one that is better than the default
photo by photo is suggested; what is taught begins at its defaults, as in a comparison.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inspect_core.methods.method import Detector
from inspect_core.methods.table import METHODS
from inspect_core.methods.view import View
from inspect_core.runtime.progress import Report, stage, tell
from inspect_core.study.study import Study
from inspect_core.tuning.patch_sample import PatchSample
from inspect_core.tuning.trial import Trial, is_better, make_trial

TIE = 0.0025


@dataclass(frozen=True)
class Suggestion:
    """Where to begin. parameters: of the fit; live: the live parameter by name; basis: of the trial, a sentence."""

    parameters: Mapping[str, float]
    live: Mapping[str, int]
    basis: str


@dataclass(frozen=True)
class _Setting:
    parameters: dict[str, float]
    live: int
    qualities: np.ndarray

    @property
    def quality(self) -> float:
        return float(self.qualities.mean())


def suggest(study: Study, *, fixed: Collection[str] = (), progress: Report | None = None) -> Suggestion | None:
    """The setting of a fitted study's method that best separates defects, else the default.

    fixed: parameters that the user has chosen; they are kept. None for joined methods, for a method that has nothing to
    suggest, and when the user has chosen everything. Of the settings within TIE of the best, the one that computes
    least is taken, and the default stays unless that setting is better on the same photos (`is_better`).
    """
    method = METHODS[study.methods[0]]
    live = method.live
    if len(study.methods) > 1 or not live or (method.one_fit and live in fixed):
        return None
    trial = make_trial(study, stage(progress, 0.0, 0.2))
    tried: list[_Setting] = []
    for fraction, parameters, detector in candidates(study, fixed):
        tell(progress, None, 0.2 + 0.8 * fraction, "trying settings on synthetic defects")
        tried += _measure(study, trial, parameters, detector, fixed)
    tell(progress, None, 1.0, "trying settings on synthetic defects")
    default, *tried = tried
    best = max((setting.quality for setting in tried), default=0.0)
    chosen = min((s for s in tried if s.quality >= best - TIE), key=lambda setting: setting.live, default=default)
    started: dict[str, Any] = {name: study.parameters[0][name] for name in method.refits}
    if not is_better(chosen.qualities, default.qualities, tried=max(len(tried), 1)):
        basis = f"The default: on {trial.basis}, none of {len(tried)} other settings did better beyond chance."
        return Suggestion(started | dict(default.parameters), {live: default.live}, basis)
    seen = "" if trial.held_out else " (its good photos were also learned from, since none was kept aside)"
    basis = (
        f"Suggested, and not set: on {trial.basis}{seen}, of {len(tried)} settings {live} = {chosen.live} separates "
        f"the defects best, {100 * chosen.quality:.0f} of 100 against {100 * default.quality:.0f} for the default."
    )
    return Suggestion(started | dict(chosen.parameters), {live: chosen.live}, basis)


def candidates(study: Study, fixed: Collection[str]) -> Iterator[tuple[float, dict[str, float], Detector]]:
    """(share done, parameters of the fit, detector): the study's own, then one for every kernel width worth trying."""
    method = METHODS[study.methods[0]]
    if method.one_fit:
        yield 0.5, {}, study.results.views[0].detector
        return
    sample = PatchSample.of(study)
    widths = method.settings(sample.patches, study.order.seed)
    settings = [{}, *(own for own in widths if own and not own.keys() & set(fixed))]
    for number, parameters in enumerate(settings):
        yield (number + 1) / (len(settings) + 1), parameters, sample.fit(parameters)


def _measure(
    study: Study, trial: Trial, parameters: dict[str, float], detector: Detector, fixed: Collection[str]
) -> list[_Setting]:
    """The setting that the detector begins with, then every live value worth trying."""
    name, method = study.methods[0], METHODS[study.methods[0]]
    tried = [(method.start(detector), {}), *method.trial_stops(detector, study.parameters[0], fixed).items()]
    only = tuple(sorted({stop for stop, _ in tried}))
    view = View(name, detector, study.preparation.looks[0], only=only, raw=study.order.as_published)
    scored = trial.scored([view], study.preparation)
    return [
        _Setting(parameters | of_fit, stop, trial.qualities(scored, **{method.live: stop})) for stop, of_fit in tried
    ]
