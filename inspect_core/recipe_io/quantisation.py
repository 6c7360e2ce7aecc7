"""An exported graph with smaller numbers: constants of 16 bits, or a network of 8. The proof decides if it is good
enough.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from inspect_core.runtime.graph import IMAGES

LEAST = 1024
"""Fewest numbers of a constant for which the smaller type is worth while."""


def quantise_float16(content: bytes) -> bytes:
    """The graph with its large constants in float16, widened as it is loaded and used in float32.

    Raises ValueError when one leaves the range of float16.
    """
    model = onnx.load_from_string(content)
    casts = []
    for tensor in model.graph.initializer:
        if tensor.data_type != TensorProto.FLOAT or np.prod(tensor.dims) < LEAST:
            continue
        values = numpy_helper.to_array(tensor)
        name = tensor.name
        if not np.abs(values).max() <= np.finfo(np.float16).max:
            raise ValueError(f"{name} contains values outside the 16-bit range; export with 32")
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{name}.16"))
        casts.append(helper.make_node("Cast", [f"{name}.16"], [name], to=TensorProto.FLOAT))
    for cast in casts:
        model.graph.node.insert(0, cast)
    return model.SerializeToString()


class _Images(CalibrationDataReader):
    def __init__(self, images: Sequence[np.ndarray]) -> None:
        self._rest: Iterator[np.ndarray] = iter(images)

    def get_next(self) -> dict[str, np.ndarray] | None:  # ty: ignore[incompatible-method-override]
        image = next(self._rest, None)
        return None if image is None else {IMAGES: image[None]}


def quantise_int8(content: bytes, images: Sequence[np.ndarray]) -> bytes:
    """The graph with the network's convolutions in 8 bits, ranges from `images`, (H, W, 3) uint8 at size.

    Results differ between processors: the proof holds on the PC that ran it.
    """
    with tempfile.TemporaryDirectory(prefix="loupe-graph-") as folder:
        whole, reduced = Path(folder) / "whole.onnx", Path(folder) / "reduced.onnx"
        whole.write_bytes(content)
        types: dict[str, Any] = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
        types |= {"quant_format": QuantFormat.QDQ, "op_types_to_quantize": ["Conv"], "per_channel": True}
        quantize_static(whole, reduced, _Images(images), **types)
        return reduced.read_bytes()
