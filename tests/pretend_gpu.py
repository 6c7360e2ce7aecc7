"""A GPU that is not there: tensors that say `cuda:0`, compute on the CPU, and refuse what CUDA's refuse.

Mixed devices, `.numpy()` of a tensor on the device and an index on the wrong one raise as they do on a real GPU, so a
missing `.cpu()` or a tensor made on the wrong device is found without a driver. The numbers are the CPU's.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

GPU = torch.device("cuda", 0)
_aten = torch.ops.aten
COPIES = {_aten._to_copy, _aten.copy_}
INDEXED = {_aten.index, _aten.index_put, _aten.index_put_, _aten._index_put_impl_, _aten._unsafe_index}
# Functions that make a tensor of a number, or choose a kernel of CUDA, below what Python sees.
BELOW = {torch.where, Tensor.where, torch.quantile, Tensor.quantile, torch.nn.functional.batch_norm}


class OnGpu(Tensor):
    """A tensor on the pretended device; `values` are its numbers, on the CPU."""

    values_on_cpu: Tensor

    @staticmethod
    def __new__(cls, values: Tensor) -> "OnGpu":
        made = Tensor._make_wrapper_subclass(  # ty: ignore[unresolved-attribute]
            cls, values.shape, strides=values.stride(), storage_offset=values.storage_offset(), dtype=values.dtype,
            device=GPU,
        )  # fmt: skip
        made.values_on_cpu = values
        return made

    def __repr__(self, **_: Any) -> str:
        return f"OnGpu({self.values_on_cpu!r})"

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, arguments: tuple = (), named: dict | None = None) -> Any:
        named = dict(named or {})
        packet, leaves = operator.overloadpacket, tree_leaves((arguments, named))
        _refuse_mixed(packet, arguments, leaves)
        leaves_cpu = packet is _aten._to_copy and torch.device(named.get("device") or GPU).type == "cpu"
        if "device" in named and named["device"] is not None:
            named["device"] = torch.device("cpu")
        result = operator(*tree_map(_off, arguments), **tree_map(_off, named))
        if leaves_cpu:
            return result
        if packet is _aten.copy_:
            return arguments[0]
        same = {id(leaf.values_on_cpu): leaf for leaf in leaves if isinstance(leaf, OnGpu)}
        return tree_map(lambda item: same[id(item)] if id(item) in same else _on(item), result)


def _off(leaf: Any) -> Any:
    return leaf.values_on_cpu if isinstance(leaf, OnGpu) else leaf


def _on(leaf: Any) -> Any:
    return OnGpu(leaf) if isinstance(leaf, Tensor) and not isinstance(leaf, OnGpu) else leaf


def _as_index(part: Any) -> Any:
    return torch.as_tensor(part) if isinstance(part, list | np.ndarray) else part


def _refuse_mixed(packet: Any, arguments: tuple, leaves: list) -> None:
    """Raises as CUDA does for tensors of two devices, except where CUDA takes them: copies, numbers, a CPU index."""
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    devices = {tensor.device for tensor in tensors if tensor.ndim or isinstance(tensor, OnGpu)}
    if packet in COPIES or len(devices) < 2:
        return
    if packet in INDEXED:
        indexed, _, *values = arguments
        if not isinstance(indexed, OnGpu):
            raise RuntimeError("indices should be either on cpu or on the same device as the indexed tensor (cpu)")
        if all(isinstance(value, OnGpu) or not value.ndim for value in values if isinstance(value, Tensor)):
            return
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! ({packet})"
    )


class PretendGpu(TorchFunctionMode):
    """While it is entered, what is made on or moved to `cuda` is `OnGpu`."""

    def __torch_function__(self, function: Any, types: Any, arguments: tuple = (), named: dict | None = None) -> Any:
        named = dict(named or {})
        if function in (Tensor.numpy, Tensor.__array__) and isinstance(arguments[0], OnGpu):
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                "first."
            )
        if function is Tensor.tolist:
            return function(_off(arguments[0]))
        if function is Tensor.cuda:
            function, arguments = Tensor.to, (arguments[0], GPU)
        if function is Tensor.to or (function is torch.as_tensor and isinstance(arguments[0], Tensor)):
            return _moved(*arguments, **named)
        if function is Tensor.pin_memory:
            return arguments[0]
        named.pop("pin_memory", None)
        if function in BELOW and any(isinstance(leaf, OnGpu) for leaf in tree_leaves((arguments, named))):
            _refuse_mixed(function, arguments, tree_leaves((arguments, named)))
            return tree_map(_on, function(*tree_map(_off, arguments), **tree_map(_off, named)))
        if function in (Tensor.__getitem__, Tensor.__setitem__):
            tensor, index, *values = arguments
            index = tuple(map(_as_index, index)) if isinstance(index, tuple) else _as_index(index)
            arguments = (tensor, index, *values)
        if _on_gpu(named.get("device")):
            made = function(*tree_map(_off, arguments), **named | {"device": torch.device("cpu")})
            return tree_map(_on, made)
        return function(*arguments, **named)


def _on_gpu(device: Any) -> bool:
    return device is not None and not isinstance(device, Tensor) and torch.device(device).type == "cuda"


def _moved(tensor: Tensor, *arguments: Any, **named: Any) -> Tensor:
    """`Tensor.to`, for any way of saying where to: a device, a dtype, both, or another tensor."""
    if arguments and isinstance(arguments[0], Tensor):
        other, *arguments = arguments
        named |= {"device": other.device, "dtype": other.dtype}
    elif arguments and (arguments[0] is None or isinstance(arguments[0], str | torch.device)):
        named["device"], *arguments = arguments
    device = torch.device(named.pop("device", None) or tensor.device)
    if device.type == "meta":
        return Tensor.to(tensor, device, *arguments, **named)
    here = _off(tensor)
    moved = Tensor.to(here, "cpu", *arguments, **named)
    if device.type == tensor.device.type:
        return tensor if moved is here else _on(moved) if device.type == "cuda" else moved
    moved = moved.clone() if moved is here else moved
    return _on(moved) if device.type == "cuda" else moved


@contextmanager
def pretended() -> Iterator[None]:
    """A machine with one GPU, for this thread and those started meanwhile."""

    def run(thread: threading.Thread) -> None:
        with PretendGpu():
            run_alone(thread)

    run_alone = threading.Thread.run
    torch._C._ensureCUDADeviceGuardSet()
    with pytest.MonkeyPatch.context() as patch, PretendGpu():
        patch.setattr(threading.Thread, "run", run)
        patch.setattr(torch.__future__, "_overwrite_module_params_on_conversion", True)  # a module's are other objects
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(torch.cuda, "device_count", lambda: 1)
        patch.setattr(torch.cuda, "get_device_name", lambda *_: "pretended GPU")
        patch.setattr(torch.cuda, "get_device_properties", lambda *_: SimpleNamespace(total_memory=1 << 30))
        for name in ("empty_cache", "reset_peak_memory_stats"):
            patch.setattr(torch.cuda, name, lambda: None)
        patch.setattr(torch.cuda, "max_memory_allocated", lambda: 0)
        patch.setattr(torch.cuda, "utilization", lambda _: 50)
        yield
