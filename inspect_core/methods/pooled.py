"""Shared by the methods that pool the patches of all places and count components: q, kernel widths, a remark."""

import numpy as np
import torch
from torch import Tensor

from inspect_core.methods.method import Control, Patches

KERNEL_VALUES = (0.98, 0.95, 0.85, 0.6, 0.3, 0.1, 0.01)
"""Kernel widths are chosen by their effect on the data: γ and σ at which the median kernel value of two good patches is
one of these. Near 1 the kernel distinguishes nothing, near 0 every patch is unlike every other.
"""
_PAIRS_OF = 1000

Q = Control(
    "q: what is normal",
    "components · share of the good patches' variance",
    "Higher tolerates more of the usual variation, so only the unusual stands out; too high also tolerates defects.",
    "The error is what the first q components cannot explain. Every value comes from the same fit.",
)


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
