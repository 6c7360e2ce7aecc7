"""Backbones: the right levels, the same features as plain torch, and a clear word when something is amiss."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from inspect_core.features import onnx_graph
from inspect_core.features.backbone_catalogue import CATALOGUE, spec_of
from inspect_core.features.backbones import Backbone, available, load, weights_found
from inspect_core.features.onnx_graph import OnnxGraph
from inspect_core.features.tapped_network import TappedNetwork, channels_of
from inspect_core.features.weights_files import find_weights
from tests.eager import AT_ONCE, in_torch

SIZE = (64, 96)
TINY = "test_resnet"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def graphs(tmp_path_factory) -> Path:
    """One folder of exported graphs for the module, so that no network is exported twice."""
    return tmp_path_factory.mktemp("onnx")


@pytest.fixture(scope="module")
def lite(graphs) -> Backbone:
    return load("efficientnet_lite0", size=SIZE, device="cpu", cache=graphs)


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory) -> Path:
    import timm

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / f"{TINY}.safetensors"
    save_file(with_spread_statistics(timm.create_model(TINY)).state_dict(), path)
    return path


@pytest.fixture(scope="session")
def images() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (3, *SIZE, 3), dtype=np.uint8)


def with_spread_statistics(network: nn.Module) -> nn.Module:
    """A seeded random network whose batch norms do something."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.2, 0.2)
            nn.init.uniform_(module.running_var, 0.5, 2.0)
    return network.eval()


def relative(got: torch.Tensor, expected: torch.Tensor) -> float:
    return float((got - expected).abs().max() / expected.abs().max())


def plain_lite(images: np.ndarray) -> tuple[nn.Module, torch.Tensor]:
    """The packaged network and its scaled input in float64, put together without Loupe."""
    import timm

    network = timm.create_model("tf_efficientnet_lite0").eval()
    tensors = torch.load(find_weights(CATALOGUE["efficientnet_lite0"]), weights_only=True)
    network.load_state_dict(dict(zip(network.state_dict(), tensors.values(), strict=True)))
    scaled = (torch.from_numpy(images).permute(0, 3, 1, 2).double() / 255 - 0.5) / 0.5
    return network.double().requires_grad_(False), scaled


def test_the_built_in_backbones_bring_their_weights():
    assert set(available()) >= {"efficientnet_lite0", "resnet18", "wide_resnet50_2", "mobilenet_v3_large"}
    paths = weights_found()
    assert tuple(paths) == available()
    assert all(paths[f"efficientnet_lite{number}"].is_file() for number in (0, 1, 2))


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize(
    ("name", "preset", "channels"),
    [
        ("efficientnet_lite0", "expansions", (144, 240, 672)),
        ("efficientnet_lite0", "outputs", (24, 40, 112)),
        ("efficientnet_lite1", "expansions", (144, 240, 672)),
        ("efficientnet_lite1", "outputs", (24, 40, 112)),
        ("efficientnet_lite2", "expansions", (144, 288, 720)),
        ("efficientnet_lite2", "outputs", (24, 48, 120)),
        ("resnet18", "stages", (64, 128, 256)),
        ("resnet50", "stages", (256, 512, 1024)),
        ("wide_resnet50_2", "stages", (256, 512, 1024)),
        ("mobilenet_v3_small", "stages", (16, 24, 48)),
        ("mobilenet_v3_large", "stages", (24, 40, 112)),
    ],
)
def test_presets_stand_at_strides_4_8_and_16(name, preset, channels):
    with torch.device("meta"):
        network = CATALOGUE[name].build((96, 64))
    taps = CATALOGUE[name].presets[preset]
    assert channels_of(network, taps, (96, 64)) == channels
    tapped = TappedNetwork(network.eval(), taps, mean=(0.0, 0.0, 0.0), sd=(1.0, 1.0, 1.0)).to("meta")
    maps = tapped(torch.empty((1, 96, 64, 3), dtype=torch.uint8, device="meta"))
    assert [tuple(values.shape[2:]) for values in maps] == [(24, 16), (12, 8), (6, 4)]
    assert isinstance(network.get_submodule(CATALOGUE[name].classifier), nn.Linear)


def test_the_taps_travel_with_the_backbone(lite, images):
    assert lite.name == "efficientnet_lite0"
    assert lite.taps == ("blocks.2.0.bn1", "blocks.3.0.bn1", "blocks.5.0.bn1")
    assert lite.tap_channels == (144, 240, 672)
    assert lite.engine == "ONNX Runtime on the CPU"
    assert lite.weight_digest == CATALOGUE["efficientnet_lite0"].sha256
    shapes = [tuple(values.shape) for values in lite.tap_maps(images)]
    assert shapes == [(3, 16, 24, 144), (3, 8, 12, 240), (3, 4, 6, 672)]


def test_expansions_are_the_relu6_of_the_1x1_expansion(lite, images):
    network, x = plain_lite(images)
    x = network.bn1(network.conv_stem(x))
    expected = []
    for number, stage in enumerate(network.blocks):
        if number in (2, 3, 5):
            wide, norm = stage[0].conv_pw(x), stage[0].bn1
            wide = nn.functional.batch_norm(
                wide, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps
            )
            expected.append(wide.clamp(0, 6).permute(0, 2, 3, 1))
        x = stage(x)
    for got, reference in zip(lite.tap_maps(images), expected, strict=True):
        assert got.dtype == torch.float32
        assert got.is_contiguous()
        assert relative(got, reference) < 2e-5


def test_describe_gives_maps_embedding_and_logits(lite, images):
    network, x = plain_lite(images)
    maps, embedding, logits = lite.describe(images)
    assert relative(logits, network(x)) < 2e-5
    assert relative(embedding, network.forward_head(network.forward_features(x), pre_logits=True)) < 2e-5
    layer = network.get_classifier()
    assert relative(embedding @ layer.weight.float().T + layer.bias.float(), logits) < 1e-5
    assert all(torch.equal(a, b) for a, b in zip(maps, lite.tap_maps(images), strict=True))
    assert torch.equal(embedding, lite.embed(images))


def test_torch_and_onnx_runtime_agree(lite, images):
    for ours, reference in zip(lite.run(images), in_torch(lite, images, head=False), strict=True):
        assert relative(ours, reference) < 1e-4


def test_an_image_does_not_depend_on_its_neighbours_to_the_bit(lite, images):
    together = (*lite.tap_maps(images), lite.embed(images))
    for i in range(len(images)):
        single = (*lite.tap_maps(images[i : i + 1]), lite.embed(images[i : i + 1]))
        assert all(torch.equal(item[0], values[i]) for item, values in zip(single, together, strict=True))


def test_two_threads_get_what_one_gets(lite, images):
    expected = lite.tap_maps(images)
    with ThreadPoolExecutor(4) as pool:
        for maps in pool.map(lite.tap_maps, [images] * 8):
            assert all(torch.equal(a, b) for a, b in zip(maps, expected, strict=True))


@pytest.mark.usefixtures("unhurried")
def test_threads_that_start_together_export_once_for_both_graphs(tiny_weights, images, tmp_path, monkeypatch):
    """The graph without the head is cut from that with it, and is the one that an export of its own would give."""
    export, exports = onnx_graph.export, []
    monkeypatch.setattr(onnx_graph, "export", lambda *arguments: exports.append(arguments) or export(*arguments))
    backbone = load(TINY, weights=tiny_weights, size=SIZE, device="cpu", cache=tmp_path)
    with ThreadPoolExecutor(3) as pool:
        first, *others = pool.map(backbone.tap_maps, [images] * 3)
    assert all(torch.equal(a, b) for maps in others for a, b in zip(maps, first, strict=True))
    restored = load(TINY, weights=tiny_weights, size=SIZE, device="cpu", cache=tmp_path)
    assert restored.embed(images).shape == (3, restored.embedding_width)
    assert (len(exports), len(list(tmp_path.iterdir()))) == (1, 2)
    single = OnnxGraph(export(backbone.copied(head=False), SIZE), size=SIZE, outputs=len(backbone.taps))
    for image, *maps in zip(images, *first, strict=True):
        for left, other in zip(single.run(image), maps, strict=True):
            assert np.array_equal(left[0].transpose(1, 2, 0), other.numpy())


def test_no_images_give_no_rows(lite):
    maps, embedding, logits = lite.describe(np.zeros((0, *SIZE, 3), np.uint8))
    assert [tuple(values.shape) for values in maps] == [(0, 16, 24, 144), (0, 8, 12, 240), (0, 4, 6, 672)]
    assert embedding.shape == (0, 1280)
    assert logits.shape == (0, 1000)


def test_packaged_weights_need_no_network_and_no_export(lite, images, tmp_path, monkeypatch):
    monkeypatch.setattr("inspect_core.features.onnx_graph.export", None)
    monkeypatch.setattr("inspect_core.features.weights_files.TorchNetwork.hollow", None)
    restored = load("efficientnet_lite0", size=SIZE, device="cpu", cache=tmp_path)
    assert all(map(torch.equal, restored.tap_maps(images), lite.tap_maps(images)))
    assert all(map(torch.equal, restored.describe(images)[1:], lite.describe(images)[1:]))
    assert (restored.tap_channels, restored.embedding_width) == (lite.tap_channels, 1280)
    assert restored.has_classes
    assert not any(tmp_path.iterdir())


@pytest.mark.usefixtures("unhurried")
def test_second_backbone_runs_from_cached_graphs_alone(tiny_weights, images, tmp_path, monkeypatch):
    first = load(TINY, weights=tiny_weights, size=SIZE, device="cpu", cache=tmp_path)
    maps, embedding, logits = first.describe(images)
    monkeypatch.setattr("inspect_core.features.onnx_graph.export", None)
    monkeypatch.setattr("inspect_core.features.weights_files.TorchNetwork.__call__", None)
    restored = load(TINY, weights=tiny_weights, size=SIZE, device="cpu", cache=tmp_path)
    assert all(map(torch.equal, restored.tap_maps(images), maps))
    assert torch.equal(restored.describe(images)[1], embedding)
    assert torch.equal(restored.describe(images)[2], logits)
    assert (restored.tap_channels, restored.embedding_width) == (first.tap_channels, first.embedding_width)


@pytest.mark.usefixtures("unhurried")
def test_the_network_of_a_kept_graph_is_built_when_it_is_wanted(tiny_weights, tmp_path, images):
    backbone = load(TINY, weights=tiny_weights, size=SIZE, device="cpu", cache=tmp_path)
    backbone.tap_maps(images)
    restored = load(TINY, weights=tiny_weights, taps=backbone.taps, size=SIZE, device="cpu", cache=tmp_path)
    built, expected = (item.copied(head=True).network.state_dict() for item in (restored, backbone))
    assert built.keys() == expected.keys()
    assert all(built[name].equal(values) for name, values in expected.items())


def test_loading_leaves_the_global_random_state_alone(tiny_weights):
    before = torch.get_rng_state()
    load(TINY, weights=tiny_weights, size=SIZE, device="cpu")
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.usefixtures("unhurried")
def test_torchvision_network_with_a_named_file(tmp_path, graphs, images):
    import torchvision

    torch.manual_seed(1)
    network = with_spread_statistics(torchvision.models.resnet18(weights=None))
    torch.save(network.state_dict(), tmp_path / "mine.pth")
    backbone = load("resnet18", weights=tmp_path / "mine.pth", taps=("layer1",), size=SIZE, device="cpu", cache=graphs)
    mean, sd = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    scaled = ((torch.from_numpy(images) / 255 - mean) / sd).permute(0, 3, 1, 2)
    with torch.no_grad():
        stem = network.maxpool(network.relu(network.bn1(network.conv1(scaled))))
        expected = network.layer1(stem).permute(0, 2, 3, 1)
    (got,) = backbone.tap_maps(images)
    assert backbone.tap_channels == (64,)
    assert relative(got, expected) < 1e-5


def test_own_weights_in_the_weights_folder_are_found(tiny_weights, monkeypatch):
    monkeypatch.setenv("LOUPE_WEIGHTS", str(tiny_weights.parent))
    assert load(f"timm:{TINY}", size=SIZE).weight_digest == load(TINY, weights=tiny_weights, size=SIZE).weight_digest


@pytest.mark.usefixtures("unhurried")
def test_timm_network_is_tapped_where_its_strides_end(tiny_weights, images, graphs):
    import timm

    backbone = load(TINY, weights=tiny_weights, size=SIZE, device="cpu", cache=graphs)
    assert backbone.name == f"timm:{TINY}"
    network = timm.create_model(TINY, features_only=True, out_indices=(1, 2, 3)).eval()
    whole = timm.create_model(TINY)
    whole.load_state_dict(load_file(tiny_weights))
    network.load_state_dict({name: whole.state_dict()[name] for name in network.state_dict()})
    scaled = (torch.from_numpy(images) / 255 - torch.tensor(backbone.mean)) / torch.tensor(backbone.sd)
    with torch.no_grad():
        expected = network(scaled.permute(0, 3, 1, 2))
    for got, reference in zip(backbone.tap_maps(images), expected, strict=True):
        assert relative(got, reference.permute(0, 2, 3, 1)) < 1e-5


def test_an_unknown_name_lists_the_known_ones(tiny_weights):
    for name, weights in (("resnet19", None), ("timm:resnet19", tiny_weights), (TINY, None)):
        with pytest.raises(ValueError, match=f"'{name}', which is not a backbone; choose one of efficientnet_lite0"):
            load(name, weights=weights)
    assert spec_of(TINY, has_weights=True).name == f"timm:{TINY}"


NO_SIZE, NO_DEVICE = r"size is .*each a multiple of 32", 'give "auto", "cpu", "cuda"'
TWICE = "name one or more different modules"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *(({"size": size}, NO_SIZE) for size in ((60, 64), (64,), (0, 64), (64.0, 64.0), 64)),
        *(({"device": device}, NO_DEVICE) for device in ("gpu", "cuda:x", "tpu:0", "")),
        ({"device": "cuda:99"}, r"device is 'cuda:99', and torch finds \d+ GPUs here"),
        ({"taps": ("blocks.2.0.bn9",)}, r"'blocks\.2\.0\.bn9'.*near it are.*blocks\.2\.0\.bn1"),
        ({"taps": "ends"}, "taps is 'ends'; efficientnet_lite0 has the presets expansions, outputs"),
        *(({"taps": taps}, TWICE) for taps in ((), ("blocks.1.1", "blocks.1.1"))),
        *(({"taps": (tap,)}, f"taps names '{tap}', which gives") for tap in ("classifier", "global_pool")),
    ],
)
def test_what_cannot_be_loaded_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        load("efficientnet_lite0", **wrong)


def test_class_scores_are_no_map():
    import timm

    with torch.device("meta"):
        network = timm.create_model("vit_tiny_patch16_224")
    with pytest.raises(ValueError, match=r"taps names 'head', which gives \(1000,\)"):
        channels_of(network, ("head",), (224, 224))


def test_missing_wrong_and_damaged_weights_are_refused(tiny_weights, monkeypatch, tmp_path):
    import torchvision

    monkeypatch.setenv("LOUPE_WEIGHTS", str(tmp_path))
    with pytest.raises(ValueError, match=rf"put the file {TINY}\.safetensors into {tmp_path}, or name a file"):
        load(f"timm:{TINY}")
    with pytest.raises(ValueError, match="does not match the network:"):
        load("resnet18", weights=tiny_weights)
    torch.save(torchvision.models.mobilenet_v3_small().state_dict(), tmp_path / "mobilenet_v3_small-047dcff4.pth")
    with pytest.raises(ValueError, match="expected 047dcff4; it is damaged or another file"):
        load("mobilenet_v3_small")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros((1, *SIZE, 3), np.float32), "images is float32"),
        (np.zeros((*SIZE, 3), np.uint8), r"images has shape \(64, 96, 3\); give \(n, 64, 96, 3\)"),
        (np.zeros((1, 96, 64, 3), np.uint8), r"images has shape \(1, 96, 64, 3\)"),
        (np.zeros((1, *SIZE, 4), np.uint8), r"images has shape \(1, 64, 96, 4\)"),
        ([[1, 2]], "images is list"),
    ],
)
def test_other_images_are_refused(lite, wrong, message):
    with pytest.raises(ValueError, match=message):
        lite.tap_maps(wrong)


def test_a_network_without_a_linear_head_has_no_embedding(lite, images, tmp_path):
    headless = dataclasses.replace(lite, classifier="", cache=tmp_path, _write=None, _graphs={})
    with pytest.raises(ValueError, match="no embedding or logits"):
        headless.embed(images)


def test_the_eager_path_gives_the_same_in_any_company(lite, images):
    """The GPU's path, run on the CPU: its batches are always of one size, so padding and neighbours cannot matter."""
    many = np.concatenate([images] * 4)[: AT_ONCE + 1]
    together = in_torch(lite, many, head=True)
    single = in_torch(lite, many[-1:], head=True)
    for values, item in zip(together, single, strict=True):
        assert len(values) == AT_ONCE + 1
        assert torch.equal(values[-1:], item)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_on_a_gpu_the_features_are_the_same_in_any_company(images, graphs):
    backbone = load("efficientnet_lite0", size=SIZE, cache=graphs)
    assert backbone.device.type == "cuda"
    assert backbone.engine.startswith("torch on cuda:0")
    many = np.concatenate([images] * 4)[: backbone.at_once + 1]
    for together, last, repeated in zip(
        backbone.tap_maps(many), backbone.tap_maps(many[-1:]), backbone.tap_maps(many[::-1].copy()), strict=True
    ):
        assert together.device.type == "cuda"
        assert torch.equal(together[-1:], last)
        assert torch.equal(repeated.flip(0), together)
    on_cpu = load("efficientnet_lite0", size=SIZE, device="cpu").run(images)
    for ours, reference in zip(on_cpu, backbone.run(images), strict=True):
        assert relative(ours, reference.cpu()) < 1e-3
