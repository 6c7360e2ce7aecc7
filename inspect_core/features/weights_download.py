"""Weights fetched on a user's request, by torchvision's or the Hub's own loader: checked by digest, stored whole or
not at all.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from inspect_core.features.backbone_catalogue import TORCHVISION, BackboneSpec
from inspect_core.features.weights_files import (
    TorchNetwork,
    find_weights,
    read_weights,
    require_weights,
    weights_folder,
)
from inspect_core.runtime.progress import Report

HUB_FILE = "model.safetensors"
"""Name of the weights in timm's repositories."""
EVERY = 0.25
"""Seconds between two looks at how much of a file is there."""
UNKNOWN_MB = 100.0
"""Megabytes expected of weights whose size is not known."""
COMMAND = (sys.executable, "-m", "inspect_core", "weights", "--download")
TRIED = (224, 224)
"""Pixels of an input that every network takes."""


def download_weights(spec: BackboneSpec) -> Path:
    """The weights of a backbone, downloaded if there are none here. Called only on a user's request.

    Raises ValueError when nothing is published for this backbone, the download fails or ends early, or the file has
    another digest than the server states, naming the file to place; nothing of it stays.
    """
    if (path := find_weights(spec)) is not None:
        return path
    if not spec.source:
        return require_weights(spec)
    folder = weights_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_scratch_prefix(spec), dir=folder) as scratch:
        fetch = _from_torchvision if spec.source == TORCHVISION else _from_hub
        try:
            fetched = fetch(spec, Path(scratch))
        except Exception as error:  # the loaders raise whatever their libraries for HTTP raise
            reason = " ".join(str(error).split())[:300]
            raise ValueError(
                f"the weights could not be fetched, {spec.download} ({reason}); check the connection and try again, "
                f"or fetch the file {spec.file} elsewhere and put it into {folder.resolve()}"
            ) from error
        path = folder / spec.file
        os.replace(fetched, path)
    return path


def download_apart(spec: BackboneSpec, report: Report) -> Path:
    """Do the same in a process of its own, which ends when `report` raises; it hears the share that has come.

    Raises ValueError as `download_weights`.
    """
    folder, expected = weights_folder(), spec.megabytes or UNKNOWN_MB
    command = [*COMMAND, spec.name]
    with tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages)
        try:
            while process.poll() is None:
                done = _bytes_in(folder, _scratch_prefix(spec)) / 1e6
                report(min(done / expected, 0.99), f"{done:.0f} of {expected:.0f} MB")
                time.sleep(EVERY)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            for scratch in folder.glob(f"{_scratch_prefix(spec)}*"):
                shutil.rmtree(scratch, ignore_errors=True)
        if process.returncode:
            messages.seek(0)
            last = (messages.read().strip().splitlines() or ["the process ended early"])[-1]
            raise ValueError(last.removeprefix("loupe: "))
    return require_weights(spec)


def import_weights(spec: BackboneSpec, content: bytes) -> Path:
    """Store a file that the user fetched elsewhere as a backbone's weights.

    Raises ValueError for another digest than published weights have, and for a file that does not fit the network.
    """
    folder = weights_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=_scratch_prefix(spec), dir=folder) as scratch:
        path = Path(scratch, spec.file)
        path.write_bytes(content)
        TorchNetwork(spec, TRIED, read_weights(path, sha256=spec.sha256), torch.device("cpu"))()
        os.replace(path, folder / spec.file)
    return folder / spec.file


def _from_torchvision(spec: BackboneSpec, folder: Path) -> Path:
    """The file from torchvision's loader, which compares the first digits of the digest."""
    path = folder / spec.file
    torch.hub.download_url_to_file(spec.published_weights().url, str(path), hash_prefix=spec.sha256)
    return path


def _from_hub(spec: BackboneSpec, folder: Path) -> Path:
    """The file from the Hub's loader, which compares lengths; the server states the digest as the ETag."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    stated = get_hf_file_metadata(hf_hub_url(spec.source, HUB_FILE))
    path = Path(hf_hub_download(spec.source, HUB_FILE, revision=stated.commit_hash, local_dir=folder))
    read_weights(path, sha256=stated.etag or "")
    return path


def _scratch_prefix(spec: BackboneSpec) -> str:
    return f".{spec.file}-"


def _bytes_in(folder: Path, prefix: str) -> int:
    """The bytes of the files below the folders of this prefix, of those that do not vanish meanwhile."""
    total = 0
    for scratch in folder.glob(f"{prefix}*"):
        for name, _, files in os.walk(scratch):
            for file in files:
                try:
                    total += os.stat(os.path.join(name, file)).st_size
                except FileNotFoundError:
                    continue
    return total
