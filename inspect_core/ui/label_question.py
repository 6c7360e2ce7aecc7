"""The question how the labels of a folder are meant, where they can be read in more than one way."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import streamlit as st

from inspect_core.datasets.dataset import ScanError
from inspect_core.datasets.photo_labels import UnclearLabels
from inspect_core.datasets.photo_tree import PhotoTree
from inspect_core.runtime import workspace
from inspect_core.ui import contact_sheet, shell


@dataclass(frozen=True)
class LabelChoice:
    """How labels are read: by the reading chosen, None where there is one way. is_clear: whether either is so."""

    is_clear: bool
    reading: str | None = None


def choose(path: Path, key: str, *, to_teach: bool = True) -> LabelChoice:
    """How the labels of the photos at a path are read; the question is on the page where it must be asked.

    key: of the files (`photo_source.fingerprint`); to_teach: whether good photos must be among them. Problems with the
    photos are left to whoever reads them.
    """
    unclear = _unclear(str(path), key, to_teach)
    if unclear is None:
        return LabelChoice(is_clear=True)
    reading = _ask(unclear, f"labels-{key}")
    return LabelChoice(reading is not None, reading)


@st.cache_resource(max_entries=8, show_spinner=False)
def _unclear(path: str, key: str, to_teach: bool) -> UnclearLabels | None:
    try:
        PhotoTree.open(path, stays=True, roots=workspace.readable_roots()).read_labels(None, to_teach=to_teach)
    except UnclearLabels as unclear:
        return unclear
    except (ScanError, OSError):
        return None
    return None


def _ask(unclear: UnclearLabels, key: str) -> str | None:
    """The key of the reading that the user chooses, None until then; a preview of each stands beside it.

    key: of the widget, unique to the files.
    """
    with st.container(border=True):
        above = st.container()
        readings = {reading.key: reading for reading in unclear.readings}
        chosen = st.radio(
            "Labels", list(readings), index=None, key=key,
            format_func=lambda name: shell.escape(readings[name].title),
        )  # fmt: skip
        question = f"{unclear.question[:1].upper()}{unclear.question[1:]}"
        above.markdown(f"**{shell.escape(question)}**")
        if chosen is not None:
            return chosen
        above.caption("Nothing is used until you choose how the labels are meant.")
        shown = unclear.readings[0]
        few = contact_sheet.ACROSS
        if shown.good:
            st.caption(f"Good: {len(shown.good):d}")
            st.image(_strip(str(unclear.root), shown.good[:few]), alt="The first good photos")
        if shown.defective:
            st.caption(f"Defective: {len(shown.defective):d}")
            st.image(_strip(str(unclear.root), shown.defective[:few]), alt="The first defective photos")
    return None


@st.cache_data(max_entries=16, show_spinner=False)
def _strip(root: str, photos: tuple[PurePosixPath, ...]) -> str:
    return contact_sheet.sheet(contact_sheet.small_of(Path(root) / photo for photo in photos))
