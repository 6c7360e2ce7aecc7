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
from inspect_core.patch_frame import cell_peaks
from inspect_core.tray import UNKNOWN, Tray

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
    for a whole photo; score: (n,) float32, of the patch grid or of the photo; peak: (n,) float32, the largest value of
    the anomaly map inside it; truth: (n,) of str, "good", the kind of the defect it shows, or "unknown".
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
        return (self.truth != "good") & (self.truth != UNKNOWN)


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

    features_of: position -> (1, h, w, k); masks: as `truth_masks` gives them. A patch that touches a true mask shows
    the photo's kind of defect, any other of a photo with a mask is good. Up to half of a photo's share is drawn from
    its patches under the mask or above `limit`, which chance would hardly ever meet: a scatter of these points shows
    where defects lie, not how frequent they are.
    Raises ValueError for a count below the number of photos, or no photos.
    """
    photos = len(tray.photos)
    if not 0 < photos <= count:
        raise ValueError(f"count is {count} for {photos} photos; show at least one patch of every photo")
    scores, (h, w) = tray.grid_errors(**live), tray.grid
    shares = np.full(photos, count // photos) + (np.arange(photos) < count % photos)
    children = np.random.SeedSequence(seed).spawn(photos)
    drawn: list[Points] = []
    for i, child in enumerate(children):
        truth, peak = _truth(tray.photos[i].kind, masks[i], tray.grid), cell_peaks(tray.map(i, **live), tray.grid)
        striking = ((truth != "good") & (truth != UNKNOWN)) | (peak > limit)
        chosen = _draw(striking.ravel(), int(shares[i]), np.random.default_rng(child))
        rows = features_of(i).reshape(h * w, -1).cpu().float().numpy()[chosen]
        place = np.stack(np.divmod(chosen, w), axis=1)
        drawn.append(
            Points(rows, np.full(len(chosen), i), place, *(a.ravel()[chosen] for a in (scores[i], peak, truth)))
        )
        if report is not None:
            report((i + 1) / photos, f"looking at photo {i + 1} of {photos}")
    return _joined(drawn)


def whole_photos(tray: Tray, embed: Callable[[int], Tensor], report: Report | None = None, **live: int) -> Points:
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
    truth = np.array([photo.kind for photo in tray.photos], dtype=object)
    return Points(np.concatenate(rows), np.arange(photos), place, scores, scores, truth)


def seen_by(method: str, detector: Any, points: Points, live: int | None = None) -> Points:
    """The points as the detector sees them: whole photos as the product check does, patches by the method's map."""
    if points.whole:
        return replace(points, features=cosine(torch.from_numpy(points.features)).numpy())
    view = VIEWS.get(method)
    return points if view is None else replace(points, features=view.apply(detector, points, live).cpu().numpy())


def view_in_words(method: str, *, whole: bool) -> str:
    """What `seen_by` does to the features, for the reader of a plot."""
    if whole:
        return f"As the product check does: {COSINE_WORDS[0].lower()}{COSINE_WORDS[1:]}"
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
    kept = store.get(key, (len(rows), 2))
    if kept is None:
        kept = tsne(rows, seed=seed, report=report)
        store.put(key, kept)
    return kept


def _draw(marked: np.ndarray, share: int, rng: np.random.Generator) -> np.ndarray:
    """Sorted indices of `share` patches of one photo, up to half of them marked, more only when the others run out."""
    order = rng.permutation(len(marked))
    first, others = order[marked[order]], order[~marked[order]]
    return np.sort(np.concatenate([first[: share // 2], others, first[share // 2 :]])[:share])


def _truth(kind: str, mask: np.ndarray | None, grid: tuple[int, int]) -> np.ndarray:
    """(h, w) str: what each patch of a photo of this kind shows."""
    if mask is None:
        return np.full(grid, UNKNOWN, dtype=object)
    return np.where(cell_peaks(mask, grid), kind, "good").astype(object)


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
