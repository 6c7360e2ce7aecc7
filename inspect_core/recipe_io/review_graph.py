"""What sends a photo to review whatever its score (`SetupRange.reason_to_review`), as an ONNX graph: a program at the
line that is not in Python judges a photo as the app does, without measuring anything itself.
"""

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from inspect_core.features.lite_graph import IR_VERSION
from inspect_core.features.onnx_graph import BATCH, OPSET
from inspect_core.images.photo_setup import (
    DARKEST,
    EMPTY,
    EMPTY_SHARE,
    LAYOUT,
    MIDDLE,
    SHADED,
    SLOPES,
    SMOOTHED_BY,
    SetupRange,
)
from inspect_core.runtime.graph import IMAGES, REASON

REASONS = ("", EMPTY, SHADED)
"""In words, what each value of the output stands for."""
_FAINTEST = 1e-3  # least median of ratios to the good photos' brightness, as `photo_setup` has it


def write(setup: SetupRange, size: tuple[int, int]) -> bytes:
    """ONNX bytes: input "images" (n, H, W, 3) uint8, the picture as the network or the plan of tiles has it; output
    "reason" (n,) int64, the position in REASONS.

    size: (H, W) pixels.
    """
    graph = _Graph()
    colours = graph("Cast", graph("Transpose", IMAGES, perm=[0, 3, 1, 2]), to=TensorProto.FLOAT)
    # OpenCV's grey levels: whole numbers of 32,768ths, rounded; exact in float32.
    shares = np.array([9798, 19235, 3735], np.float32).reshape(1, 3, 1, 1) / 32768
    grey = graph("Floor", graph("Conv", colours, shares, np.full(1, 0.5, np.float32)))
    empty = graph("Less", _slopes(graph, grey, size), EMPTY_SHARE * np.array([setup.least_slopes], np.float32))
    is_empty = graph("Equal", _most(graph, graph("Cast", empty, to=TensorProto.FLOAT)), np.float32(1))
    reason = np.int64(REASONS.index(""))
    if setup.shade_limit is not None:
        is_shaded = graph("Greater", _shade(graph, grey, setup, size), np.float32(setup.shade_limit))
        reason = graph("Where", is_shaded, np.int64(REASONS.index(SHADED)), reason)
    graph("Where", is_empty, np.int64(REASONS.index(EMPTY)), reason, output=REASON)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "What sends a photo to review",
            [helper.make_tensor_value_info(IMAGES, TensorProto.UINT8, (BATCH, *size, 3))],
            [helper.make_tensor_value_info(REASON, TensorProto.INT64, (BATCH,))],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    return model.SerializeToString()


def _slopes(graph: "_Graph", grey: str, size: tuple[int, int]) -> str:
    """(n, SLOPES) of grey levels (n, 1, H, W), in the order of `PhotoSetup.slopes`."""
    side = round(8 * SMOOTHED_BY) | 1  # OpenCV's for float32
    kernel = cv2.getGaussianKernel(side, SMOOTHED_BY, cv2.CV_32F)
    smooth = graph.reflected(grey, side // 2)
    for shape in ((1, 1, side, 1), (1, 1, 1, side)):
        smooth = graph("Conv", smooth, kernel.reshape(shape))
    sobel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], np.float32) / 8
    ways = graph("Conv", graph.reflected(smooth, 1), np.stack([sobel, sobel.T])[:, None])
    squares = graph("ReduceSumSquare", ways, np.array([1]), keepdims=1)
    height, width = size
    top, left = (round((1 - MIDDLE) / 2 * length) for length in size)
    halves = [(0, height // 2, 0, width), (height // 2, height, 0, width)]
    halves += [(0, height, 0, width // 2), (0, height, width // 2, width)]
    parts = {place: graph.cut(squares, *place) for place in [*halves, (top, height - top, left, width - left)]}
    *in_halves, in_middle = parts
    means = {place: graph("ReduceMean", part, np.array([2, 3]), keepdims=0) for place, part in parts.items()}
    medians = {place: _median(graph, part, place) for place, part in parts.items()}
    least = [graph("Min", *(slopes[place] for place in in_halves)) for slopes in (means, medians)]
    everywhere = graph("ReduceMean", squares, np.array([2, 3]), keepdims=0)
    columns = [everywhere, least[0], means[in_middle], least[1], medians[in_middle]]
    assert len(columns) == SLOPES
    return graph("Sqrt", graph("Concat", *columns, axis=1))


def _median(graph: "_Graph", squares: str, place: tuple[int, int, int, int]) -> str:
    """(n, 1), of every other row and column of a part (n, 1, h, w)."""
    top, bottom, left, right = place
    thinned = graph.cut(squares, 0, bottom - top, 0, right - left, step=2)
    return graph.median(thinned, -(-(bottom - top) // 2) * -(-(right - left) // 2))


def _shade(graph: "_Graph", grey: str, setup: SetupRange, size: tuple[int, int]) -> str:
    """(n,) the most deviations of the shade of a block, as `SetupRange.is_shaded`."""
    rows, columns = (_area_averages(side) for side in size)
    layout = graph("MatMul", graph("MatMul", rows, grey), np.ascontiguousarray(columns.T))
    flat = graph("Reshape", layout, np.array([0, -1]))
    ratios = graph("Div", flat, np.maximum(np.array([setup.layout], np.float32), DARKEST))
    median = graph("Max", graph.median(ratios, LAYOUT**2), np.float32(_FAINTEST))
    shade = graph("Abs", graph("Sub", graph("Div", ratios, median), np.float32(1)))
    return _most(graph, graph("Div", shade, np.array([setup.shade_spread], np.float32)))


def _most(graph: "_Graph", values: str) -> str:
    """(n,) the largest of each row."""
    return graph("ReduceMax", values, np.array([1]), keepdims=0)


def _area_averages(side: int) -> np.ndarray:
    """(LAYOUT, side) float32: the share of each pixel in each block, as OpenCV averages areas."""
    borders = np.linspace(0, side, LAYOUT + 1)
    pixels = np.arange(side)
    shares = np.minimum(borders[1:, None], pixels + 1) - np.maximum(borders[:-1, None], pixels)
    return (np.clip(shares, 0, None) * LAYOUT / side).astype(np.float32)


class _Graph:
    """Nodes and constants in the order in which they are called for. Calling it adds an operator and gives the name of
    its output; an array among the inputs becomes a constant.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        output = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [output], output, **attributes))
        return output

    def reflected(self, values: str, width: int) -> str:
        """Values (n, 1, H, W) with a border in which they are mirrored, without the outermost again."""
        return self("Pad", values, np.array([0, 0, width, width] * 2), mode="reflect")

    def cut(self, values: str, top: int, bottom: int, left: int, right: int, step: int = 1) -> str:
        """A part of values (n, 1, H, W), every so many rows and columns of it."""
        places: Sequence[list[int]] = ([top, left], [bottom, right], [2, 3], [step, step])
        return self("Slice", values, *map(np.array, places))

    def median(self, values: str, count: int) -> str:
        """(n, 1), of `count` values of each photo."""
        flat = self("Reshape", values, np.array([0, -1]))
        half = count // 2 + 1
        smallest = f"smallest_{len(self.nodes)}"
        names = [flat, self._constant(np.array([half]))]
        self.nodes.append(helper.make_node("TopK", names, [smallest, f"{smallest}_places"], smallest, largest=0))
        first = half - (1 if count % 2 else 2)
        middle = self("Slice", smallest, *map(np.array, ([first], [half], [1])))
        return self("ReduceMean", middle, np.array([1]), keepdims=1)

    def _constant(self, values: np.ndarray) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name
