"""The controls under the bench: exactly the parameters of the detector in use that move live.

k, or q with the share of variance it stands for, moves at once. γ, M and σ start a preview: shown on the bench, kept
nowhere, until it is applied by a full pass in the background.
"""

from collections.abc import Mapping

import streamlit as st

from inspect_core.methods.table import CONTROLS, METHODS
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.patch_sample import explained
from inspect_core.ui import taught_part
from inspect_core.ui.inspect import previews
from inspect_core.ui.inspect.previews import Run
from inspect_core.ui.session import Settings, settings_at
from inspect_core.ui.taught_part import TaughtPart

HALF_OCTAVES = 8
POWERS_OF_M = (128, 256, 512, 1024, 2048)


def choose(taught: TaughtPart, settings: Settings, *, busy: bool) -> Run | None:
    """Draw the controls; the preview that a refit control asks for, None for the model in force.

    busy: a job runs, so that nothing is refitted.
    """
    scored = taught.scored
    if scored.live_name is None:
        return None
    if taught.study is None:
        name = scored.live_name
        st.caption(f"{CONTROLS[name].label}: {settings.live[name]}, fixed by the recipe. Teach again to change it.")
        return None
    at_once, *refits = st.columns(1 + len(METHODS[scored.method].refits))
    wanted = {}
    for column, name in zip(refits, METHODS[scored.method].refits, strict=True):
        with column:
            wanted[name] = _refit_control(taught, name, disabled=busy)
    with at_once:
        begin, settings.begin = settings.begin, None
        if busy or wanted == fitted(taught):
            if settings.preview is not None:
                settings.preview.cancel()
            settings.preview = None
            _live_control(taught, settings, scored, settings.live)
            return None
        fraction = float(explained(scored.detector, [settings.live["q"]])[0])
        run = settings.preview = previews.ask(
            taught.patch_sample, settings.preview, wanted, scored.photos, first=settings.position, fraction=fraction,
            begin=begin,
        )  # fmt: skip
        run.want(settings.position)
        if run.live is None:
            _live_control(taught, settings, scored, settings.live, disabled=True)
            return run
        if begin is not None:
            run.live = {run.scored.live_name: run.scored.stop_of(begin)}
        _live_control(taught, settings, run.scored, run.live)
        return run


def fitted(taught: TaughtPart) -> dict[str, float]:
    """The refit parameters of the model in force by name, also where its method chose them."""
    return METHODS[taught.scored.method].refit_values(taught.scored.detector)


def suggested(taught: TaughtPart) -> dict[str, float]:
    """What was suggested from the data for the controls shown, by name; empty when nothing was."""
    if taught.study is None or taught.suggestion is None:
        return {}
    found = {name: taught.suggestion.parameters.get(name) for name in METHODS[taught.scored.method].refits}
    live = {taught.scored.live_name: taught.suggestion.live.get(taught.scored.live_name)}
    return {name: value for name, value in (found | live).items() if value is not None}


def set_to(taught_id: str, values: Mapping[str, float]) -> None:
    """Move the controls to these values at the next run: for the callbacks of buttons."""
    taught, settings = taught_part.find(taught_id), settings_at(taught_id)
    if taught is None:
        return
    held, of_model = st.session_state, fitted(taught)
    for name in of_model.keys() & values.keys():
        held[f"{name}-{taught.id}"] = min(_stops(taught, name), key=lambda stop: abs(stop - values[name]))
    live = taught.scored.live_name
    if live not in values:
        return
    if all(held.get(f"{name}-{taught.id}", value) == value for name, value in of_model.items()):
        settings.move_live(taught, taught.scored.stop_of(int(values[live])))
    else:
        settings.begin = int(values[live])


def describe(values: Mapping[str, float]) -> str:
    """Values by their signs: "γ 0.5, M 1024"."""
    return ", ".join(f"{CONTROLS[name].sign} {_figure(value)}" for name, value in values.items())


def _refit_control(taught: TaughtPart, name: str, *, disabled: bool) -> float:
    control, in_force = CONTROLS[name], fitted(taught)[name]
    value = st.select_slider(
        control.label, _stops(taught, name), in_force, key=f"{name}-{taught.id}", help=control.story,
        format_func=_figure, disabled=disabled,
    )  # fmt: skip
    _explain(taught, name, _figure(in_force))
    return value


def _live_control(
    taught: TaughtPart, settings: Settings, scored: ScoredPhotos, live: dict[str, int], *, disabled: bool = False
) -> None:
    """The slider of the live value, of the model in force or of a preview; a move is written where the value lives."""
    name = scored.live_name
    key = f"{name}-{taught.id}" + (f"-{settings.preview.number}" if settings.preview is not None else "")
    control, fractions = CONTROLS[name], {}
    if name == "q":
        fractions = dict(zip(scored.stops, explained(scored.detector, scored.stops), strict=True))
    st.session_state[key] = scored.stop_of(live[name])
    st.select_slider(
        control.label, scored.stops, key=key, help=control.story, disabled=disabled,
        format_func=lambda stop: f"{stop} · {_percent(fractions[stop])}" if fractions else f"{stop}",
        on_change=_move, args=(taught.id, key),
    )  # fmt: skip
    _explain(taught, name, f"{settings.live[name]}")


def _move(taught_id: str, key: str) -> None:
    taught, settings = taught_part.find(taught_id), settings_at(taught_id)
    if taught is None:
        return
    if settings.preview is None:
        settings.move_live(taught, st.session_state[key])
    else:
        settings.preview.live = {taught.scored.live_name: st.session_state[key]}


def _explain(taught: TaughtPart, name: str, in_force: str) -> None:
    control, start = CONTROLS[name], suggested(taught).get(name)
    advice = "" if start is None else f" · suggested {_figure(start)}"
    st.caption(f"Current: {in_force}{advice} · {control.unit}")


def _stops(taught: TaughtPart, name: str) -> list[float]:
    """Values spaced evenly on a log scale about the one in force, which is among them, as is the suggested one."""
    in_force, start = fitted(taught)[name], suggested(taught).get(name)
    if name == "M":
        return sorted({*POWERS_OF_M, in_force})
    around = [in_force * 2 ** (step / 2) for step in range(-HALF_OCTAVES, HALF_OCTAVES + 1)]
    if start is not None and all(abs(start / stop - 1) > 1e-3 for stop in around):
        around.append(start)
    return sorted(around)


def _figure(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _percent(fraction: float) -> str:
    """A fraction in percent with the digits that tell it from 100."""
    return (
        next((text for digits in (1, 2, 3) if not (text := f"{100 * fraction:.{digits}f}").startswith("100")), "100")
        + " %"
    )
