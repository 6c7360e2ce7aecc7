"""The controls under the bench: exactly the parameters of the detector in use that move live.

k, or q with the share of variance it stands for, moves at once. γ, M and σ start a preview: shown on the bench, kept
nowhere, until it is applied by a full pass in the background.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from inspect_core.methods.table import CONTROLS, METHODS
from inspect_core.study.scored_photos import Tray
from inspect_core.tuning.patch_sample import explained
from inspect_core.ui import taught_part
from inspect_core.ui.inspect import previews
from inspect_core.ui.inspect.previews import Run
from inspect_core.ui.taught_part import InHand

HALF_OCTAVES = 8
POWERS_OF_M = (128, 256, 512, 1024, 2048)


@dataclass(frozen=True)
class InForce:
    """What the bench shows: the live value, and the preview it belongs to; None for the model in force."""

    live: dict[str, int]
    run: Run | None = None


def choose(hand: InHand, live: dict[str, int], held: Run | None, *, shown: int, busy: bool) -> InForce:
    """Draw the controls and say what is on: the values in force, or the preview that a refit control asks for.

    live: in force so far; held: the preview of the last drawing, if any; shown: position of the photo on the bench;
    busy: a job runs, so that nothing is refitted.
    """
    tray = hand.tray
    if tray.live_name is None:
        return InForce(live)
    if hand.study is None:
        name = tray.live_name
        st.caption(f"{CONTROLS[name].label} {live[name]}, as the recipe says. Teach again to change it.")
        return InForce(live)
    at_once, *refits = st.columns(1 + len(METHODS[tray.method].refits))
    wanted = {}
    for column, name in zip(refits, METHODS[tray.method].refits, strict=True):
        with column:
            wanted[name] = _refit_control(hand, name, disabled=busy)
    with at_once:
        begin = st.session_state.pop(_begin_key(hand), None)
        if busy or wanted == fitted(hand):
            if held is not None:
                held.cancel()
            return InForce(_live_control(hand, tray, live, key=f"{tray.live_name}-{hand.id}"))
        share = float(explained(tray.detector, [live["q"]])[0])
        run = previews.ask(hand.patch_sample, held, wanted, tray.photos, first=shown, share=share, begin=begin)
        run.want(shown)
        if run.live is None:
            _live_control(hand, tray, live, in_force=live, key=f"q-{hand.id}-waiting", disabled=True)
            return InForce(live, run)
        key = f"q-{hand.id}-{run.number}"
        if begin is not None:
            st.session_state[key] = run.tray.stop_of(begin)
        return InForce(_live_control(hand, run.tray, run.live, in_force=live, key=key), run)


def fitted(hand: InHand) -> dict[str, float]:
    """The refit parameters of the model in force by name, also where its method chose them."""
    return METHODS[hand.tray.method].refit_values(hand.tray.detector)


def suggested(hand: InHand) -> dict[str, float]:
    """What was suggested from the data for the controls shown, by name; empty when nothing was."""
    if hand.study is None or hand.suggestion is None:
        return {}
    found = {name: hand.suggestion.parameters.get(name) for name in METHODS[hand.tray.method].refits}
    live = {hand.tray.live_name: hand.suggestion.live.get(hand.tray.live_name)}
    return {name: value for name, value in (found | live).items() if value is not None}


def set_to(hand_id: str, values: Mapping[str, float]) -> None:
    """Move the controls to these values at the next run: for the callbacks of buttons."""
    hand = taught_part.find(hand_id)
    if hand is None:
        return
    held, of_model = st.session_state, fitted(hand)
    for name in of_model.keys() & values.keys():
        held[f"{name}-{hand.id}"] = min(_stops(hand, name), key=lambda stop: abs(stop - values[name]))
    live = hand.tray.live_name
    if live not in values:
        return
    if all(held.get(f"{name}-{hand.id}", value) == value for name, value in of_model.items()):
        held[f"{live}-{hand.id}"] = hand.tray.stop_of(int(values[live]))
    else:
        held[_begin_key(hand)] = int(values[live])


def describe(values: Mapping[str, float]) -> str:
    """Values by their signs: "γ 0.5, M 1024"."""
    return ", ".join(f"{CONTROLS[name].sign} {_figure(value)}" for name, value in values.items())


def _begin_key(hand: InHand) -> str:
    """Where a button leaves the live value that the preview it asks for is to begin with."""
    return f"begin-{hand.id}"


def _refit_control(hand: InHand, name: str, *, disabled: bool) -> float:
    control, in_force = CONTROLS[name], fitted(hand)[name]
    value = st.select_slider(
        control.label, _stops(hand, name), in_force, key=f"{name}-{hand.id}", help=control.help,
        format_func=_figure, disabled=disabled,
    )  # fmt: skip
    _explain(hand, name, _figure(in_force))
    return value


def _live_control(
    hand: InHand,
    tray: Tray,
    live: dict[str, int],
    *,
    key: str,
    in_force: dict[str, int] | None = None,
    disabled: bool = False,
) -> dict[str, int]:
    """The live value chosen. in_force: the model's own beside a preview; None where a move is in force at once."""
    name = tray.live_name
    control, shares = CONTROLS[name], {}
    if name == "q":
        shares = dict(zip(tray.stops, explained(tray.detector, tray.stops), strict=True))
    value = st.select_slider(
        control.label, tray.stops, tray.stop_of(live[name]), key=key, help=control.help, disabled=disabled,
        format_func=lambda stop: f"{stop} · {_percent(shares[stop])}" if shares else f"{stop}",
    )  # fmt: skip
    _explain(hand, name, f"{in_force[name] if in_force else value}")
    return {name: value}


def _explain(hand: InHand, name: str, in_force: str) -> None:
    control, start = CONTROLS[name], suggested(hand).get(name)
    advice = "" if start is None else f" · suggested {_figure(start)}"
    st.caption(f"In force {in_force}{advice} · {control.unit}  \n{control.effect}")


def _stops(hand: InHand, name: str) -> list[float]:
    """Values spaced evenly on a log scale about the one in force, which is among them, as is the suggested one."""
    in_force, start = fitted(hand)[name], suggested(hand).get(name)
    if name == "M":
        return sorted({*POWERS_OF_M, in_force})
    around = [in_force * 2 ** (step / 2) for step in range(-HALF_OCTAVES, HALF_OCTAVES + 1)]
    if start is not None and all(abs(start / stop - 1) > 1e-3 for stop in around):
        around.append(start)
    return sorted(around)


def _figure(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _percent(share: float) -> str:
    """A share in percent with the digits that tell it from 100."""
    return (
        next((text for digits in (1, 2, 3) if not (text := f"{100 * share:.{digits}f}").startswith("100")), "100")
        + " %"
    )
