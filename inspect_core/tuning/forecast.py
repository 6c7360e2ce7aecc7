"""What teaching will cost, estimated before it starts: measured on one photo on this machine, then multiplied."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.store import FeatureStore
from inspect_core.images.tolerances import photos_per_original
from inspect_core.methods.fitted_method import costs_of, patch_feature_specs
from inspect_core.methods.registry import DEFAULT_METHOD, methods_in, parameters_of
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.study.time_estimates import StepTimes
from inspect_core.tuning.comparison_result import Shortlist, comparison_seconds
from inspect_core.tuning.synthetic_trial import COMPARISON_DEFECTS

RUNNING_APP = 700 << 20


@dataclass(frozen=True)
class Forecast:
    """seconds to teach where nothing else runs; memory at its peak and disk, in bytes; engine: of the backbone."""

    seconds: float
    memory: int
    disk: int
    engine: str
    fits_store: bool


def methods_to_fit(order: TeachingConfig, detectors: Sequence[str] = ()) -> tuple[str, ...]:
    """The methods that are fitted to teach an order, or to compare detectors on its photos."""
    shortlist = Shortlist.of_order(order)
    to_choose_by = shortlist.candidates if order.photos.validation else shortlist.to_begin_with
    return methods_in(tuple(detectors) or tuple(to_choose_by) or (order.method or DEFAULT_METHOD,))


def forecast(order: TeachingConfig, store: FeatureStore, detectors: Sequence[str] = ()) -> Forecast:
    """The cost of teaching an order, or of comparing detectors on its photos, from timing one grey photo here.

    The photos to fit go through the network twice: for their patches, and as a whole for the product check; a photo
    takes one run per tile. Raises ValueError when the backbone cannot be loaded, a parameter is unknown, or teaching
    would take more memory than LARGEST_FIT, and as `TeachingConfig.as_fitted`.
    """
    order = order.as_fitted()
    order = replace(order, tolerances=order.copied)
    methods = methods_to_fit(order, detectors)
    parameters = parameters_of(methods, order.parameters_for(methods), order.tiles)
    backbone, taps = order.network(methods)
    grid = order.grid if order.tiles is None else order.tiles.grid
    extractor = FeatureExtractor(
        backbone, grid, patch_feature_specs(methods, parameters, backbone, taps, 0), tiles=order.tiles
    )

    fit, shown = len(order.photos.train), len(order.scored)
    expected = StepTimes.from_order(order, methods, parameters, extractor, made=COMPARISON_DEFECTS if detectors else 0)
    check = fit * expected.photo
    seconds = expected.total + expected.pace * comparison_seconds(len(detectors), shown) + check
    memory = costs_of(
        methods, parameters, extractor, fit=fit * photos_per_original(order.tolerances), shown=shown
    ).memory
    disk = extractor.bytes_per_photo * (fit + shown)
    return Forecast(seconds, RUNNING_APP + memory, disk, backbone.engine, store.would_fit(disk))
