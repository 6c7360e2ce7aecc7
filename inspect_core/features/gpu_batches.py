"""A network on a GPU: images in batches of one fixed size, so that none depends on the company it is in.

A GPU chooses how it computes by the shapes it is given. With one shape throughout, each image's outputs are the same to
the bit in a full batch, alone or in the last one, which is padded.
"""

import threading
import warnings
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from inspect_core.features.tapped_network import CALLS, TappedNetwork

MOST_AT_ONCE = 64
"""Beyond this a GPU that is full gets no faster."""
BYTES_PER_PIXEL = 1024
"""Memory for a pixel of the input in the largest networks of the catalogue, with what is made of their maps."""
SHARE = 4
"""A batch takes at most one part in SHARE of the GPU's memory: what was taught lies there too."""

Outputs = tuple[Tensor, ...]


def largest_batch(device: torch.device, size: tuple[int, int]) -> int:
    """How many images of (H, W) pixels a GPU takes at once: a power of two."""
    memory = torch.cuda.get_device_properties(device).total_memory
    fitting = memory // (SHARE * BYTES_PER_PIXEL * size[0] * size[1])
    return min(MOST_AT_ONCE, 1 << max(fitting.bit_length() - 1, 0))


def engine_on(device: torch.device, size: tuple[int, int]) -> str:
    """What runs a network for (H, W) pixels there, in words: all that the bits of its outputs depend on."""
    return f"torch on {device} ({torch.cuda.get_device_name(device)}), {largest_batch(device, size)} photos at once"


def use_full_precision() -> None:
    """Compute in true float32 on every GPU, in this process from now on: TF32 keeps 10 bits of each factor, too few.

    Kernels are chosen by shape alone, not by timing them, and only those that repeat their results.
    """
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True


def load_linear_algebra(device: torch.device) -> None:
    """Have torch load what factorises matrices on a GPU: it fails where several threads are the first to need it."""
    with CALLS:
        torch.linalg.cholesky_ex(torch.ones(1, 1, device=device))


class GpuBatches:
    """Runs a network on a device. Safe to use from several threads, which take turns.

    tapped: the network with its taps, with or without its head, called once for each; size: (H, W) of an image;
    at_once: images of a batch, by default as many as suit the GPU. Where its memory does not suffice, it is halved,
    once: `remark` says so then, else "".
    """

    def __init__(
        self,
        tapped: Callable[[bool], TappedNetwork],
        device: torch.device,
        size: tuple[int, int],
        *,
        at_once: int | None = None,
    ) -> None:
        self._tapped, self._device, self._size = tapped, device, size
        self._placed: dict[bool, TappedNetwork] = {}
        self._lock = threading.RLock()
        self.remark = ""
        self.at_once = at_once or largest_batch(device, size)
        use_full_precision()
        load_linear_algebra(device)

    def run(self, images: np.ndarray, transform: Callable[[Outputs], Outputs], *, head: bool) -> Outputs:
        """What `transform` makes of the outputs, for (n, H, W, 3) uint8: tensors of n rows on the device.

        transform: given the outputs of a whole batch (maps channels last), returns tensors with a row for each image.
        Raises ValueError where half a batch is still too much for the GPU's memory.
        """
        rows = []
        first = 0
        while not rows or first < len(images):
            at_once = self.at_once
            part = images[first : first + at_once]
            try:
                made = self._padded(part, at_once, transform, head)
            except torch.OutOfMemoryError as error:
                self._halve(at_once, error)
                continue
            rows.append([values[: len(part)] for values in made])
            first += len(part)
        return tuple(torch.cat(parts) if len(parts) > 1 else parts[0] for parts in zip(*rows, strict=True))

    def _padded(self, images: np.ndarray, at_once: int, transform: Callable[[Outputs], Outputs], head: bool) -> Outputs:
        on_gpu = self._device.type == "cuda"
        # Pinned, so that the copy to the GPU runs while Python goes on; torch keeps the memory until it is done.
        padded = torch.zeros((at_once, *self._size, 3), dtype=torch.uint8, pin_memory=on_gpu)
        padded.numpy()[: len(images)] = images
        with self._lock, CALLS, torch.no_grad():
            if head not in self._placed:
                self._placed[head] = self._tapped(head).to(self._device)
            outputs = self._placed[head](padded.to(self._device, non_blocking=True))
            return transform(tuple(_channels_last(values) for values in outputs))

    def _halve(self, at_once: int, error: torch.OutOfMemoryError) -> None:
        with self._lock:
            if at_once != self.at_once:  # another thread has done it
                return
            if self.remark or at_once == 1:
                raise ValueError(
                    f"the GPU's memory does not suffice for {at_once} photos at once; close what else uses the GPU, "
                    "choose a smaller network or photo size, or use the CPU"
                ) from error
            self.at_once //= 2
            self.remark = (
                f"The GPU's memory did not suffice: it now takes {self.at_once} photos at once, half as many, and "
                "scores may differ in their last digits from those before."
            )
        torch.cuda.empty_cache()
        warnings.warn(self.remark, UserWarning, stacklevel=4)


def _channels_last(values: Tensor) -> Tensor:
    return values.permute(0, 2, 3, 1).contiguous() if values.ndim == 4 else values
