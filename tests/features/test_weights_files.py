"""Weights come whole, from the right file, or not at all."""

import os
import pickle
import socket
import threading
import urllib.error
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from inspect_core.features.backbone_catalogue import CATALOGUE
from inspect_core.features.backbones import load, weights_found
from inspect_core.features.tapped_network import CALLS
from inspect_core.features.weights_download import download_weights
from inspect_core.features.weights_files import (
    TorchNetwork,
    WeightsFile,
    find_weights,
    in_forward_order,
    load_weights_into,
    read_weights,
    require_weights,
)

SAVE = {".pth": torch.save, ".safetensors": safetensors.torch.save_file}
LITES = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2")


def small() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))


def hollow() -> nn.Module:
    with torch.device("meta"):
        return small()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOUPE_WEIGHTS", str(tmp_path))
    return tmp_path


def failing(problem: Exception):
    def fail(*_arguments, **_options):
        raise problem

    return fail


def packaged_name(ours: str, blocks: dict[str, int], has_expansion: dict[str, bool]) -> str:
    """timm's tensor name -> the package's, by what each layer is and not by where it stands."""
    first, rest = ours.split(".", 1)
    if first != "blocks":
        outside = {"conv_stem": "_conv_stem", "bn1": "_bn0", "conv_head": "_conv_head", "bn2": "_bn1"}
        return f"{outside.get(first, '_fc')}.{rest}"
    stage, number, layer, last = rest.split(".")
    block = f"{stage}.{number}"
    layers = {"conv_dw": "_depthwise_conv", "bn1": "_bn1", "conv_pw": "_project_conv", "bn2": "_bn2"}
    if has_expansion[block]:
        layers |= {"conv_pw": "_expand_conv", "bn1": "_bn0", "bn2": "_bn1", "conv_pwl": "_project_conv", "bn3": "_bn2"}
    return f"_blocks.{blocks[block]}.{layers[layer]}.{last}"


@pytest.mark.parametrize("name", LITES)
def test_packaged_tensors_land_on_the_layers_they_are_named_for(name):
    spec = CATALOGUE[name]
    file = read_weights(find_weights(spec), sha256=spec.sha256)
    assert file.digest == spec.sha256
    tensors = file.tensors()
    with torch.device("meta"):
        network = spec.build((96, 64))
    ordered = in_forward_order(network, tensors)
    names = dict.fromkeys(".".join(name.split(".")[1:3]) for name in ordered if name.startswith("blocks."))
    blocks = {block: number for number, block in enumerate(names)}
    expands = {block: f"blocks.{block}.conv_pwl.weight" in ordered for block in blocks}
    for timm_name, values in ordered.items():
        assert values is tensors[packaged_name(timm_name, blocks, expands)], timm_name


@pytest.mark.parametrize("suffix", SAVE)
def test_every_value_comes_from_the_file(tmp_path, suffix):
    torch.manual_seed(0)
    source, path = small().half(), tmp_path / f"weights{suffix}"
    SAVE[suffix](source.state_dict(), path)
    file = read_weights(path)
    network = load_weights_into(hollow(), file.tensors(), path=path, build=small)
    assert len(file.digest) == 64
    for name, values in network.state_dict().items():
        assert torch.equal(values, source.state_dict()[name].to(values.dtype))
    assert not network.training
    assert all(values.dtype == torch.float32 and not values.requires_grad for values in network.parameters())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"1.bias": None}, r"w\.pth does not match the network: .*Missing key.*1\.bias"),
        ({"extra": torch.zeros(1)}, "does not match the network:.*Unexpected key.*extra"),
        ({"0.bias": torch.zeros(5)}, "does not match the network:.*size mismatch"),
    ],
)
def test_no_network_is_filled_in_part(change, message):
    tensors = {name: values for name, values in (small().state_dict() | change).items() if values is not None}
    with pytest.raises(ValueError, match=message):
        load_weights_into(hollow(), tensors, path="w.pth", build=small)


def test_tensors_in_another_order_are_refused():
    with pytest.raises(ValueError, match="are not in timm's order"):
        in_forward_order(hollow(), dict(reversed(small().state_dict().items())))


def with_table(draw: Callable[[int], torch.Tensor]) -> nn.Module:
    network = small()
    network.register_buffer("table", draw(3), persistent=False)
    return network


def test_computed_buffers_are_kept_and_random_ones_refused():
    with torch.device("meta"):
        network, other = with_table(torch.arange), with_table(torch.rand)
    tensors, state = small().state_dict(), torch.random.get_rng_state()
    load_weights_into(network, tensors, path="w.pth", build=lambda: with_table(torch.arange))
    assert network.get_buffer("table").tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="draws table at random outside its weights file"):
        load_weights_into(other, tensors, path="w.pth", build=lambda: with_table(torch.rand))
    assert torch.equal(state, torch.random.get_rng_state())


class Intruder:
    def __reduce__(self):
        return os.mkdir, (self.target,)

    def __init__(self, target: str) -> None:
        self.target = target


def pickled(thing, path) -> None:
    path.write_bytes(pickle.dumps(thing, protocol=2))


@pytest.mark.parametrize("write", [torch.save, pickled])
def test_code_in_a_weights_file_is_never_run(tmp_path, write):
    target = tmp_path / "was_run"
    write({"0.weight": Intruder(str(target))}, tmp_path / "w.pth")
    with pytest.raises(ValueError, match="cannot be read as tensors alone"):
        read_weights(tmp_path / "w.pth").tensors()
    assert not target.exists()


@pytest.mark.parametrize("name", ["w.pth", "w.safetensors"])
def test_a_damaged_file_is_refused(tmp_path, name):
    SAVE[name[1:]](small().state_dict(), tmp_path / name)
    content = (tmp_path / name).read_bytes()
    for damaged in (b"", b"not weights", content[: len(content) // 2]):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(ValueError, match="cannot be read as tensors alone"):
            read_weights(tmp_path / name).tensors()


def test_only_named_tensors_are_weights(tmp_path):
    for wrong in ({"state_dict": small().state_dict()}, {}, [torch.zeros(1)]):
        torch.save(wrong, tmp_path / "w.pth")
        with pytest.raises(ValueError, match="does not map names to tensors"):
            read_weights(tmp_path / "w.pth").tensors()


def test_a_missing_file_and_another_digest_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"nowhere\.pth', which is not a file"):
        read_weights(tmp_path / "nowhere.pth")
    torch.save(small().state_dict(), tmp_path / "w.pth")
    digest = read_weights(tmp_path / "w.pth").digest
    assert read_weights(tmp_path / "w.pth", sha256=digest[:8]).digest == digest
    with pytest.raises(ValueError, match=r"w\.pth has SHA-256 .*, expected 00000000"):
        read_weights(tmp_path / "w.pth", sha256="00000000")


def test_the_published_file_comes_before_the_users_own(folder):
    spec = CATALOGUE["resnet18"]
    assert find_weights(spec) is None
    for name in ("resnet18.pth", "resnet18.safetensors", "resnet18-f37072fd.pth"):
        (folder / name).touch()
        assert find_weights(spec) == folder / name


def test_missing_weights_name_the_file_the_folder_and_the_flag(folder, monkeypatch):
    monkeypatch.setattr(torch.hub, "download_url_to_file", failing(urllib.error.URLError("no way out")))
    for ask in (require_weights, download_weights):
        with pytest.raises(ValueError, match=r"the file resnet50-0676ba61\.pth .*into ") as caught:
            ask(CATALOGUE["resnet50"])
        assert str(folder.resolve()) in str(caught.value)
    assert "no way out" in str(caught.value)
    with pytest.raises(ValueError, match=r"98 MB from download\.pytorch\.org with --download"):
        require_weights(CATALOGUE["resnet50"])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", [name for name, spec in CATALOGUE.items() if spec.source])
def test_nothing_is_fetched_unasked(name, monkeypatch):
    monkeypatch.setattr(torch.hub, "download_url_to_file", lambda *_, **__: pytest.fail("a download began"))
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("a connection was opened"))
    assert weights_found()[name] is None
    with pytest.raises(ValueError, match="has no weights on this machine"):
        load(name)


def test_a_network_is_never_built_while_another_is_exported(tmp_path: Path) -> None:
    """An export changes what torch does in every thread: building meanwhile failed with a KeyError inside torch."""
    built, exporting = [], threading.Event()

    def build(size: tuple[int, int]) -> nn.Module:
        built.append(exporting.is_set())
        return small()

    spec = replace(CATALOGUE["efficientnet_lite0"], build=build)
    network = TorchNetwork(spec, (64, 64), WeightsFile(tmp_path / "w.pth", "", b""), torch.device("cpu"))
    with CALLS:
        exporting.set()
        thread = threading.Thread(target=network.hollow)
        thread.start()
        thread.join(0.2)
        assert built == []
        exporting.clear()
    thread.join()
    assert built == [False]
