"""The parts of the Inspect page: first start, adding photos, the bench with its live parameters, saving a recipe."""

import contextlib
from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from inspect_core.guard.model import OFF, STOP, WARN
from inspect_core.images import boxes
from inspect_core.images.read import EXTENSIONS, ImageError, read_bytes, read_mask
from inspect_core.judge.masks import mask_at
from inspect_core.plots import heatmap
from inspect_core.records import recipe_file
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Busy, device_lock
from inspect_core.ui import shell, taught_part
from inspect_core.ui.bench import bench
from inspect_core.ui.defect_types import naming
from inspect_core.ui.inspect import live_parameters, previews, views
from inspect_core.ui.inspect.previews import Run
from inspect_core.ui.inspect.views import View
from inspect_core.ui.session import carry_limits, settings_at, settings_of
from inspect_core.ui.similar import panels
from inspect_core.ui.taught_part import InHand
from inspect_core.ui.teach import teaching
from inspect_core.verdict import Limits

MAX_NOTES = 3
PREVIEW_POLL_SECONDS = 0.4
FUSION = ", fused with the energy of its class scores"


def first_start() -> None:
    """Nobody faces an empty app: the sample part is taught at once, and the way to one's own part is one click."""
    st.title("Inspect")
    if shell.say_if_put_away():
        return
    if shell.jobs().current is None and teaching.samples():
        with contextlib.suppress(Busy):  # another window was quicker
            teaching.start_sample()
        st.rerun()
    job = shell.jobs().current
    if job is not None and job.active:
        st.info(
            "Nothing has been taught yet, so Loupe is learning the sample part. This page fills when it is done.",
            icon=":material/hourglass_top:",
        )
        shell.watch_in_page()
    else:
        shell.show_running("")
        st.info("Nothing has been taught yet.", icon=":material/info:")
    if st.button("Teach your own part", type="primary", icon=":material/school:", key="to_teach"):
        st.switch_page("pages/teach.py")


def headline(hand: InHand) -> None:
    """The part in hand and what the engineer should know of the photos it was taught with."""
    shell.show_running("The bench follows when it is done.")
    if not hand.notes:
        return
    with st.expander(f"{len(hand.notes)} {'note' if len(hand.notes) == 1 else 'notes'} on the photos"):
        for note in hand.notes:
            st.markdown(f"- {shell.plain(note)}")


def add_photos(hand: InHand) -> InHand:
    """Photos of new parts, dropped here, go on the bench beside the others; the part with them."""
    with st.popover("Add photos to inspect", icon=":material/add_photo_alternate:"):
        files = st.file_uploader(
            "Photos of new parts", sorted(extension.lstrip(".") for extension in EXTENSIONS),
            accept_multiple_files=True, key=f"added-{hand.id}",
        )  # fmt: skip
    fresh = [file for file in files or [] if file.file_id not in settings_of(hand)["added"]]
    for file in fresh:
        settings_of(hand)["added"].add(file.file_id)
        try:
            picture = read_bytes(file.getvalue(), file.name)
            with device_lock(hand.preparation.backbone.device):
                added = taught_part.add(hand, picture)
            if added is None:  # put away since this run began
                st.rerun()
            hand = added
            settings_of(hand)["position"] = hand.position_of(picture.digest)
        except (ImageError, OSError) as error:
            st.error(shell.plain(error), icon=":material/broken_image:")
        _let_go(file)
    return hand


def hand_over_thumbnails(hand: InHand) -> None:
    """The gallery's pictures, sent once and not again when a parameter moves."""
    settings_of(hand)["film"] = _token(hand)
    bench.film(f"film-{hand.id}", _token(hand), hand.thumbnails)


@taught_part.redrawn
def bench_with_parameters(hand: InHand) -> None:
    """The bench and, under it, the live parameters of the detector in use; only this reruns on a move."""
    settings = settings_of(hand)
    if settings["film"] != _token(hand):  # another session has added a photo
        st.rerun()
    position, above, below = settings["position"], st.container(), st.container()
    running = shell.jobs().current
    busy = running is not None and running.active
    with below:
        shown = live_parameters.choose(hand, settings["live"], settings["preview"], shown=position, busy=busy)
    settings["preview"] = shown.run
    if shown.run is None and shown.live != settings["live"]:
        carry_limits(hand, settings, shown.live)
    with above:
        if not hand.tray.photos:
            st.info("No photos on the bench yet. Add photos to inspect above.", icon=":material/add_photo_alternate:")
            return
        view, moved = views.of_model(hand, position, settings["live"], settings["limits"]), "limits"
        if shown.run is not None:
            moved = f"limits of preview {shown.run.number}"
            view = views.of_preview(hand, position, shown.live, shown.run, view, settings.get(moved))
        pixels, gone = _pixels(hand, position)
        kind = None
        if shown.run is None and not gone:
            kind = naming.kind_sentence(hand, position, settings["live"], view.limits)
        try:
            check = None if gone else hand.product_check(position)
            result = _draw(hand, position, view, pixels, check, kind)
        except ValueError as error:  # a score that is not finite: nothing is judged on it
            st.error(shell.plain(error), icon=":material/error:")
            return
    with below:
        if shown.run is None:
            parameter_buttons(hand, busy=busy)
            product_check(hand)
            naming.limit_slider(hand, "inspect")
            save_recipe(hand, view.limits, settings["live"])
            if not gone:
                panels.seen_before(hand, position, settings["live"], view.limits, busy=busy)
        else:
            preview_buttons(hand, shown.run, shown.live, position)
    if result.position != position or result.limits != view.limits:
        settings["position"] = result.position
        settings[moved] = None if result.limits == view.suggested else result.limits
        st.rerun()


def parameter_buttons(hand: InHand, *, busy: bool) -> None:
    """The way back to the suggested values, and what they rest on."""
    start = live_parameters.suggested(hand)
    if not start:
        return
    st.button(
        "Back to suggested", key=f"suggested-{hand.id}", icon=":material/undo:", disabled=busy,
        on_click=live_parameters.set_to, args=(hand.id, start),
    )  # fmt: skip
    st.caption(hand.suggestion.basis)


def preview_buttons(hand: InHand, run: Run, live: dict[str, int], position: int) -> None:
    """What a preview can lead to: applied by a full pass, or left. Only an applied model sets limits or is saved."""
    if run.error:
        st.error(shell.plain(run.error), icon=":material/error:")
    elif not run.ended.is_set():
        follow_preview(hand.id, position, run.ready(position))
    left, middle, right, _ = st.columns([2, 2, 2, 3])
    what = live_parameters.describe(run.parameters)
    if left.button(
        "Apply", key=f"apply-{hand.id}", type="primary", icon=":material/check:", disabled=run.live is None,
        width="stretch", help="Learns from all good photos with these values, in the background. Only then do they "
        "set limits and enter a recipe.",
    ):  # fmt: skip
        try:
            shell.start(f"Applying {what}", lambda job: previews.apply(hand, run, live, job.report))
            st.rerun()
        except Busy as error:
            st.warning(shell.plain(error))
    middle.button(
        "Leave the preview", key=f"leave-{hand.id}", width="stretch", icon=":material/close:",
        on_click=live_parameters.set_to, args=(hand.id, live_parameters.fitted(hand)),
    )  # fmt: skip
    if start := live_parameters.suggested(hand):
        right.button(
            "Back to suggested", key=f"suggested-{hand.id}", width="stretch", icon=":material/undo:",
            on_click=live_parameters.set_to, args=(hand.id, start),
        )  # fmt: skip


@st.fragment(run_every=PREVIEW_POLL_SECONDS)
def follow_preview(hand_id: str, position: int, drawn: bool) -> None:
    """How far a preview is; the page is drawn anew when the shown photo is there and when all are."""
    run = settings_at(hand_id)["preview"]
    if run is None or run.ended.is_set() or run.ready(position) != drawn:
        st.rerun()
    st.progress(run.done / max(len(run.photos), 1), text=f"Preview: {run.done} of {len(run.photos)} photos")


def product_check(hand: InHand) -> None:
    """What happens when a photo does not show the product that was taught."""
    if hand.guard is None:
        return
    words = {OFF: "Off", WARN: "Warn", STOP: "Stop"}
    chosen = st.segmented_control(
        "Product check", list(words), default=hand.guard.mode, format_func=words.get, required=True,
        key=f"guard-{hand.id}", help="Is this the product that was taught? Warn: a sentence above the verdict. Stop: "
        "the recipe rejects a photo of anything else, whatever its score. The check compares the whole photo with "
        f"the good ones (CoP on the network's last features{FUSION if hand.guard.fused else ''}, Fang et al. 2024); "
        "its limit comes from good photos.",
    )  # fmt: skip
    if chosen != hand.guard.mode:
        taught_part.change(hand.id, lambda held: replace(held, guard=held.guard.with_mode(chosen)))
        st.rerun()


def save_recipe(hand: InHand, limits: Limits, live: dict[str, int]) -> None:
    """Keep what is in force as a recipe in the workspace; of an opened recipe, a revised one with it as its parent."""
    if hand.study is None and hand.recipe is None:
        return
    with st.popover("Save as recipe", icon=":material/inventory_2:"):
        name = st.text_input("Name", value=hand.product, max_chars=60, key=f"recipe_name-{hand.id}")
        reason = st.text_input("Reason", key=f"recipe_reason-{hand.id}", placeholder="first release, new lamp, …")
        if st.button("Save", type="primary", key=f"save-{hand.id}", disabled=not name.strip()):
            said = {
                "product": name.strip(),
                "author": shell.current_user(),
                "reason": reason,
                "guard": hand.guard,
                "gallery": hand.cases,
                "kinds": hand.kinds,
            }
            if hand.study is None:
                recipe = hand.recipe.revised(limits, **said)
            else:
                recipe = hand.study.recipe(limits, parent=hand.recipe and hand.recipe.digest, **said, **live)
            path = _free_path(name.strip())
            try:
                saved = recipe_file.save(recipe, path)
            except OSError as error:
                st.error(shell.plain(error.strerror or error), icon=":material/error:")
                return
            taught_part.change(hand.id, lambda held: replace(held, recipe=saved, product=name.strip()))
            st.toast(f"Saved recipe {saved.digest[:8]} in {shell.plain(path.name)}.", icon=":material/check_circle:")
            st.rerun()


def _pixels(hand: InHand, position: int) -> tuple[np.ndarray, bool]:
    """The photo shown, and whether it is gone: its score and map are kept, so the bench goes on over a blank one."""
    try:
        return hand.pixels(position), False
    except ImageError as error:
        st.error(shell.plain(error), icon=":material/broken_image:")
        return np.zeros((*hand.tray.photos[position].size, 3), np.uint8), True


def _draw(
    hand: InHand, position: int, view: View, pixels: np.ndarray, check: str | None, kind: str | None
) -> bench.BenchResult:
    photo, mask = hand.tray.photos[position], None
    if photo.mask is not None:
        with contextlib.suppress(ImageError):
            mask = mask_at(read_mask(photo.mask, photo.size), hand.tray.size)
    note, box = view.note, None
    stops = hand.guard is not None and hand.guard.mode == STOP
    if (patch := settings_of(hand)["patch"]) is not None and patch[0] == position:
        box = boxes.patch_box(patch[1], hand.tray.grid, pixels.shape[:2])
        note = " ".join(filter(None, [note, "Framed: the patch chosen on Explore."]))
    return bench.bench(
        f"bench-{hand.id}",
        [
            bench.Part(photo.name, photo.kind, photo.part, photo.group, float(score), stops and hand.is_foreign(i))
            for i, (photo, score) in enumerate(zip(hand.tray.photos, view.scores, strict=True))
        ],
        bench.Shown(position, pixels, view.pixel_map, mask, check, note, box, kind, hand.is_foreign(position)),
        view.limits,
        calm=view.calm,
        suggested=view.suggested,
        sentence=view.sentence,
        thumbs=_token(hand),
        heat=heatmap.heat_colours(),
    )


def _let_go(file: UploadedFile) -> None:
    """Streamlit keeps an upload in memory until its session ends; this one is on disk by now, or cannot be used."""
    if (context := get_script_run_ctx()) is not None:
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)


def _strangest(hand: InHand, live: dict[str, int]) -> int:
    return int(hand.scores(live).argmax()) if hand.tray.photos else 0


def _token(hand: InHand) -> str:
    return f"{hand.id}-{len(hand.thumbnails)}"


def _free_path(name: str):
    folder, stem, number = workspace.recipes_folder(), workspace.file_name(name), 1
    while (path := folder / (f"{stem}-{number}.zip" if number > 1 else f"{stem}.zip")).exists():
        number += 1
    return path
