"""Imports go down the list of rooms only; below the line neither torch nor Streamlit is loaded."""

import ast
import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = (
    "__main__", "cli", "ui", "playgrounds", "workbench", "tuning", "sharding", "study", "recipe_io", "recipe",
    "methods", "features", "plots", "detectors", "station", "line", "audit", "spc", "runner", "recipe_format",
    "whole_part", "classify", "inspection", "verdict", "scoring", "datasets", "images", "runtime",
)  # fmt: skip
CLOSED = {"detectors", "classify", "scoring"}
"""Rooms that import no other of ours but SHARED."""
SHARED = {"inspect_core.runtime.json_record", "inspect_core.runtime.stored", "inspect_core.runtime.threads"}
"""Modules: the form in which a fitted value is kept, and work that all cores share."""
BELOW_THE_LINE = set(ROOMS[ROOMS.index("station") :])
"""Rooms that the line loads: NumPy, SciPy, Pillow, OpenCV and ONNX Runtime only, SQLAlchemy for `audit`."""
OF_THE_APP = {
    "runtime.threads": {"torch", "threadpoolctl"},
    "runtime.serialisation": {"safetensors"},
    "classify.forest": {"scikit-learn"},
}
"""What modules of theirs load where the app alone calls them."""
DISTRIBUTIONS = {
    "PIL": "pillow",
    "paho": "paho-mqtt",
    "zxingcpp": "zxing-cpp",
    "cv2": "opencv-python-headless",
    "yaml": "pyyaml",
    "sklearn": "scikit-learn",
}
TRAINING = {"classify.net_training"}
"""Modules of theirs that are loaded when something is trained."""


def modules() -> list[tuple[str, Path]]:
    """(name below inspect_core, path) of every module; a package goes by its folder's name."""
    names = []
    for path in sorted((ROOT / "inspect_core").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / "inspect_core").with_suffix("").parts).removesuffix("__init__")
        if name:
            names.append((name.removesuffix("."), path))
    return names


@functools.cache
def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names |= {name.value for name in node.args if isinstance(name, ast.Constant)}
    return names


def faults(name: str, path: Path) -> list[str]:
    package = name.split(".")[0]
    if package not in ROOMS:
        return [f"{name} has no place in the list of rooms"]
    imports = []
    for other in imported(path):
        if other.split(".")[0] in {"benchmarks", "tests"}:
            imports.append(f"{name} imports {other}, which is not shipped")
        room = other.split(".")[1] if other.startswith("inspect_core.") else package
        if ROOMS.index(room) < ROOMS.index(package):
            imports.append(f"{name} imports {other}, which lies above it")
        if package in CLOSED and room != package and other.rpartition(".")[0] not in SHARED:
            imports.append(f"{name} imports {other}; that room imports no other of ours")
    return imports


def test_imports_go_down() -> None:
    assert [fault for name, path in modules() for fault in faults(name, path)] == []


def test_a_pc_at_the_line_has_what_is_imported_there() -> None:
    """Lazily too: a list beside photos that is not in UTF-8 needs a package that a folder without one does not."""
    rows = (ROOT / "requirements-line.txt").read_text(encoding="utf-8").splitlines()
    known = {row.partition("==")[0] for row in rows}
    of_station = (ROOT / "requirements-station.txt").read_text(encoding="utf-8").splitlines()
    known_at_station = known | {row.partition("==")[0] for row in of_station}
    for name, path in modules():
        if name.split(".")[0] in BELOW_THE_LINE and name not in TRAINING:
            packages = {other.split(".")[0] for other in imported(path)} - {"inspect_core"} - sys.stdlib_module_names
            missing = {DISTRIBUTIONS.get(package, package.replace("_", "-")) for package in packages} - known
            missing -= known_at_station if name.startswith("station.") else set()
            assert missing <= OF_THE_APP.get(name, set()), f"{name} needs {missing}"


def test_no_page_imports_another() -> None:
    """What two pages share lies in a module of ui/ itself, or in ui/bench/, which imports no page."""
    pages, rooms = (ROOT / "pages").glob("*.py"), (ROOT / "inspect_core/ui").rglob("*.py")
    of_page = {path: path.stem for path in pages}
    names = set(of_page.values())
    of_page |= {path: path.parent.name for path in rooms}
    assert len(of_page) > 50
    for path, imports in of_page.items():
        parts = [name.split(".") for name in imported(path)]
        used = {room for top, *rest in parts if top == "inspect_core" and rest[0] == "ui" for room in rest[1:2]}
        assert used & names <= {imports}, f"{path} imports the package of another page"


def test_streamlit_stays_in_its_folders() -> None:
    for name, path in modules():
        if name.split(".")[0] != "ui":
            assert not any(other.split(".")[0] == "streamlit" for other in imported(path)), name


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("forbidden", "rooms"),
    [
        pytest.param("torch", BELOW_THE_LINE, id="torch below the line"),
        pytest.param("sklearn", {"verdict", "scoring"}, id="scikit-learn in a verdict"),
        pytest.param("scipy", {"runner"}, id="SciPy at the start of a runner"),
        pytest.param("streamlit", set(ROOMS) - {"ui"}, id="streamlit below ui", marks=pytest.mark.slow),
    ],
)
def test_a_fresh_process_does_not_load(forbidden: str, rooms: set[str]) -> None:
    assert rooms <= {name.split(".")[0] for name, _ in modules()}
    names = [name for name, _ in modules() if name.split(".")[0] in rooms - {"__main__"} and name not in TRAINING]
    code = (
        "import importlib, sys\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module('inspect_core.' + name)\n"
        f"    assert {forbidden!r} not in sys.modules, name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_of_ours_begins_a_store_of_telemetry(tmp_path: Path) -> None:
    """ONNX Runtime does on import, in the user's home, unless it is told not to before."""
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    code = "import inspect_core.runtime.graph"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
    assert [path for path in tmp_path.rglob("*onnxruntime*")] == []
