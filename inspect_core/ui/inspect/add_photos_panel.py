"""Adding photos of new parts on Inspect: dropped, in a zip or folder, or from a camera."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from inspect_core.images.alignment import NotLocated
from inspect_core.images.photo_reader import DecodedPhoto, read, read_bytes
from inspect_core.line.batch import photos_of
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import pluralise
from inspect_core.ui import shell
from inspect_core.ui.photo_source import TYPES, folder_at
from inspect_core.ui.session import SessionSettings, settings_of
from inspect_core.workbench import uploads
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

SHOWN_PROBLEMS = 4
MOST_ADDED = 200
"""Photos of a folder or zip: more are a batch."""
PhotoToRead = tuple[str, Callable[[], DecodedPhoto]]
"""A photo's name, and what reads it."""


def show(product: TaughtProduct) -> TaughtProduct:
    """Add photos of new parts: dropped here, in a zip, in a folder, or from a camera; return the product with them."""
    settings = settings_of(product)
    dropped, camera, folder = (f"{name}-{product.id}" for name in ("added", "taken", "added-folder"))
    files = [*(st.session_state.get(dropped) or []), st.session_state.get(camera)]
    if fresh := [file for file in files if file is not None and file.file_id not in settings.added]:
        product = _add_all(product, settings, _uploaded(product, settings, fresh))
    key = f"add-{product.id}-{len(settings.added)}"  # another one after an upload, so it closes over the new photos
    with st.popover("Add photos", icon=":material/add_photo_alternate:", key=key):
        label = "Photos of new parts, or a zip of them"
        st.file_uploader(label, [*TYPES, "zip"], accept_multiple_files=True, key=dropped)
        path = folder_at("Folder or zip on this computer", key=folder)
        if path is not None and st.button("Add these photos", key=f"add_folder-{product.id}"):
            settings.added.add(f"{path} {len(settings.added)}")
            with shell.errors_shown(ValueError, OSError):
                product = _add_all(product, settings, _stored(product, path))
        by_camera = "Uses this device's camera. Browsers allow this only on this computer or over HTTPS."
        if st.toggle("Take a photo", key=f"camera-{product.id}", help=by_camera):
            st.camera_input("Photo of the part", key=camera, resolution="1080p")
    return product


def _stored(product: TaughtProduct, path: Path) -> list[PhotoToRead]:
    """The photos at a path. Raises ValueError and OSError as `photos_of`, and for more than MOST_ADDED."""
    photos = photos_of([path], workspace.readable_roots())
    if len(photos) > MOST_ADDED:
        raise ValueError(f"“{path.name}” holds {len(photos):,} photos; inspect more than {MOST_ADDED} on Batch")
    return [(name, partial(read, file, product.depth)) for name, file in photos]


def _uploaded(product: TaughtProduct, settings: SessionSettings, files: Sequence[UploadedFile]) -> list[PhotoToRead]:
    """The photos in uploaded files, zips unpacked; why a zip cannot be used is kept in the settings."""
    settings.problems.clear()
    photos: list[PhotoToRead] = []
    for file in files:
        settings.added.add(file.file_id)
        content = file.getvalue()
        _free_upload(file)
        if not file.name.lower().endswith(".zip"):
            photos.append((file.name, partial(read_bytes, content, file.name, product.depth)))
            continue
        try:
            folder = uploads.keep([(file.name, content)], workspace.uploads_folder())
            photos += _stored(product, next(folder.iterdir()))
        except (ValueError, OSError) as error:
            settings.problems.append(str(error))
    return photos


def _add_all(product: TaughtProduct, settings: SessionSettings, photos: Sequence[PhotoToRead]) -> TaughtProduct:
    """Add photos to the product and show the last of them; why one cannot be added is kept in the settings."""
    progress = st.empty()
    for number, (name, read_photo) in enumerate(photos, start=1):
        if len(photos) > 1:
            progress.progress(number / len(photos), f"Inspecting photo {number} of {len(photos)}")
        try:
            picture = read_photo()
            if (position := product.position_of(picture.digest)) is not None:
                settings.position = position
                present = product.scored.photos[position].name
                settings.problems.append(f"{name}: the same photo is here already, as {present}")
                continue
            with shell.device_held(product.extractor.backbone.device):
                added = shelf().add(product, picture)
            if added is None:  # closed since this run began
                st.rerun()
            product = added
            if (position := product.position_of(picture.digest)) is not None:
                settings.position = position
        except NotLocated as error:
            settings.problems.append(f"{name}: the part was not located: {error}")
        except (ValueError, OSError) as error:  # a damaged photo, or one without a finite score
            settings.problems.append(str(error))
    progress.empty()
    return product


def show_problems(settings: SessionSettings) -> None:
    """Show which of the photos added last could not be, and why, until they are dismissed."""
    if not settings.problems:
        return
    lines = [f"- {shell.escape(problem)}" for problem in settings.problems[:SHOWN_PROBLEMS]]
    if len(settings.problems) > SHOWN_PROBLEMS:
        lines.append(f"- and {len(settings.problems) - SHOWN_PROBLEMS} more")
    count = pluralise(len(settings.problems), "photo")
    row = st.container(horizontal=True, gap="small")
    row.error("\n".join([f"**{count} could not be added:**", "", *lines]), icon=":material/broken_image:")
    row.button("Dismiss", key="dismiss_uploads", on_click=settings.problems.clear)


def _free_upload(file: UploadedFile) -> None:
    """Free an upload, which Streamlit keeps in memory until the session ends; it is on disk by now, or unusable."""
    if (context := get_script_run_ctx()) is not None:
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)  # ty: ignore[missing-attribute]
