"""Names that are to stay clear (docs/GLOSSARY.md): a class and a module exist once."""

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "inspect_core"
SAME_THING = {"__init__", "challenge", "fields", "fitting", "forecast", "kernel_pca", "model", "posteriors", "watch"}
"""Modules of one name in two rooms, each about the same thing there."""


def test_class_names_are_unique() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []


def test_module_names_are_unique() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("*.py"))
    assert {name for name, count in names.items() if count > 1} == SAME_THING
