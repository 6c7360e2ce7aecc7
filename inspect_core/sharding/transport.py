"""What cannot travel as it is: a network is sent as its weights file, and loaded where it arrives."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.weights_files import require_weights
from inspect_core.sharding.executor import Refused


@dataclass(frozen=True)
class SentBackbone:
    """A backbone: by what it is loaded, what it must then equal, and its weights file."""

    name: str
    taps: tuple[str, ...]
    size: tuple[int, int]
    device: str
    engine: str
    weight_digest: str
    file: str
    weights: bytes

    @classmethod
    def from_backbone(cls, backbone: Backbone, path: Path | None = None) -> Self:
        """path: of the weights, None for those installed here."""
        weights = path or require_weights(spec_of(backbone.name, has_weights=False))
        chosen = (backbone.name, backbone.taps, backbone.size, backbone.device.type, backbone.engine)
        return cls(*chosen, backbone.weight_digest, weights.name, weights.read_bytes())


@lru_cache(maxsize=2)
def backbone_of(network: SentBackbone) -> Backbone:
    """The backbone on this machine. Raises ValueError as `load`, Refused if weights or engine are others."""
    with tempfile.TemporaryDirectory(prefix="loupe-weights-") as folder:
        path = Path(folder, network.file)
        path.write_bytes(network.weights)
        backbone = load(network.name, taps=network.taps, size=network.size, weights=path, device=network.device)
    for subject, actual, asked in (
        ("weights", backbone.weight_digest, network.weight_digest),
        ("an engine", backbone.engine, network.engine),
    ):
        if actual != asked:
            raise Refused(f"a worker has {subject} {actual!r} instead of {asked!r}; use identical machines")
    return backbone


@dataclass(frozen=True, eq=False)
class SentExtractor:
    """A feature extractor; rest: its fields beside the backbone, without what they have computed."""

    network: SentBackbone
    rest: Mapping[str, Any]

    @classmethod
    def from_extractor(cls, extractor: FeatureExtractor, network: SentBackbone) -> Self:
        rest = {item.name: bare(getattr(extractor, item.name)) for item in fields(extractor) if item.name != "backbone"}
        return cls(network, rest)


@lru_cache(maxsize=1)
def extractor_of(sent: SentExtractor) -> FeatureExtractor:
    """The feature extractor on this machine. Raises as `backbone_of`."""
    return FeatureExtractor(backbone_of(sent.network), **sent.rest)


def bare(value: Any) -> Any:
    """A dataclass, or a tuple of such, without what its properties have computed."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(bare, value))
    if not is_dataclass(value):
        return value
    return replace(value, **{field.name: bare(getattr(value, field.name)) for field in fields(value)})
