"""Exported networks: the same values as torch, kept once, and never from a damaged file."""

import hashlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import nn

from inspect_core.features import onnx_graph
from inspect_core.features.onnx_graph import OnnxGraph, load_or_export
from inspect_core.features.tapped_network import TappedNetwork, channels_of

SIZE = (32, 64)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def network() -> TappedNetwork:
    torch.manual_seed(0)
    body = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.ReLU(inplace=True), nn.Conv2d(4, 6, 3, 2, 1), nn.Conv2d(6, 2, 1))
    mean, sd = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
    return TappedNetwork(body.eval().requires_grad_(False), ("0", "2"), mean=mean, sd=sd).eval()


@pytest.fixture(scope="module")
def exported(network) -> bytes:
    return onnx_graph.export(network, SIZE)


@pytest.fixture
def exports(exported, monkeypatch) -> list[tuple[int, int]]:
    """Counts exports, and answers each with the one made for the module."""
    counted: list[tuple[int, int]] = []
    monkeypatch.setattr(onnx_graph, "export", lambda _network, size: counted.append(size) or exported)
    return counted


@pytest.fixture
def image() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (*SIZE, 3), dtype=np.uint8)


opened_graph = partial(OnnxGraph, size=SIZE, outputs=2)


def same(ones, others) -> bool:
    return all(map(np.array_equal, ones, others))


def open_graph(network, cache, identity=("weights", ("0", "2"))):
    return load_or_export(identity, lambda: network, opened_graph, head=False, size=SIZE, cache=cache)


def test_the_graph_gives_torchs_values(network, exported, image):
    outputs = opened_graph(exported).run(image)
    with torch.no_grad():
        expected = network(torch.from_numpy(image[None]))
    assert [output.shape for output in outputs] == [(1, 4, 16, 32), (1, 6, 8, 16)]
    for output, reference in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(output, reference.numpy(), atol=1e-5)


def test_a_tap_is_taken_before_the_network_changes_it_in_place(network, exported, image):
    body, pixels = network.network, torch.from_numpy(image).double() / 255
    scaled = (pixels - torch.tensor([0.4, 0.5, 0.6])) / torch.tensor([0.2, 0.25, 0.3])
    first = nn.functional.conv2d(
        scaled.permute(2, 0, 1)[None], body[0].weight.double(), body[0].bias.double(), stride=2, padding=1
    )
    assert first.min() < 0
    np.testing.assert_allclose(opened_graph(exported).run(image)[0], first.numpy(), atol=1e-5)
    with torch.no_grad():
        np.testing.assert_allclose(network(torch.from_numpy(image[None]))[0].numpy(), first.numpy(), atol=1e-5)


def test_what_comes_after_the_last_tap_is_not_in_the_graph(exported):
    assert [node.op_type for node in onnx.load_from_string(exported).graph.node].count("Conv") == 2


def test_a_graph_is_exported_once(network, exports, image, tmp_path):
    assert same(open_graph(network, tmp_path).run(image), open_graph(network, tmp_path).run(image))
    assert exports == [SIZE]
    open_graph(network, tmp_path, identity=("other weights", ("0", "2")))
    assert len(exports) == 2


@pytest.mark.parametrize("damage", ["cut", "bit", "empty"])
def test_a_damaged_graph_is_removed_and_exported_again(network, exports, image, tmp_path, damage):
    before = open_graph(network, tmp_path).run(image)
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes({"cut": content[:100], "bit": content, "empty": b""}[damage])
    assert same(before, open_graph(network, tmp_path).run(image))
    open_graph(network, tmp_path)
    assert len(exports) == 2


def graph_of(inputs: dict[str, list[int | str]], kind: int = onnx.TensorProto.UINT8, outputs: int = 2) -> bytes:
    """A sound graph that passes its first input on."""
    value_infos = [onnx.helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()]
    first, shape = next(iter(inputs.items()))
    results = [onnx.helper.make_tensor_value_info(f"y{i}", kind, shape) for i in range(outputs)]
    nodes = [onnx.helper.make_node("Identity", [first], [result.name]) for result in results]
    model = onnx.helper.make_model(
        onnx.helper.make_graph(nodes, "other", value_infos, results), opset_imports=[onnx.helper.make_opsetid("", 18)]
    )
    model.ir_version = 10
    return model.SerializeToString()


OWN = ["n", *SIZE, 3]
OTHERS = {
    "nothing": b"",
    "noise": b"\x08\x07 no graph at all",
    "text": b"{}",
    "another size": graph_of({"images": ["n", 32, 32, 3]}),
    "one image only": graph_of({"images": [1, *SIZE, 3]}),
    "another name": graph_of({"photos": OWN}),
    "floats": graph_of({"images": OWN}, onnx.TensorProto.FLOAT),
    "two inputs": graph_of({"images": OWN, "more": [1]}),
    "one output": graph_of({"images": OWN}, outputs=1),
}


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS)
def test_what_is_no_graph_of_the_network_is_exported_again(network, exports, image, tmp_path, content):
    before = open_graph(network, tmp_path).run(image)
    (path,) = tmp_path.iterdir()
    path.unlink()
    key = path.stem.partition("-")[0]
    (tmp_path / f"{key}-{hashlib.sha256(key.encode() + content).hexdigest()[:32]}.onnx").write_bytes(content)
    assert same(before, open_graph(network, tmp_path).run(image))
    assert len(exports) == 2
    assert list(tmp_path.iterdir()) == [path]


def test_graphs_that_changed_places_are_exported_again(network, exports, tmp_path):
    for identity in "ab":
        open_graph(network, tmp_path, identity=(identity,))
    (key, digest), (other, others) = [path.stem.split("-") for path in tmp_path.iterdir()]
    (tmp_path / f"{key}-{digest}.onnx").rename(tmp_path / f"{other}-{digest}.onnx")
    (tmp_path / f"{other}-{others}.onnx").rename(tmp_path / f"{key}-{others}.onnx")
    for identity in "ab":
        open_graph(network, tmp_path, identity=(identity,))
    assert len(exports) == 4


PLACES = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "link to itself": lambda path: path.symlink_to(path),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_what_is_no_file_is_passed_over(network, exports, tmp_path, monkeypatch, place):
    open_graph(network, tmp_path)
    (path,) = tmp_path.iterdir()
    path.unlink()
    place(path.with_name(path.stem.partition("-")[0] + "-0.onnx"))
    place(tmp_path / "other.onnx")
    monkeypatch.setattr(onnx_graph, "GRAPHS_KEPT", 1)
    for _ in range(2):
        open_graph(network, tmp_path)
    assert len(exports) == 2
    assert path.is_file()


def test_no_file_of_another_name_is_removed(network, exports, tmp_path, monkeypatch):
    key = onnx_graph._key(("a", False))
    theirs = [tmp_path / name for name in ("mine.onnx", f"{key}-mine.onnx", f"{key}.onnx")]
    for path in theirs:
        path.write_bytes(b"theirs")
        os.utime(path, (0, 0))
    monkeypatch.setattr(onnx_graph, "GRAPHS_KEPT", 1)
    for identity in "ab":
        open_graph(network, tmp_path, identity=(identity,))
    assert all(path.read_bytes() == b"theirs" for path in theirs)
    assert len(list(tmp_path.iterdir())) == len(theirs) + 1


def test_a_folder_that_cannot_be_written_costs_only_the_cache(network, exports, image, tmp_path):
    (tmp_path / "taken").touch()
    with pytest.warns(UserWarning, match="could not be kept"):
        graph = open_graph(network, tmp_path / "taken")
    assert len(graph.run(image)) == 2


def test_the_cache_is_bounded_and_keeps_what_is_used(network, exports, tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_graph, "GRAPHS_KEPT", 3)
    for number in range(5):
        open_graph(network, tmp_path, identity=(number,))
    assert len(list(tmp_path.iterdir())) == 3
    open_graph(network, tmp_path, identity=(4,))
    assert len(exports) == 5


@pytest.mark.usefixtures("unhurried")
def test_two_graphs_are_exported_at_the_same_time(network, tmp_path):
    """The first part is taught in the background while the Teach page times another size."""
    sizes = [SIZE, (64, 64), (64, 32), (96, 32)]

    def opened(size: tuple[int, int]):
        use = partial(OnnxGraph, size=size, outputs=2)
        return load_or_export((size,), lambda: network, use, head=False, size=size, cache=tmp_path)

    with ThreadPoolExecutor(len(sizes)) as pool:
        graphs = list(pool.map(opened, sizes))
    for size, graph in zip(sizes, graphs, strict=True):
        assert graph.run(np.zeros((*size, 3), np.uint8))[0].shape[2:] == (size[0] // 2, size[1] // 2)


class Announced(nn.Conv2d):
    """Says that it runs, and leaves another thread the time to run a module of its own meanwhile."""

    def __init__(self, runs):
        super().__init__(3, 3, 3, 1, 1)
        self.runs = runs

    def forward(self, photos):
        self.runs.set()
        time.sleep(0.2)
        return super().forward(photos)


def test_network_can_be_read_while_it_is_exported():
    runs = threading.Event()
    tapped = TappedNetwork(nn.Sequential(Announced(runs)).eval(), ("0",), mean=(0.4,) * 3, sd=(0.2,) * 3).eval()
    with ThreadPoolExecutor(1) as pool:
        exporting = pool.submit(onnx_graph.export, tapped, SIZE)
        while not exporting.done():
            if runs.wait(0.05):
                runs.clear()
                # On the meta device, as a page does that asks for a backbone's channels.
                assert channels_of(nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1)), ("0",), SIZE) == (4,)
    exporting.result()
