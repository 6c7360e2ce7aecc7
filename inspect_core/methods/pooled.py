"""Shared by the methods that pool the patches of all places: channels, streamed covariance, q, kernel widths."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.cop_corp.covariance import MappedCovariance
from inspect_core.detectors.cop_corp.residual import KernelPCAMap
from inspect_core.detectors.mahalanobis import semi_orthogonal
from inspect_core.methods.drawn_patches import DrawnPatches
from inspect_core.methods.method import BATCH, Control, Costs, Parameters, Patches, Workload
from inspect_core.package.arrays import ROW_BYTES

WIDEST = 256
KERNEL_VALUES = (0.98, 0.95, 0.85, 0.6, 0.3, 0.1, 0.01)
"""Kernel widths are chosen by their effect on the data: γ and σ at which the median kernel value of two good patches is
one of these. Near 1 the kernel distinguishes nothing, near 0 every patch is unlike every other.
"""
FRACTIONS = (0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995)
_PAIRS_OF = 1000

Q = Control(
    "q: what is normal",
    "components · share of the good patches' variance",
    "Higher tolerates more of the usual variation, so only the unusual stands out; too high also tolerates defects.",
    "The error is what the first q components cannot explain. Every value comes from the same fit.",
)


def at_most_widest(d: int, seed: int, parameters: Parameters) -> Tensor | None:
    """Pooled methods see every channel up to WIDEST of them; of a wider backbone, WIDEST mixed channels."""
    return None if d <= WIDEST else semi_orthogonal(d, WIDEST, seed=seed)


def finish_covariance(
    statistics: MappedCovariance, seed: int, parameters: Parameters, report: Callable[[float], None]
) -> KernelPCAMap:
    """The eigenvectors of the covariance of all mapped patches."""
    return statistics.finish(explained_variance=parameters["explained_variance"])


def draw_patches(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> DrawnPatches:
    """A sample of as many patches as the parameters say."""
    return DrawnPatches(int(parameters["patches"]), patches.photos, seed)


def covariance_costs(work: Workload, parameters: Parameters) -> Costs:
    """One covariance of the mapped features over all patches, and its eigenvectors."""
    D = int(parameters.get("M") or work.width)
    rows = work.places * (work.fit + work.shown)
    kept = 32 * D * D + 32 * D * work.width + 64 * work.width**2
    memory = kept + 2 * ROW_BYTES * max(D, work.width) + 8 * BATCH * work.places * work.width
    return Costs(2.5e-11 * rows * D * D + 1.5e-9 * D**3, memory)


def sample_costs(work: Workload, parameters: Parameters) -> Costs:
    """Eigenvectors of the kernel matrix of a sample, and kernel values of every patch shown."""
    n = int(parameters["patches"])
    memory = 48 * n * n + 48 * n * work.width + 64 * work.width**2 + 2 * ROW_BYTES * max(n, work.width)
    return Costs(3e-10 * n**3 + 5e-8 * work.places * work.shown * n, memory)


def variance_stops(detector: Any, parameters: Parameters, fixed: Collection[str]) -> dict[int, dict[str, float]]:
    """q for each fraction of the variance worth trying, or only for the one that the user has fixed."""
    fractions = (parameters["explained_variance"],) if "explained_variance" in fixed else FRACTIONS
    return {detector.components_for(fraction): {"explained_variance": fraction} for fraction in fractions}


def on_alike(found: int, patches: Patches) -> str | None:
    """The remark on a fit that found this many components."""
    if found:
        return None
    return (
        f"The {patches.photos} good photos look exactly alike, so nothing shows how much good parts may differ. Add "
        "photos of other good parts, each taken anew."
    )


def median_square(sample: Tensor, seed: int) -> float:
    """The median squared distance of two good patches drawn at random; 0 when most are equal."""
    drawn = torch.from_numpy(np.random.default_rng(seed).permutation(len(sample))[:_PAIRS_OF])
    some = sample[drawn.to(sample.device)].double()
    return float(torch.pdist(some).square().median()) if len(some) > 1 else 0.0
