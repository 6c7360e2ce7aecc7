"""The written graphs of EfficientNet-Lite against torch and, to the bit, against their export."""

import numpy as np
import pytest
import torch

from inspect_core.features import onnx_graph
from inspect_core.features.backbone_catalogue import CATALOGUE
from inspect_core.features.backbones import load
from inspect_core.features.onnx_graph import OnnxGraph
from inspect_core.features.tapped_network import PICTURE, STRIDE
from tests.eager import in_torch
from tests.examples import THOROUGH

pytestmark = pytest.mark.usefixtures("unhurried")
BLOCKS = ("bn1", "blocks.0.0.bn1", "blocks.0.0", "blocks.4.1.bn3", "blocks.6.0", "bn2")


@pytest.fixture(params=["efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2"])
def every_tap(request, tmp_path):
    """A network with the taps of both its presets and more."""
    taps = sum(CATALOGUE[request.param].presets.values(), ()) + BLOCKS
    return load(request.param, taps=taps, picture=True, size=(64, 160), device="cpu", cache=tmp_path)


def test_all_outputs_are_those_of_torch(every_tap):
    images = np.random.default_rng(0).integers(0, 256, (2, 64, 160, 3), dtype=np.uint8)
    written, expected_outputs = every_tap.run(images, head=True), in_torch(every_tap, images, head=True)
    assert len(written) == len(every_tap.taps) + 2
    for values, expected in zip(written, expected_outputs, strict=True):
        torch.testing.assert_close(values, expected, rtol=0, atol=3e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("size", [(64, 160), (256, 256)] if THOROUGH else [(64, 160)])
def test_it_gives_what_the_exported_graph_gives_to_the_bit(size, tmp_path):
    taps = sum(CATALOGUE["efficientnet_lite0"].presets.values(), ())
    backbone = load("efficientnet_lite0", taps=taps, picture=True, size=size, device="cpu", cache=tmp_path)
    image = np.random.default_rng(1).integers(0, 256, (*size, 3), dtype=np.uint8)
    content = onnx_graph.export(backbone.copied(head=True), size)
    exported = OnnxGraph(content, size=size, outputs=len(backbone.taps) + 2)
    for head in (False, True):
        written = backbone._graph(head)
        assert written.shapes == exported.shapes[: len(written.shapes)]
        assert all(map(np.array_equal, written.run(image), exported.run(image)))


def test_the_picture_is_the_photo_in_squares(tmp_path):
    backbone = load("efficientnet_lite0", picture=True, size=(64, 96), device="cpu", cache=tmp_path)
    images = np.random.default_rng(0).integers(0, 256, (1, 64, 96, 3), dtype=np.uint8)
    squares = images.reshape(1, 8, STRIDE, 12, STRIDE, 3).mean(axis=(2, 4)) / 255
    assert backbone.taps[-1] == PICTURE
    np.testing.assert_allclose(backbone.tap_maps(images)[-1].numpy(), squares, atol=1e-6)


def test_other_modules_are_exported(tmp_path):
    backbone = load(
        "efficientnet_lite0", taps=("blocks.2.0.conv_pw", "bn1"), size=(64, 64), device="cpu", cache=tmp_path
    )
    backbone.tap_maps(np.zeros((1, 64, 64, 3), np.uint8))
    assert len(list(tmp_path.iterdir())) == 2
