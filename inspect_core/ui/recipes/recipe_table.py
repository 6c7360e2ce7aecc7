"""The saved recipes of a product in a table; the engineer chooses one of its rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from inspect_core.audit.life_cycle import APPROVED
from inspect_core.features.backbone_catalogue import spec_of
from inspect_core.recipe_io.recipe_difference import made
from inspect_core.ui import data_table, saved_recipes, shell
from inspect_core.ui.data_table import DataColumn
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
    tested = "of the test photos that could be inspected"
    columns = [
        DataColumn("Version", lambda line: version(line.digest)),
        DataColumn("State", lambda line: _state_with_sign(approval_panel.state_of(line.digest, states))),
        DataColumn("Escapes", lambda line: line.escapes, f"Defects that its limits accept, {tested}."),
        DataColumn("False rejects", lambda line: line.false_rejects, f"Good parts that its limits reject, {tested}."),
        DataColumn(
            "Not inspected",
            lambda line: line.to_sort,
            "Test photos in which the part was not located, or that could not be inspected.",
        ),
        DataColumn("Photos", lambda line: line.photos, "Photos that set its limits, and test photos."),
        DataColumn("Created", lambda line: line.made),
        DataColumn("By", lambda line: line.author),
    ]
    return data_table.choose(
        rows,
        columns,
        first,
        height="content" if len(rows) <= SHOWN else 35 * (SHOWN + 1),
        width=960,
        key=f"recipes-{hash(tuple(line.path for line in rows))}",
        alt="The saved versions, one row each.",
    )


def _state_with_sign(word: str) -> str:
    return f"{approval_panel.SIGNS.get(word, '')} {word}".lstrip()


@st.cache_data(max_entries=1000, show_spinner="Checking the recipe…", hash_funcs={type(Path()): bytes})
def _line(path: Path, written: int) -> RecipeSummary:
    recipe = saved_recipes.checked(path)
    spec_of(recipe.backbone.name, has_weights=False)
    counts = recipe.evidence().counts(recipe.limits)
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
