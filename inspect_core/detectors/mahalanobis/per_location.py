"""Linear algebra carried out at every grid location: products, factors and distances over an (h, w) grid.

Arrays here have one leading axis of p = h * w locations in row-major order.
"""

import contextlib
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import require_between
from inspect_core.detectors.warned import FitWarning
from inspect_core.runtime.threads import map_on, parallel_map

# Entries of the float64 matrices processed at one time on each core: 1.3 MB, for which its cache has room.
MATRIX_ENTRIES = 160_000
# Numbers processed at one time for distances, which stay in a core's cache, and the least number of locations.
SCORED_NUMBERS = 25_600
SCORED_LOCATIONS = 32
# Rows of L^-1 kept together. A block of rows stops at its last non-zero column, so 20 rows at a time leave out 40 % of
# the square at k = 100; with fewer the calls cost more than the zeros saved.
BLOCK_ROWS = 20


def location_blocks(count: int, size: int) -> Iterator[slice]:
    """Slices that cover 0..count, `size` at a time."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def matrix_blocks(matrices: Tensor) -> Iterator[slice]:
    """Slices of (p, k, k) with at most MATRIX_ENTRIES entries each."""
    p, k, _ = matrices.shape
    return location_blocks(p, max(1, MATRIX_ENTRIES // k**2))


def per_location_product(a: Tensor, b: Tensor) -> Tensor:
    """a @ b for each location: (p, n, m) and (p, m, r) to (p, n, r).

    On a CPU by NumPy: torch passes these small products to a batched routine that takes 2 to 10 times as long.
    """
    if a.device.type == "cpu":
        return torch.from_numpy(np.matmul(a.numpy(), b.numpy()))
    return a @ b


def factorise(covariance: Tensor, ridge: float, *, place: Callable[[int], str]) -> Tensor:
    """Lower Cholesky factors of covariance + ridge I: (p, k, k) float64, overwritten, to float32.

    Raises ValueError when a matrix is not positive definite or its factor does not fit float32; place(i) names it.
    """
    covariance.diagonal(dim1=-2, dim2=-1).add_(ridge)
    factors, is_definite = _cholesky(covariance)
    factors = factors.float()
    # A sum, not one flag per number: an entry that is not finite shows in it.
    finite = factors.sum((1, 2), dtype=torch.float64).isfinite()
    sound = is_definite & (factors.diagonal(dim1=-2, dim2=-1) > 0).all(-1) & finite
    if not sound.all():
        raise ValueError(
            f"the covariance at {place(int(torch.nonzero(~sound)[0]))} cannot be factorised with ridge = {ridge}; "
            "raise ridge, or scale the features towards a standard deviation of 1"
        )
    return factors


def _cholesky(matrices: Tensor) -> tuple[Tensor, Tensor]:
    """Lower factors (p, k, k), and (p,) bool: which matrices are positive definite.

    On a CPU by NumPy, in half of torch's time; only torch says which matrix has no factor.
    """
    if matrices.device.type == "cpu":
        with contextlib.suppress(np.linalg.LinAlgError):
            factors = torch.from_numpy(np.linalg.cholesky(matrices.numpy()))
            return factors, torch.ones(len(factors), dtype=torch.bool)
    factors, info = torch.linalg.cholesky_ex(matrices)
    return factors, info == 0


def location_name(start: int, width: int, index: int) -> str:
    """Where the location `index` places after `start` lies on a grid `width` locations wide."""
    row, column = divmod(start + index, width)
    return f"location (row {row}, column {column})"


def whitening_blocks(factors: Tensor) -> tuple[Tensor, ...]:
    """L^-1 for lower factors L (p, k, k), inverted in float64, as float32 blocks (p, columns in use, rows)."""
    p, k, _ = factors.shape
    ends = [(start, min(start + BLOCK_ROWS, k)) for start in range(0, k, BLOCK_ROWS)]
    blocks = tuple(torch.empty(p, end, end - start, device=factors.device) for start, end in ends)
    identity = torch.eye(k, dtype=torch.float64, device=factors.device)

    def invert(here: slice) -> None:
        factor = factors[here].double()
        inverse = torch.linalg.solve_triangular(factor, identity.expand_as(factor), upper=False)
        for block, (start, end) in zip(blocks, ends, strict=True):
            block[here] = inverse[:, start:end, :end].transpose(1, 2)

    parallel_map(invert, matrix_blocks(factors))
    return blocks


def grid_distances(features: Tensor, mean: Tensor, whitening: Sequence[Tensor], ks: Iterable[int]) -> Tensor:
    """Length of the first k whitened coordinates of features - mean, for each k in ks: (len(ks), n, h, w).

    features (n, h, w, m), mean (h, w, m), whitening: blocks of columns (p, m' <= m, r) that act on the first m'
    features. All coordinates are always computed and summed in one order, so a distance does not depend on which
    other k are asked for. Raises ValueError for a k that is not in 1..number of coordinates.
    """
    n = len(features)
    h, w, m = mean.shape
    last = prefix_ends(ks, sum(block.shape[-1] for block in whitening)).to(mean.device)
    rows, mean = features.to(mean.device).reshape(n, h * w, m), mean.reshape(h * w, m)
    distances = rows.new_empty(len(last), n, h * w)

    def measure(here: slice) -> None:
        centred = (rows[:, here] - mean[here]).transpose(0, 1).contiguous()
        parts = [per_location_product(centred[..., : block.shape[1]], block[here]) for block in whitening]
        squared = torch.cat(parts, dim=-1).square_().cumsum(-1).index_select(-1, last)
        distances[:, :, here] = squared.sqrt_().permute(2, 1, 0)

    parts_of_grid = location_blocks(h * w, max(SCORED_LOCATIONS, SCORED_NUMBERS // max(1, n * m)))
    list(map_on(mean.device)(measure, parts_of_grid))
    return distances.reshape(len(last), n, h, w).to(features.device)


def prefix_ends(ks: Iterable[int], fitted: int) -> Tensor:
    """Index of the last coordinate for each k. Raises ValueError for a k outside 1..fitted."""
    last = [operator.index(k) - 1 for k in ks]
    for index in last:
        require_between(index + 1, 1, fitted, name="k", cure="choose one up to the fitted k, or fit a larger one")
    return torch.tensor(last, dtype=torch.int64)


def require_grid(features: Tensor, grid: tuple[int, int], *, name: str) -> None:
    """Raise ValueError unless features are (n, h, w, ...) on this grid."""
    if features.ndim != 4 or tuple(features.shape[1:3]) != grid:
        raise ValueError(
            f"{name} has shape {tuple(features.shape)}, not (n, {grid[0]}, {grid[1]}, features); "
            "every location has its own Gaussian, so use the grid of the fit"
        )


def require_ridge(ridge: float, *, images: int, k: int) -> None:
    """Raise ValueError for a ridge that is not finite, or not positive where only a ridge makes C invertible."""
    if not np.isfinite(ridge) or (ridge <= 0 and images <= k):
        raise ValueError(
            f"ridge is {ridge} with {images} photos for k = {k}; give a positive ridge (such as 0.01), "
            "or more than k photos"
        )


def warn_if_singular(*, images: int, k: int) -> None:
    """Warns when the covariance of `images` samples in k dimensions has no inverse without the ridge."""
    if images == 1:
        warnings.warn(
            f"Fitted on N = 1 photo (k = {k}): variation between good parts is unknown, so all directions are "
            "weighted equally. Add good photos.",
            FitWarning,
            stacklevel=3,
        )
    elif images <= k:
        warnings.warn(
            f"Fitted on N = {images} photos, no more than k = {k} dimensions: where these photos do not differ, the "
            "ridge alone sets the scale, so new good parts score higher than the training photos. Set limits on "
            "held-out good photos, add photos, or lower k.",
            FitWarning,
            stacklevel=3,
        )
