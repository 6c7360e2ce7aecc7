"""What is released: the state of each recipe, its approval and retirement, and the differences between versions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from inspect_core.audit import life_cycle
from inspect_core.audit.life_cycle import APPROVED, DRAFT, RETIRED
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.recipe import Recipe
from inspect_core.recipe_io.recipe_difference import difference
from inspect_core.ui import data_table, saved_recipes, shell

ICONS = {DRAFT: ":material/edit_note:", APPROVED: ":material/verified:", RETIRED: ":material/inventory:"}
SIGNS = {DRAFT: "✎", APPROVED: "✓", RETIRED: "–"}
COLOURS: dict[str, Literal["gray", "green", "orange"]] = {DRAFT: "gray", APPROVED: "green", RETIRED: "orange"}
UNKNOWN = "state unknown"
POOR = {
    "misses {} of {} defects": 0.2,
    "rejects {} of {} good parts": 0.1,
    "leaves {} of {} parts to sort by hand": 0.1,
}
"""Shares of parts above which approval is asked for twice."""
MEANING = {
    APPROVED: "This becomes the active version for the product. The previously approved version is retired.",
    RETIRED: "Takes this version out of use. You can approve it again later.",
}


def states() -> dict[str, str] | None:
    """The state of every recipe but drafts, by digest; None, with an error shown, without a log."""
    with shell.errors_shown(LogError), AuditLog.open() as log:
        return life_cycle.states(log)
    return None


def state_of(digest: str, known: dict[str, str] | None) -> str:
    return UNKNOWN if known is None else known.get(digest, DRAFT)


def badge(state: str) -> None:
    """Show the state as a word with its icon."""
    st.badge(shell.escape(state), icon=ICONS.get(state, ":material/help:"), color=COLOURS.get(state, "gray"))


def change_state(recipe: Recipe, state: str, key: str) -> None:
    """Approve or retire, each with a reason. key: of its file, since one recipe may be in two."""
    if state in (DRAFT, RETIRED):
        _ask("Approve", APPROVED, life_cycle.approve, recipe, key, state)
    if state in (DRAFT, APPROVED):
        _ask("Retire", RETIRED, life_cycle.retire, recipe, key, state)


def what_changed(recipe: Recipe, approved: str | None, saved: dict[str, Path]) -> None:
    """Show the differences from the version in force and from its parent; who changed its state.

    approved: digest of the version in force; saved: by digest, where the recipes are that can be read.
    """
    compared = {recipe.provenance.parent: "its parent version", approved: "the approved version"}
    others = {digest: words for digest, words in compared.items() if digest not in (None, recipe.digest)}
    for digest, words in others.items():
        other = saved_recipes.checked(saved[digest]) if digest in saved else None
        _difference(words, digest, other, recipe)
    if not others:
        first = "This is the approved version; it has no parent." if approved == recipe.digest else ""
        st.caption(first or "First version; nothing to compare with.")
    _changes(recipe)


def _difference(words: str, digest: str, other: Recipe | None, recipe: Recipe) -> None:
    st.markdown(f"**Compared with {words}**, {shell.escape(saved_recipes.versions()(digest))}")
    if other is None:
        st.caption("That version is not saved here.")
        return
    rows = difference(other, recipe)
    heads = {"What": "what", "Other version": "before", "This version": "after"}
    data_table.show_cells({head: [getattr(row, name) for row in rows] for head, name in heads.items()})


def _changes(recipe: Recipe) -> None:
    try:
        with AuditLog.open() as log:
            entries = life_cycle.history(log, str(recipe.digest))
    except LogError:  # shown at the top of the page
        return
    for entry in entries:
        when = entry.time[:16].replace("T", " ")
        state, reason = str(entry.facts.get("state")), str(entry.facts.get("reason"))
        st.markdown(
            f"{ICONS.get(state, '')} {shell.escape(state)}, {shell.escape(when)} UTC, by {shell.escape(entry.user)}: "
            f"{shell.escape(reason)}"
        )
        for release in entry.facts.get("releases") or ():
            st.caption("with the export")
            st.code(str(release), language=None)


def _ask(label: str, state: str, change: Callable, recipe: Recipe, key: str, now: str) -> None:
    """now: the state it is in; the popover belongs to it, so that it closes when the state changes."""
    with st.popover(label, icon=ICONS[state], key=f"ask-{state}-{key}-{now}"):
        st.caption(MEANING[state])
        meant = state != APPROVED or _confirm_figures(recipe, key)
        reason = st.text_input("Reason", key=f"reason-{state}-{key}", max_chars=200)
        if st.button(label, key=f"{state}-{key}", type="primary", disabled=not meant):
            if reason.strip():
                record(change, recipe, digest=str(recipe.digest), reason=reason)
            else:
                st.warning("Enter a reason. It is recorded.")


def _confirm_figures(recipe: Recipe, key: str) -> bool:
    """The figures that are approved, and whether they are meant: poor ones are confirmed."""
    evidence = recipe.evidence()
    st.markdown(evidence.sentence(recipe.limits))
    counts = evidence.counts(recipe.limits)
    without_score = counts.good_unscored.total + counts.defects_unscored.total
    error_counts = (
        (counts.defects_missed, counts.defects_inspected),
        (counts.good_rejected, counts.good_inspected),
        (without_score, counts.good_total + counts.defects_total),
    )
    poor = [
        words.format(count, total)
        for (words, most), (count, total) in zip(POOR.items(), error_counts, strict=True)
        if count > most * total
    ]
    if not counts.defects_inspected:
        poor.append("has not been tested on any known defect")
    return not poor or st.checkbox(f"It {' and '.join(poor)}. Approve it nevertheless.", key=f"poor-{key}")


def record(change: Callable, changed: Recipe, **facts: Any) -> None:
    """Record a change of a recipe in the audit log, by whoever is at the screen, and redraw the page."""
    with shell.errors_shown(LogError, ValueError):
        with AuditLog.open() as log:
            change(log, **facts, product=changed.product, user=shell.current_user())
        st.rerun()
