"""Names and phrases that are to stay clear (docs/GLOSSARY.md)."""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "inspect_core"
SOURCES = [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), *PACKAGE.rglob("*.py")]
BESIDE = [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
BANNED = {
    "found", "own", "one", "said", "told", "kept", "taken", "taught", "judged", "seen", "wanted", "given", "gone",
    "calm", "look", "held", "some", "each", "this", "about", "beside", "under", "inside", "over", "of", "again", "anew",
    "alone", "away",
}  # fmt: skip
FOREIGN = {"corsAllowedOrigins", "rleToString", "LOUPE_TLS_CA", "bn1", "benchmarks", "quadrics_costs"}
"""Names of other programs, of the environment and of the benchmarks."""
PHRASES = re.compile(
    r"\b(anew|by itself|all the same|so many|of its own|meanwhile|on the bench|once more)\b|[0-9}] %(?![(a-z])"
)
SAME_THING = {"__init__", "challenge", "fields", "fitting", "kernel_pca", "model", "posteriors", "watch"}
"""Modules of one name in two rooms, each about the same thing there."""


def test_class_names_are_unique() -> None:
    modules = [_nodes(path)[0] for path in PACKAGE.rglob("*.py")]
    names = Counter(node.name for module in modules for node in module.body if isinstance(node, ast.ClassDef))
    assert len(names) > 200
    assert [name for name, count in names.items() if count > 1] == []


def test_module_names_are_unique() -> None:
    names = Counter(path.stem for path in PACKAGE.rglob("*.py"))
    assert {name for name, count in names.items() if count > 1} == SAME_THING


def test_no_banned_identifier_is_bound() -> None:
    assert {(path, name) for path, name in _bindings() if name in BANNED} == set()


def test_no_function_or_class_has_a_banned_name() -> None:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    defined = [(path.name, node.name) for path in SOURCES for node in _nodes(path) if isinstance(node, kinds)]
    assert [place for place in defined if place[1].strip("_") in BANNED] == []


def test_names_of_tests_have_at_most_60_characters() -> None:
    paths = (ROOT / "tests").rglob("test_*.py")
    tests = [(path.name, node.name) for path in paths for node in _nodes(path) if _is_test(node)]
    assert len(tests) > 1000
    assert [test for test in tests if len(test[1]) > 60] == []


def test_no_parameter_is_a_question() -> None:
    questions = {"what", "which", "how", "why", "where", "then"}
    for path in SOURCES:
        for node in _nodes(path):
            assert not (isinstance(node, ast.arg) and node.arg in questions), (path.name, node.lineno)


def test_docstrings_name_what_exists() -> None:
    """Names in backticks, errors that are raised, and constants."""
    known = {name for path in SOURCES for name in (path.stem, *path.parts)} | set(dir(builtins)) | FOREIGN
    docs = []
    for path in SOURCES:
        statements = {id(node.value) for node in _nodes(path) if isinstance(node, ast.Expr)}
        for node in _nodes(path):
            known |= {part for name in _imported(node) for part in name.split(".")}
            match node:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    docs.append((path.name, node.lineno, text))
                case ast.Constant():
                    known |= _keys(node) if id(node) not in statements else set()
                case _:
                    known |= {value for value in vars(node).values() if isinstance(value, str)}
    named = re.compile(r"`([A-Za-z_][\w.]*)`|\bRaises? (?:an? )?([A-Z]\w+)|\b([A-Z]{3,}_[A-Z_]+)\b")
    unknown = {
        (file, line, name)
        for file, line, text in docs
        for match in named.finditer(text)
        if (name := match[1] or match[2] or match[3]) not in known and not set(name.split(".")) <= known
    }
    assert unknown == set()


def test_docstrings_say_what_is_returned_without_saying_so() -> None:
    functions = [
        (path.name, node.name, (ast.get_docstring(node) or "").partition(" ")[0])
        for path in [*SOURCES, *BESIDE]
        for node in _nodes(path)
        if isinstance(node, ast.FunctionDef)
    ]
    assert len(functions) > 4000
    assert [name for *name, first in functions if first.startswith("Return")] == []


def _keys(node: ast.Constant) -> set[str]:
    """A text that is a name: a key of a table, a field or a parameter."""
    return {node.value} if isinstance(node.value, str) and re.fullmatch(r"[A-Za-z_][\w.]*", node.value) else set()


def _imported(node: ast.AST) -> list[str]:
    return [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []


def test_no_banned_phrase_is_shown() -> None:
    assert [text for text in _texts() if PHRASES.search(text)] == []


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """Every node of a file, the module first."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def _is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name.startswith("test_")


def _bindings() -> Iterator[tuple[str, str]]:
    """(file, name) of every variable, parameter and field, those of benchmarks and tests too."""
    for path in [*SOURCES, *BESIDE]:
        for node in _nodes(path):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield path.name, node.id
            elif isinstance(node, ast.arg):
                yield path.name, node.arg


def _texts() -> Iterator[str]:
    """Every text that is no docstring, values in an f-string as `{…}`, and every line of the browser's scripts."""
    for path in SOURCES:
        docstrings = {id(node.value) for node in _nodes(path) if isinstance(node, ast.Expr)}
        for node in _nodes(path):
            if isinstance(node, ast.JoinedStr):
                yield ast.unparse(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                yield node.value
    for path in [*PACKAGE.rglob("*.js"), *PACKAGE.rglob("*.html")]:
        lines = path.read_text(encoding="utf-8").splitlines()
        yield from (line for line in lines if not line.lstrip().startswith(("//", "/*", "*")))
