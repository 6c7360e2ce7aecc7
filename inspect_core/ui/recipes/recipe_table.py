"""The saved recipes of a product in a table; the engineer chooses one of its rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from inspect_core.audit.life_cycle import APPROVED
from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.recipe_io.recipe_difference import made
from inspect_core.ui import saved_recipes, shell
from inspect_core.ui.recipes import approval_panel

NOT_KNOWN = "–"
SHOWN = 7
"""Rows in view; more are scrolled to."""


class RecipeSummary(NamedTuple):
    """What the table says of a recipe; digest: of it, saved at `path`."""

    path: Path
    digest: str
    product: str
    escapes: str
    false_rejects: str
    to_sort: str
    photos: int
    made: str
    author: str


def lines(paths: Sequence[Path]) -> tuple[list[RecipeSummary], dict[Path, str]]:
    """The recipes at these paths, and why the others cannot be used, by path."""
    recipes = []
    refused = {}
    for path in paths:
        try:
            recipes.append(_line(path, path.lstat().st_mtime_ns))
        except Exception as error:  # whatever reading a file from elsewhere raises
            refused[path] = saved_recipes.reason(path, error)
    return recipes, refused


def choose(recipes: Sequence[RecipeSummary], states: dict[str, str] | None) -> RecipeSummary:
    """One of these recipes: of the product that is chosen, the row that is; at first the version in force.

    states: returned by `approval_panel.states`.
    """
    products = list(dict.fromkeys(line.product for line in recipes))
    product = products[0]
    if len(products) > 1:
        product = st.pills("Product", products, default=product, required=True, format_func=shell.escape, key="product")
    rows = [line for line in recipes if line.product == product]
    state = [approval_panel.state_of(line.digest, states) for line in rows]
    first = state.index(APPROVED) if APPROVED in state else 0
    version = saved_recipes.versions()
    table = {
        "Version": [version(line.digest) for line in rows],
        "State": [f"{approval_panel.SIGNS.get(word, '')} {word}".lstrip() for word in state],
        "Escapes": [line.escapes for line in rows],
        "False rejects": [line.false_rejects for line in rows],
        "Not inspected": [line.to_sort for line in rows],
        "Photos": [line.photos for line in rows],
        "Created": [line.made for line in rows],
        "By": [line.author for line in rows],
    }
    helps = {
        "Escapes": "Defects that its limits accept, of the test photos that could be inspected.",
        "False rejects": "Good parts that its limits reject, of the test photos that could be inspected.",
        "Not inspected": "Test photos in which the part was not located, or that could not be inspected.",
        "Photos": "Photos that set its limits, and test photos.",
    }
    chosen = st.dataframe(
        table, hide_index=True, height="content" if len(rows) <= SHOWN else 35 * (SHOWN + 1), width=960,
        column_config={name: st.column_config.Column(help=words) for name, words in helps.items()},
        key=f"recipes-{hash(tuple(line.path for line in rows))}", on_select="rerun",
        selection_mode="single-row-required", selection_default={"selection": {"rows": [first]}},
        alt="The saved versions, one row each.",
    )  # fmt: skip
    marked = chosen.selection.rows
    return rows[marked[0] if marked and marked[0] < len(rows) else first]


@st.cache_data(max_entries=1000, show_spinner="Checking the recipe…", hash_funcs={type(Path()): bytes})
def _line(path: Path, written: int) -> RecipeSummary:
    recipe = saved_recipes.checked(path)
    spec_of(recipe.backbone.name, has_weights=False)
    counts, _ = recipe.counts()
    missed, rejected = (
        f"{count} of {total}" if total else NOT_KNOWN
        for count, total in (
            (counts.defects_missed, counts.defects_inspected),
            (counts.good_rejected, counts.good_inspected),
        )
    )
    to_sort = ", ".join(counts.to_sort) or "none"
    photos = len(recipe.calibration_photos) + len(recipe.test_photos) + len(recipe.unscored)
    when = made(recipe)[:16]
    digest = str(recipe.digest)
    author = recipe.provenance.author
    return RecipeSummary(path, digest, recipe.product, missed, rejected, to_sort, photos, when, author)
