"""The torch network of a backbone, built and filled with its weights only when something needs it.

A backbone whose graph is stored runs without it, and a process that needs no network does not import its libraries.
"""

import threading

import torch
from torch import nn

from inspect_core.features.backbone_catalogue import Spec
from inspect_core.features.tapped_network import check_patches
from inspect_core.features.weights import WeightsFile, fill, in_forward_order


class TorchNetwork:
    """`TorchNetwork(...)()` is the filled network on its device, the same at every call. Safe from several threads."""

    def __init__(self, spec: Spec, size: tuple[int, int], weights: WeightsFile, device: torch.device) -> None:
        self._spec, self._size, self._weights, self._device = spec, size, weights, device
        self._hollow: nn.Module | None = None
        self._filled: nn.Module | None = None
        self._lock = threading.RLock()

    def __call__(self) -> nn.Module:
        """Raises ValueError as `WeightsFile.tensors` and `fill`."""
        with self._lock:
            if self._filled is None:
                self._filled = self._placed(self._with_weights(self.hollow()))
                self._hollow, self._weights = None, self._weights._replace(content=b"")
            return self._filled

    def hollow(self) -> nn.Module:
        """The network before it is filled, on the meta device: its modules and their shapes.

        Raises ValueError for a size that the network does not take.
        """
        with self._lock:
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

    def _with_weights(self, network: nn.Module) -> nn.Module:
        tensors = self._weights.tensors()
        if self._spec.package and self._weights.digest == self._spec.sha256:
            tensors = in_forward_order(network, tensors)
        return fill(network, tensors, path=self._weights.path, build=self._built)

    def _placed(self, network: nn.Module) -> nn.Module:
        if self._device.type != "cuda":
            return network
        return network.to(self._device, memory_format=torch.channels_last)  # ty: ignore[no-matching-overload]
