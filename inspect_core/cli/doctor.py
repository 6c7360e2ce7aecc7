"""`doctor`: what this machine has (versions, device, weights, workspace), what is missing, and how to get it."""

import argparse
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version

import torch

from inspect_core.cli.console import ACCEPTED, print_line
from inspect_core.cli.weights import offers
from inspect_core.features.backbone_catalogue import CATALOGUE
from inspect_core.features.backbones import weights_found
from inspect_core.features.weights_files import weights_folder
from inspect_core.runtime import workspace
from inspect_core.runtime.threads import cores

PACKAGES = ("torch", "torchvision", "timm", "onnxruntime", "numpy", "scipy", "scikit-learn", "pillow", "streamlit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(options: argparse.Namespace) -> int:
    """Print one fact per line; for what is missing, how to get it."""
    for line in [*_versions(), _device(), *_weights(), _workspace()]:
        print_line(line)
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
    return built_in + [f"optional: {line}" for line in offers()]


def _workspace() -> str:
    root = workspace.root()
    try:
        workspace.require_writable()
    except OSError as error:
        return str(error)
    return f"workspace: {root} ({shutil.disk_usage(root).free / 2**30:.1f} GB free)"
