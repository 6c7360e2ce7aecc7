"""What cannot travel as it is: a network is sent as its weights file, and loaded where it arrives."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.features.backbones import Backbone, load
from inspect_core.features.extraction import Preparation
from inspect_core.features.weights import needed_weights
from inspect_core.sharding.executor import Refused


@dataclass(frozen=True)
class Network:
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
    def of(cls, backbone: Backbone, path: Path | None = None) -> Self:
        """path: of the weights, None for those installed here."""
        found, own = path or needed_weights(spec_of(backbone.name, has_weights=False)), backbone
        chosen = own.name, own.taps, own.size, own.device.type, own.engine, own.weight_digest
        return cls(*chosen, found.name, found.read_bytes())


@lru_cache(maxsize=2)
def backbone_of(network: Network) -> Backbone:
    """The backbone on this machine. Raises ValueError as `load`, Refused if weights or engine are others."""
    with tempfile.TemporaryDirectory(prefix="loupe-weights-") as folder:
        path = Path(folder, network.file)
        path.write_bytes(network.weights)
        found = load(network.name, taps=network.taps, size=network.size, weights=path, device=network.device)
    for what, own, asked in (
        ("weights", found.weight_digest, network.weight_digest),
        ("an engine", found.engine, network.engine),
    ):
        if own != asked:
            raise Refused(f"a worker has {what} {own!r} instead of {asked!r}; use identical machines")
    return found


@dataclass(frozen=True, eq=False)
class Prepared:
    """A preparation; rest: its fields beside the backbone, without what they have computed."""

    network: Network
    rest: Mapping[str, Any]

    @classmethod
    def of(cls, preparation: Preparation, network: Network) -> Self:
        rest = {own.name: bare(getattr(preparation, own.name)) for own in fields(preparation) if own.name != "backbone"}
        return cls(network, rest)


@lru_cache(maxsize=1)
def preparation_of(sent: Prepared) -> Preparation:
    """The preparation on this machine. Raises as `backbone_of`."""
    return Preparation(backbone_of(sent.network), **sent.rest)


def bare(value: Any) -> Any:
    """A dataclass, or a tuple of such, without what its properties have computed."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(bare, value))
    if not is_dataclass(value):
        return value
    return replace(value, **{own.name: bare(getattr(value, own.name)) for own in fields(value)})
