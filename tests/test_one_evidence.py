"""What a limit does to parts is worked out in one place, so that every page and command counts alike."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent / "inspect_core"
LIMITS = {"review", "reject"}
RULE = {"scoring/evidence.py", "scoring/verdict_rule.py", "verdict.py"}
"""The verdict rule, and those who apply it to one part and to many."""
DRAWN = {"ui/explore/patch_map.py"}
"""Patches, which have no verdict, drawn above or below a limit."""


def compared(tree: ast.AST) -> list[str]:
    """Comparisons of anything with a limit, but for that of the two limits with each other."""
    comparisons = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            limits = [side for side in sides if isinstance(side, ast.Attribute) and side.attr in LIMITS]
            if limits and len(limits) < len(sides):
                comparisons.append(ast.unparse(node))
    return comparisons


def test_nothing_but_the_evidence_compares_scores_with_limits():
    faults = []
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        ranks = [
            alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
            if (node.module, alias.name) == ("inspect_core.scoring.verdict_rule", "rank")
        ]  # fmt: skip
        if name not in RULE | DRAWN:
            faults += [f"{name}: {words}" for words in [*ranks, *compared(tree)]]
    assert faults == []


def test_a_comparison_is_seen():
    assert compared(ast.parse("(scores > drawn.limits.review).sum()")) == ["scores > drawn.limits.review"]
    assert compared(ast.parse("limits.review < limits.reject")) == []
