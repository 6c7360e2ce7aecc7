"""A product opened again: a recipe, alone or with its test photos, or a product that is not saved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from inspect_core.datasets.dataset import CALIBRATION, PhotoFile
from inspect_core.datasets.photo_tree import resolve_allowed_path
from inspect_core.features.store import feature_store
from inspect_core.images import heatmap
from inspect_core.images.alignment import NotLocated
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.recipe import Recipe, loaded_backbone
from inspect_core.recipe_format.recorded_photos import CalibrationPhoto
from inspect_core.recipe_io.parity_photos import existing_path, masks_in
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Job, JobRejected
from inspect_core.runtime.wording import pluralise
from inspect_core.study import unsaved_products
from inspect_core.study.scored_photo import UNKNOWN, ScoredPhoto, UnscoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning.teaching import teach
from inspect_core.ui import shell
from inspect_core.whole_part.product_check import OFF
from inspect_core.workbench.fitted_product import product_from_study, unscored_pictures, with_changes
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct

GONE = "Not all photos that it was taught with are there unchanged."


def buttons(recipe: Recipe, key: str, *, missing: bool) -> None:
    """Open it on Inspect, with its photos where they still lie; missing: whether its network is."""
    is_there = any(existing_photo_path(recipe, row) for row in recipe.test_photos)
    icon, words = ":material/folder_open:", f"With the {len(recipe.test_photos):d} photos used to test its limits."
    if st.button("Open", f"open-{key}", words if is_there else None, type="primary", icon=icon, disabled=missing):
        _begin(recipe, _open_with_photos if is_there else _open_without_photos)
    if is_there and st.button("Open without photos", key=f"open-alone-{key}", disabled=missing):
        _begin(recipe, _open_without_photos)


def _begin(recipe: Recipe, work: Callable[[Recipe, Job], str]) -> None:
    with shell.errors_shown(JobRejected):
        shell.start(f"Opening {recipe.product}", partial(work, recipe), page="pages/inspect.py")
        shell.go_to("pages/inspect.py")


def start(open_product: unsaved_products.OpenProduct) -> Job:
    """Open a product that is kept on disk, in the background. Raises JobRejected as `Jobs.submit`."""
    work = partial(_open_unsaved, open_product.id)
    return shell.start(f"Opening {open_product.product}", work, subject=open_product.id)


def existing_photo_path(recipe: Recipe, row: CalibrationPhoto) -> Path | None:
    """Where a photo of the recipe was, if a file is still there that this page may read."""
    return existing_path(recipe, row, workspace.readable_roots())


def product_from_recipe(recipe: Recipe) -> TaughtProduct:
    """The recipe as a product without photos. Raises ValueError when the weights of its network are missing."""
    backbone = loaded_backbone(recipe.backbone)
    views = [replace(view, selected_stops=(view.value(recipe.live_values),)) for view in recipe.views]
    set_on = tuple(row.score for row in recipe.calibration_photos) or None
    scored = ScoredPhotos(views, recipe.grid, recipe.map_size, areas=recipe.areas, set_on=set_on)
    root = Path(recipe.provenance.photo_root or "")
    unscored = [
        UnscoredPhoto(
            PhotoFile(root / part.name, part.name, part.label, (0, 0), depth=recipe.depth),
            part.subset,
            part.verdict,
            part.reason,
        )
        for part in recipe.unscored
    ]
    product = TaughtProduct(
        recipe.product,
        scored.with_initial_live(recipe.live_values).with_unscored(unscored),
        recipe.prepare(backbone),
        recipe=recipe,
        recipe_digest=recipe.digest or "",
        without_score=unscored_pictures(unscored, recipe.alignment),
        mm_per_pixel=recipe.mm_per_pixel,
        product_check=recipe.product_check,
        defect_types=recipe.defect_types,
        known_cases=recipe.known_cases,
    )
    return replace(product, saved_contents=product.contents())


def with_photos(recipe: Recipe, photos: Sequence[ScoredPhoto], job: Job) -> TaughtProduct:
    """The recipe with its test photos; the product's note counts those that are gone or have changed.

    Raises ValueError as `product_from_recipe`.
    """
    job.report(0.0, "loading the network")
    product = product_from_recipe(recipe)
    for number, photo in enumerate(photos):
        job.report(number / len(photos), f"photo {number + 1} of {len(photos)}")
        try:
            picture = read(photo.path, recipe.depth)
            if picture.digest != photo.digest:
                continue
            placement = product.extractor.place(picture.pixels)
        except (ImageError, NotLocated):
            continue
        located = replace(photo, size=placement.size, depth=recipe.depth, placement=placement)
        features = product.extract_features(picture.pixels, photo.digest, placement)
        product = product.with_photo(located, features, heatmap.thumbnail(placement.picture(picture.pixels)))
    missing_count = len(photos) - len(product.scored.photos)
    lost = f"Missing or changed: {pluralise(missing_count, 'photo')} of the {len(photos)} used for its figures."
    return replace(product, notes=(lost,)) if missing_count else product


def _open_without_photos(recipe: Recipe, job: Job) -> str:
    job.report(0.0, "loading the network")
    return shelf().put(product_from_recipe(recipe))


def _open_with_photos(recipe: Recipe, job: Job) -> str:
    masks = masks_in(Path(recipe.provenance.photo_root or ""), workspace.readable_roots())
    photos = []
    for row in recipe.test_photos:
        path = existing_photo_path(recipe, row) or Path()
        photos.append(ScoredPhoto(row.name, row.digest, (0, 0), row.label or UNKNOWN, "test", path, masks.get(path)))
    return shelf().put(with_photos(recipe, photos, job))


def _open_unsaved(taught_id: str, job: Job) -> str:
    try:
        unsaved, recipe = unsaved_products.load_unsaved(workspace.open_folder() / taught_id)
        for file in unsaved.files:
            resolve_allowed_path(file, workspace.readable_roots())
    except ValueError as error:
        shelf().refuse(taught_id, str(error))
        raise
    product = _fitted_again(unsaved, recipe, job) or _fixed(unsaved, recipe, job)
    product = replace(
        product,
        id=taught_id,
        opened_at=unsaved.opened_at,
        detector_reason=unsaved.detector_reason,
        warnings=unsaved.warnings,
        moved=unsaved.live,
        limits_by_hand=unsaved.limits_by_hand,
        recipe_digest=unsaved.recipe_digest,
        saved_contents=(),
    )
    return shelf().put(product, keep=False)


def _fitted_again(unsaved: unsaved_products.UnsavedProduct, recipe: Recipe, job: Job) -> TaughtProduct | None:
    """The product fitted to its photos again, features from the store if there; None if a photo is missing."""
    if not all(sample.path.is_file() for sample in unsaved.samples):
        return None
    job.report(0.0, "fitting it to its photos again")
    result = teach(replace(unsaved.order, product_check=OFF), feature_store(), job.report)
    study = result.study
    digests = {} if recipe.teaching is None else {photo.name: photo.digest for photo in recipe.teaching.photos}
    if digests != (digests and study.photo_features.digests(unsaved.samples)):
        return None
    product = product_from_study(unsaved.product, study, unsaved.notes, recipe.product_check, order=result.order)
    product = replace(
        product, defect_types=recipe.defect_types, known_cases=recipe.known_cases, mm_per_pixel=recipe.mm_per_pixel
    )
    return with_changes(product, unsaved.photos, recipe.areas)


def _fixed(unsaved: unsaved_products.UnsavedProduct, recipe: Recipe, job: Job) -> TaughtProduct:
    """The product with the values in force, which no longer move, and those photos that are still there."""
    limits = unsaved.limits_by_hand or unsaved.suggested_limits
    if limits is not None and _has_scales(recipe, unsaved.live):
        rows = zip(recipe.calibration_photos, unsaved.set_on, strict=False)
        calibration = tuple(replace(row, score=score) for row, score in rows)
        recipe = replace(recipe, live_values=unsaved.live, limits=limits, calibration_photos=calibration)
    recipe = replace(recipe, digest=unsaved.recipe_digest or None)
    shown = [photo for photo in unsaved.photos if photo.subset != CALIBRATION]
    product = with_photos(recipe, shown, job)
    scored = product.scored.with_unscored(unsaved.unscored)
    pictures = unscored_pictures(unsaved.unscored, recipe.alignment)
    notes = (*unsaved.notes, *product.notes, f"{GONE} Its values are fixed as they were; teach again to change them.")
    return replace(product, scored=scored, without_score=pictures, notes=notes, order=unsaved.order)


def _has_scales(recipe: Recipe, live: Mapping[str, int]) -> bool:
    """Whether the recipe can inspect at these live values."""
    named = live.keys() == recipe.live_values.keys()
    return named and all(not view.scales or view.value(live) in view.scales for view in recipe.views)
