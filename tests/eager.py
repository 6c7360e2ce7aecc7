"""The GPU's way of running a network, and a small network to run by it."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from inspect_core.features.backbones import Backbone
from inspect_core.features.gpu_batches import GpuBatches

AT_ONCE = 8
SIZE = (64, 96)


def batches_of(backbone: Backbone, *, at_once: int = AT_ONCE) -> GpuBatches:
    """The network of a backbone in padded batches."""
    return GpuBatches(backbone._tapped, torch.device("cpu"), backbone.size, at_once=at_once)


def in_torch(backbone: Backbone, images: np.ndarray, *, head: bool) -> tuple[Tensor, ...]:
    """What the network gives for (n, H, W, 3) uint8, as `Backbone.run`."""
    return batches_of(backbone).run(images, lambda outputs: outputs, head=head)


class Network(nn.Module):
    """Two taps with a batch norm, an embedding and logits."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(4)
        self.first = nn.Sequential(nn.Conv2d(3, 10, 7, stride=4, padding=3), nn.BatchNorm2d(10), nn.Hardtanh())
        self.second = nn.Sequential(nn.Conv2d(10, 14, 3, stride=4, padding=1), nn.ReLU())
        self.fc = nn.Linear(14, 9)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.fc(self.second(self.first(images)).mean((2, 3)))


def network(device: torch.device) -> Backbone:
    """The network run by torch on either device."""
    placed = Network().eval().to(device)
    return Backbone(
        name="small", taps=("first", "second"), tap_channels=(10, 14), size=SIZE, mean=(0.5, 0.5, 0.5),
        sd=(0.25, 0.25, 0.25), device=device, engine="torch", weight_digest="0" * 64, classifier="fc", cache=Path(),
        _network=lambda: placed,
    )  # fmt: skip
