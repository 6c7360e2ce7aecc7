"""The controls under the bench: exactly the parameters of the detector in use that move live.

k, m, q with the share of variance it stands for, and the smallest area N move at once. γ, M and σ start a preview,
shown on the bench until the fit of all good photos has taken its place.
"""

import contextlib
import math
from collections.abc import Mapping
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from inspect_core.images.areas import inspected_pixels
from inspect_core.methods.registry import CONTROLS
from inspect_core.plots.explore_plots import figure_of
from inspect_core.scoring.anomaly_map import AREA, area_stops
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.patch_sample import explained, stop_explaining
from inspect_core.ui import preferences, shell
from inspect_core.ui.session import SessionSettings, settings_at
from inspect_core.workbench import previews, transitions
from inspect_core.workbench.previews import PreviewRun
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

HALF_OCTAVES = 8
MOVED = "parameters moved"
"""What is remembered of a user who has moved a parameter once."""
_MORE = "|"
"""In a key, before what besides fit and preview makes another control of it."""
TO_TYPE = "Share of the good patches' variance, in percent: type it, and the slider goes to the nearest."
ROOMY = 2
"""Controls side by side that leave room below each for what a move does."""


def drawer(product: TaughtProduct, settings: SessionSettings) -> DeltaGenerator:
    """Where the controls are: one click away, open for whoever moved one before, and always during a preview."""
    if product.is_fixed:
        return st.container()
    key = f"fine-tune-{product.id}"
    if settings.preview is not None:
        st.session_state[key] = True
    elif key not in st.session_state:  # the file is read once a product, not at every move
        st.session_state[key] = bool(preferences.read(MOVED))
    return st.expander("Fine-tune", icon=":material/tune:", key=key, on_change="rerun")


def choose(product: TaughtProduct, settings: SessionSettings, *, busy: bool) -> PreviewRun | None:
    """Draw the controls; returns the preview that a refit control asks for, None for the model in force.

    busy: a job runs, so no other refit can begin.
    """
    scored = product.scored
    names = [view.live_parameter for view in scored.views if view.live_parameter]
    if product.is_fixed:
        values = [f"{CONTROLS[name].label}: {product.live[name]}" for name in names]
        values.append(f"minimum area: {product.live[AREA]} map pixels")
        remedy = " Teach again to change them." if product.order else ""
        st.caption(f"{', '.join(values)}: fixed by the recipe.{remedy}")
        return None
    controls = [*names, *product.refits, AREA]
    columns = {
        name: column.container(gap="xsmall") for name, column in zip(controls, st.columns(len(controls)), strict=True)
    }
    chosen_values = {}
    for name in product.refits:
        with columns[name]:
            chosen_values[name] = _refit_control(product, settings, name, disabled=busy)
    run = settings.preview
    if chosen_values == product.fitted():
        if run is not None:
            run.cancel()
        run = None
    elif run is not None or not busy:
        view = scored.views[product.refit_view]
        chosen = product.live[view.live_parameter] if product.live[view.live_parameter] != view.start else None
        run = previews.ask(
            product, run, chosen_values, product.live, first=settings.position,
            chosen=chosen if run is None else run.chosen(product.refit_view),
        )  # fmt: skip
        run.want(settings.position)
    settings.preview = run
    waiting = run is not None and not run.live
    drawn, live = (scored, product.live) if run is None or waiting else (run.scored, run.live)
    for name in names:
        with columns[name]:
            _live_control(product, settings, drawn, live, name, waiting=waiting)
    with columns[AREA]:
        _area_control(product, settings, live, waiting=waiting)
    return run


def undo(taught_id: str, drawn: tuple[str, int]) -> None:
    """For a button: set the controls back to the model in force, or, where they are, to the one before.

    drawn: `shown` when the button was drawn; a press that the browser sends once more later undoes nothing else.
    """
    product, settings = shelf().find(taught_id), settings_at(taught_id)
    if product is None or settings is None or drawn != shown(product, settings):
        return
    if settings.preview is None:
        product = shelf().change(taught_id, transitions.undone) or product
        settings.follow(product)
    settings.set_refits(product, product.fitted())


def shown(product: TaughtProduct, settings: SessionSettings) -> tuple[str, int]:
    """What the controls are of: the fit in force and the number of the preview, 0 without one."""
    return product.fit, 0 if settings.preview is None else settings.preview.number


def _refit_control(product: TaughtProduct, settings: SessionSettings, name: str, *, disabled: bool) -> float:
    """Show the slider of a refit parameter; after another page it stands where the run that goes on was begun."""
    control, in_force, run = CONTROLS[name], product.fitted()[name], settings.preview
    key = settings.refit_key(product, name)
    begin = st.session_state.setdefault(key, in_force if run is None else run.parameters[name])
    value = st.select_slider(
        control.label, _stops(product, name), begin, key=key, help=control.tooltip, format_func=figure_of,
        disabled=disabled, on_change=_remember_move,
    )  # fmt: skip
    _explain(product, name, figure_of(in_force))
    return value


def _live_control(
    product: TaughtProduct,
    settings: SessionSettings,
    scored: ScoredPhotos,
    live: Mapping[str, int],
    name: str,
    *,
    waiting: bool,
) -> None:
    """Show the slider of a live value, of the model in force or of a preview; a move is written to where it is stored.

    waiting: the preview has no values of its own yet, so nothing can be moved.
    """
    key = _key_of(product, settings, name, waiting=waiting)
    stops = scored.stops(name)
    control = CONTROLS[name]
    fractions = {}
    view = next(view for view in scored.views if view.live_parameter == name)
    if view.variances is not None:
        fractions = dict(zip(stops, explained(view, stops), strict=True))

    def in_words(stop: int) -> str:
        return f"{_percent(fractions[stop])} · q = {stop}" if stop in fractions else f"{stop}"

    stop = shell.set_widget(key, scored.stop_of(name, live[name]))
    st.select_slider(
        control.label, stops, stop, key=key, help=control.tooltip, disabled=waiting, format_func=in_words,
        on_change=None if waiting else _move, args=(product.id, name, key),
    )  # fmt: skip
    if fractions:
        typed = f"{key}{_MORE}{live[name]}"  # another one for each value: none is sent back to it
        st.number_input(
            "Explained variance, %", 0.0, 100.0, round(100 * fractions[scored.stop_of(name, live[name])], 2), step=0.5,
            format="%.2f", key=typed, label_visibility="collapsed", disabled=waiting, help=TO_TYPE,
            on_change=None if waiting else _take_typed, args=(product.id, name, typed),
        )  # fmt: skip
    remarks = () if settings.preview else product.remarks({name: live[name]})
    if remarks or not fractions:
        _explain(product, name, in_words(product.live[name]), " ".join(remarks))


def _area_control(product: TaughtProduct, settings: SessionSettings, live: Mapping[str, int], *, waiting: bool) -> None:
    """Show the slider of the smallest area that counts, in map pixels, with its size in pixels of the photo."""
    size = product.scored.size
    photo_size = product.scored.photos[settings.position].size if product.scored.photos else size
    down, across = (pixels / cells for pixels, cells in zip(photo_size, size, strict=True))
    square_mm = across * down * product.mm_per_pixel**2 if product.mm_per_pixel else None
    # Streamlit keeps the words of a choice: another scale, another slider.
    key = f"{_key_of(product, settings, AREA, waiting=waiting)}{_MORE}{photo_size}-{square_mm}"
    area = shell.set_widget(key, live[AREA])
    most = inspected_pixels(size, product.scored.areas, product.extractor.alignment)
    st.select_slider(
        "Minimum area (N)", sorted({*(area for area in area_stops(size) if area <= most), live[AREA]}), area, key=key,
        disabled=waiting,
        help="A part is rejected when at least N pixels of its anomaly map exceed the limit. Higher ignores small "
            "marks; 1 uses the single highest pixel. The square on the photo shows this area to scale.",
        format_func=lambda area: f"{area:d} · {across * math.sqrt(area):.0f} × {down * math.sqrt(area):.0f} px"
        + (f" · {area * square_mm:.3g} mm²" if square_mm else ""),
        on_change=None if waiting else _move, args=(product.id, AREA, key),
    )  # fmt: skip
    smaller = int((product.defect_areas() < live[AREA]).sum())
    known = len(product.defect_areas())
    if smaller:
        st.caption(f"{smaller} of {known} " + ("defects smaller" if _crowded(product) else "known defects are smaller"))
    else:
        st.caption(f"Current: {product.live[AREA]:d}" + ("" if _crowded(product) else " · higher ignores small marks"))


def _key_of(product: TaughtProduct, settings: SessionSettings, name: str, *, waiting: bool = False) -> str:
    """The slider's key of a live value: another for each fit and preview, and while that has no values yet."""
    fit, preview = shown(product, settings)
    return f"{name}-{product.id}-{preview or fit}{'-waiting' if waiting else ''}"


def _move(taught_id: str, name: str, key: str) -> None:
    product, settings = shelf().find(taught_id), settings_at(taught_id)
    if product is not None and settings is not None and key.split(_MORE)[0] == _key_of(product, settings, name):
        _put(product, settings, name, st.session_state[key])


def _take_typed(taught_id: str, name: str, key: str) -> None:
    """Put the value in force whose share of variance is nearest to the one typed, in percent.

    Only from the field that is drawn: the browser sends the value of one that was replaced once more, when the server
    has dropped its state, and Streamlit then calls this again.
    """
    product, settings = shelf().find(taught_id), settings_at(taught_id)
    if product is None or settings is None:
        return
    run = settings.preview
    live = product.live if run is None else run.live
    if name in live and key == f"{_key_of(product, settings, name)}{_MORE}{live[name]}":
        scored = product.scored if run is None else run.scored
        view = next(view for view in scored.views if view.live_parameter == name)
        _put(product, settings, name, stop_explaining(view, st.session_state[key] / 100))


def _remember_move() -> None:
    with contextlib.suppress(OSError):
        preferences.remember(MOVED, value=True)


def _put(product: TaughtProduct, settings: SessionSettings, name: str, value: int) -> None:
    """Put a live value in force where it is stored: with the preview shown, unless its fit has just taken over."""
    _remember_move()
    run = settings.preview
    if run is not None and product.fit == settings.fit:
        run.live = run.live | {name: value}
        return
    if run is not None:
        settings.preview = None
        settings.follow(product)
    shelf().change(product.id, partial(transitions.moved, values={name: value}))


def _explain(product: TaughtProduct, name: str, in_force: str, remark: str = "") -> None:
    """Show the value in force and what a move does; remark: what the photos say against it."""
    control = CONTROLS[name]
    words = "too high for so few photos" if remark else "" if _crowded(product) else control.effect
    st.caption(f"Current: {in_force}{' · ' if words else ''}{words}", help=shell.escape(remark) or None)


def _crowded(product: TaughtProduct) -> bool:
    """Whether the controls are too many for captions of more than a few words."""
    return len(product.scored.live) + len(product.refits) > ROOMY


def _stops(product: TaughtProduct, name: str) -> list[float]:
    """Values spaced evenly on a log scale about the one in force, which is among them."""
    in_force = product.fitted()[name]
    if stops := CONTROLS[name].stops:
        return sorted({*stops, in_force})
    return [in_force * 2 ** (step / 2) for step in range(-HALF_OCTAVES, HALF_OCTAVES + 1)]


def _percent(fraction: float) -> str:
    """A fraction in percent with enough digits to distinguish it from 100."""
    return next((text for n in (1, 2, 3) if not (text := f"{100 * fraction:.{n}f}").startswith("100")), "100") + " %"
