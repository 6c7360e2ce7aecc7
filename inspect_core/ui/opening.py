"""A part put on the bench again: a recipe, alone or with the photos it was judged with, or a part that is not saved."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from inspect_core.images import heatmap
from inspect_core.images.alignment import NotLocated
from inspect_core.images.folders import inside
from inspect_core.images.read import ImageError, read
from inspect_core.images.samples import counted
from inspect_core.judge.anomaly_map import AREA
from inspect_core.recipe import Recipe, loaded_backbone
from inspect_core.recipe_format.known_parts import Calibrated
from inspect_core.recipe_io.check_photos import masks_in, still_there
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Busy, Job
from inspect_core.study import unsaved
from inspect_core.study.scored_photo import UNKNOWN, ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.ui import shelf, shell
from inspect_core.ui.taught_part import TaughtPart


def buttons(recipe: Recipe, key: str, *, missing: bool) -> None:
    """Open it, alone or with its photos; missing: whether its network is."""
    if st.button("Open", key=f"open-{key}", type="primary", icon=":material/folder_open:", disabled=missing):
        with shell.errors_shown(ValueError, OSError):
            with st.spinner("Loading the network…"):
                shelf.take(shelf.put(part_of(recipe)))
            st.switch_page("pages/inspect.py")
    if any(found_of(recipe, row) for row in recipe.judged):
        label, words = "Open with its photos", f"The {len(recipe.judged):d} photos that its limits were judged with."
        icon, own = ":material/photo_library:", f"open-photos-{key}"
        if st.button(label, key=own, icon=icon, help=words, disabled=missing):
            with shell.errors_shown(Busy):
                shell.start(f"Opening {recipe.product} with its photos", partial(_judged, recipe))
                st.switch_page("pages/inspect.py")


def start(part: unsaved.OpenPart) -> None:
    """Open a part that is kept on disk, in the background. Raises Busy as `Jobs.submit`."""
    shell.start(f"Opening {part.product}", partial(_kept, part.id), about=part.id)


def found_of(recipe: Recipe, row: Calibrated) -> Path | None:
    """Where a photo of the recipe was, if a file is still there that this page may read."""
    return still_there(recipe, row, workspace.allowed_roots())


def part_of(recipe: Recipe) -> TaughtPart:
    """The recipe as a part without photos. Raises ValueError when the weights of its network are missing."""
    backbone = loaded_backbone(recipe.backbone)
    views = [replace(view, only=(view.value(recipe.live),)) for view in recipe.views]
    set_on = tuple(row.score for row in recipe.calibration) or None
    return TaughtPart(
        recipe.product,
        ScoredPhotos(views, recipe.grid, recipe.map_size, area=recipe.live[AREA], areas=recipe.areas, set_on=set_on),
        recipe.prepare(backbone),
        recipe=recipe,
        mm_per_pixel=recipe.mm_per_pixel,
        product_check=recipe.product_check,
        defect_types=recipe.defect_types,
        cases=recipe.gallery,
    )


def with_photos(recipe: Recipe, photos: Sequence[ScoredPhoto], job: Job) -> TaughtPart:
    """The recipe with photos it was judged with; the part's note counts those that are gone or have changed.

    Raises ValueError as `part_of`.
    """
    job.report(0.0, "loading the network")
    part = part_of(recipe)
    for number, photo in enumerate(photos):
        job.report(number / len(photos), f"photo {number + 1} of {len(photos)}")
        try:
            picture = read(photo.path, recipe.depth)
            if picture.digest != photo.digest:
                continue
            placement = part.preparation.place(picture.pixels)
        except (ImageError, NotLocated):
            continue
        seen = replace(photo, size=placement.size, depth=recipe.depth, placement=placement)
        features = part.look(picture.pixels, photo.digest, placement)
        part = part.with_photo(seen, features, heatmap.thumbnail(placement.picture(picture.pixels)))
    gone = len(photos) - len(part.scored.photos)
    lost = f"Gone or changed since: {counted(gone, 'photo')} of the {len(photos)} it was judged with."
    return replace(part, notes=(lost,)) if gone else part


def _judged(recipe: Recipe, job: Job) -> str:
    masks, photos = masks_in(Path(recipe.provenance.photos or "")), []
    for row in recipe.judged:
        path = found_of(recipe, row) or Path()
        photos.append(ScoredPhoto(row.name, row.digest, (0, 0), row.kind or UNKNOWN, "judge", path, masks.get(path)))
    return shelf.put(with_photos(recipe, photos, job))


def _kept(taught_id: str, job: Job) -> str:
    try:
        kept, recipe = unsaved.opened(workspace.open_folder() / taught_id)
        for place in kept.folders:
            inside(place, workspace.allowed_roots())
    except ValueError as error:
        shelf.refuse(taught_id, str(error))
        raise
    part = with_photos(recipe, kept.photos, job)
    known = {"id": taught_id, "made": kept.made, "ordered": kept.order, "choice": kept.choice}
    return shelf.put(replace(part, notes=kept.notes + part.notes, **known), keep=False)
