"""Embeddings for plots: the patches or photos that a scatter shows, and how the detector sees them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.cop_corp.feature_maps import cosine
from inspect_core.images.boxes import cell_peaks
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.registry import METHODS
from inspect_core.methods.subspace import COSINE_WORDS
from inspect_core.runtime.progress import Report, ignore_progress
from inspect_core.study.scored_photo import UNKNOWN
from inspect_core.study.scored_photos import ScoredPhotos

WHOLE = -1
UNMARKED = "defective part, place not marked"
"""Of a patch of a defective part without a mask: it may show the defect or not."""
_NO_KNOWN_DEFECT = ("good", UNMARKED, UNKNOWN)


@dataclass(frozen=True, eq=False)
class ScatterPoints:
    """The rows of a scatter and where each comes from.

    features: (n, d) float32; photo: (n,) position among the scored photos; place: (n, 2) row and column on the patch
    grid, WHOLE for a whole photo; score: (n,) float32, of the patch grid or of the photo; peak: (n,) float32, the
    largest value of the anomaly map inside it; truth: (n,) of str, "good", the type of defect it shows, UNMARKED or
    "unknown".
    """

    features: np.ndarray
    photo: np.ndarray
    place: np.ndarray
    score: np.ndarray
    peak: np.ndarray
    truth: np.ndarray

    def __len__(self) -> int:
        return len(self.photo)

    @property
    def whole(self) -> bool:
        """Whether the points are whole photos."""
        return bool((self.place == WHOLE).all())

    @property
    def defect(self) -> np.ndarray:
        """(n,) bool: known to show a defect."""
        return ~np.isin(self.truth, _NO_KNOWN_DEFECT)


def sample_patches(
    scored: ScoredPhotos,
    features_of: Callable[[int], Tensor],
    masks: list[np.ndarray | None],
    *,
    limit: float,
    count: int = 2000,
    seed: int = 0,
    report: Report = ignore_progress,
    **live: int,
) -> ScatterPoints:
    """At most `count` patches drawn evenly over the scored photos, with the live parameter in force.

    features_of: position -> (1, h, w, k); masks: returned by `truth_masks`. A patch that touches a true mask shows the
    photo's defect type; any other patch of a photo with a mask is good. Up to half of a photo's share is drawn from its
    patches under the mask or above `limit`, which a random draw would rarely hit: a scatter of these points shows where
    defects lie, not how frequent they are.
    Raises ValueError for a count below the number of photos, or no photos.
    """
    photos = len(scored.photos)
    if not 0 < photos <= count:
        raise ValueError(f"count is {count} for {photos} photos; show at least one patch of every photo")
    scores = scored.grid_errors(**live)
    h, w = scored.grid
    counts = np.full(photos, count // photos) + (np.arange(photos) < count % photos)
    children = np.random.SeedSequence(seed).spawn(photos)
    drawn: list[ScatterPoints] = []
    for i, child in enumerate(children):
        truth = _truth(scored.photos[i].label, masks[i], scored.grid)
        peak = cell_peaks(scored.map(i, **live), scored.grid)
        striking = ~np.isin(truth, _NO_KNOWN_DEFECT) | (peak > limit)
        chosen = _draw(striking.ravel(), int(counts[i]), np.random.default_rng(child))
        rows = features_of(i).reshape(h * w, -1).cpu().float().numpy()[chosen]
        place = np.stack(np.divmod(chosen, w), axis=1)
        values = (at_patches.ravel()[chosen] for at_patches in (scores[i], peak, truth))
        drawn.append(ScatterPoints(rows, np.full(len(chosen), i), place, *values))
        report((i + 1) / photos, f"reading photo {i + 1} of {photos}")
    return ScatterPoints(
        **{
            column.name: np.concatenate([getattr(part, column.name) for part in drawn])
            for column in fields(ScatterPoints)
        }
    )


def whole_photos(
    scored: ScoredPhotos, embed: Callable[[int], Tensor], report: Report = ignore_progress, **live: int
) -> ScatterPoints:
    """Every scored photo as one point. embed: position -> (1, d) penultimate features of the backbone."""
    photos = len(scored.photos)
    rows = []
    if not photos:
        raise ValueError("there are no photos; add some on Inspect first")
    for i in range(photos):
        rows.append(embed(i).cpu().float().numpy())
        report((i + 1) / photos, f"reading photo {i + 1} of {photos}")
    scores = scored.scores(**live)
    truth = np.array([photo.label for photo in scored.photos], dtype=object)
    return ScatterPoints(np.concatenate(rows), np.arange(photos), np.full((photos, 2), WHOLE), scores, scores, truth)


def transform_points(view: FittedMethod, points: ScatterPoints, live: Mapping[str, int]) -> ScatterPoints:
    """The points as a view sees them: whole photos as the product check does, patches by the method's map."""
    if points.whole:
        return replace(points, features=cosine(torch.from_numpy(points.features)).numpy())
    if not view.definition.space:
        return points
    patches = torch.from_numpy(points.features)
    value = view.value(live) if view.live_parameter else None
    return replace(points, features=view.definition.to_space(view.detector, patches, points.place, value).cpu().numpy())


def view_in_words(method: str, *, whole: bool) -> str:
    """What `transform_points` does to the features, for the reader of a plot."""
    if whole:
        return f"As the product check does: {COSINE_WORDS[0].lower()}{COSINE_WORDS[1:]}"
    return METHODS[method].space or "This detector uses the features unchanged."


def _draw(marked: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Sorted indices of `count` patches of one photo, up to half of them marked, more only when the others run out."""
    order = rng.permutation(len(marked))
    first, others = order[marked[order]], order[~marked[order]]
    return np.sort(np.concatenate([first[: count // 2], others, first[count // 2 :]])[:count])


def _truth(label: str, mask: np.ndarray | None, grid: tuple[int, int]) -> np.ndarray:
    """(h, w) str: what each patch of a photo of this label shows."""
    if mask is None:
        return np.full(grid, UNKNOWN if label == UNKNOWN else UNMARKED, dtype=object)
    return np.where(cell_peaks(mask, grid), label, "good").astype(object)
