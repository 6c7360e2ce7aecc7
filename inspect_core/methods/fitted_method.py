"""A view: one fitted detector, what it sees of a patch, and how its errors are brought to a common scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.backbone_catalogue import CATALOGUE, spec_of
from inspect_core.features.backbones import Backbone, load, shared
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.features.tapped_network import PICTURE
from inspect_core.methods.method import (
    LARGEST_FIT,
    LARGEST_TILED_FIT,
    Costs,
    Detector,
    Method,
    Parameters,
    Patches,
    Workload,
    stops_up_to,
)
from inspect_core.methods.registry import METHODS
from inspect_core.scoring.local_scale import LocalScale, sum_error_maps


@dataclass(frozen=True, eq=False)
class FittedMethod:
    """One fitted detector of a recipe or a study.

    method: a name in METHODS; scales: local scales by value of the live parameter; is_uncalibrated: it is given none;
    selected_stops: the values of the live parameter that are needed, None for all that the bench offers.
    """

    method: str
    detector: Detector
    spec: PatchFeatureSpec
    scales: Mapping[int, LocalScale] = field(default_factory=dict)
    selected_stops: tuple[int, ...] | None = None
    is_uncalibrated: bool = False

    @property
    def definition(self) -> Method:
        """The method's row in the table."""
        return METHODS[self.method]

    @property
    def live_parameter(self) -> str:
        """Name of the parameter whose every value comes from this fit; empty when there is none."""
        return self.definition.live_parameter

    @cached_property
    def start(self) -> int:
        """The value of the live parameter to begin with; 0 when there is none."""
        return self.definition.start(self.detector) if self.live_parameter else 0

    @cached_property
    def stops(self) -> tuple[int, ...]:
        """The values of the live parameter at which errors are kept, ascending; (0,) when there is none."""
        if not self.live_parameter:
            return (0,)
        if self.selected_stops is not None:
            return self.selected_stops
        return tuple(sorted({*stops_up_to(self.definition.max_value(self.detector)), self.start, *self.scales}))

    @property
    def variances(self) -> Tensor | None:
        """(r,) of the good patches along each component that the live parameter counts; None for another parameter."""
        return self.definition.variances(self.detector)

    def value(self, live: Mapping[str, int]) -> int:
        """Its own live value among those given, else the one to begin with."""
        return live.get(self.live_parameter, self.start) if self.live_parameter else 0

    def sweep(self, photos: Sequence[Tensor], stops: Sequence[int]) -> np.ndarray:
        """(n, stops, h, w) float32 errors of n photos, (1, h, w, k) patches each.

        They are scored one by one where they lie, and come back together.
        """
        errors = [self.definition.sweep(self.detector, patches, tuple(stops)) for patches in photos]
        return torch.stack(errors).reshape(len(photos), len(stops), *photos[0].shape[1:3]).cpu().float().numpy()

    def errors(self, photos: Sequence[Tensor], value: int) -> np.ndarray:
        """(n, h, w) float32 errors of n photos at one live value, equal to the bit to those of `sweep`."""
        parameter = value if self.live_parameter else None
        scores = [self.definition.score(self.detector, patches, parameter)[0] for patches in photos]
        return torch.stack(scores).cpu().float().numpy()


SeenBy = Sequence[tuple[FittedMethod, tuple[int, ...]]]
"""Views, and the values of the live parameter of each at which errors are wanted."""


def sweep_errors(seen_by: SeenBy, photos: Sequence[Sequence[Tensor]]) -> list[list[np.ndarray]]:
    """(stops, h, w) float32 errors of each photo under each view, given its (1, h, w, k) features for each."""
    if not photos:
        return []
    by_view = [
        view.sweep(patches, stops) for (view, stops), patches in zip(seen_by, zip(*photos, strict=True), strict=True)
    ]
    return [list(errors) for errors in zip(*by_view, strict=True)]


def joined_errors(
    views: Sequence[FittedMethod], photos: Sequence[Sequence[Tensor]], live: Mapping[str, int]
) -> list[np.ndarray]:
    """(h, w) float32 of each photo: its calibrated errors, those of several views added.

    photos: (1, h, w, k) for each view of each. Raises ValueError for views of which one has no scale at its live value.
    """
    values = [view.value(live) for view in views]
    if any(view.scales and value not in view.scales for view, value in zip(views, values, strict=True)):
        raise ValueError("a view has no local scale at its live value; take a value it was learned at")
    scales = [view.scales.get(value) for view, value in zip(views, values, strict=True)]
    by_view = zip(views, zip(*photos, strict=True), values, strict=True)
    errors = [view.errors(patches, value) for view, patches, value in by_view]
    return [sum_error_maps(list(of_photo), scales) for of_photo in zip(*errors, strict=True)]


def remarks(
    views: Sequence[FittedMethod],
    extractor: FeatureExtractor,
    parameters: Sequence[Parameters],
    live: Mapping[str, int],
    *,
    photos: int,
) -> tuple[str, ...]:
    """What an engineer should know of views fitted on this many photos, each sentence once."""
    warnings_found = [
        view.definition.fit_warning(
            view.detector, Patches(photos, shape[1:3], shape[3]), view_parameters, view.value(live)
        )
        for view, shape, view_parameters in zip(views, extractor.shapes, parameters, strict=True)
    ]
    return tuple(dict.fromkeys(sentence for sentence in (*warnings_found, extractor.backbone.remark) if sentence))


def with_taps(
    methods: Sequence[str],
    backbone: str,
    *,
    taps: str | tuple[str, ...] | None = None,
    weights: Any = None,
    **more: Any,
) -> tuple[Backbone, list[tuple[str, ...]]]:
    """A backbone with all taps that the methods see, and the taps of each method.

    taps: a preset or names of taps for all methods but those that see the picture; None: for each method the preset it
    works best on, where the backbone has that. more: as for `shared`, or with weights as for `load`.
    """
    presets = spec_of(backbone, has_weights=weights is not None).presets
    more["picture"] = any(METHODS[name].taps == PICTURE for name in methods)
    loaded = partial(shared, backbone) if weights is None else partial(load, backbone, weights=weights)
    tap_choices = _best_taps(methods, presets) if taps is None else [None]
    if None in tap_choices:
        network = loaded(taps=taps, **more)
        of_network = tuple(tap for tap in network.taps if tap != PICTURE)
        return network, [(PICTURE,) if METHODS[name].taps == PICTURE else of_network for name in methods]
    all_taps = {tap for choice in tap_choices for tap in choice or ()}
    # In one order whatever that of the methods: it is one network.
    network = loaded(
        taps=tuple(dict.fromkeys(tap for taps in presets.values() for tap in taps if tap in all_taps)), **more
    )
    return network, [choice or network.taps for choice in tap_choices]


def chosen_taps(methods: Sequence[str], extractor: FeatureExtractor) -> tuple[str, ...] | None:
    """The taps chosen for all methods, as `with_taps` takes them; None: each sees those it works best on."""
    current = [spec.taps for spec in extractor.looks]
    known = CATALOGUE.get(extractor.backbone.name)
    if known is not None and current == _best_taps(methods, known.presets):
        return None
    return next((taps for taps in current if taps != (PICTURE,)), None)


def _best_taps(methods: Sequence[str], presets: Mapping[str, tuple[str, ...]]) -> list[tuple[str, ...] | None]:
    known = {**presets, PICTURE: (PICTURE,)}
    return [known.get(METHODS[name].taps, next(iter(presets.values()), None)) for name in methods]


def patch_feature_specs(
    methods: Sequence[str],
    parameters: Sequence[Parameters],
    backbone: Backbone,
    taps: Sequence[tuple[str, ...]] | None,
    seed: int,
) -> tuple[PatchFeatureSpec, ...]:
    """What each method sees of a patch; taps: for each method, of the backbone's; None: all."""
    channels = dict(zip(backbone.taps, backbone.tap_channels, strict=True))
    looks = []
    for name, parameters_of_method, method_taps in zip(
        methods, parameters, taps or [backbone.taps] * len(methods), strict=True
    ):
        columns = METHODS[name].project(sum(channels[tap] for tap in method_taps), seed, parameters_of_method)
        looks.append(
            PatchFeatureSpec(tuple(method_taps), None if columns is None else columns.cpu().numpy(), METHODS[name].pool)
        )
    return tuple(looks)


def costs_of(
    methods: Sequence[str], parameters: Sequence[Parameters], extractor: FeatureExtractor, *, fit: int, shown: int
) -> Costs:
    """The cost of fitting the methods in turn. Raises ValueError for more memory than a fit may take."""
    places = extractor.grid[0] * extractor.grid[1]
    costs = [
        METHODS[name].costs(Workload(fit, shown, places, shape[-1]), parameters_of_method)
        for name, parameters_of_method, shape in zip(methods, parameters, extractor.shapes, strict=True)
    ]
    total = Costs(sum(costs.seconds for costs in costs), sum(costs.memory for costs in costs))
    most = LARGEST_FIT if extractor.tiles is None else LARGEST_TILED_FIT
    return total.with_photos(extractor.work_bytes, most)
