"""Kernel PCA novelty detection on a seeded sample of the good patches (Hoffmann 2007)."""

from collections.abc import Callable, Collection

import numpy as np
from torch import Tensor

from inspect_core.detectors import kernel_pca
from inspect_core.methods import graphs
from inspect_core.methods.drawn_patches import DrawnPatches
from inspect_core.methods.method import Control, Method, Parameters, Patches, Space
from inspect_core.methods.pooled import (
    KERNEL_VALUES,
    Q,
    at_most_widest,
    draw_patches,
    median_square,
    on_alike,
    sample_costs,
)
from inspect_core.package import arrays, fields

_COMPONENTS = (25, 50, 100, 200, 300, 500, 700)
_LARGEST_ALPHA = 1e18
"""Alphas are divided by roots of eigenvalues, which may be small; all arithmetic with them is float64."""


def _finish(
    drawn: DrawnPatches, seed: int, parameters: Parameters, report: Callable[[float], None]
) -> kernel_pca.KernelPCA:
    sample = drawn.rows()
    sigma = parameters["sigma"] or kernel_pca.suggest_sigma(sample, seed=seed)
    return kernel_pca.fit(sample, sigma=sigma, q=None if parameters["q"] is None else int(parameters["q"]))


def _sigmas(sample: Tensor, seed: int) -> list[dict[str, float]]:
    """σ at which the median kernel value of two good patches is each of KERNEL_VALUES."""
    squares = median_square(sample, seed)
    return [{"sigma": float(np.sqrt(-squares / (2 * np.log(value))))} for value in KERNEL_VALUES] if squares else [{}]


def _trial_stops(
    detector: kernel_pca.KernelPCA, parameters: Parameters, fixed: Collection[str]
) -> dict[int, dict[str, float]]:
    counts = (int(parameters["q"]),) if "q" in fixed else _COMPONENTS
    return {q: {"q": q} for q in counts if q <= detector.rank} or {detector.rank: {"q": detector.rank}}


def _score(detector: kernel_pca.KernelPCA, patches: Tensor, q: int | None) -> Tensor:
    if q is not None and q > detector.rank:
        raise ValueError(f"q is {q}, above the rank {detector.rank} of the fit; keep fewer components")
    return detector.score(patches, q=q)


def _in_kernel_space(detector: kernel_pca.KernelPCA, features: Tensor, places: object, q: int | None) -> Tensor:
    """f_l(z), l <= q: coordinates along the principal components in kernel space (Hoffmann 2007, eq. 9)."""
    z = features.to(detector.x.device).double()
    values = detector.kernel(z, detector.x)
    centred = values - values.mean(dim=-1, keepdim=True) - detector.row_mean + detector.row_mean.mean()
    return (centred @ detector.alpha[:, : detector.q if q is None else q]).float()


def _remark(detector: kernel_pca.KernelPCA, patches: Patches, parameters: Parameters, q: int) -> str | None:
    if 0 < detector.rank < (asked := parameters["q"] or 0):
        return f"q = {asked:g} was asked for; the good photos give no more than {detector.rank}, which are used."
    return on_alike(detector.rank, patches)


METHOD = Method(
    title="Surface, exact kernel",
    when="Textures with few photos: compares every patch with a sample of good patches, in full precision.",
    reference="Kernel PCA for novelty detection (Hoffmann 2007)",
    rank=4,
    defaults={"sigma": None, "q": None, "patches": 1000},
    project=at_most_widest,
    begin=draw_patches,
    see=lambda drawn, features, photos: drawn.draw(features, photos),
    finish=_finish,
    costs=sample_costs,
    graph=graphs.of_kernel_space,
    from_arrays=kernel_pca.KernelPCA.from_arrays,
    arrays={
        "x": arrays.floats("n k"),
        "alpha": arrays.floats("n r", -_LARGEST_ALPHA, _LARGEST_ALPHA),
        "row_mean": arrays.floats("n", -1.01, 0),
        "eigenvalues": arrays.floats("r", 0),
    },
    fields={"sigma": fields.WIDTH, "q": fields.whole(0)},
    ceiling=lambda detector, q: detector.ceiling(q),
    live="q",
    score=_score,
    sweep=lambda detector, patches, stops: detector.sweep(patches, stops),
    top=lambda detector: detector.rank,
    start=lambda detector: min(detector.q, detector.rank),
    refits=("sigma",),
    refit_values=lambda detector: {"sigma": detector.kernel.sigma},
    controls={
        "q": Q,
        "sigma": Control(
            "σ: width",
            "units of the features",
            "Lower compares a patch with its closest look-alikes only: finer, and noisier on good parts.",
            "Kernel exp(-d² / 2σ²) between patches (Hoffmann 2007).",
        ),
    },
    space=Space(
        "Coordinates on the q principal components in kernel space; patches unlike any good one fall together there.",
        _in_kernel_space,
    ),
    settings=_sigmas,
    trial_stops=_trial_stops,
    remark=_remark,
)
