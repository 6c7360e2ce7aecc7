"""From a photo to patch features."""

import os

# Nothing leaves the machine: without this, importing ONNX Runtime begins a store of telemetry in the user's home.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
