"""Embeddings for plots: which patches or photos a scatter shows, how the detector sees them, where t-SNE puts them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.manifold import TSNE
from torch import Tensor

from inspect_core.detectors.feature_maps import cosine
from inspect_core.detectors.kernel_pca import KernelPCA
from inspect_core.detectors.mahalanobis import Mahalanobis
from inspect_core.detectors.pca_residual import KernelPCAMap
from inspect_core.features.store import Store
from inspect_core.tray import Tray

Report = Callable[[float, str], None]

WHOLE = -1
LEAST_POINTS = 5
PERPLEXITY = 30.0
EXAGGERATION = 12.0
CHUNK, CHUNKS = 250, 4
_ROWS = 256


@dataclass(frozen=True, eq=False)
class Points:
    """The rows of a scatter and where each comes from.

    features: (n, d) float32; photo: (n,) position on the tray; place: (n, 2) row and column on the patch grid, WHOLE
    for a whole photo; score: (n,) float32, of the patch grid or of the photo; under_mask: (n,) bool, touches a true
    defect; above_limit: (n,) bool, something in it exceeds the limit.
    """

    features: np.ndarray
    photo: np.ndarray
    place: np.ndarray
    score: np.ndarray
    under_mask: np.ndarray
    above_limit: np.ndarray

    def __len__(self) -> int:
        return len(self.photo)


@dataclass(frozen=True)
class View:
    """How a detector sees features before it scores them: in words, and as `apply(detector, points, live)`."""

    words: str
    apply: Callable[[Any, Points, int | None], Tensor]


def sample_patches(
    tray: Tray,
    features_of: Callable[[int], Tensor],
    masks: list[np.ndarray | None],
    *,
    limit: float,
    count: int = 2000,
    seed: int = 0,
    report: Report | None = None,
    **live: int,
) -> Points:
    """At most `count` patches drawn evenly over the photos of a tray, with the live parameter in force.

    features_of: position -> (1, h, w, k); masks: as `truth_masks` gives them; limit: that of the anomaly map.
    Up to half of a photo's share is drawn from its patches under the true mask or above the limit, which would hardly
    ever be met by chance: a scatter of these points shows where defects lie, not how frequent they are.
    Raises ValueError when there are fewer places than photos in `count`, or no photos.
    """
    photos = len(tray.photos)
    if not 0 < photos <= count:
        raise ValueError(f"count is {count} for {photos} photos; show at least one patch of every photo")
    scores, (h, w) = tray.grid_errors(**live), tray.grid
    shares = np.full(photos, count // photos) + (np.arange(photos) < count % photos)
    children = np.random.SeedSequence(seed).spawn(photos)
    drawn: list[Points] = []
    for i, child in enumerate(children):
        under = np.zeros((h, w), bool) if masks[i] is None else cells_touched(masks[i], tray.grid)
        above = cells_touched(tray.map(i, **live) > limit, tray.grid)
        chosen = _draw((under | above).ravel(), int(shares[i]), np.random.default_rng(child))
        rows = features_of(i).reshape(h * w, -1).cpu().float().numpy()[chosen]
        place = np.stack(np.divmod(chosen, w), axis=1)
        drawn.append(
            Points(rows, np.full(len(chosen), i), place, *(a.ravel()[chosen] for a in (scores[i], under, above)))
        )
        if report is not None:
            report((i + 1) / photos, f"looking at photo {i + 1} of {photos}")
    return _joined(drawn)


def whole_photos(
    tray: Tray, embed: Callable[[int], Tensor], *, limit: float, report: Report | None = None, **live: int
) -> Points:
    """Every photo of a tray as one point. embed: position -> (1, d) penultimate features of the backbone."""
    photos, rows = len(tray.photos), []
    for i in range(photos):
        rows.append(embed(i).cpu().float().numpy())
        if report is not None:
            report((i + 1) / photos, f"looking at photo {i + 1} of {photos}")
    if not rows:
        raise ValueError("there are no photos on the bench; add some first")
    scores = tray.scores(**live)
    place = np.full((photos, 2), WHOLE)
    return Points(np.concatenate(rows), np.arange(photos), place, scores, tray.kinds()[1], scores > limit)


def seen_by(method: str, detector: Any, points: Points, live: int | None = None) -> Points:
    """The points as the detector sees them: whole photos as the product check does, patches by the method's map."""
    if points.place[0, 0] == WHOLE:
        return replace(points, features=cosine(torch.from_numpy(points.features)).numpy())
    view = VIEWS.get(method)
    return points if view is None else replace(points, features=view.apply(detector, points, live).cpu().numpy())


def view_in_words(method: str, *, whole: bool) -> str:
    """What `seen_by` does to the features, for the reader of a plot."""
    if whole:
        return COSINE_WORDS
    return VIEWS[method].words if method in VIEWS else "This detector takes the features as they are."


def tsne(features: np.ndarray, *, seed: int = 0, report: Report | None = None) -> np.ndarray:
    """(n, d) -> (n, 2) float32 by t-SNE (van der Maaten and Hinton 2008; Barnes-Hut of scikit-learn), PCA start.

    Neighbours stay neighbours; sizes of groups and distances between them mean nothing. Equal to the bit for one seed,
    machine and number of threads. Perplexity 30, or a third of the other points when they are few. The 1,000 steps run
    in quarters, each going on where the last one ended, so that `report` can tell how far they are and stop them.
    Raises ValueError for fewer than 5 points.
    """
    if len(features) < LEAST_POINTS:
        raise ValueError(f"there are {len(features)} points to arrange; t-SNE needs at least {LEAST_POINTS}")
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    if not np.ptp(features, axis=0).any():
        return np.zeros((len(features), 2), np.float32)
    held: np.ndarray | str = "pca"
    for chunk in range(CHUNKS):
        if report is not None:
            report(chunk / CHUNKS, f"arranging {len(features)} points, step {chunk + 1} of {CHUNKS}")
        held = TSNE(
            perplexity=perplexity,
            init=held,
            early_exaggeration=EXAGGERATION if chunk == 0 else 1.0,
            max_iter=CHUNK,
            random_state=seed,
        ).fit_transform(features)
    return held


def arrange(points: Points, store: Store, *, seed: int = 0, report: Report | None = None) -> np.ndarray:
    """`tsne` of the points' features, kept in the store under a digest of those very features and the seed."""
    rows = np.ascontiguousarray(points.features, np.float32)
    key = f"tsne-{seed}-{rows.shape}-{hashlib.sha256(rows.tobytes()).hexdigest()}"
    kept = store.get(key)
    if kept is None:
        kept = tsne(rows, seed=seed, report=report)
        store.put(key, kept)
    return kept


def cells_touched(mask: np.ndarray, grid: tuple[int, int]) -> np.ndarray:
    """(H, W) bool -> (h, w) bool: the patches with any True pixel; the grid must not be finer than the mask."""
    starts = [np.arange(cells) * pixels // cells for cells, pixels in zip(grid, mask.shape, strict=True)]
    return np.logical_or.reduceat(np.logical_or.reduceat(mask, starts[0], axis=0), starts[1], axis=1)


def patch_box(place: tuple[int, int], grid: tuple[int, int], size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Where a patch (row, column) lies in a photo of `size` (height, width): (left, top, right, bottom) in pixels."""
    (row, column), (h, w), (height, width) = place, grid, size
    left, right = round(column * width / w), round((column + 1) * width / w)
    top, bottom = round(row * height / h), round((row + 1) * height / h)
    return left, top, max(right, left + 1), max(bottom, top + 1)


def outlined(pixels: np.ndarray, box: tuple[int, int, int, int], colour: tuple[int, int, int]) -> np.ndarray:
    """A copy of (H, W, 3) uint8 with a frame around the box, white outside `colour`, so that it shows on any ground."""
    framed = pixels.copy()
    height, width = pixels.shape[:2]
    line = max(1, round(max(height, width) / 256))
    left, top, right, bottom = box
    for reach, ink in ((2 * line, (255, 255, 255)), (line, colour)):
        outer = (max(top - reach, 0), min(bottom + reach, height), max(left - reach, 0), min(right + reach, width))
        framed[outer[0] : outer[1], outer[2] : outer[3]] = ink
    framed[top:bottom, left:right] = pixels[top:bottom, left:right]
    return framed


def surroundings(box: tuple[int, int, int, int], size: tuple[int, int], *, times: int = 7) -> tuple[slice, slice]:
    """(rows, columns) of the part of a photo that is `times` as wide and high as the box around it, cut at the rim."""
    left, top, right, bottom = box
    across, down = (right - left) * (times // 2), (bottom - top) * (times // 2)
    return (
        slice(max(top - down, 0), min(bottom + down, size[0])),
        slice(max(left - across, 0), min(right + across, size[1])),
    )


def _draw(marked: np.ndarray, share: int, rng: np.random.Generator) -> np.ndarray:
    """Sorted indices of `share` patches of one photo, up to half of them marked, more only when the others run out."""
    order = rng.permutation(len(marked))
    first, others = order[marked[order]], order[~marked[order]]
    return np.sort(np.concatenate([first[: share // 2], others, first[share // 2 :]])[:share])


def _joined(drawn: list[Points]) -> Points:
    columns: Mapping[str, list[np.ndarray]] = {
        name: [getattr(part, name) for part in drawn] for name in Points.__dataclass_fields__
    }
    return Points(**{name: np.concatenate(parts) for name, parts in columns.items()})


def _whitened(detector: Mahalanobis, points: Points, k: int | None) -> Tensor:
    """y = L⁻¹ (z - mean) of each patch at its own location, in the first k dimensions; ‖y‖ is the patch's score."""
    k = detector.mean.shape[-1] if k is None else k
    z = torch.from_numpy(points.features).to(detector.mean.device)
    y = z.new_empty(len(z), k)
    for start in range(0, len(z), _ROWS):
        here = slice(start, start + _ROWS)
        row, column = points.place[here].T
        centred = (z[here] - detector.mean[row, column])[:, :k, None].double()
        factor = detector.cholesky[row, column][:, :k, :k].double()
        y[here] = torch.linalg.solve_triangular(factor, centred, upper=False)[:, :, 0].float()
    return y


def _explicit(detector: KernelPCAMap, points: Points, q: int | None) -> Tensor:
    return detector.feature_map(torch.from_numpy(points.features).to(detector.mean.device)).float()


def _in_kernel_space(detector: KernelPCA, points: Points, q: int | None) -> Tensor:
    """f_l(z), l <= q: coordinates along the principal components in kernel space (Hoffmann 2007, eq. 9)."""
    z = torch.from_numpy(points.features).to(detector.x.device).double()
    values = detector.kernel(z, detector.x)
    centred = values - values.mean(dim=-1, keepdim=True) - detector.row_mean + detector.row_mean.mean()
    return (centred @ detector.alpha[:, : detector.q if q is None else q]).float()


COSINE_WORDS = "Only the direction of the features counts, not their strength (cosine map)."
_LOCAL = View(
    "Whitened at its own place: how far a patch is from the good ones there, in standard deviations, in each of k "
    "directions. The length of this vector is the patch's score.",
    _whitened,
)
VIEWS: dict[str, View] = {
    "mahalanobis": _LOCAL,
    "sampled": _LOCAL,
    "cop": View(COSINE_WORDS, _explicit),
    "corp": View("Cosine map, then random Fourier features: the curved space that CoRP fits a plane to.", _explicit),
    "kernel_pca": View(
        "Coordinates on the q principal components in kernel space; patches unlike any good one fall together there.",
        _in_kernel_space,
    ),
}
