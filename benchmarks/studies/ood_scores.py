"""Scores of a classifier's own outputs (MSP, energy, ReAct, BATS) and their fusion with a reconstruction error.

These keep the sign of the papers that name them: larger = more like the training data. Code that turns one into an
anomaly score negates it once. Only the regularised error has the opposite sign, like every error.
"""

import numpy as np
import torch
from torch import Tensor

from inspect_core.detectors.checks import as_features, require_positive
from inspect_core.detectors.cop_corp.feature_maps import precision_of


def regularised_error(error: Tensor | np.ndarray, z: Tensor | np.ndarray) -> Tensor:
    """The PCA error as a fraction of the feature's length, e / ‖z‖; larger = more anomalous.

    error: (...) of plain PCA; z: (..., m) the features before centring -> (...). A zero feature gives +inf.
    Source: Guan et al., "Revisit PCA-based technique for out-of-distribution detection".
    """
    z = as_features(z, name="z", dtype=precision_of(z))
    error = _like(error, z, name="error")
    length = z.norm(dim=-1)
    return torch.where(length > 0, error / length, torch.full_like(error, torch.inf))


def msp(logits: Tensor | np.ndarray) -> Tensor:
    """Maximum softmax probability, (..., classes) -> (...), in (0, 1]. Source: Hendrycks and Gimpel 2017."""
    return _logits(logits).softmax(dim=-1).amax(dim=-1)


def energy(logits: Tensor | np.ndarray) -> Tensor:
    """logsumexp of the logits (the negative free energy at temperature 1), (..., classes) -> (...).

    Source: Liu et al. 2020, eq. 4, without its minus sign. Negative for a head with small logits.
    """
    return _logits(logits).logsumexp(dim=-1)


def react_clip(z: Tensor | np.ndarray, *, clip: float = 1.0) -> Tensor:
    """Features cut from above, min(z, clip): (..., m) -> (..., m). With ReAct they also feed CoP and CoRP.

    clip: in units of the features; 1.0 is that of the published code. Raises ValueError when clip is not positive.
    """
    require_positive(clip, name="clip", cure="give the activation to cut at, such as 1 or the 0.9 training quantile")
    return as_features(z, name="z", dtype=precision_of(z)).clamp(max=clip)


def react(
    z: Tensor | np.ndarray, weight: Tensor | np.ndarray, bias: Tensor | np.ndarray, *, clip: float = 1.0
) -> Tensor:
    """Energy of the logits that the cut features give, (..., m) -> (...). Source: Sun et al. 2021, eq. 1.

    weight: (classes, m), bias: (classes,) of the network's last layer.
    """
    return _energy_of_head(react_clip(z, clip=clip), weight, bias)


def bats_clip(
    z: Tensor | np.ndarray, mean: Tensor | np.ndarray, sd: Tensor | np.ndarray, *, width: float = 1.05
) -> Tensor:
    """Features brought into mean ± width · sd of the training features, each by its own: (..., m) -> (..., m).

    mean, sd: (m,). With BATS they also feed CoP and CoRP. Raises ValueError when width is not positive.
    """
    require_positive(width, name="width", cure="give the half-width in standard deviations, such as 1.05")
    z = as_features(z, name="z", dtype=precision_of(z))
    mean, sd = _like(mean, z, name="mean"), _like(sd, z, name="sd")
    return torch.minimum(torch.maximum(z, mean - width * sd), mean + width * sd)


def bats(
    z: Tensor | np.ndarray,
    mean: Tensor | np.ndarray,
    sd: Tensor | np.ndarray,
    weight: Tensor | np.ndarray,
    bias: Tensor | np.ndarray,
    *,
    width: float = 1.05,
) -> Tensor:
    """Energy of the logits that the typical features give, (..., m) -> (...). Source: Zhu et al. 2022.

    mean, sd: (m,) of the training features; weight: (classes, m), bias: (classes,) of the network's last layer.
    """
    return _energy_of_head(bats_clip(z, mean, sd, width=width), weight, bias)


def fuse(error: Tensor | np.ndarray, ood_score: Tensor | np.ndarray, *, smallest: float | None = None) -> Tensor:
    """(1 - e) S with 1 - e clipped at 0: larger = more normal, (...) and (...) -> (...).

    error: of CoP or CoRP (about 0 to 1), or regularised. ood_score: S of msp, energy, react or bats. smallest: the
    smallest S of the training samples; given, S - smallest takes the place of S, cut at 0 below it.
    Raises ValueError when S is not positive and `smallest` is not given: a larger error would then raise the score.
    Source: Fang et al., the fusion of their section 4.2.
    """
    ood_score = torch.as_tensor(ood_score).detach()
    ood_score = ood_score.to(precision_of(ood_score))
    error = _like(error, ood_score, name="error")
    if not bool(torch.isfinite(ood_score).all()):
        raise ValueError("ood_score is not finite; remove or repair the samples it belongs to")
    if smallest is not None:
        ood_score = (ood_score - smallest).clamp(min=0.0)
    elif bool((ood_score <= 0).any()):
        raise ValueError(
            f"ood_score falls to {float(ood_score.min()):.6g}, where a larger error would raise the fused score; "
            "pass smallest= the smallest score of the training samples to shift it"
        )
    return (1.0 - error).clamp(min=0.0) * ood_score


def _energy_of_head(z: Tensor, weight: Tensor | np.ndarray, bias: Tensor | np.ndarray) -> Tensor:
    weight = as_features(weight, name="weight", width=z.shape[-1], dtype=z.dtype).to(z.device)
    return energy(z @ weight.T + _like(bias, z, name="bias"))


def _logits(logits: Tensor | np.ndarray) -> Tensor:
    return as_features(logits, name="logits", dtype=precision_of(logits))


def _like(values: Tensor | np.ndarray, other: Tensor, *, name: str) -> Tensor:
    tensor = torch.as_tensor(values).detach().to(other.device, other.dtype)
    if bool(tensor.isnan().any()):
        raise ValueError(f"{name} holds NaN; remove or repair the samples it belongs to")
    return tensor
