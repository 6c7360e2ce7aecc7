"""This part is good, or a defect: what the engineer says on the bench, and teaching again with it."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from inspect_core.audit import changes
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.splitting import Split
from inspect_core.runtime.jobs import JobRejected
from inspect_core.runtime.wording import pluralise
from inspect_core.study.scored_photo import UNKNOWN
from inspect_core.ui import shell, teaching_job
from inspect_core.workbench import defect_labels
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

DEFECT = "defect"
"""What the page calls a part that a user says is defective."""
REOPENED = "Values are fixed, because not all photos it was taught with are there unchanged."


def take(product: TaughtProduct, position: int, label: str) -> TaughtProduct:
    """The product with a photo under this label; recorded in the audit log, never in the engineer's files."""
    word = defect_labels.normalise_label(label)
    if not (word and 0 <= position < len(product.scored.photos)):
        return product
    photo = product.scored.photos[position]
    if word == DEFECT and photo.original_label is not None and photo.original_label[0] not in (GOOD, UNKNOWN):
        word = photo.original_label[0]  # as it was taught
    log_context = {"product": product.product, "recipe": product.recipe_digest, "user": shell.current_user()}
    entry = changes.relabelled(photo.name, photo.digest, photo.label, word, **log_context)
    with shell.errors_shown(LogError, OSError, begins="Could not record the label, so it stays as it was: "):
        with AuditLog.open() as log:
            log.append_all([entry])
        defect_labels.set_label(product, [position], "" if word == "good" else word)
        return shelf().change(product.id, lambda current: current.labelled({photo.digest: word})) or product
    return product


def teach_again(product: TaughtProduct) -> None:
    """Show what was relabelled, and teaching with it."""
    relabelled_photos = [photo for photo in product.scored.photos if photo.original_label is not None]
    can_only_be_taught = product.is_fixed and product.order is not None
    if not relabelled_photos and not can_only_be_taught:
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    names = ", ".join(f"{photo.name} is {photo.label}" for photo in relabelled_photos)
    words = f"Teach again with {pluralise(len(relabelled_photos), 'change')}" if relabelled_photos else "Teach again"
    if product.order and row.button(
        words, icon=":material/restart_alt:", key=f"relabelled-{product.id}",
        help="Good parts are used for training, defective parts to help set the limits. The detector stays the same.",
    ):  # fmt: skip
        start_again(product, lambda photos: photos.with_labels(photo.sample for photo in relabelled_photos))
    row.caption(shell.escape(f"{names}." if relabelled_photos else REOPENED))


def start_again(product: TaughtProduct, resplit: Callable[[Split], Split]) -> None:
    """Teach the photos of a product as `resplit` changes them, with its detector and product check."""
    try:
        order = product.latest_order()
        teaching_job.start(replace(order, photos=resplit(order.photos)), product.id)
    except (JobRejected, ValueError, OSError) as error:
        st.warning(shell.sentence(error))
    else:
        st.rerun()
