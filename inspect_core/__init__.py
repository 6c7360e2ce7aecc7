"""What another program needs of Loupe: ten names, at work in docs/PYTHON.md. All else is internal and may change.

A name is loaded when it is first asked for, so a PC at the line that takes only `Runner` needs no torch.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "teach_folder": "tuning.folder_teaching",
    "save": "recipe_io.recipe_file",
    "load": "recipe_io.recipe_file",
    "read": "images.photo_reader",
    "inspect": "recipe",
    "LoadedRecipe": "recipe",
    "Limits": "verdict",
    "Verdict": "verdict",
    "export": "recipe_io.onnx_export",
    "Runner": "runner",
}
__all__ = [*_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
