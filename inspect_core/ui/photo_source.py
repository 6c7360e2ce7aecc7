"""Where photos come from, on every page that takes them: a folder or zip on this machine, or an upload."""

import contextlib
import hashlib
import os
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

import streamlit as st

from inspect_core.datasets.listing import walk
from inspect_core.datasets.lists_above import lists_above
from inspect_core.datasets.photo_tree import MAX_FILES, is_within, resolve_allowed_path, top_folder
from inspect_core.images.photo_reader import EXTENSIONS
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import pluralise
from inspect_core.ui import folder_browser, shell, upload_cleaning
from inspect_core.workbench import uploads

TYPES = sorted(extension.lstrip(".") for extension in EXTENSIONS)
"""Endings of photos, as an upload takes them."""
SAMPLE, FOLDER, UPLOAD = "Sample", "Folder on this computer", "Upload"


@dataclass(frozen=True)
class PhotoSource:
    """Photos chosen by the engineer: a folder or a zip on this machine, and the name of the product."""

    path: Path
    product: str


def choose_folder(words: str, *, page: str = "", label: str = "Folder or zip") -> PhotoSource | None:
    """A path within the allowed roots. words: the help text; page: prefix of the keys, unique to the page."""
    path = folder_at(label, key=f"{page}folder", **shell.STAYS, help=words)
    return None if path is None else PhotoSource(path, path.stem)


def folder_at(label: str, value: str = "", *, key: str, **options: Any) -> Path | None:
    """A path within the allowed roots, typed in or chosen by clicking; None, with the reason on the page, for
    another.
    """
    row = st.container(horizontal=True, vertical_alignment="bottom")
    text = row.text_input(label, value, placeholder="/home/you/photos/part-17", key=key, **options)
    with row:
        folder_browser.browse(key)
    if not text.strip():
        return None
    try:
        path = resolve_allowed_path(workspace.parse_pasted_path(text), workspace.allowed_roots())
        if path.is_dir():
            folder_browser.remember(path)
        return path
    except (ValueError, OSError) as error:
        st.error(shell.sentence(error), icon=":material/error:")
        return None


def choose_upload(*, page: str = "") -> PhotoSource | None:
    """Files from the browser, kept in the workspace. page: as in `choose_folder`."""
    at, before = f"{page}upload_folder", f"{page}uploaded"
    words = "When off, choose photos or one zip."
    whole = st.toggle("Upload a folder", key=at, **shell.STAYS, help=words)
    label = "Photo folder" if whole else "Photos, with the files that say what they show, or one zip"
    # Of any kind: a table of labels must not be left behind, and what cannot be used is named with the reason.
    files = st.file_uploader(
        label, accept_multiple_files="directory" if whole else True,
        key=f"{page}folder_upload" if whole else f"{page}files_upload",
        on_change=st.session_state.pop, args=(before, None),
    )  # fmt: skip
    if not files:
        source, counted = st.session_state.get(before, (None, ""))
        if source is not None and source.path.exists():
            # The browser forgets what was uploaded when its page is left; it lies in the workspace.
            remark = f"The {counted} of before are used; choose others to replace them."
            st.caption(f":material/inventory_2: {shell.escape(remark)}")
            return source
        if cleaned := upload_cleaning.sentence():
            st.caption(shell.escape(cleaned))
        return None
    zipped = [file for file in files if PurePosixPath(file.name).suffix.lower() == ".zip"]
    if zipped and len(files) > 1:
        st.error("Upload either photos or one zip, not both.", icon=":material/error:")
        return None
    try:
        folder = uploads.keep([(file.name, file.getbuffer()) for file in files], workspace.uploads_folder())
        first, *others = folder.iterdir()
    except OSError as error:
        st.error(
            f"Could not save the upload: {shell.escape(error.strerror or error)}. Fix the problem, then upload again.",
            icon=":material/error:",
        )  # fmt: skip
        return None
    if zipped:
        source = PhotoSource(first, first.stem)
    else:
        source = PhotoSource(folder, "my product" if others or first.is_file() else first.name)
    st.session_state[before] = source, pluralise(len(files), "uploaded file")
    return source


def fingerprint(path: Path) -> str:
    """A key of what was found: it changes with any file below `path`, or beside a list, and with lists above it."""
    digest = hashlib.sha256(os.fsencode(path))
    with contextlib.suppress(OSError):  # `scan` reports the problem
        folder = top_folder(path, workspace.readable_roots())
        below = [name for name, _ in islice(walk(folder), MAX_FILES)] if folder.is_dir() else [""]
        above = (
            lists_above(folder, folder, partial(is_within, roots=workspace.readable_roots())) if folder.is_dir() else []
        )
        for name in (*below, *above):
            entry = folder / name
            if entry.is_file():
                facts = entry.stat()
                digest.update(b"%s|%d|%d\n" % (os.fsencode(entry), facts.st_size, facts.st_mtime_ns))
    return digest.hexdigest()
