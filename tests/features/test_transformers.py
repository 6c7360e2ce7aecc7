"""Vision transformers as backbones: patch tokens as maps, positions at any size, the class token for the whole part."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from inspect_core.features.backbones import Backbone, load
from inspect_core.tuning.product_check_training import train_product_check
from tests.eager import in_torch
from tests.examples import THOROUGH

PLAIN, REGISTERS, ROTARY, WINDOWS = (
    "test_vit2",
    "vit_small_patch14_reg4_dinov2",
    "vit_tiny_patch16_dinov3_qkvb",
    "swin_tiny_patch4_window7_224",
)
SIZES = {PLAIN: (64, 96), REGISTERS: (224, 224), ROTARY: (96, 64), WINDOWS: (224, 224)}
pytestmark = pytest.mark.usefixtures("unhurried")


@pytest.fixture(scope="module")
def weights(tmp_path_factory) -> dict[str, Path]:
    """Files of random weights, written as their authors do: at the size that timm gives the network."""
    import timm

    folder, files = tmp_path_factory.mktemp("transformers"), {}
    for name in SIZES:
        torch.manual_seed(0)
        files[name] = folder / f"{name}.safetensors"
        save_file(
            {
                name_in_timm: values.contiguous()
                for name_in_timm, values in timm.create_model(name).state_dict().items()
            },
            files[name],
        )
    return files


def loaded(name: str, weights: dict[str, Path], size: tuple[int, int] | None = None, **more) -> Backbone:
    return load(name, weights=weights[name], size=size or SIZES[name], device="cpu", **more)


def published(name: str, path: Path) -> tuple[torch.nn.Module, torch.Tensor, np.ndarray]:
    """timm's own network from the file, its scaled input and the photos, put together without Loupe."""
    import timm
    from timm.layers import resample_abs_pos_embed

    network, tensors = timm.create_model(name, img_size=SIZES[name]).eval(), load_file(path)
    if "pos_embed" in tensors:
        before = 0 if network.no_embed_class else network.num_prefix_tokens
        grid = network.patch_embed.grid_size
        tensors["pos_embed"] = resample_abs_pos_embed(tensors["pos_embed"], grid, num_prefix_tokens=before)
    network.load_state_dict(tensors)
    images = np.random.default_rng(0).integers(0, 256, (2, *SIZES[name], 3), np.uint8)
    config = network.pretrained_cfg
    scaled = (torch.from_numpy(images).float() / 255 - torch.tensor(config["mean"])) / torch.tensor(config["std"])
    return network, scaled.permute(0, 3, 1, 2), images


@pytest.mark.parametrize("name", SIZES)
def test_patch_tokens_are_maps_and_the_class_token_is_the_photo(name, weights, tmp_path):
    network, scaled, images = published(name, weights[name])
    backbone = loaded(name, weights, cache=tmp_path)
    if name == PLAIN or THOROUGH:
        maps, embedding, _ = backbone.describe(images)
    else:  # an export of these takes most of ten seconds
        *maps, embedding, _ = in_torch(backbone, images, head=True)
    blocks = [int(tap.rpartition(".")[2]) for tap in backbone.taps]
    with torch.no_grad():
        expected = network.forward_intermediates(scaled, indices=blocks, norm=False, intermediates_only=True)
        tokens = network.forward_features(scaled)
        whole = network.forward_head(tokens, pre_logits=True) if network.num_classes else tokens[:, 0]
    assert relative(embedding, whole) < 1e-4
    for got, reference in zip(maps, expected, strict=True):
        assert relative(got, reference.permute(0, 2, 3, 1)) < 1e-4


def relative(got: torch.Tensor, expected: torch.Tensor) -> float:
    assert got.shape == expected.shape
    return float((got - expected).abs().max() / expected.abs().max())


def test_default_taps_are_at_half_three_quarters_and_the_end(weights, tmp_path):
    assert loaded(REGISTERS, weights, cache=tmp_path).taps == ("blocks.5", "blocks.8", "blocks.11")
    assert loaded(WINDOWS, weights, cache=tmp_path).taps == ("layers.0", "layers.1", "layers.2")


def test_size_that_no_patches_fill_is_refused_with_others(weights, tmp_path):
    with pytest.raises(
        ValueError, match="size is 256 x 256, and this network sees patches of 14 x 14 pixels; take 224"
    ):
        loaded(REGISTERS, weights, (256, 256), cache=tmp_path)


def test_weights_of_another_network_are_refused(weights, tmp_path):
    swapped = {ROTARY: weights[PLAIN]}
    with pytest.raises(ValueError, match=r"test_vit2\.safetensors does not match the network"):
        loaded(ROTARY, swapped, cache=tmp_path)


def test_network_without_classes_gives_an_unfused_product_check(weights, tmp_path):
    with pytest.raises(ValueError, match="has no class outputs"):
        train_product_check(loaded(ROTARY, weights, cache=tmp_path), [], [], fused=True)
