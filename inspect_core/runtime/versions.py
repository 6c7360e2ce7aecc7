"""The versions that decide a score, as recipes and benchmarks record them."""

import platform
from importlib.metadata import version

PACKAGES = ("numpy", "scipy", "pillow", "torch", "timm", "onnxruntime")


def library_versions() -> dict[str, str]:
    """Python and the numerical packages, by name."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
