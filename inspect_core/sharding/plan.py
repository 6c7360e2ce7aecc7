"""How photos become features and what is learned from them, as bytes that are sent to every worker once."""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.extraction import Look, Preparation
from inspect_core.features.weights import needed_weights
from inspect_core.images.alignment import Alignment
from inspect_core.images.tiles import TilePlan
from inspect_core.images.tolerances import Tolerances
from inspect_core.judge.local_scale import LocalScale
from inspect_core.judge.overlap_counts import OverlapCounts
from inspect_core.methods.method import Patches
from inspect_core.methods.table import METHODS
from inspect_core.methods.view import View
from inspect_core.package.arrays import of_part, under
from inspect_core.sharding.container import pack, unpack
from inspect_core.sharding.tasks import Refused
from inspect_core.study.gathering import Fit, Gathered
from inspect_core.study.judged import Judged, Live
from inspect_core.study.photo_features import Unusable


def pack_weights(backbone: Backbone, path: Path | None = None) -> bytes:
    """The backbone's weights file: the one at `path`, else the one installed here."""
    found = path or needed_weights(spec_of(backbone.name, has_weights=False))
    return pack({"name": found.name}, {"content": np.fromfile(found, np.uint8)})


def pack_preparation(preparation: Preparation) -> bytes:
    """Everything between pixels and features except the weights."""
    backbone, arrays = preparation.backbone, {}
    for number, look in enumerate(preparation.looks):
        if look.projection is not None:
            arrays[str(number)] = np.ascontiguousarray(look.projection, np.float32)
    alignment = preparation.alignment
    if alignment is not None:
        arrays |= under("alignment", alignment.arrays())
    facts = {
        "backbone": backbone.name, "taps": backbone.taps, "size": backbone.size, "device": backbone.device.type,
        "engine": backbone.engine, "weights": backbone.weight_digest, "grid": preparation.grid,
        "nearest": preparation.nearest, "looks": [{"taps": look.taps, "pool": look.pool} for look in preparation.looks],
        "alignment": None if alignment is None else alignment.params(),
        "tiles": preparation.tiles and preparation.tiles.params(),
    }  # fmt: skip
    return pack(facts, arrays)


def backbone_of(name: str, taps: Sequence[str], size: Sequence[int], device: str, weights: bytes) -> Backbone:
    """A backbone with weights as `pack_weights` packs them. Raises ValueError as `load`."""
    facts, arrays = unpack(weights)
    with tempfile.TemporaryDirectory(prefix="loupe-weights-") as folder:
        path = Path(folder, Path(facts["name"]).name)
        arrays["content"].tofile(path)
        height, width = size
        return load(name, taps=tuple(taps), size=(height, width), weights=path, device=device)


@lru_cache(maxsize=2)
def unpack_preparation(content: bytes, weights: bytes) -> Preparation:
    """The preparation on this machine. Raises Refused if weights or engine differ from those asked for."""
    facts, arrays = unpack(content)
    backbone = backbone_of(facts["backbone"], facts["taps"], facts["size"], facts["device"], weights)
    for what, own, asked in (
        ("weights", backbone.weight_digest, facts["weights"]),
        ("an engine", backbone.engine, facts["engine"]),
    ):
        if own != asked:
            raise Refused(f"a worker has {what} {own!r} instead of {asked!r}; use machines of one kind")
    looks = tuple(
        Look(tuple(look["taps"]), arrays.get(str(number)), look["pool"]) for number, look in enumerate(facts["looks"])
    )
    alignment = facts["alignment"] and Alignment.from_arrays(of_part("alignment", arrays), facts["alignment"])
    tiles = facts["tiles"] and TilePlan.from_params(facts["tiles"], backbone.size)
    return Preparation(backbone, tuple(facts["grid"]), looks, facts["nearest"], alignment, tiles)


def pack_fit(fit: Fit, *, keep: bool) -> bytes:
    """What to learn; keep: whether the worker stores the features of the photos."""
    arrays = {str(i): columns.cpu().numpy() for i, columns in enumerate(fit.columns) if columns is not None}
    return pack({"fit": asdict(replace(fit, columns=())), "keep": keep}, arrays)


@lru_cache(maxsize=2)
def unpack_fit(content: bytes, device: torch.device) -> tuple[Fit, bool]:
    """(fit, keep) from the bytes of `pack_fit`."""
    facts, arrays = unpack(content)
    fit = facts["fit"]
    patches = tuple(Patches(own["photos"], tuple(own["grid"]), own["width"]) for own in fit["patches"])
    columns = [arrays.get(str(i)) for i in range(len(patches))]
    on_device = tuple(None if own is None else torch.tensor(own, device=device) for own in columns)
    tolerances = None if fit["tolerances"] is None else Tolerances(**fit["tolerances"])
    return Fit(tuple(fit["methods"]), tuple(fit["views"]), patches, on_device, tuple(fit["parameters"]),
               fit["seed"], fit["first"], tolerances), facts["keep"]  # fmt: skip


def pack_views(views: Sequence[View], stops: Sequence[Sequence[int]]) -> bytes:
    """Fitted detectors, each with the values of its live parameter at which errors are wanted."""
    each = list(zip(views, stops, strict=True))
    facts = [{"method": view.method, "params": view.detector.params(), "stops": list(own)} for view, own in each]
    return pack(facts, _numbered(view.detector.arrays() for view in views))


@lru_cache(maxsize=1)
def unpack_views(content: bytes, preparation: Preparation) -> tuple[tuple[View, tuple[int, ...]], ...]:
    """(view, stops) of each from the bytes of `pack_views`, on the device of the preparation's backbone."""
    facts, arrays = unpack(content)
    found = []
    for i, (own, look) in enumerate(zip(facts, preparation.looks, strict=True)):
        tensors = {
            name: torch.from_numpy(values).to(preparation.backbone.device)
            for name, values in of_part(str(i), arrays).items()
        }
        detector = METHODS[own["method"]].fitted.from_arrays(tensors, own["params"])
        found.append((View(own["method"], detector, look), tuple(own["stops"])))
    return tuple(found)


def pack_moves(views: Sequence[View], moves: Sequence[Live]) -> bytes:
    """Live values, and the local scales of each view at them."""
    facts, arrays = [], {}
    for i, view in enumerate(views):
        for value, scale in view.scales.items():
            facts.append({"view": i, "value": value, "params": scale.params()})
            arrays |= under(f"{i}.{value}", scale.arrays())
    return pack({"moves": [dict(move) for move in moves], "scales": facts}, arrays)


def unpack_moves(content: bytes, views: Sequence[View]) -> tuple[list[View], list[Live]]:
    """(the views with their scales, live values) from the bytes of `pack_moves`."""
    facts, arrays = unpack(content)
    scales: list[dict[int, LocalScale]] = [{} for _ in views]
    for own in facts["scales"]:
        maps = of_part(f"{own['view']}.{own['value']}", arrays)
        scales[own["view"]][own["value"]] = LocalScale(**maps, **own["params"])
    return [replace(view, scales=own) for view, own in zip(views, scales, strict=True)], facts["moves"]


def pack_judged(judged: Sequence[Judged], unusable: Unusable, unmasked: Sequence[str]) -> bytes:
    """Results of some photos at each of the moves; unusable: photos without a result; unmasked: those whose mask cannot
    be read.
    """
    arrays = {}
    for i, own in enumerate(judged):
        of_photos = {"scores": own.scores, "again": own.again, "is_defect": own.defect, "found": own.found}
        arrays |= under(str(i), own.counts.arrays() | of_photos)
    return pack(unusable._asdict() | {"moves": len(judged), "unmasked": list(unmasked)}, arrays)


def unpack_judged(content: bytes) -> tuple[list[Judged], dict[str, Any]]:
    """(judged, facts) from the bytes of `pack_judged`."""
    facts, arrays = unpack(content)
    each = [of_part(str(i), arrays) for i in range(facts["moves"])]
    judged = [
        Judged(own["scores"], own["again"], own["is_defect"], own["found"], OverlapCounts.from_arrays(own))
        for own in each
    ]
    return judged, facts


def pack_states(gathered: Gathered, unusable: Unusable, **facts: int) -> bytes:
    """The statistics of some photos; unusable: photos not included."""
    return pack(unusable._asdict() | facts, _numbered(own.state() for own in gathered))


def unpack_states(content: bytes, fit: Fit) -> tuple[Gathered, dict[str, Any]]:
    """(statistics, facts) from the bytes of `pack_states`. Raises ValueError for statistics of another fit."""
    facts, arrays = unpack(content)
    gathered = fit.begin()
    for i, own in enumerate(gathered):
        own.restore({name: torch.from_numpy(values) for name, values in of_part(str(i), arrays).items()})
    return gathered, facts


def _numbered(each: Iterable[Mapping[str, Tensor]]) -> dict[str, np.ndarray]:
    """The tensors of several, each under its number."""
    arrays = {}
    for i, own in enumerate(each):
        arrays |= under(str(i), {name: values.cpu().contiguous().numpy() for name, values in own.items()})
    return arrays
