"""A network as an ONNX graph for one image: exported once, kept on disk by digest, run by ONNX Runtime on the CPU.

The batch is fixed at one image. A graph with a free batch takes longer to export and runs no faster, and one image at a
time makes a part's features independent of its neighbours by construction.
"""

import hashlib
import io
import json
import os
import tempfile
import threading
import warnings
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from inspect_core.features.tapped_network import TappedNetwork

GRAPHS_KEPT = 16
# torch.export keeps its state in globals: a second export at the same time fails.
_exporting = threading.Lock()


class OnnxGraph:
    """One exported network: `run(image)` with (H, W, 3) uint8 gives its outputs as float32 arrays for a batch of one.

    Safe to call from several threads.
    """

    def __init__(self, content: bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        # Idle threads that spin take the cores of everything else on the machine: on two busy cores they nearly
        # doubled the time of an image.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(self, image: np.ndarray) -> list[np.ndarray]:
        return self._session.run(None, {"images": image[None]})


def load_or_export(
    network: TappedNetwork, *, size: tuple[int, int], identity: tuple[object, ...], cache: Path
) -> OnnxGraph:
    """The graph of `network` for images of `size` (H, W) pixels, from the cache folder or exported into it.

    identity: JSON-able values that, with torch's version, decide the graph (weight digest, taps, size, ...). A file's
    name carries the digest of its content, so a damaged one is recognised, removed and exported again. When the folder
    cannot be written, it warns and goes on: the graph is only exported once more next time.
    """
    key = hashlib.sha256(json.dumps([*identity, torch.__version__]).encode()).hexdigest()[:32]
    with _exporting:
        content = _read(cache, key)
        if content is None:
            content = export(network, size)
            try:
                _write(cache, key, content)
            except OSError as error:
                message = f"the exported backbone could not be kept in {cache} ({error})"
                warnings.warn(message, UserWarning, stacklevel=2)
    return OnnxGraph(content)


def export(network: TappedNetwork, size: tuple[int, int]) -> bytes:
    """ONNX bytes of `network` (on the CPU) up to its last output: input "images" (1, H, W, 3) uint8."""
    example = torch.zeros((1, *size, 3), dtype=torch.uint8)
    with torch.no_grad(), warnings.catch_warnings():
        # The exporter reports on its own internals and those of its libraries; none of it is about the network.
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            network, (example,), input_names=["images"], dynamo=True, external_data=False, verbose=False
        )
    buffer = io.BytesIO()
    program.save(buffer)
    return buffer.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _read(cache: Path, key: str) -> bytes | None:
    for path in cache.glob(f"{key}-*.onnx"):
        try:
            content = path.read_bytes()
            if path.stem == f"{key}-{_digest(content)}":
                os.utime(path)
                return content
            path.unlink()
        except OSError:  # another process removed it, or the folder is read-only: the same as not having it
            continue
    return None


def _write(cache: Path, key: str, content: bytes) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=cache, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, cache / f"{key}-{_digest(content)}.onnx")
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    newest_first = sorted(cache.glob("*.onnx"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest_first[GRAPHS_KEPT:]:
        path.unlink(missing_ok=True)
