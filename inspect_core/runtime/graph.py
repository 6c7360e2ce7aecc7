"""ONNX Runtime on the CPU, and the names of the graphs' inputs and outputs."""

import os
from importlib import import_module

# Before the first import: it would begin a store of telemetry in the user's home.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime
from onnxruntime import InferenceSession

from inspect_core.runtime.graph_check import GraphError, check_graph

_errors = import_module("onnxruntime.capi.onnxruntime_pybind11_state")  # it has no types to check against

IMAGES, MAP, EMBEDDING, LOGITS, REASON = "images", "map", "embedding", "logits", "reason"
"""Names of the input and the outputs of an exported recipe."""


def cells_of(count: int) -> list[str]:
    """The outputs of a tile's graph, which are the inputs of the whole photo's: what the views see, each once."""
    return [f"cells_{number}" for number in range(count)]


# ONNX Runtime has an exception for each of its states, and no common base.
REFUSALS = (
    GraphError,
    *(kind for kind in vars(_errors).values() if isinstance(kind, type) and issubclass(kind, Exception)),
)


def session_of(content: bytes, *, threads: int | None = None) -> InferenceSession:
    """A session on the CPU for the graph of this content; several threads may run it.

    threads: for one image, None for as many as there are cores. Raises one of REFUSALS if it is not a graph, and for
    one that `check_graph` refuses.
    """
    check_graph(content)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    # Idle threads that spin take the cores of everything else on the machine: on two busy cores they nearly doubled
    # the time of an image.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # A graph is one file: references to weights elsewhere are resolved below this file, where nothing can be.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", f"{__file__}/none")
    # What was checked is ONNX: the same bytes must not be taken for ONNX Runtime's own format.
    options.add_session_config_entry("session.load_model_format", "ONNX")
    options.log_severity_level = 3
    return InferenceSession(content, options, providers=["CPUExecutionProvider"])
