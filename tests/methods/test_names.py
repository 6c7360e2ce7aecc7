"""Only `methods/` and `detectors/` know a method, its title and parameters by name: a new one needs no other file."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspect_core.methods.registry import JOIN, METHODS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "inspect_core"
SOURCES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py")), *sorted(PACKAGE.rglob("*.py"))]
PARAMETERS = {name for row in METHODS.values() for name in (*row.defaults, *row.controls)}
ABOVE = {"cli", "ui", "tuning", "playgrounds", "sharding", "study", "pages", "app.py"}
"""What may know no parameter either; below, recipes and the product check have words of their own."""
OTHERWISE = {
    "features/patch_join.py": {"nearest"},  # how ONNX enlarges a map
    "tuning/tsne.py": {"pca"},  # how t-SNE begins
    "playgrounds/embeddings.py": {"sampled"},  # channels
    "ui/explore/variance_panels.py": {"sampled"},
    "ui/explore/patch_map.py": {"patches"},  # the points of a map
}
"""Where a word has another meaning."""


def names_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of every literal text that is no docstring, joined detectors taken apart, and imported modules."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield from ((node.lineno, part) for part in {node.value, *node.value.split(JOIN)})
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("inspect_core.methods"):
            yield from ((node.lineno, part) for part in (node.module or "").split("."))
            yield from ((node.lineno, alias.name) for alias in node.names)


def faults(text: str, place: str) -> list[str]:
    known = set(METHODS) | (PARAMETERS if place.split("/")[0] in ABOVE else set())
    titles = [row.title for row in METHODS.values()]
    return [
        f"line {line}: {part!r}"
        for line, part in names_in(ast.parse(text))
        if part in known - OTHERWISE.get(place, set()) or any(title.lower() in part.lower() for title in titles)
    ]


@pytest.mark.parametrize("room", sorted({path.parent for path in SOURCES}), ids=lambda path: path.name)
def test_no_other_room_names_a_method(room: Path) -> None:
    places = []
    for path in (path for path in SOURCES if path.parent == room):
        place = path.relative_to(PACKAGE if PACKAGE in path.parents else ROOT).as_posix()
        if place.split("/")[0] not in ("methods", "detectors"):
            places += [f"{place}, {fault}" for fault in faults(path.read_text(encoding="utf-8"), place)]
    assert places == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('if view.method in ("cop", "corp"): pass', 2),
        ('method = f"mahalanobis{JOIN}{second}"', 1),
        ('"mahalanobis+nearest"', 0),  # an expression of its own: a docstring
        ('x = "mahalanobis+nearest"', 2),
        ('if name == "M": pass', 1),
        ('k = live["k"]', 1),
        ('say("By location needs the fewest.")', 1),
        ("from inspect_core.methods.quadrics import MOST", 1),
        ("from inspect_core.methods import corp", 1),
        ("from inspect_core.methods.registry import METHODS", 0),
        ('x = "copper, corporate, sampled channels"', 0),
    ],
)
def test_what_counts_as_a_name(text: str, count: int) -> None:
    assert len(faults(text, "ui/somewhere.py")) == count
