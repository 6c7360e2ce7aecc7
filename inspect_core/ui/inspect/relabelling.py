"""This part is good, or a defect: what the engineer says on the bench, and teaching again with it."""

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from inspect_core.audit import changes
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.images.samples import counted
from inspect_core.images.splitting import Split
from inspect_core.runtime.jobs import Busy
from inspect_core.ui import defect_labels, shelf, shell, teaching
from inspect_core.ui.taught_part import TaughtPart
from inspect_core.whole_part.product_check import OFF


def take(taught: TaughtPart, position: int, kind: str) -> TaughtPart:
    """The part with one of its photos as this kind; recorded in the audit log, never in the engineer's files."""
    word = defect_labels.as_word(kind)
    if not (word and 0 <= position < len(taught.scored.photos)):
        return taught
    photo = taught.scored.photos[position]
    recipe = "" if taught.recipe is None else str(taught.recipe.digest)
    said = {"product": taught.product, "recipe": recipe, "user": shell.current_user()}
    entry = changes.relabelled(photo.name, photo.digest, photo.kind, word, **said)
    with shell.errors_shown(LogError, OSError, begins="The label was not recorded: "):
        with AuditLog.open() as log:
            log.append_all([entry])
        defect_labels.set_kind(taught, [position], "" if word == "good" else word)
    return shelf.change(taught.id, lambda held: held.labelled({photo.digest: word})) or taught


def teach_again(taught: TaughtPart) -> None:
    """What was relabelled, and teaching with it."""
    said = [photo for photo in taught.scored.photos if photo.was is not None]
    if not said:
        return
    row = st.container(horizontal=True, vertical_alignment="center")
    names = ", ".join(f"{photo.name} is {photo.kind}" for photo in said)
    words = f"Teach again with {counted(len(said), 'change')}"
    if taught.study is not None and row.button(
        words, icon=":material/restart_alt:", key=f"relabelled-{taught.id}",
        help="Good parts are learned from, defects help to set the limits. The same detector.",
    ):  # fmt: skip
        start_again(taught, lambda photos: photos.relabelled(photo.sample for photo in said))
    row.caption(shell.plain(f"{names}."))


def start_again(taught: TaughtPart, how: Callable[[Split], Split]) -> None:
    """Teach the photos of a part as `how` changes them, with its detector and product check."""
    try:
        study = taught.own_study
        own = {"method": str(study.method), "parameters": study.order.parameters}
        product_check = taught.product_check.mode if taught.product_check else OFF
        again = replace(taught.order(), photos=how(study.split), product_check=product_check, **own)
        teaching.start(again.published(own["method"]) if study.order.as_published else again)
    except (Busy, ValueError) as error:
        st.warning(shell.plain(error))
    else:
        st.rerun()
