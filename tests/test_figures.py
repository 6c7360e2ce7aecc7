"""Every figure that METHODS and MEASUREMENTS link to a result is what stands there, to the digits printed."""

import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

DOCS = Path(__file__).parents[1] / "docs"
LINKED = {"METHODS.md": 196, "MEASUREMENTS.md": 506}
"""Linked figures of each: a link that is lost, as when a number is typed over it, would otherwise be no failure."""
LINK = re.compile(r"\[([^\]\s]+(?: %)?)\]\((\.\./benchmarks/results/[^)#]+)#([^)]+)\)")


@cache
def result(file: str) -> dict:
    return json.loads((DOCS / file).read_text(encoding="utf-8"))


def kept(file: str, field: str) -> float:
    found = result(file)
    for key in unquote(field).split("/"):
        found = found[int(key) if isinstance(found, list) else key]
    return found


def is_told(text: str, value: float) -> bool:
    number = text.removesuffix(" %").replace("−", "-").replace(",", "")
    decimals = len(number.partition(".")[2])
    return float(f"{100 * value if text.endswith(' %') else value:.{decimals}f}") == float(number)


@pytest.mark.parametrize("document", LINKED)
def test_linked_figures_stand_in_the_results_that_they_name(document):
    links = LINK.findall((DOCS / document).read_text(encoding="utf-8"))
    assert len(links) == LINKED[document]
    assert [link for link in links if not is_told(link[0], kept(*link[1:]))] == []


@pytest.mark.parametrize(("text", "told"), [(".97", True), (".98", False), ("97.0 %", True), ("97.1 %", False)])
def test_a_changed_figure_is_noticed(text, told):
    assert is_told(text, 0.9702) == told
