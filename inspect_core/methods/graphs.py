"""For a method's `graph`: a detector as a module of plain tensor operations, without checks or blocks, for any batch.

It takes (n, k, h, w) float32 features, channels first as the network gives them, and returns (n, h, w) float32 errors,
equal to the detector's own `score` except for rounding. It is built for one value of the live parameter: components,
quadrics and rows of factors beyond it are left out.
"""

from torch import Tensor, nn

Graph = tuple[Tensor | None, nn.Module]
"""Columns (d, k) that are applied to the joined channels (None: all channels unchanged), and the module."""


def constant(module: nn.Module, **values: Tensor) -> None:
    """Store each value under its name as a constant of the module, on the CPU."""
    for name, value in values.items():
        module.register_buffer(name, value.detach().cpu().contiguous())


def as_rows(features: Tensor) -> Tensor:
    """(n, k, h, w) -> (n, h w, k)."""
    return features.flatten(2).transpose(1, 2)
