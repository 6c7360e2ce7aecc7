"""Teaching a folder of photos in one call, with the defaults of the page and the command line."""

from collections.abc import Collection
from pathlib import Path

from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import split_to_teach
from inspect_core.features.store import feature_store
from inspect_core.recipe import Recipe
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.runtime.wording import escape_line
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.teaching import teach


def teach_folder(
    folder: str | Path,
    *,
    detector: str | None = None,
    leave_out: Collection[str] = (),
    product: str | None = None,
    seed: int = 0,
    device: str = "auto",
    report: Report = ignore_progress,
) -> Recipe:
    """Teach the good photos of a folder, and return an unsaved recipe with the suggested limits.

    folder: a folder, zip or list of photos in any layout that `fit` takes; defects in it choose and test, and are never
    taught. detector: one of `methods.registry.METHODS`, several joined by "+", None for the one that suits the photos.
    leave_out: names of good photos that are not taught; product: by default the name of the folder; device: "cpu",
    "cuda" or "auto"; report: called with the share done and what is being done. The same folder, choices and machine
    give the same recipe to the bit. Raises ValueError, with reason and remedy, for photos that cannot be used, and
    whatever `report` raises to stop.

    >>> recipe = teach_folder("flange", detector="mahalanobis", device="cpu")
    >>> recipe.product, recipe.method
    ('flange', 'mahalanobis')
    """
    photos = scan(folder).with_depth().without(leave_out)
    parts = split_to_teach(photos, seed=seed)
    product = escape_line(product or Path(folder).resolve().stem)
    order = TeachingConfig.from_photos(product, parts, method=detector, seed=seed, device=device, notes=parts.notes)
    result = teach(order, feature_store(), report)
    return result.study.recipe(product=product, product_check=result.product_check)
