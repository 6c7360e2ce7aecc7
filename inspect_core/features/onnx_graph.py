"""A network as an ONNX graph: exported once, stored on disk by digest, run by ONNX Runtime on the CPU.

It takes any number of images, as the graphs for the line do that it becomes part of. Here it is given one at a time: no
slower, and a part's features are independent of its neighbours by construction.
"""

import hashlib
import io
import json
import os
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from inspect_core.features.tapped_network import CALLS, TappedNetwork
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.graph import EMBEDDING, IMAGES, LOGITS, REFUSALS, session_of
from inspect_core.runtime.threads import cores

BATCH = "n"
"""Name of the number of images in a graph."""
OPSET = 20
GRAPHS_KEPT = 16
LARGEST = 2**30  # bytes of a graph; that of Wide ResNet-50-2 takes 275 MB
# What one thread exports the next one finds in the cache.
_exporting = threading.Lock()
Used = TypeVar("Used")


class OnnxGraph:
    """One exported network: `run(image)` with (H, W, 3) uint8 gives its outputs as float32 arrays for a batch of one.

    size: (H, W) of the images; outputs: how many there are. Raises ValueError for the graph of another network, and as
    `session_of`. Safe to call from several threads.
    """

    def __init__(self, content: bytes, *, size: tuple[int, int], outputs: int) -> None:
        self._session = session_of(content, threads=cores())
        inputs = [(item.name, item.type, item.shape) for item in self._session.get_inputs()]
        if inputs != [(IMAGES, "tensor(uint8)", [BATCH, *size, 3])] or len(self._session.get_outputs()) != outputs:
            raise ValueError("the graph is of another network")

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Of the outputs for one image: (d, h, w) of a tap, (d,) of the embedding and the logits."""
        return [tuple(output.shape[1:]) for output in self._session.get_outputs()]

    def run(self, image: np.ndarray) -> list[np.ndarray]:
        return [np.asarray(output) for output in self._session.run(None, {IMAGES: image[None]})]


def use_cached(identity: tuple[object, ...], use: Callable[[bytes], Used], cache: Path) -> Used | None:
    """What `use` makes of the graph with this identity in the cache folder, None when there is none.

    identity: JSON-able values that, with torch's version and how graphs are made, determine the graph (weight digest,
    taps, size, ...). A file's name contains the digest of identity and content, so a damaged one is recognised and
    removed; so is one for which `use` raises ValueError or one of REFUSALS.
    """
    key = _key(identity)
    usable = (_read(path, key, use) for path in _files(cache) if path.name.startswith(key))
    return next((used for used in usable if used is not None), None)


def store(identity: tuple[object, ...], content: bytes, cache: Path) -> None:
    """Keep a graph for `use_cached`; the longest unused go. Raises OSError when the folder cannot be written."""
    key = _key(identity)
    with atomic_replace(cache / _file_name(key, content)) as new:
        new.write_bytes(content)
    graphs = [(facts.st_mtime, path) for path in _files(cache) if (facts := workspace.regular_file_stat(path))]
    for _, path in sorted(graphs, reverse=True)[GRAPHS_KEPT:]:
        path.unlink(missing_ok=True)


def load_or_export(
    identity: tuple[object, ...],
    network: Callable[[], TappedNetwork],
    use: Callable[[bytes], Used],
    *,
    head: bool,
    size: tuple[int, int],
    cache: Path,
) -> Used:
    """As `use_cached` of (*identity, head); if there is none, `network` is called and exported into the cache folder.

    A network with its head gives both graphs: that without it needs no export of its own. If the folder cannot be
    written, it warns and goes on: the graphs are exported again next time.
    """
    with _exporting:
        if (used := use_cached((*identity, head), use, cache)) is not None:
            return used
        tapped = network()
        graphs = {bool(tapped.classifier): export(tapped, size)}
        if tapped.classifier:
            graphs[False] = _first_outputs(graphs[True], len(tapped.taps))
        try:
            for with_head, content in graphs.items():
                store((*identity, with_head), content, cache)
        except OSError as error:
            message = f"the exported backbone could not be kept in {cache} ({error})"
            warnings.warn(message, UserWarning, stacklevel=2)
    return use(graphs[head])


def export(network: TappedNetwork, size: tuple[int, int]) -> bytes:
    """ONNX bytes of `network` (on the CPU) up to its last output: input "images" (n, H, W, 3) uint8, outputs by
    the names of the taps and, with its head, "embedding" and "logits".
    """
    outputs = [*network.taps, *([EMBEDDING, LOGITS] if network.classifier else [])]
    return graph_of(network, torch.zeros((2, *size, 3), dtype=torch.uint8), [IMAGES], outputs)


def graph_of(
    module: nn.Module, example: Tensor | tuple[Tensor, ...], inputs: Sequence[str], outputs: Sequence[str]
) -> bytes:
    """ONNX bytes of a module on the CPU for any number of images, without external data.

    example: its argument for two images: with one, the exporter would fix the batch at one.
    """
    batch = {0: torch.export.Dim(BATCH, min=1)}
    options: dict[str, Any] = {"input_names": list(inputs), "output_names": list(outputs), "opset_version": OPSET}
    options["dynamic_shapes"] = (batch if isinstance(example, Tensor) else tuple(batch for _ in example),)
    with CALLS, torch.no_grad(), warnings.catch_warnings():
        # The exporter reports on its own internals and those of its libraries; none of it is about the network.
        warnings.simplefilter("ignore")
        # Any: torch's types do not say that there always is a program here, and that it saves into memory.
        program: Any = torch.onnx.export(module, (example,), dynamo=True, external_data=False, verbose=False, **options)
    buffer = io.BytesIO()
    program.save(buffer)
    return buffer.getvalue()


def _first_outputs(content: bytes, count: int) -> bytes:
    """The graph up to its first outputs, with nothing that they do not need."""
    # Imported here only: a process whose graphs are kept does without.
    import onnx
    from onnx.utils import Extractor

    model = onnx.load_from_string(content)
    names = [output.name for output in model.graph.output[:count]]
    return Extractor(model).extract_model([IMAGES], names).SerializeToString()


def _key(identity: tuple[object, ...]) -> str:
    made = json.dumps([*identity, BATCH, OPSET, torch.__version__])
    return hashlib.sha256(made.encode()).hexdigest()[:32]


def _file_name(key: str, content: bytes) -> str:
    return f"{key}-{hashlib.sha256(key.encode() + content).hexdigest()[:32]}.onnx"


def _files(cache: Path) -> list[Path]:
    """The graphs in the cache folder, by their names; no other file is read or removed."""
    return [path for path in cache.glob("*.onnx") if workspace.is_generated_name(path, 32, 32, ending=".onnx")]


def _read(path: Path, key: str, use: Callable[[bytes], Used]) -> Used | None:
    """What `use` makes of a file, or None; a damaged or unusable one is removed."""
    content = workspace.content(path, at_most=LARGEST)
    if content is None:
        return None
    if path.name == _file_name(key, content):
        with suppress(ValueError, *REFUSALS):
            used = use(content)
            with suppress(OSError):  # a read-only folder: the file only gets removed sooner
                os.utime(path)
            return used
    with suppress(OSError):  # another process was quicker, or the folder is read-only
        path.unlink()
    return None
