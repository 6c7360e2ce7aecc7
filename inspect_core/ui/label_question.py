"""The question how the labels of a folder are meant, where they can be read in more than one way."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import streamlit as st

from inspect_core.datasets.dataset import GOOD, ScanError
from inspect_core.datasets.meanings import meanings_in, reading_of, sentence_of
from inspect_core.datasets.photo_labels import MOST_WORDS, NONE, OpenWord, Reading, UnclearLabels
from inspect_core.datasets.photo_tree import PhotoTree
from inspect_core.datasets.verdict_words import EXCLUDED, TEST_ONLY
from inspect_core.line.batch import photos_of
from inspect_core.line.confusion import truths_of
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import pluralise
from inspect_core.ui import contact_sheet, shell

DEFECT_TYPE = "a defect type"
MEANINGS = (GOOD, "defective", EXCLUDED, TEST_ONLY, DEFECT_TYPE)
BESIDE = 4
"""Photos that stand for a group."""


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


@st.cache_data(max_entries=8, show_spinner=False)
def truths_at(path: str, key: str, reading: str | None) -> dict[str, str]:
    """By the name of every photo that a batch would inspect at a path: "good", the defect type, "" where nothing says
    it. key: of the files; reading: of the labels. Raises as `batch.photos_of` and `confusion.truths_of` do.
    """
    photos = photos_of([Path(path)], workspace.readable_roots())
    truths, _ = truths_of(photos, [Path(path)], reading)
    return {name: truths.get(name, GOOD if reading == NONE else "") for name, _ in photos}


def _ask(unclear: UnclearLabels, key: str) -> str | None:
    """The key of the reading that the user chooses, None until then; what each would use stands beside it.

    key: of the choice in the session, and of the widgets, unique to the files.
    """
    with st.container(border=True):
        st.markdown(f"**{shell.sentence(unclear.question)}**")
        chosen_key = f"{key}-chosen"
        titles = {reading.key: reading.title for reading in unclear.readings}
        if (chosen := st.session_state.get(chosen_key)) is not None:
            st.markdown(shell.escape(titles.get(chosen) or f"{sentence_of(meanings_in(chosen))}."))
            st.button("Change", key=f"{key}-change", on_click=st.session_state.pop, args=(chosen_key,))
            return chosen
        st.caption("Nothing is used until you choose how the labels are meant. Each choice uses these photos:")
        for number, reading in enumerate(unclear.readings):
            _offer(unclear.root, reading, f"{key}-{number}", chosen_key)
        if unclear.words:
            _ask_meanings(unclear, key, chosen_key)
    return None


def _offer(root: Path, reading: Reading, key: str, chosen_key: str) -> None:
    """A reading with the button that chooses it, and the first photos that it teaches, keeps as defects, leaves out."""

    def choose_reading() -> None:
        st.session_state[chosen_key] = reading.key

    title, button = st.columns([5, 1], vertical_alignment="center")
    title.markdown(shell.escape(reading.title))
    button.button("Use", key=key, on_click=choose_reading, help=shell.escape(reading.title))
    parts = (("Good", reading.good), ("Defective", reading.defective), ("Left out", reading.unused))
    for column, (label, photos) in zip(st.columns(len(parts)), parts, strict=True):
        column.caption(f"{label}: {len(photos):d}")
        if photos:
            alt = f"{label}: the first photos"
            column.image(_strip(str(root), photos[:BESIDE], BESIDE), alt=alt)


def _ask_meanings(unclear: UnclearLabels, key: str, chosen_key: str) -> None:
    """Rows in which the user says what each word means, and the button that uses them."""
    st.markdown("**Or say what each means**")
    meanings: dict[str, str | None] = {}
    for number, word in enumerate(unclear.words[:MOST_WORDS]):
        photos, meaning = st.columns([2, 5], vertical_alignment="center")
        alt = f"The first photos of {word.text}"
        photos.image(_strip(str(unclear.root), word.photos[:BESIDE], BESIDE), alt=alt)
        with meaning:
            meanings[word.text] = _ask_meaning(word, f"{key}-word-{number}")
    named = {word: meaning for word, meaning in meanings.items() if meaning}
    is_open = len(named) < len(meanings)

    def use() -> None:
        st.session_state[chosen_key] = reading_of(named)

    st.button("Use these meanings", key=f"{key}-use", type="primary", disabled=is_open, on_click=use)
    if is_open:
        st.caption(f"{pluralise(len(meanings) - len(named), 'meaning')} to choose.")


def _ask_meaning(word: OpenWord, key: str) -> str | None:
    """What a word means, by one click, None until then; of a defect type its name, which begins as the word."""
    label = f"{word.text}: {pluralise(len(word.photos), 'photo')}"
    chosen = st.segmented_control(shell.escape(label), MEANINGS, key=key)
    if chosen != DEFECT_TYPE:
        return chosen
    name = st.text_input(shell.escape(f"Type of {word.text}"), word.text, key=f"{key}-type", max_chars=60)
    return name.strip() or None


@st.cache_data(max_entries=64, show_spinner=False)
def _strip(root: str, photos: tuple[PurePosixPath, ...], across: int) -> str:
    return contact_sheet.sheet(contact_sheet.small_of(Path(root) / photo for photo in photos), across=across)
