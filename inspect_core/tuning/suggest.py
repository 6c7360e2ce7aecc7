"""Starting values, by a trial: the setting that best separates made-up and known defects, if it is better beyond
chance.

Each method says which settings are worth trying (`settings`, `trial_stops`). Only one that is better than the default
photo by photo replaces it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.methods.method import Detector
from inspect_core.methods.table import METHODS
from inspect_core.runtime.progress import Report, stage, tell
from inspect_core.study.study import Study
from inspect_core.tuning.patch_sample import PatchSample
from inspect_core.tuning.trial import Trial, is_better, make_trial
from inspect_core.view import View

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


def fit_as_suggested(
    study: Study, *, fixed: Collection[str] = (), progress: Report | None = None
) -> tuple[Study, Suggestion | None]:
    """Extract, suggest, fit: the fitted study, beginning with the suggested values, and the suggestion.

    fixed: parameters that the user has chosen; they are kept. The suggestion is None for a method that has nothing to
    suggest, for joined methods, which begin at their defaults, and when the user has chosen everything.
    """
    if len(study.methods) > 1:
        return study.fit(progress), None
    method = METHODS[study.methods[0]]
    if not method.live or (method.one_fit and method.live in fixed):
        return study.fit(progress), None
    if method.one_fit:
        study.fit(stage(progress, 0.0, 0.9))
        suggestion = suggest(study, progress=stage(progress, 0.9, 1.0))
    else:
        study.extract(stage(progress, 0.0, 0.5))
        suggestion = suggest(study, fixed=fixed, progress=stage(progress, 0.5, 0.75))
        study = study.with_parameters(suggestion.parameters).fit(stage(progress, 0.75, 1.0))
    study.begin_with(**suggestion.live)
    started = {name: study.parameters[0][name] for name in method.refits}
    return study, replace(suggestion, parameters=started | dict(suggestion.parameters), live=study.live)


def suggest(study: Study, *, fixed: Collection[str] = (), progress: Report | None = None) -> Suggestion:
    """The setting of the study's method that best separates defects, else the default.

    study: of one method with a live parameter; fitted when that is k or m, whose every value comes from the one fit,
    else extracted. Of the settings within TIE of the best, the one that computes least is taken, and the default stays
    unless that setting is better on the same photos (`is_better`).
    """
    live = METHODS[study.methods[0]].live
    trial = make_trial(study, stage(progress, 0.0, 0.2))
    tried: list[_Setting] = []
    for fraction, parameters, detector in candidates(study, fixed):
        tell(progress, None, 0.2 + 0.8 * fraction, "trying settings on synthetic defects")
        tried += _measure(study, trial, parameters, detector, fixed)
    tell(progress, None, 1.0, "trying settings on synthetic defects")
    default, *tried = tried
    best = max((setting.quality for setting in tried), default=0.0)
    chosen = min((s for s in tried if s.quality >= best - TIE), key=lambda setting: setting.live, default=default)
    if not is_better(chosen.qualities, default.qualities, tried=max(len(tried), 1)):
        basis = f"The default: on {trial.basis}, none of {len(tried)} other settings did better beyond chance."
        return Suggestion(default.parameters, {live: default.live}, basis)
    seen = "" if trial.held_out else " (its good photos were also learned from, since none was kept aside)"
    basis = (
        f"Chosen on {trial.basis}{seen}: of {len(tried)} settings this one separates the defects best, "
        f"{100 * chosen.quality:.0f} of 100 against {100 * default.quality:.0f} for the default."
    )
    return Suggestion(chosen.parameters, {live: chosen.live}, basis)


def candidates(study: Study, fixed: Collection[str]) -> Iterator[tuple[float, dict[str, float], Detector]]:
    """(share done, parameters of the fit, detector): the study's own, then one for every kernel width worth trying."""
    method = METHODS[study.methods[0]]
    if method.one_fit:
        yield 0.5, {}, study.results.views[0].detector
        return
    sample = PatchSample.of(study)
    chosen_by_user = set(method.refits) & set(fixed) - {"M"}
    widths = [] if chosen_by_user else method.settings(sample.patches, study.seed)
    settings = [{}, *filter(None, widths)]
    for number, parameters in enumerate(settings):
        yield (number + 1) / (len(settings) + 1), parameters, sample.fit(parameters)


def _measure(
    study: Study, trial: Trial, parameters: dict[str, float], detector: Detector, fixed: Collection[str]
) -> list[_Setting]:
    """The setting that the detector begins with, then every live value worth trying."""
    name, method = study.methods[0], METHODS[study.methods[0]]
    tried = [(method.start(detector), {}), *method.trial_stops(detector, study.parameters[0], fixed).items()]
    only = tuple(sorted({stop for stop, _ in tried}))
    scored = trial.scored([View(name, detector, study.preparation.looks[0], only=only)])
    return [
        _Setting(parameters | of_fit, stop, trial.qualities(scored, **{method.live: stop})) for stop, of_fit in tried
    ]
