"""`doctor`: what this machine has (versions, device, weights, workspace), what is missing, and how to get it."""

import argparse
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version

import torch

from inspect_core.cli.console import ACCEPTED, say
from inspect_core.features.backbone_catalogue import CATALOGUE, spec_of
from inspect_core.features.backbones import weights_found
from inspect_core.features.weights import find_weights, weights_folder
from inspect_core.runtime import workspace
from inspect_core.runtime.threads import cores

PACKAGES = ("torch", "torchvision", "timm", "onnxruntime", "numpy", "scipy", "scikit-learn", "pillow", "streamlit")

WORTH_HAVING = {
    "wide_resnet50_2": "132 MB, BSD-3-Clause; the network of most published results on anomalies",
    "timm:vit_small_patch14_reg4_dinov2.lvd142m": (
        "88 MB, Apache-2.0, huggingface.co/timm; DINOv2 with registers: ImageNet 79.1% by neighbours, 80.9% linear "
        "(its authors); sizes 224, 448, 672"
    ),
    "timm:vit_small_patch16_dinov3.lvd1689m": (
        "86 MB, DINOv3 License, huggingface.co/timm; DINOv3: ImageNet ReaL 87.0% linear (its authors)"
    ),
}
"""Networks that are not built in and worth fetching -> size, licence, where from, and what their authors report."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(options: argparse.Namespace) -> int:
    """Print one fact per line; for what is missing, how to get it."""
    for line in [*_versions(), _device(), *_weights(), _workspace()]:
        say(line)
    return ACCEPTED


def _versions() -> list[str]:
    lines = [f"python {platform.python_version()} on {platform.system()} {platform.machine()}"]
    for name in PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name} is MISSING; run: pip install -r requirements.txt")
    return lines


def _device() -> str:
    if torch.cuda.is_available():
        return f"device: {torch.cuda.get_device_name()} with torch"
    return f"device: CPU with ONNX Runtime, {cores()} threads (torch found no CUDA GPU)"


def _weights() -> list[str]:
    folder = weights_folder().resolve()
    built_in = [
        f"weights of {name}: {path or f'MISSING; put {CATALOGUE[name].file} into {folder}, or use --download'}"
        for name, path in weights_found().items()
    ]
    worth = [(spec_of(name, has_weights=True), facts) for name, facts in WORTH_HAVING.items()]
    return built_in + [
        f"optional: {spec.name} ({facts}): {find_weights(spec) or f'put {spec.file} into {folder}'}"
        for spec, facts in worth
    ]


def _workspace() -> str:
    root = workspace.root()
    try:
        workspace.require_writable()
    except OSError as error:
        return str(error)
    return f"workspace: {root} ({shutil.disk_usage(root).free / 2**30:.1f} GB free)"
