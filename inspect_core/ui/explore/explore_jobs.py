"""Results of the Explore page: computed in the background, kept for every session of this process, bounded."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.store import feature_store
from inspect_core.methods.fitted_method import View
from inspect_core.methods.registry import CONTROLS
from inspect_core.methods.spectrum import LocalSpectrum
from inspect_core.runtime.jobs import Job, device_lock
from inspect_core.runtime.progress import stage
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.tuning import scatter_points as explore
from inspect_core.tuning import sensitivity
from inspect_core.tuning.patch_sample import PatchSample, explained
from inspect_core.tuning.scatter_points import Points
from inspect_core.tuning.sensitivity import SensitivityPoint
from inspect_core.tuning.tsne import arrange
from inspect_core.ui import result_cache
from inspect_core.ui.taught_product import TaughtPart

PATCHES = 2000
SAMPLED = 8192
STEPS_OF_TWO = (-3, -2, -1, 0, 1, 2, 3)


@dataclass(frozen=True)
class MapOrder:
    """A map to draw: of whole photos or of patches as a view sees them, before or after its detector's mapping."""

    whole: bool
    mapped: bool
    view: int = 0


@dataclass(frozen=True, eq=False)
class DrawnMap:
    """Points and where they lie on the map, (n, 2)."""

    points: Points
    positions: np.ndarray


def draw_map(taught: TaughtPart, order: MapOrder, live: dict[str, int], limit: float, job: Job) -> DrawnMap:
    """Gather the points, look at them as the detector does if asked, and arrange them."""
    looking = stage(job.report, 0.0, 0.3)
    with device_lock(taught.preparation.backbone.device):
        if order.whole:
            points = explore.whole_photos(taught.scored, lambda i: _embedding(taught, i), looking, **live)
        else:
            points = explore.sample_patches(
                taught.scored, lambda i: features(taught, i)[order.view], truth_masks(taught.scored),
                limit=limit, count=max(PATCHES, len(taught.scored.photos)), report=looking, **live,
            )  # fmt: skip
    if order.mapped:
        points = explore.seen_by(taught.scored.views[order.view], points, live)
    return DrawnMap(points, arrange(points, feature_store(), report=stage(job.report, 0.3, 1.0)))


def follow_live(taught: TaughtPart, name: str, live: dict[str, int], job: Job) -> list[SensitivityPoint]:
    """The figures at stops of a live parameter, the one in force among them."""
    stops = sensitivity.chosen_stops(taught.scored, name, live[name])
    return sensitivity.over_live(taught.scored, truth_masks(taught.scored), name, stops, live, job.report)


def follow_refits(
    taught: TaughtPart, name: str, in_force: float, live: dict[str, int], job: Job
) -> list[SensitivityPoint]:
    """The figures at values of γ, M or σ about the one in force, each fitted on the patch sample of previews."""
    job.report(0.0, "sampling good patches")
    position = taught.refit_view
    view = taught.scored.views[position]
    with device_lock(taught.preparation.backbone.device):
        sample = PatchSample.of(taught.own_study, lambda: job.cancelling, view=position)

        def fit_at(value: float) -> Any:
            return sample.fit({name: value}, lambda: job.cancelling)

        return sensitivity.over_refits(
            taught.scored, truth_masks(taught.scored), values_about(name, in_force), fit_at,
            lambda i: features(taught, i), live, view=position,
            fraction=float(explained(view, [live[view.live]])[0]), report=job.report,
        )  # fmt: skip


def values_about(name: str, in_force: float) -> tuple[float, ...]:
    """Values to try around the one in force: an eighth of it to eight times it; whole numbers, whose cost grows, from a
    quarter to twice.
    """
    if CONTROLS[name].stops:
        return tuple(max(2, round(in_force * 2**step)) for step in STEPS_OF_TWO if -2 <= step <= 1)
    return tuple(in_force * 2.0**step for step in STEPS_OF_TWO)


def spectrum(taught: TaughtPart, view: View) -> LocalSpectrum | str:
    """Where variance goes in a view without components, computed once per fit."""
    key = ("spectrum", taught.id, view.method)
    if (found := result_cache.kept().get(key)) is None:
        found = view.row.spectrum(view.detector)
        result_cache.kept().put(key, found)
    return found


def patch_variances(taught: TaughtPart, view: int, job: Job) -> np.ndarray:
    """(d,) float64 variance of good patches along each principal direction, largest first, from a sample of them."""
    job.report(0.0, "sampling good patches")
    sample = taught.own_study.patch_sample(SAMPLED, lambda: job.cancelling, view=view).double().cpu()
    return torch.linalg.eigvalsh(torch.cov(sample.T, correction=0)).flip(0).clamp_min(0).numpy()


def features(taught: TaughtPart, position: int) -> tuple[Tensor, ...]:
    """(1, h, w, k) patch features of a photo for each view, from the store if they are there."""
    if taught.study is not None:
        return taught.study.features(taught.scored.photos[position])
    return taught.preparation.features(taught.photo(position), taught.scored.photos[position].placed)


def _embedding(taught: TaughtPart, position: int) -> Tensor:
    preparation, placement = taught.preparation, taught.scored.photos[position].placed
    return preparation.backbone.embed(preparation.whole(taught.photo(position), placement)[None])
