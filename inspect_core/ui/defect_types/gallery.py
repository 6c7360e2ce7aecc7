"""Photos of parts that are not good, each as the crop to learn from: a click gives it a defect type."""

import io

import numpy as np
import streamlit as st
from PIL import Image

from inspect_core.images.boxes import Box, crop_square
from inspect_core.images.photo_reader import ImageError
from inspect_core.images.png import png_of
from inspect_core.runtime.wording import pluralise
from inspect_core.ui import crops, shell
from inspect_core.ui.defect_types import training_job
from inspect_core.workbench import defect_labels
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

ON_A_PAGE = 18
CELL = 148
PICTURE = 240
WITHOUT = "unlabelled"
ON_BRUSH = (
    "Select a defect type, or type a new one and press Enter. Then click the button below a photo to label it. "
    "Click again to remove the label."
)
ON_REMOVE = "Keeps the photos but removes their defect type. The trained model keeps this name until you train again."


def gallery(product: TaughtProduct, by_region: bool) -> None:
    """Show all photos that have a type, are known defects, or exceed the limit; the highest score first."""
    labels = defect_labels.labels_of(product)
    shown = _candidates(product, labels)
    if not shown:
        st.info(
            "Nothing to label yet: no photo is labelled as defective or exceeds the limit. Add photos on Inspect.",
            icon=":material/label:",
        )
        return
    defect_types = sorted(set(labels.values()))
    tools = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    brush = f"brush-{product.id}"
    say, words = "Defect type", "Select or type one"
    tools.selectbox(
        say, defect_types, index=None, key=brush, placeholder=words, accept_new_options=True, width=250, help=ON_BRUSH
    )
    options = [WITHOUT, *defect_types] if defect_types else []
    shown_type = tools.pills("Show", options, key=f"show-{product.id}", format_func=shell.escape) if options else None
    with tools:
        _rename_or_remove(product, labels, defect_types)
    chosen = [i for i in shown if shown_type is None or labels.get(i, WITHOUT) == shown_type]
    if not chosen:
        st.caption("No photos.")
        return
    cells = st.container(horizontal=True)
    for position in shell.paginate(chosen, ON_A_PAGE, f"page-{product.id}-{shown_type}"):
        with cells.container(width=CELL):
            _cell(product, position, labels.get(position), by_region, brush)


def crop_of(product: TaughtProduct, position: int) -> Box | None:
    """The region a photo is learned from: the largest above the limit, else of its mask; None for neither."""
    live, limits = product.live, product.limits
    box = crops.found_box(product, position, live, limits) if limits is not None else None
    return box or crops.true_box(product, position)


def _candidates(product: TaughtProduct, labels: dict[int, str]) -> list[int]:
    live, limits = product.live, product.limits
    scores = product.scored.scores(**live)
    photos = product.scored.photos
    above = scores > (limits.review if limits is not None else np.inf)
    order = np.argsort(-scores, kind="stable").tolist()
    return [position for position in order if position in labels or photos[position].is_defect or above[position]]


def _cell(product: TaughtProduct, position: int, defect_type: str | None, by_region: bool, brush: str) -> None:
    photo = product.scored.photos[position]
    box = crop_of(product, position) if by_region else None
    try:
        shown = f"{'Region of ' if box else ''}{photo.name}, {defect_type or WITHOUT}"
        st.image(_picture(product, product.id, position, box), width="stretch", alt=shown)
    except ImageError as error:
        st.caption(f":material/broken_image: {shell.escape(error)}")
    key = f"kind-{product.id}-{photo.digest}"
    button_type = "secondary" if defect_type else "tertiary"
    label = shell.escape(defect_type or WITHOUT)
    words = shell.escape(photo.name)
    arguments = (product.id, position, defect_type, brush)
    st.button(label, key=key, width="stretch", help=words, type=button_type, on_click=_give, args=arguments)


def _give(taught_id: str, position: int, defect_type: str | None, brush: str) -> None:
    word = defect_labels.normalise_label(st.session_state[brush] or "")
    if not word:
        st.toast("First select or type a defect type above.", icon=":material/label:")
        return
    _keep(taught_id, [position], "" if word == defect_type else word)


def _rename_or_remove(product: TaughtProduct, labels: dict[int, str], defect_types: list[str]) -> None:
    with st.popover("Rename or remove", icon=":material/edit:", disabled=not defect_types):
        defect_type = st.selectbox("Defect type", defect_types, key=f"old-{product.id}")
        word = defect_labels.normalise_label(
            st.text_input("New name", key=f"new-{product.id}", max_chars=defect_labels.LONGEST)
        )
        labelled_positions = [position for position, label in labels.items() if label == defect_type]
        joins = word in defect_types and word != defect_type
        if joins:
            st.caption(f"“{shell.escape(word)}” already exists. The two types will be merged; train again afterwards.")
        arguments = (product.id, labelled_positions, defect_type, word, joins)
        st.button("Rename", key=f"rename-{product.id}", disabled=not word, on_click=_rename, args=arguments)
        label = f"Remove label from {pluralise(len(labelled_positions), 'photo')}"
        icon = ":material/label_off:"
        arguments = (product.id, labelled_positions, "")
        off = defect_type is None
        key = f"remove-{product.id}"
        st.button(label, key=key, icon=icon, on_click=_keep, args=arguments, disabled=off, help=ON_REMOVE)


def _rename(taught_id: str, positions: list[int], old: str, new: str, joins: bool) -> None:
    _keep(taught_id, positions, new)
    if not joins:
        training_job.rename(taught_id, old, new)


def _keep(taught_id: str, positions: list[int], defect_type: str) -> None:
    product = shelf().find(taught_id)
    try:
        if product is not None:
            defect_labels.set_label(product, positions, defect_type)
    except OSError as error:
        st.toast(f"Could not save the defect type: {shell.escape(error.strerror or error)}", icon=":material/error:")


@st.cache_data(max_entries=512, show_spinner=False)
def _picture(_taught: TaughtProduct, taught_id: str, position: int, box: Box | None) -> bytes:
    """A square picture to find a part by, never to judge it by: what is learned from, or the whole part."""
    pixels = _taught.pixels(position)
    if box is not None:
        buffer = io.BytesIO()
        crop = Image.fromarray(crop_square(pixels, box))
        crop.resize((PICTURE, PICTURE), Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=88)
        return buffer.getvalue()
    whole = Image.fromarray(pixels)
    whole.thumbnail((PICTURE, PICTURE), Image.Resampling.BICUBIC)
    square = Image.new("RGBA", (PICTURE, PICTURE), (0, 0, 0, 0))
    square.paste(whole, ((PICTURE - whole.width) // 2, (PICTURE - whole.height) // 2))
    return png_of(square)
