"""The Inspect page: the bench with its live parameters, and the sections below it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from inspect_core.images import boxes, heatmap
from inspect_core.images.photo_reader import ImageError
from inspect_core.recipe_format.fields import SCALE
from inspect_core.study.evaluation import forecast_sentence
from inspect_core.ui import defect_naming, in_hand, open_products, shell
from inspect_core.ui.bench import bench
from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.ui.inspect import (
    add_photos_panel,
    alignment_panel,
    areas_panel,
    bench_states,
    defect_drawing_panel,
    escape_panel,
    known_cases_panel,
    limit_advice,
    live_parameters,
    missed_defects,
    preview_panel,
    relabelling,
    repeat_photo_panel,
    saving,
)
from inspect_core.ui.inspect.shown_photo import ShownPhoto
from inspect_core.ui.session import SessionSettings, settings_of
from inspect_core.verdict import Reason
from inspect_core.whole_part.product_check import OFF, STOP, WARN
from inspect_core.workbench import transitions
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

OWN_MAP_SIDE = 480
FUSION = ", fused with the energy of its class scores"


def notes(product: TaughtProduct) -> None:
    """Show what the engineer should know of the photos the product was taught with."""
    remarks = product.remarks({})  # at the sliders, where they change
    shown = [note for note in product.notes if note not in remarks]
    if not shown:
        return
    with st.expander(f"{len(shown)} {('note' if len(shown) == 1 else 'notes')} about the photos"):
        for note in shown:
            st.markdown(f"- {shell.escape(note)}")


@in_hand.as_fragment
def bench_with_parameters(product: TaughtProduct) -> None:
    """Show the live parameters of the detector in use and the bench; only this reruns on a move."""
    settings = settings_of(product)
    product = apply_bench_input(product, settings)
    product = areas_panel.take(product, settings)
    product = defect_drawing_panel.take(product, settings, settings.position)
    busy = shell.active_job() is not None
    head = st.container(horizontal=True, vertical_alignment="center", key="inspect")
    with head:
        open_products.title("Inspect")
        product = add_photos_panel.show(product)
        save = st.container(width="content")
    position = settings.position
    moving = live_parameters.drawer(product, settings)
    above = st.container()
    below = st.container()
    with moving:
        run = live_parameters.choose(product, settings, busy=busy)
        following = st.container(horizontal=True, vertical_alignment="center")
    with above:
        add_photos_panel.show_problems(settings)
        missed = st.container()
        if not product.scored.photos:
            _without_photos(product, save)
            return
        pixels, photo_missing = _pixels(product, position)
        try:
            if not photo_missing:
                product.checked(position)  # its result is shown
            _check_all(product)
            view = bench_states.of_model(product, position)
            drawn = None if run is None else run.state(position)  # before drawing: it goes on meanwhile
            if run is not None:
                view = bench_states.of_preview(product, position, run, view)
            token = f"{product.id}-{len(product.thumbnails)}"
            bench.send_assets(f"film-{product.id}", token, [*product.thumbnails, *product.without_score])
            bench.bench(_key(product), with_picture(product, view, pixels, photo_missing=photo_missing), token)
        except ValueError as error:  # no limit, or a score that is not finite: nothing is judged on it
            st.error(shell.sentence(error), icon=":material/error:")
            return
    shown = ShownPhoto(product, settings, view, pixels, photo_missing, busy, run)
    if shown.preview is None:
        with save:
            saving.save_recipe(product)
    with following:
        if run is None or drawn is None:
            preview_panel.offer_undo(product)
        else:
            preview_panel.show(product, run, position, drawn)
    with missed:
        if shown.preview is None:
            missed_defects.strip(product, view)
    with below:
        for panel in PANELS:
            if panel.suits(shown):
                panel.show(shown)


@dataclass(frozen=True)
class BenchPanel:
    """A section below the bench, and what it needs: the photo's file, the model in force instead of a preview."""

    show: Callable[[ShownPhoto], None]
    needs_photo: bool = False
    needs_model: bool = True

    def suits(self, shown: ShownPhoto) -> bool:
        """Whether what it needs is there."""
        is_preview = shown.preview is not None
        return not (self.needs_photo and shown.photo_missing) and not (self.needs_model and is_preview)


def forecast(shown: ShownPhoto) -> None:
    """Show what to expect of the limits, those of a preview once all photos have their score."""
    if shown.view.preview:
        return
    scored = shown.product.scored if shown.preview is None else shown.preview.scored
    view = shown.view
    sentence = forecast_sentence(scored, view.limits, view.scores, view.setting_scores, ceiling=view.ceiling)
    st.caption(shell.escape(sentence))


def repeatability(shown: ShownPhoto) -> None:
    """Show how many verdicts change where the same parts are photographed again."""
    if changed := shown.view.evidence.repeatability(shown.view.limits):
        st.caption(changed.sentence())


def _without_photos(product: TaughtProduct, save: DeltaGenerator) -> None:
    """Show what can be done with a product of which no photo is there."""
    st.info("No photos to show yet. Add some above.", icon=":material/add_photo_alternate:")
    relabelling.teach_again(product)
    if product.limits is not None:
        with save:
            saving.save_recipe(product)


def apply_bench_input(product: TaughtProduct, settings: SessionSettings) -> TaughtProduct:
    """Put what was set on the bench in force: limits, of a preview where one is shown; photo; labels. Return the
    product with it.
    """
    limits, position, label = bench.read_input(_key(product))
    preview = settings.preview
    if limits is not None and preview is None:
        product = shelf().change(product.id, partial(transitions.limited, limits=limits)) or product
    elif limits is not None and preview is not None and preview.complete:
        preview.limits = limits
    if position is not None and 0 <= position < len(product.scored.photos):
        settings.position = position
    return product if label is None else relabelling.take(product, *label)


def show_choice(shown: ShownPhoto) -> None:
    """This detector, and why."""
    if (words := shown.product.detector_reason) is not None:
        chosen, _, reason = words.partition("\n")
        st.caption(shell.escape(chosen), help=shell.escape(reason) or None)


def each_view(shown: ShownPhoto) -> None:
    """Show the map of every view by itself, where the detector adds several."""
    scored = shown.product.scored
    if len(scored.views) < 2:
        return
    with st.expander("Map of each method", key=f"views-{shown.product.id}", on_change="rerun") as opened:
        if not opened.open:
            return
        good = np.flatnonzero(scored.setters())
        st.caption(
            "The detector adds these maps. Colours range from a typical score to the highest "
            + ("score of a good part." if good.size else "score of this photo.")
        )
        small = boxes.downscale(shown.pixels, OWN_MAP_SIDE)
        for column, (i, view) in zip(st.columns(len(scored.views)), enumerate(scored.views), strict=True):
            limit = float(scored.maps(good if good.size else [shown.position], view=i, **shown.live).max())
            method_map = scored.map(shown.position, view=i, **shown.live)
            column.image(heatmap.overlay(small, method_map, limit), caption=view.definition.title, width="stretch")


def product_check_mode(shown: ShownPhoto) -> None:
    """Show what happens when a photo does not show the product that was taught."""
    product = shown.product
    if product.product_check is None:
        return
    words = {OFF: "Off", WARN: "Warn", STOP: "Stop"}
    key = f"guard-{product.id}"
    mode = shell.set_widget(key, product.product_check.mode)
    st.segmented_control(
        "Product check", list(words), default=mode, format_func=words.__getitem__, key=key,
        required=True, on_change=_set_mode, args=(product.id, key), help=(
            "Checks that the photo shows the taught product. Warn: shows a warning above the verdict. Stop: rejects "
            "photos of anything else, whatever their score. The check compares the whole photo with the good photos "
            f"(CoP on the network's last features{(FUSION if product.product_check.fused else '')}, Fang et al. "
            "2024); its limit comes from good photos."
        ),
    )  # fmt: skip


def choose_scale(shown: ShownPhoto) -> None:
    """Show the scale of the photos: with it areas are shown in mm² too. No verdict depends on it."""
    key = f"scale-{shown.product.id}"
    scale = shell.set_widget(key, shown.product.mm_per_pixel)
    with st.expander("Scale"):
        st.number_input(
            "Scale, mm per pixel", min_value=0.0, max_value=100.0, value=scale, step=0.001, format="%.6g", key=key,
            placeholder="unknown", on_change=_set_scale, args=(shown.product.id, key),
            help="Divide a known length by its length in pixels: 25 mm across 500 pixels is 0.05. Areas and regions "
                "are then also shown in mm and mm², and saved recipes keep the scale. Verdicts do not change.",
        )  # fmt: skip


def _set_scale(taught_id: str, key: str) -> None:
    scale = st.session_state[key]
    shelf().change(taught_id, lambda current: replace(current, mm_per_pixel=scale if SCALE.holds(scale) else None))


def _set_mode(taught_id: str, key: str) -> None:
    shelf().change(taught_id, partial(transitions.checking, mode=st.session_state[key]))


def _check_all(product: TaughtProduct) -> None:
    """Have the product check see all photos where it stops parts: those that it stops are counted."""
    if not (waiting := product.unchecked()):
        return
    bar = st.progress(0.0)
    for number, position in enumerate(waiting):
        bar.progress(number / len(waiting), text=f"Product check: photo {number + 1} of {len(waiting)}")
        with suppress(ImageError):  # it is told of where it is shown
            product.checked(position)
    bar.empty()


def _pixels(product: TaughtProduct, position: int) -> tuple[np.ndarray, bool]:
    """The photo shown, and whether it is missing: score and map are kept, so the bench shows a blank photo."""
    try:
        return product.pixels(position), False
    except ImageError as error:
        st.error(shell.sentence(error), icon=":material/broken_image:")
        return np.zeros((*product.scored.photos[position].size, 3), np.uint8), True


def with_picture(product: TaughtProduct, view: BenchState, pixels: np.ndarray, *, photo_missing: bool) -> BenchState:
    """The view with the photo shown and its verdict in words.

    Raises ValueError for a score that is not finite.
    """
    settings = settings_of(product)
    photos = product.scored.photos
    position = view.position
    verdict = bench_states.verdict_of(product, view, photo_missing=photo_missing)
    notes = [view.note, verdict.photo_deviation and f"Photo quality: {verdict.photo_deviation}."]
    differs = verdict.decided_by in (Reason.EMPTY, Reason.SHADED)
    notes.append(f"To review: {verdict.reason} than in any good part." if differs else None)
    if (left_out := verdict.uninspected) is not None and left_out.any():
        where = "the reference" if product.extractor.alignment is not None else "the photo"
        notes.append(f"Not inspected: {left_out.mean():.0%} of {where}.")
    box = None
    if (patch := settings.framed_patch) is not None and patch[0] == position:
        box = boxes.patch_box(patch[1], product.scored.grid, pixels.shape[:2])
        notes.append("Frame: the patch selected on Explore.")
    check = product.checked(position, ask=False)
    return replace(
        view,
        image=pixels,
        mask=photos[position].known_mask(product.scored.size),
        uninspected=verdict.uninspected,
        check=verdict.product_check,
        is_foreign=check is not None and check.is_foreign,
        note=" ".join(filter(None, notes)) or None,
        patch=box,
        defect_type=None if view.preview else defect_naming.in_words(verdict),
    )


def _key(product: TaughtProduct) -> str:
    return f"bench-{product.id}"


def retaught(shown: ShownPhoto) -> None:
    """What was relabelled, and teaching with it."""
    relabelling.teach_again(shown.product)


def least_confidence(shown: ShownPhoto) -> None:
    """From which confidence on a defect type is named."""
    defect_naming.limit_slider(shown.product, "inspect")


PANELS = (
    BenchPanel(forecast, needs_model=False),
    BenchPanel(repeatability),
    BenchPanel(escape_panel.show),
    BenchPanel(retaught),
    BenchPanel(defect_drawing_panel.show, needs_photo=True),
    BenchPanel(limit_advice.from_known_defects),
    BenchPanel(show_choice),
    BenchPanel(each_view),
    BenchPanel(repeat_photo_panel.show, needs_photo=True),
    BenchPanel(alignment_panel.show, needs_photo=True),
    BenchPanel(areas_panel.show, needs_photo=True),
    BenchPanel(choose_scale, needs_photo=True),
    BenchPanel(product_check_mode),
    BenchPanel(least_confidence),
    BenchPanel(known_cases_panel.show_similar_cases, needs_photo=True),
)
"""The sections below the bench, in their order."""
