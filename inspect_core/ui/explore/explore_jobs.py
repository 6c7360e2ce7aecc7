"""Results of the Explore page: computed in the background, kept for every session of this process, bounded."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.store import feature_store
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.registry import CONTROLS
from inspect_core.methods.spectrum import LocalSpectrum
from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.runtime.progress import stage
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.tuning import scatter_points as explore
from inspect_core.tuning import sensitivity
from inspect_core.tuning.patch_sample import PatchSample, explained
from inspect_core.tuning.scatter_points import ScatterPoints
from inspect_core.tuning.sensitivity import SensitivityPoint
from inspect_core.tuning.tsne import arrange
from inspect_core.ui import result_cache
from inspect_core.workbench.taught_product import TaughtProduct

PATCHES = 2000
SAMPLED = 8192
STEPS_OF_TWO = (-3, -2, -1, 0, 1, 2, 3)


@dataclass(frozen=True)
class MapRequest:
    """A map to draw: of whole photos or of patches as a view sees them, before or after its detector's mapping."""

    photo_level: bool
    after_mapping: bool
    view: int = 0


@dataclass(frozen=True, eq=False)
class ScatterMap:
    """Points and where they lie on the map, (n, 2)."""

    points: ScatterPoints
    positions: np.ndarray


def draw_map(product: TaughtProduct, order: MapRequest, live: dict[str, int], limit: float, job: Job) -> ScatterMap:
    """Gather the points, look at them as the detector does if asked, and arrange them."""
    looking = stage(job.report, 0.0, 0.3)
    with device_lock(product.extractor.backbone.device):
        if order.photo_level:
            points = explore.whole_photos(product.scored, lambda i: _embedding(product, i), looking, **live)
        else:
            points = explore.sample_patches(
                product.scored, lambda i: features(product, i)[order.view], truth_masks(product.scored),
                limit=limit, count=max(PATCHES, len(product.scored.photos)), report=looking, **live,
            )  # fmt: skip
    if order.after_mapping:
        points = explore.transform_points(product.scored.views[order.view], points, live)
    return ScatterMap(points, arrange(points, feature_store(), report=stage(job.report, 0.3, 1.0)))


def follow_live(product: TaughtProduct, name: str, live: dict[str, int], job: Job) -> list[SensitivityPoint]:
    """The figures at stops of a live parameter, the one in force among them."""
    stops = sensitivity.chosen_stops(product.scored, name, live[name])
    return sensitivity.live_sensitivity(product.scored, truth_masks(product.scored), name, stops, live, job.report)


def follow_refits(
    product: TaughtProduct, name: str, in_force: float, live: dict[str, int], job: Job
) -> list[SensitivityPoint]:
    """The figures at values of γ, M or σ about the one in force, each fitted on the patch sample of previews."""
    job.report(0.0, "sampling good patches")
    position = product.refit_view
    view = product.scored.views[position]
    with device_lock(product.extractor.backbone.device):
        sample = PatchSample.from_study(product.own_study, lambda: job.cancelling, view=position)

        def fit_at(value: float) -> Any:
            return sample.fit({name: value}, lambda: job.cancelling)

        return sensitivity.refit_sensitivity(
            product.scored, truth_masks(product.scored), values_about(name, in_force), fit_at,
            lambda i: features(product, i), live, view=position,
            fraction=float(explained(view, [live[view.live_parameter]])[0]), report=job.report,
        )  # fmt: skip


def values_about(name: str, in_force: float) -> tuple[float, ...]:
    """Values to try around the one in force: 1/8 to 8 times; whole numbers, whose cost grows, 1/4 to twice."""
    if CONTROLS[name].stops:
        return tuple(max(2, round(in_force * 2**step)) for step in STEPS_OF_TWO if -2 <= step <= 1)
    return tuple(in_force * 2.0**step for step in STEPS_OF_TWO)


def spectrum(product: TaughtProduct, view: FittedMethod) -> LocalSpectrum | str:
    """Where variance goes in a view without components, computed once per fit."""
    key = ("spectrum", product.fit, view.method)
    if (result := result_cache.result_cache().get(key)) is None:
        result = view.definition.spectrum(view.detector)
        result_cache.result_cache().put(key, result)
    return result


def patch_variances(product: TaughtProduct, view: int, job: Job) -> np.ndarray:
    """(d,) float64 variance of good patches along principal directions, largest first, from a sample."""
    job.report(0.0, "sampling good patches")
    sample = product.own_study.patch_sample(SAMPLED, lambda: job.cancelling, view=view).double().cpu()
    return torch.linalg.eigvalsh(torch.cov(sample.T, correction=0)).flip(0).clamp_min(0).numpy()


def features(product: TaughtProduct, position: int) -> tuple[Tensor, ...]:
    """(1, h, w, k) patch features of a photo for each view, from the store if they are there."""
    if product.study is not None:
        return product.study.features(product.scored.photos[position])
    return product.extractor.features(product.photo(position), product.scored.photos[position].placed)


def _embedding(product: TaughtProduct, position: int) -> Tensor:
    extractor, placement = product.extractor, product.scored.photos[position].placed
    return extractor.backbone.embed(extractor.whole_network_input(product.photo(position), placement)[None])
