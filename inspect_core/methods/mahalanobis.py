"""Localized Mahalanobis distances under a semi-orthogonal embedding (Kim et al. 2021)."""

from typing import Any

import torch
from torch import Tensor

from inspect_core.detectors import mahalanobis
from inspect_core.methods import graphs
from inspect_core.methods.method import Control, Costs, Method, Parameters, Patches, Space, Workload, one_fit_stops
from inspect_core.package import arrays, fields

_ROWS = 256


def _project(d: int, seed: int, parameters: Parameters) -> Tensor:
    return mahalanobis.semi_orthogonal(d, min(int(parameters["k"]), d), seed=seed)


def _begin(patches: Patches, columns: Tensor | None, seed: int, parameters: Parameters) -> mahalanobis.LocalGaussian:
    assert columns is not None
    return mahalanobis.LocalGaussian(columns, grid=patches.grid)


def _costs(work: Workload, parameters: Parameters) -> Costs:
    """A covariance and its factor at every place, and a triangular solve for every patch shown."""
    k = min(int(parameters["k"]), work.width)
    triangle = work.places * k * k
    memory = 20 * triangle + 256 * work.places * k + 96 * k * k + 4 * arrays.ROW_BYTES * k
    return Costs(2.5e-11 * triangle * work.fit + 2e-10 * triangle * work.shown + 3e-8 * triangle, memory)


def _width(detector: Any) -> int:
    return int(detector.projection.shape[1])


def _whitened(detector: mahalanobis.Mahalanobis, features: Tensor, places: Any, k: int | None) -> Tensor:
    """y = L⁻¹ (z - mean) of each patch at its own location, in the first k dimensions; ‖y‖ is the patch's score."""
    k = detector.mean.shape[-1] if k is None else k
    z = features.to(detector.mean.device)
    y = z.new_empty(len(z), k)
    for start in range(0, len(z), _ROWS):
        here = slice(start, start + _ROWS)
        row, column = places[here].T
        centred = (z[here] - detector.mean[row, column])[:, :k, None].double()
        factor = detector.cholesky[row, column][:, :k, :k].double()
        y[here] = torch.linalg.solve_triangular(factor, centred, upper=False)[:, :, 0].float()
    return y


def _remark(detector: mahalanobis.Mahalanobis, patches: Patches, parameters: Parameters, k: int) -> str | None:
    if not 1 < patches.photos <= k:
        return None
    return (
        f"{patches.photos} good photos are too few for a detail of k = {k}: part of how good parts differ is guessed, "
        f"so new good parts score higher than these. Add good photos, best more than {k}, or lower k."
    )


METHOD = Method(
    title="Position by position",
    when="Parts that always lie the same way in the picture: learns what is normal at every place of the part.",
    reference="Semi-orthogonal embedding for localized Mahalanobis distances (Kim et al. 2021)",
    rank=1,
    defaults={"k": 100, "ridge": 0.01},
    project=_project,
    begin=_begin,
    see=lambda statistics, features, photos: statistics.update_projected(features),
    finish=lambda statistics, seed, parameters, report: statistics.finish(ridge=parameters["ridge"]),
    costs=_costs,
    graph=graphs.of_places,
    from_arrays=mahalanobis.Mahalanobis.from_arrays,
    arrays={
        "projection": arrays.unit("d k"),
        "mean": arrays.floats("h w k"),
        "cholesky": arrays.floats("h w tri(k)", types=arrays.HALVES),
    },
    fields={"ridge": fields.ANY, "images": fields.whole(1), "storage": fields.one_of("float32", "float16")},
    taps="expansions",
    pool=1,
    place=lambda detector: detector.explained_by_place(),
    live="k",
    score=lambda detector, patches, k: detector.score_projected(patches, k=k),
    sweep=lambda detector, patches, stops: detector.sweep_projected(patches, stops),
    top=_width,
    start=_width,
    controls={
        "k": Control(
            "k: detail",
            "mixed features at every place",
            "How much of the normal texture is modelled. Higher sees finer changes and needs more good photos; lower "
            "gives fewer false alarms.",
            "Every value comes from the same fit (Kim et al. 2021).",
        )
    },
    space=Space(
        "Whitened at its own place: how far a patch is from the good ones there, in standard deviations, in each of k "
        "directions. The length of this vector is the patch's score.",
        _whitened,
    ),
    trial_stops=lambda detector, parameters, fixed: one_fit_stops(_width(detector)),
    one_fit=True,
    remark=_remark,
)
