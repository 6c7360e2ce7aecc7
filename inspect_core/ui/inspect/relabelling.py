"""This part is good, or a defect: what the engineer says on the bench, and teaching again with it."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from inspect_core.audit import changes
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.images.samples import GOOD, counted
from inspect_core.images.splitting import Split
from inspect_core.runtime.jobs import Busy
from inspect_core.study.scored_photo import UNKNOWN
from inspect_core.ui import defect_labels, open_product_store, shell, teaching_job
from inspect_core.ui.taught_product import TaughtPart

DEFECT = "defect"
"""What the page calls a part that a user says is defective."""
REOPENED = "Values are fixed, because not all photos it was taught with are there unchanged."


def take(taught: TaughtPart, position: int, kind: str) -> TaughtPart:
    """The part with one of its photos as this kind; recorded in the audit log, never in the engineer's files."""
    word = defect_labels.as_word(kind)
    if not (word and 0 <= position < len(taught.scored.photos)):
        return taught
    photo = taught.scored.photos[position]
    if word == DEFECT and photo.was is not None and photo.was[0] not in (GOOD, UNKNOWN):
        word = photo.was[0]  # as it was taught
    recipe = "" if taught.recipe is None else str(taught.recipe.digest)
    said = {"product": taught.product, "recipe": recipe, "user": shell.current_user()}
    entry = changes.relabelled(photo.name, photo.digest, photo.kind, word, **said)
    with shell.errors_shown(LogError, OSError, begins="Could not record the label: "):
        with AuditLog.open() as log:
            log.append_all([entry])
        defect_labels.set_kind(taught, [position], "" if word == "good" else word)
    return open_product_store.change(taught.id, lambda held: held.labelled({photo.digest: word})) or taught


def teach_again(taught: TaughtPart) -> None:
    """What was relabelled, and teaching with it."""
    said = [photo for photo in taught.scored.photos if photo.was is not None]
    if not said and taught.ordered is None:
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    names = ", ".join(f"{photo.name} is {photo.kind}" for photo in said)
    words = f"Teach again with {counted(len(said), 'change')}" if said else "Teach again"
    if (taught.study or taught.ordered) and row.button(
        words, icon=":material/restart_alt:", key=f"relabelled-{taught.id}",
        help=(
            "Good parts are used for training, defective parts to help set the limits. The detector stays the same."
),
    ):  # fmt: skip
        start_again(taught, lambda photos: photos.relabelled(photo.sample for photo in said))
    row.caption(shell.plain(f"{names}." if said else REOPENED))


def start_again(taught: TaughtPart, how: Callable[[Split], Split]) -> None:
    """Teach the photos of a part as `how` changes them, with its detector and product check."""
    try:
        order = taught.taught_by()
        teaching_job.start(replace(order, photos=how(order.photos)), taught.id)
    except (Busy, ValueError, OSError) as error:
        st.warning(shell.plain(error))
    else:
        st.rerun()
