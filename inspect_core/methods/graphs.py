"""Every detector as a module of plain tensor operations, for an exported graph: no checks, no blocks, any batch.

Each is built for one `value` of the live parameter: components, quadrics and rows of factors beyond it are left out.
All take (n, k, h, w) float32 features, channels first as the network gives them, and return (n, h, w) float32 errors,
equal to the detector's own `score` except for rounding.
"""

import torch
from torch import Tensor, nn

from inspect_core.detectors.baselines import NearestNeighbour
from inspect_core.detectors.cop_corp.residual import KernelPCAMap
from inspect_core.detectors.kernel_pca import KernelPCA
from inspect_core.detectors.kernels import GaussianKernel
from inspect_core.detectors.mahalanobis import Mahalanobis
from inspect_core.detectors.mahalanobis.per_location import whitening_blocks
from inspect_core.detectors.quadrics import Quadrics
from inspect_core.detectors.quadrics.distances import hilbert_schmidt_norm, monomial_coefficients

Graph = tuple[Tensor | None, nn.Module]
"""Columns (d, k) that are applied to the joined channels (None: all channels unchanged), and the module."""


def constant(module: nn.Module, **values: Tensor) -> None:
    """Store each value under its name as a constant of the module, on the CPU."""
    for name, value in values.items():
        module.register_buffer(name, value.detach().cpu().contiguous())


def as_rows(features: Tensor) -> Tensor:
    """(n, k, h, w) -> (n, h w, k)."""
    return features.flatten(2).transpose(1, 2)


class PlaceDistances(nn.Module):
    """`Mahalanobis.score_projected` in the first k dimensions."""

    mean: Tensor

    def __init__(self, detector: Mahalanobis, k: int) -> None:
        super().__init__()
        constant(self, mean=detector.mean[..., :k].permute(2, 0, 1))
        factors = detector.cholesky.flatten(0, 1)[:, :k, :k].float().cpu()
        self.blocks = nn.ParameterList(nn.Parameter(block, False) for block in whitening_blocks(factors))

    def forward(self, features: Tensor) -> Tensor:
        centred = (features - self.mean).flatten(2).permute(2, 0, 1)
        squares = [(centred[..., : block.shape[1]] @ block).square().sum(-1) for block in self.blocks]
        return torch.stack(squares).sum(0).sqrt().T.unflatten(1, features.shape[2:])


class SubspaceErrors(nn.Module):
    """`KernelPCAMap.score` with q components: the length of the residual of the mapped features."""

    mean: Tensor
    components: Tensor

    def __init__(self, detector: KernelPCAMap, q: int) -> None:
        super().__init__()
        self.feature_map = detector.feature_map.to(torch.device("cpu"))
        kept = detector.components.shape[1]
        # If few components are left, their coordinates give the length; if few are removed, the remainder does.
        self.of_the_rest = kept == len(detector.mean) and kept - q < q
        part = slice(q, None) if self.of_the_rest else slice(q)
        constant(self, mean=detector.mean, components=detector.components[:, part])

    def forward(self, features: Tensor) -> Tensor:
        centred = self.feature_map(as_rows(features).to(self.mean.dtype)) - self.mean
        inside = centred @ self.components
        rest = inside if self.of_the_rest else centred - inside @ self.components.T
        return rest.square().sum(-1).sqrt().float().unflatten(1, features.shape[2:])


class KernelSpaceErrors(nn.Module):
    """`KernelPCA.score` with a Gaussian kernel and q components, in float64."""

    origin: Tensor
    samples: Tensor
    squares: Tensor
    offset: Tensor
    alpha: Tensor
    grand_mean: Tensor

    def __init__(self, detector: KernelPCA, q: int) -> None:
        super().__init__()
        assert isinstance(detector.kernel, GaussianKernel)  # the only kernel that recipes hold
        self.rate, origin = -0.5 / detector.kernel.sigma**2, detector.x.mean(0)
        samples = detector.x - origin
        grand_mean = detector.row_mean.mean()
        constant(self, origin=origin, samples=samples.T, squares=samples.square().sum(-1), grand_mean=grand_mean,
                 offset=detector.row_mean - grand_mean, alpha=detector.alpha[:, :q])  # fmt: skip

    def forward(self, features: Tensor) -> Tensor:
        z = as_rows(features).double() - self.origin
        squared = (z.square().sum(-1, keepdim=True) + self.squares - 2.0 * (z @ self.samples)).clamp(min=0.0)
        # exp(-d2 / 2 sigma2) - 1, like the detector's kernel: the constant cancels below.
        values = (squared * self.rate).exp() - 1.0
        mean = values.mean(-1, keepdim=True)
        inside = ((values - self.offset - mean) @ self.alpha).square().sum(-1)
        return (self.grand_mean - 2.0 * mean[..., 0] - inside).float().unflatten(1, features.shape[2:])


class QuadricDistances(nn.Module):
    """`Quadrics.score` with the first m, for points in the coordinates of the fit, not yet shifted."""

    first: Tensor
    second: Tensor
    quadratic: Tensor
    linear: Tensor
    offset: Tensor
    norm: Tensor
    shift: Tensor

    def __init__(self, detector: Quadrics, m: int) -> None:
        super().__init__()
        A, b, c = (part[:m].double().cpu() for part in (detector.A, detector.b, detector.c))
        first, second = torch.triu_indices(A.shape[1], A.shape[1])
        quadratic, linear, offset = monomial_coefficients(A, b, c).float().split([len(first), A.shape[1], 1], dim=1)
        norm, shift = hilbert_schmidt_norm(A).float()[:, None], _coordinates(detector.shift[None], detector).float().T
        constant(self, first=first, second=second, quadratic=quadratic, linear=linear, offset=offset, norm=norm,
                 shift=shift)  # fmt: skip
        self.unit, self.m = float(detector.scale), m

    def forward(self, features: Tensor) -> Tensor:
        x = features.flatten(2) - self.shift
        pairs = x.index_select(1, self.first) * x.index_select(1, self.second)
        forms = self.quadratic @ pairs + self.linear @ x + self.offset
        size, square = forms[:, : self.m].abs(), forms[:, self.m :].clamp(min=0.0)
        root = (square + size * self.norm).sqrt() + square.sqrt()
        distances = torch.where(size == 0, size, size / root)
        return (distances.mean(1) * self.unit).unflatten(1, features.shape[2:])


class NearestDistances(nn.Module):
    """`NearestNeighbour.score`: the neighbour by one matrix product, its distance from coordinate differences."""

    bank: Tensor
    columns: Tensor
    squares: Tensor

    def __init__(self, detector: NearestNeighbour) -> None:
        super().__init__()
        self.k, self.unit = detector.k, detector.unit
        constant(self, bank=detector.bank, columns=detector.bank.T, squares=detector.bank.square().sum(-1))

    def forward(self, features: Tensor) -> Tensor:
        x = as_rows(features)
        if self.unit:
            x = x / (x.square().sum(-1, keepdim=True).sqrt() + 1e-10)
        nearest = (self.squares - 2.0 * (x @ self.columns)).topk(self.k, largest=False).indices[..., -1]
        return (x - self.bank[nearest]).square().sum(-1).sqrt().unflatten(1, features.shape[2:])


def of_places(detector: Mahalanobis, columns: Tensor | None, value: int) -> Graph:
    return detector.projection[:, :value], PlaceDistances(detector, value)


def of_subspace(detector: KernelPCAMap, columns: Tensor | None, value: int) -> Graph:
    return columns, SubspaceErrors(detector, value)


def of_kernel_space(detector: KernelPCA, columns: Tensor | None, value: int) -> Graph:
    return columns, KernelSpaceErrors(detector, value)


def of_quadrics(detector: Quadrics, columns: Tensor | None, value: int) -> Graph:
    """The reduction to the fit's coordinates is linear, so it is applied to the channels with the columns."""
    basis = torch.eye(len(detector.shift)) if columns is None else columns
    return _coordinates(basis.double(), detector).float(), QuadricDistances(detector, value)


def of_neighbour(detector: NearestNeighbour, columns: Tensor | None, value: int) -> Graph:
    return columns, NearestDistances(detector)


def _coordinates(rows: Tensor, detector: Quadrics) -> Tensor:
    """(n, d) -> (n, r) float64: in the coordinates of the fit, but not centred."""
    rows = rows.double().cpu()
    reduced = rows if detector.basis is None else rows @ detector.basis.cpu()
    return reduced / detector.scale.cpu()
