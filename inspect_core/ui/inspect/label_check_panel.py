"""What the photos themselves say of their labels and products: on Inspect, before anything is saved."""

import io
from dataclasses import replace

import numpy as np
import streamlit as st
from PIL import Image

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.splitting import exchanged
from inspect_core.images.boxes import downscale
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.label_check import check_labels
from inspect_core.ui import contact_sheet, shell, teaching_job
from inspect_core.workbench.taught_product import TaughtProduct


def show(product: TaughtProduct) -> None:
    """Show that labels may be exchanged, with both groups and the button that exchanges them; else the good photos that
    look like known defects. Nothing where labels and scores agree. And that the photos look like two products.
    """
    for warning in product.warnings:
        st.warning(shell.escape(warning), icon=":material/call_split:")
    check = check_labels(product.scored)
    for sentence in check.sentences:
        if check.is_doubtful:
            _show_doubt(product, sentence)
        else:
            with st.expander(shell.escape(sentence)):
                _strip(product, "Good photos that look like known defects", list(check.suspects))


def _show_doubt(product: TaughtProduct, sentence: str) -> None:
    names = {photo.name: photo.label == GOOD for photo in product.scored.photos}
    with st.container(border=True):
        st.warning(shell.escape(sentence), icon=":material/swap_horiz:")
        _strip(product, "Taught as good", [name for name, is_good in names.items() if is_good])
        _strip(product, "Known defects", [name for name, is_good in names.items() if not is_good])
        label = "Exchange good and defective, and teach again"
        if product.order is not None and st.button(label, key=f"exchange-{product.id}"):
            _exchange(product.order)


def _strip(product: TaughtProduct, label: str, names: list[str]) -> None:
    st.caption(f"{label}: {len(names):d}")
    pictures = dict(zip((photo.name for photo in product.scored.photos), product.thumbnails, strict=False))
    shown = [pictures[name] for name in names if name in pictures][: contact_sheet.ACROSS]
    if shown:
        st.image(contact_sheet.sheet([*map(_small, shown)]), alt=f"{label}: the first photos")


def _small(thumbnail: bytes) -> np.ndarray:
    return downscale(np.asarray(Image.open(io.BytesIO(thumbnail)).convert("RGB")), contact_sheet.SIDE)


def _exchange(order: TeachingConfig) -> None:
    with shell.errors_shown(ValueError):
        photos = exchanged(order.photos, seed=order.seed)
        shell.begin(lambda: teaching_job.start(replace(order, photos=photos, method=None, notes=())))
