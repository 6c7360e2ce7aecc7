"""Imports go down the list of layers only, and the line runner's layers load neither torch nor Streamlit."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = (
    "inspect_core.ui",
    "inspect_core.__main__",
    "inspect_core.cli",
    "inspect_core.outputs",
    "inspect_core.doctor",
    "inspect_core.jobs",
    "inspect_core.records",
    "inspect_core.evaluation",
    "inspect_core.explore",
    "inspect_core.sensitivity",
    "inspect_core.spectra",
    "inspect_core.suggest",
    "inspect_core.forecast",
    "inspect_core.kinds_figures",
    "inspect_core.map_figures",
    "inspect_core.kinds_trust",
    "inspect_core.kinds_learning",
    "inspect_core.kinds_unseen",
    "inspect_core.kinds_examples",
    "inspect_core.product_check",
    "inspect_core.preview",
    "inspect_core.study",
    "inspect_core.recipe",
    "inspect_core.tray",
    "inspect_core.known_cases",
    "inspect_core.known_surface",
    "inspect_core.kinds",
    "inspect_core.guard",
    "inspect_core.similar",
    "inspect_core.methods",
    "inspect_core.method_costs",
    "inspect_core.plots",
    "inspect_core.figures",
    "inspect_core.patch_frame",
    "inspect_core.classify",
    "inspect_core.detectors",
    "inspect_core.features",
    "inspect_core.versions",
    "inspect_core.manifest",
    "inspect_core.recipe_arrays",
    "inspect_core.recipe_fields",
    "inspect_core.verdict",
    "inspect_core.judge",
    "inspect_core.images",
    "inspect_core.unfinished",
    "inspect_core.workspace",
)
CLOSED = ("inspect_core.detectors", "inspect_core.classify", "inspect_core.judge")
WITHOUT_TORCH = ("manifest", "verdict", "judge.anomaly_map", "judge.limits", "judge.metrics", "images.read",
                 "images.folders", "images.synthetic")  # fmt: skip
WITHOUT_STREAMLIT = ("study", "cli", "records.recipe_file", "jobs", "evaluation", "plots", "figures", "explore",
                     "sensitivity", "spectra", "preview", "suggest")  # fmt: skip


def layer_of(module: str) -> str | None:
    return next((layer for layer in LAYERS if module == layer or module.startswith(layer + ".")), None)


def modules() -> list[tuple[str, Path]]:
    found = []
    for path in sorted((ROOT / "inspect_core").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name != "inspect_core":
            found.append((name, path))
    return found


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize(("name", "path"), modules(), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_go_down(name: str, path: Path) -> None:
    own = layer_of(name)
    assert own is not None, f"{name} has no place in the list of layers"
    for other in imported(path):
        if not other.startswith("inspect_core.") or (target := layer_of(other)) is None:
            continue
        assert LAYERS.index(target) >= LAYERS.index(own), f"{name} imports {other}, which lies above it"
        if own in CLOSED:
            assert target == own, f"{name} imports {other}; that folder imports no other of ours"


def test_streamlit_stays_in_its_folders() -> None:
    for name, path in modules():
        if not name.startswith("inspect_core.ui"):
            assert not any(other.split(".")[0] == "streamlit" for other in imported(path)), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modules", "forbidden"), [(WITHOUT_TORCH, {"torch", "streamlit"}), (WITHOUT_STREAMLIT, {"streamlit"})]
)
def test_a_fresh_process_does_not_load(modules: tuple[str, ...], forbidden: set[str]) -> None:
    code = (
        "import importlib, sys\n"
        f"for name in {modules}:\n"
        "    importlib.import_module('inspect_core.' + name)\n"
        f"    loaded = {forbidden} & set(sys.modules)\n"
        "    assert not loaded, f'{name} loads {loaded}'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
