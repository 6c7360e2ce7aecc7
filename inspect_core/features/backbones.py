"""Pretrained networks as feature extractors: pixels in, maps at the taps, embedding and logits out.

On a GPU torch runs in batches of one fixed size, padded; on a CPU ONNX Runtime runs image by image. Either way the
features of an image are the same to the bit whatever else is in the batch, so teaching and inspecting agree.
"""

import copy
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor, nn

from inspect_core.features import lite_graph
from inspect_core.features.backbone_catalogue import CATALOGUE, WORTH_HAVING, BackboneSpec, spec_of, timm_stages
from inspect_core.features.gpu_batches import GpuBatches, Outputs, engine_on
from inspect_core.features.onnx_graph import OnnxGraph, Used, load_or_export, use_cached
from inspect_core.features.patch_grid import aligned
from inspect_core.features.patch_join import PatchJoin
from inspect_core.features.tapped_network import PICTURE, SIDE, TappedNetwork, channels_of, check_taps
from inspect_core.features.weights_files import (
    TorchNetwork,
    WeightsFile,
    find_by_name,
    find_weights,
    read_weights,
    require_weights,
)
from inspect_core.runtime import workspace
from inspect_core.runtime.graph import EMBEDDING, LOGITS
from inspect_core.runtime.threads import limit_math_threads

limit_math_threads()

GRAPHS_LOADED = 6
"""Of one network: up to its taps, and up to the patches of what was asked for last."""


def available() -> tuple[str, ...]:
    """Names that `load` knows, and those of other networks worth having whose weights are here; any timm
    network is loaded as "timm:<name>" with a weights file.
    """
    return *CATALOGUE, *(name for name in WORTH_HAVING if name not in CATALOGUE and find_by_name(name))


def weights_found() -> dict[str, Path | None]:
    """Name of each backbone -> the weights file this machine has for it, None when there is none."""
    return {name: find_weights(spec) for name, spec in CATALOGUE.items()}


@dataclass(frozen=True, eq=False)
class Backbone:
    """A network with its weights, its taps and its device.

    taps, tap_channels: module name or PICTURE, and d_l, one for each tap.
    size: (H, W) in pixels. mean, sd: a colour enters the network as (x / 255 - mean) / sd.
    engine: what runs it, in words. weight_digest: SHA-256 of the weights file. _network: returns the network itself,
    which is needed only for an export and on a GPU. _write: gives the graph with or without its head where no export is
    needed.
    Safe to use from several threads.
    """

    name: str
    taps: tuple[str, ...]
    tap_channels: tuple[int, ...]
    size: tuple[int, int]
    mean: tuple[float, float, float]
    sd: tuple[float, float, float]
    device: torch.device
    engine: str
    weight_digest: str
    classifier: str
    cache: Path
    _network: Callable[[], nn.Module] = field(repr=False)
    _write: Callable[[bool], bytes | None] | None = field(default=None, repr=False)
    _graphs: OrderedDict[tuple[str, bool], OnnxGraph] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def tap_maps(self, images: np.ndarray) -> tuple[Tensor, ...]:
        """(n, H, W, 3) uint8 RGB at `size` -> one (n, h_l, w_l, d_l) float32 tensor per tap, on `device`.

        The first call on a CPU may export the network to `cache` (seconds). Raises ValueError for images of another
        shape or dtype.
        """
        return self.run(images)

    def embed(self, images: np.ndarray) -> Tensor:
        """Penultimate features (n, d) float32: what enters the last linear layer. Otherwise as tap_maps."""
        return self.run(images, head=True)[-2]

    def describe(self, images: np.ndarray) -> tuple[tuple[Tensor, ...], Tensor, Tensor]:
        """(tap maps, embedding, logits) in one pass; logits: scores before softmax, (n, classes) float32."""
        *maps, embedding, logits = self.run(images, head=True)
        return tuple(maps), embedding, logits

    def run(self, images: np.ndarray, join: PatchJoin | None = None, *, head: bool = False) -> Outputs:
        """The maps at the taps, or the patches of every distinct look of `join`; with `head` embedding and logits too.

        All have a row for each image. Raises as tap_maps, and ValueError where the GPU's memory does not suffice.
        """
        if not isinstance(images, np.ndarray) or images.dtype != np.uint8:
            kind = images.dtype if isinstance(images, np.ndarray) else type(images).__name__
            raise ValueError(f"images is {kind}; give a NumPy array of uint8, RGB, 0 to 255")
        if images.ndim != 4 or images.shape[1:] != (*self.size, 3):
            height, width = self.size
            squashed = f"give (n, {height}, {width}, 3), squashed to the backbone's size"
            raise ValueError(f"images has shape {images.shape}; {squashed}")
        if self.device.type == "cuda":
            return self._batches.run(images, partial(self._patches, join), head=head)
        return self._with_onnx(images, join, head=head)

    def _patches(self, join: PatchJoin | None, outputs: Outputs) -> Outputs:
        """What torch gives on a GPU, with the patches in place of the maps."""
        if join is None:
            return outputs
        count = len(self.taps)
        return *join.of_maps(self.taps, outputs[:count]), *outputs[count:]

    @property
    def channels(self) -> dict[str, int]:
        """d_l of each tap."""
        return dict(zip(self.taps, self.tap_channels, strict=True))

    @property
    def at_once(self) -> int:
        """Images that are best passed at once; more save no time per image."""
        return self._batches.at_once if self.device.type == "cuda" else 1

    @property
    def remark(self) -> str:
        """What an engineer should know of how it runs, a sentence; usually ""."""
        return self._batches.remark if self.device.type == "cuda" else ""

    @cached_property
    def _batches(self) -> GpuBatches:
        return GpuBatches(self._tapped, self.device, self.size)

    @property
    def embedding_width(self) -> int:
        """Features of one embedding, d. Raises ValueError for a network that has none."""
        if self.device.type != "cuda":
            return self._graph(True).shapes[-2][0]
        head = self._required_head()
        network = self._network()
        return int(head.in_features if isinstance(head, nn.Linear) else network.get_parameter("cls_token").shape[-1])

    @property
    def has_classes(self) -> bool:
        """Whether its logits are scores of classes; those of a network of features alone are the embedding again."""
        return self._write is not None or isinstance(self._head(), nn.Linear)

    def _head(self) -> nn.Linear | nn.Identity | None:
        layer = self._network().get_submodule(self.classifier) if self.classifier else None
        return layer if isinstance(layer, nn.Linear | nn.Identity) else None

    def _required_head(self) -> nn.Linear | nn.Identity:
        if (head := self._head()) is None:
            raise ValueError(f"{self.name} does not end in a linear layer, so it has no embedding or logits to give")
        return head

    def copied(self, *, head: bool) -> TappedNetwork:
        """A copy of the network on the CPU, to export: with `head` it goes on to the embedding and the logits.

        An export must neither see the GPU's memory format nor change the network in use. Activations in place would
        be taken apart into many small operations first, which takes longer and gives the same graph.
        Raises ValueError with `head` for a network that does not end in a linear layer.
        """
        copied = copy.deepcopy(self._tapped(head)).to("cpu", memory_format=torch.contiguous_format)  # ty: ignore[no-matching-overload]
        for module in copied.modules():
            if hasattr(module, "inplace"):
                module.inplace = False
        return copied

    def _tapped(self, head: bool) -> TappedNetwork:
        if head:
            self._required_head()
        classifier = self.classifier if head else ""
        return TappedNetwork(self._network(), self.taps, mean=self.mean, sd=self.sd, classifier=classifier).eval()

    def _with_onnx(self, images: np.ndarray, join: PatchJoin | None, *, head: bool) -> Outputs:
        """Run ONNX Runtime, image by image."""
        graph = self._graph(head, join)
        rows = [graph.run(image) for image in images] or [graph.run(np.zeros((*self.size, 3), np.uint8))]
        columns = [[torch.from_numpy(values) for values in column] for column in zip(*rows, strict=True)]
        if join is None:
            columns = [[_channels_last(values) for values in column] for column in columns]
        return tuple(torch.cat(column) if len(column) > 1 else aligned(column[0][: len(images)]) for column in columns)

    def _graph(self, head: bool, join: PatchJoin | None = None) -> OnnxGraph:
        key = "" if join is None else join.digest, head
        with self._lock:
            if key not in self._graphs:
                outputs = len(self.taps if join is None else join.distinct) + (2 if head else 0)
                use = partial(OnnxGraph, size=self.size, outputs=outputs)
                self._graphs[key] = self._graph_as(head, use) if join is None else use(self.graph(head=head, join=join))
            self._graphs.move_to_end(key)
            while len(self._graphs) > GRAPHS_LOADED:
                self._graphs.popitem(last=False)
            return self._graphs[key]

    def graph(self, *, head: bool, join: PatchJoin | None = None, channels_last: bool = True) -> bytes:
        """The ONNX bytes of the network on the CPU, as `onnx_graph.export`, up to its taps or as `join.graph`."""
        network = self._graph_as(head, bytes)
        further = [EMBEDDING, LOGITS] if head else []
        return network if join is None else join.graph(network, further=further, channels_last=channels_last)

    def _graph_as(self, head: bool, use: Callable[[bytes], Used]) -> Used:
        if self._write and (content := self._write(head)):
            return use(content)
        return load_or_export(
            (self.name, self.weight_digest, self.taps, self.size, self.mean, self.sd),
            lambda: self.copied(head=head or self._head() is not None),
            use,
            head=head,
            size=self.size,
            cache=self.cache,
        )


def load(
    name: str,
    *,
    taps: str | tuple[str, ...] | None = None,
    picture: bool = False,
    size: tuple[int, int] = (256, 256),
    weights: str | os.PathLike[str] | None = None,
    device: str = "auto",
    cache: str | os.PathLike[str] | None = None,
) -> Backbone:
    """A backbone by name, with its weights.

    name: one of `available()`, or "timm:<name>" (with `weights`, the bare timm name will do).
    taps: a preset of the backbone ("expansions", "outputs"; "stages"), module names, or None for its first preset.
    picture: whether PICTURE follows these. size: (H, W) in pixels, multiples of 32. weights: a file to use instead of
    the one found on this machine.
    device: "auto" (a GPU when there is one), "cpu", "cuda" or "cuda:1".
    cache: folder of exported graphs, None for `onnx/` in the workspace.
    Raises ValueError for an unknown name, tap or device, a size that is no multiple of 32, and weights that are
    missing, damaged or made for another network.
    """
    spec = spec_of(name, has_weights=weights is not None)
    _check_size(size)
    target, cache = _device(device), workspace.root() / "onnx" if cache is None else Path(cache)
    path = require_weights(spec) if weights is None else Path(weights)
    file = read_weights(path, sha256=spec.sha256 if weights is None and path.name == spec.file else "")
    network = TorchNetwork(spec, size, file, target)
    taps, on_gpu = _taps(spec, network, taps), target.type == "cuda"
    taps += (PICTURE,) if picture else ()
    identity = (spec.name, file.digest, taps, tuple(size), spec.mean, spec.sd)
    write = partial(_written, spec=spec, file=file, taps=taps, size=size)
    content = None if on_gpu else write(False)
    graph = None
    if not on_gpu:
        use = partial(OnnxGraph, size=size, outputs=len(taps))
        graph = use_cached((*identity, False), use, cache) if content is None else use(content)
    if graph is None:
        check_taps(network.hollow(), taps)
        channels = channels_of(network.hollow(), taps, size)
        network()
    else:
        channels = tuple(shape[0] for shape in graph.shapes)
    return Backbone(
        name=spec.name,
        taps=taps,
        tap_channels=channels,
        size=tuple(size),
        mean=spec.mean,
        sd=spec.sd,
        device=target,
        engine=engine_on(target, tuple(size)) if on_gpu else "ONNX Runtime on the CPU",
        weight_digest=file.digest,
        classifier=spec.classifier,
        cache=cache,
        _network=network,
        _write=None if content is None else write,
        _graphs=OrderedDict() if graph is None else OrderedDict({("", False): graph}),
    )


def _written(
    head: bool, *, spec: BackboneSpec, file: WeightsFile, taps: tuple[str, ...], size: tuple[int, int]
) -> bytes | None:
    """The graph of packaged weights, which needs no export; None for other weights and taps."""
    if not spec.package or file.digest != spec.sha256:
        return None
    return lite_graph.write(file.tensors(), taps, size=size, mean=spec.mean, sd=spec.sd, head=head)


_in_use: WeakValueDictionary[tuple, Backbone] = WeakValueDictionary()
_sharing = threading.Lock()


def shared(
    name: str,
    *,
    taps: str | tuple[str, ...] | None = None,
    picture: bool = False,
    size: tuple[int, int] = (256, 256),
    device: str = "auto",
) -> Backbone:
    """As `load` without a named file, but all current users share one object, with its engine's memory and threads.

    It is freed with its last user. If the weights file was replaced meanwhile, a new one is loaded.
    """
    spec = spec_of(name, has_weights=False)
    with _sharing:
        weights = find_weights(spec)
        written = weights and weights.stat().st_mtime_ns
        chosen = spec.presets.get(taps, taps) if isinstance(taps, str) else taps
        key = (spec.name, chosen, picture, tuple(size), device, weights, written, workspace.root())
        backbone = _in_use.get(key)
        if backbone is None:
            backbone = _in_use[key] = load(name, taps=taps, picture=picture, size=size, device=device)
        return backbone


def _channels_last(values: Tensor) -> Tensor:
    """(1, d, h, w) as (1, h, w, d) in memory; (1, d) unchanged. As a matrix: five times as fast as `permute`."""
    if values.ndim != 4:
        return values
    _, channels, height, width = values.shape
    return values.view(channels, height * width).T.contiguous().view(1, height, width, channels)


def _check_size(size: tuple[int, int]) -> None:
    sides = tuple(size) if isinstance(size, tuple | list) else ()
    if len(sides) != 2 or not all(isinstance(side, int) and side >= SIDE and side % SIDE == 0 for side in sides):
        raise ValueError(f"size is {size}; give (height, width) in pixels, each a multiple of {SIDE}")


def _device(device: str) -> torch.device:
    if device == "auto":
        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    if device == "cpu":
        return torch.device("cpu")
    kind, _, number = device.partition(":")
    if kind != "cuda" or not (number or "0").isdecimal():
        raise ValueError(f'device is {device!r}; give "auto", "cpu", "cuda" or "cuda:1"')
    if int(number or 0) >= torch.cuda.device_count():
        raise ValueError(f'device is {device!r}, and torch finds {torch.cuda.device_count()} GPUs here; use "auto"')
    return torch.device("cuda", int(number or 0))


def _taps(spec: BackboneSpec, network: TorchNetwork, taps: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """The module names that `taps` stands for; whether the network has them is not checked."""
    if taps is not None and not isinstance(taps, str):
        return tuple(taps)
    presets = spec.presets or {"stages": timm_stages(network.hollow())}
    if taps is None:
        return next(iter(presets.values()))
    if taps not in presets:
        known = f"{spec.name} has the presets {', '.join(presets)}"
        raise ValueError(f"taps is {taps!r}; {known}, or give a tuple of module names")
    return presets[taps]
