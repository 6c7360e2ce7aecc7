"""Checks of the input of every detector: one place, one wording."""

import numpy as np
import torch
from torch import Tensor


def as_features(
    features: Tensor | np.ndarray,
    *,
    name: str = "features",
    width: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Features as a gradient-free tensor of `dtype`, on the device they came on.

    features: (..., d), a tensor on any device or a NumPy array (then a CPU tensor comes out).
    Raises ValueError naming the first offending row when a value is NaN or infinite, when there is no feature
    axis or it is not `width` wide, and TypeError when it is neither a tensor nor an array.
    """
    if isinstance(features, np.ndarray):
        tensor = torch.from_numpy(np.ascontiguousarray(features))
    elif isinstance(features, Tensor):
        tensor = features.detach()
    else:
        raise TypeError(f"{name} must be a torch.Tensor or a NumPy array, not {type(features).__name__}")
    if tensor.ndim < 2:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}; give (n, d), with a row for every sample")
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise ValueError(f"{name} is {tensor.dtype}; give real numbers")
    if width is not None and tensor.shape[-1] != width:
        raise ValueError(
            f"{name} is {tensor.shape[-1]} wide, the fitted model expects {width}; "
            "use the same backbone, taps and projection as in the fit"
        )
    tensor = tensor.to(dtype)
    # The minimum and the maximum show whether all are finite, NaN included, forty times faster than a check of each.
    if tensor.numel() and not torch.isfinite(torch.stack(tensor.aminmax())).all():
        finite = torch.isfinite(tensor).all(dim=-1)
        position = tuple(int(i) for i in torch.nonzero(~finite)[0])
        place = f"row {position[0]}" if len(position) == 1 else f"row {position[0]}, location {position[1:]}"
        raise ValueError(f"{name} is not finite in {place}; remove or repair that sample before going on")
    return tensor


def require_samples(features: Tensor, *, name: str = "features") -> None:
    """Raise ValueError when there is no sample to learn from."""
    if features.numel() == 0:
        raise ValueError(f"{name} is empty, shape {tuple(features.shape)}; give at least one good sample to fit")


def require_between(value: float, low: float, high: float, *, name: str, cure: str) -> None:
    """Raise ValueError naming argument, value and cure unless low <= value <= high."""
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, outside {low} to {high}; {cure}")


def require_positive(value: float, *, name: str, cure: str) -> None:
    """Raise ValueError naming argument, value and cure unless value is a finite number above 0."""
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value}, which is not a positive number; {cure}")
