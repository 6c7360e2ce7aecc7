"""A network that takes raw pixels and returns the maps at chosen modules, for torch and for export alike."""

import difflib
import math
import threading
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

SIDE = 32
"""Sides of photos at the network are multiples of this many pixels."""
PICTURE = "picture"
"""The tap that gives the photo itself: COLOURS from 0 to 1, averaged over squares of STRIDE pixels."""
STRIDE, COLOURS = 8, 3
CALLS = threading.RLock()
"""Held while a module is built, called or exported: an export changes what torch does in every thread."""


class _StopForward(Exception):
    """Raised to leave the network after the last tap in use."""


class TappedNetwork(nn.Module):
    """Run (n, H, W, 3) uint8 RGB: (n, d_l, h_l, w_l) float32 per tap and, with `classifier`, embedding (n, d), logits.

    Pixels are scaled inside: (x / 255 - mean) / sd per colour. Without a classifier the network stops after its last
    tap. Not re-entrant: its hooks sit on the network while it runs, so calls must come one at a time.
    """

    grey_mean: Tensor
    grey_sd: Tensor

    def __init__(
        self,
        network: nn.Module,
        taps: tuple[str, ...],
        *,
        mean: tuple[float, float, float],
        sd: tuple[float, float, float],
        classifier: str = "",
    ) -> None:
        super().__init__()
        self.network, self.taps, self.classifier = network, taps, classifier
        self.register_buffer("grey_mean", 255 * torch.tensor(mean)[:, None, None], persistent=False)
        self.register_buffer("grey_sd", 255 * torch.tensor(sd)[:, None, None], persistent=False)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        # Turned before it is scaled: an exported graph then moves bytes and scales one colour after the other.
        grey = images.permute(0, 3, 1, 2).float()
        scaled = (grey - self.grey_mean) / self.grey_sd
        maps: dict[str, Tensor] = {}
        if PICTURE in self.taps:
            maps[PICTURE] = functional.avg_pool2d(grey, STRIDE) / 255
        head: list[Tensor] = []
        handles = [self._tap(name, maps) for name in self.taps if name != PICTURE]
        if self.classifier:
            last = self.network.get_submodule(self.classifier)
            handles.append(last.register_forward_pre_hook(lambda _, inputs: head.append(inputs[0].clone())))
        try:
            logits = self.network(scaled)
            if self.classifier:
                head.append(logits)
        except _StopForward:
            pass
        finally:
            for handle in handles:
                handle.remove()
        return *(maps[name] for name in self.taps), *head

    def _tap(self, name: str, maps: dict[str, Tensor]) -> torch.utils.hooks.RemovableHandle:
        def keep(_module: nn.Module, _given: tuple, output: Tensor) -> None:
            # A copy, since the network may go on to change its own tensor in place.
            maps.setdefault(name, _as_map(self.network, output).clone())
            # An export traces module by module and cannot be left half-way; it drops what no output needs by itself.
            if len(maps) == len(self.taps) and not self.classifier and not torch.compiler.is_exporting():
                raise _StopForward

        return self.network.get_submodule(name).register_forward_hook(keep)


def _as_map(network: Any, output: Tensor) -> Tensor:
    """What a tap gives as an (n, d, h, w) map: of a transformer the patch tokens only."""
    if output.ndim == 3 and hasattr(network, "num_prefix_tokens"):
        patches = output[:, network.num_prefix_tokens :]
        return patches.transpose(1, 2).unflatten(2, network.patch_embed.grid_size)
    return output.permute(0, 3, 1, 2) if getattr(network, "output_fmt", "") == "NHWC" else output


def check_patches(network: nn.Module, size: tuple[int, int]) -> None:
    """Raise ValueError when photos of size (H, W) pixels do not divide into a transformer's patches."""
    height, width = getattr(getattr(network, "patch_embed", None), "patch_size", None) or (1, 1)
    if size[0] % height or size[1] % width:
        step = math.lcm(height, SIDE)
        raise ValueError(
            f"size is {size[0]} x {size[1]}, and this network sees patches of {height} x {width} pixels; take "
            f"{step}, {2 * step} or {3 * step}"
        )


def check_taps(network: nn.Module, taps: tuple[str, ...]) -> None:
    """Raise ValueError unless the taps are different names of modules of the network, or PICTURE."""
    if not taps or len(set(taps)) != len(taps):
        raise ValueError(f"taps is {taps}; name one or more different modules")
    names = [PICTURE, *(name for name, _ in network.named_modules() if name)]
    for tap in taps:
        if tap not in names:
            near = difflib.get_close_matches(str(tap), names, n=5, cutoff=0.3) or names[:5]
            raise ValueError(f"taps names {tap!r}, which this network does not have; near it are {', '.join(near)}")


def channels_of(network: nn.Module, taps: tuple[str, ...], size: tuple[int, int]) -> tuple[int, ...]:
    """Channels of the taps, from the shapes alone: the network is on the meta device.

    size: (H, W) pixels. Raises ValueError for a tap that does not give an (n, channels, h, w) map of that size.
    """
    tapped = TappedNetwork(network.eval(), taps, mean=(0.0, 0.0, 0.0), sd=(1.0, 1.0, 1.0)).to("meta")
    with CALLS:
        maps = tapped(torch.empty((1, *size, 3), dtype=torch.uint8, device="meta"))
    for tap, values in zip(taps, maps, strict=True):
        shape = tuple(values.shape)
        if len(shape) != 4 or size[0] % shape[2] or size[0] // shape[2] * shape[3] != size[1]:
            raise ValueError(
                f"taps names {tap!r}, which gives {shape[1:]} for {size[0]} x {size[1]} pixels and no map that divides "
                "them evenly; tap a convolutional module before the pooling"
            )
    return tuple(values.shape[1] for values in maps)
