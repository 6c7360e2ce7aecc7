"""The limit that known defects suggest once an escape has a price."""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from inspect_core.scoring.cost_limit import ESCAPE_COST, CostLimit, cost_limit
from inspect_core.scoring.counts import counts_sentence
from inspect_core.study.photo_evidence import evidence_to_choose_by
from inspect_core.ui import shell
from inspect_core.ui.bench.bench_state import SETS, BenchState
from inspect_core.ui.inspect.shown_photo import ShownPhoto
from inspect_core.verdict import Limits
from inspect_core.workbench import transitions
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct


def from_known_defects(shown: ShownPhoto) -> None:
    """Show the limit that known defects suggest once an escape has a price; applied only by a click."""
    product = shown.product
    if product.is_fixed:
        return
    good, defect = product.scored.good_and_defect()
    if not (good.any() and defect.any()):
        return
    with st.popover("Limit from known defects", icon=":material/balance:"):
        cost = st.number_input(
            "Cost of one escape, in false rejects", 0.1, 10_000.0, ESCAPE_COST, key=f"escape_cost-{product.id}"
        )
        try:
            suggestion, sets = _suggest(product, shown.view, cost)
        except ValueError as error:
            st.info(shell.escape(error))
            return
        st.markdown(
            f"**{suggestion.limit:.4g}** has the lowest cost on {sets}. Cross-validated: "
            f"{counts_sentence(suggestion.counts)}"
        )
        st.caption(
            "The suggested limits need only good parts. This one assumes that your known defects are representative."
        )
        st.button(
            "Use this limit", key=f"use_cost-{product.id}", on_click=_use, args=(product.id, suggestion.limit)
        )  # fmt: skip


def offer_limit(row: DeltaGenerator, product: TaughtProduct, drawn: BenchState) -> None:
    """Show a button in this row that takes the limit known defects suggest, with its effect; none without it."""
    try:
        suggestion, sets = _suggest(product, drawn, ESCAPE_COST)
    except ValueError:
        return
    counts = suggestion.counts
    missed = [f"{counts.defects_missed:d} escapes", *counts.defects_unscored.clauses()]
    stopped = [f"{counts.good_rejected:d} false rejects", *counts.good_unscored.clauses()]
    row.button(
        f"Limit from known defects: {', '.join(missed + stopped)}",
        icon=":material/balance:", key=f"offer_cost-{product.id}", on_click=_use, args=(product.id, suggestion.limit),
        help=(
            f"{suggestion.limit:.4g} has the lowest cost when one escape costs as much as {ESCAPE_COST:.0f} false "
            f"rejects. Cross-validated on {sets}."
        ),
    )  # fmt: skip


def _suggest(product: TaughtProduct, drawn: BenchState, cost: float) -> tuple[CostLimit, str]:
    """The limit, and the sets it is from: photos not used for figures, if there are any."""
    scored = product.scored
    parts = evidence_to_choose_by(scored, drawn.evidence)
    suggestion = cost_limit(parts, escape_cost=cost)
    sets = {photo.subset for photo, is_good in zip(scored.photos, parts.good, strict=False) if is_good}
    defects = "validation defects" if scored.chosen_defects().any() else "test defects"
    good = " and ".join(SETS.get(subset, subset) for subset in sorted(sets))
    return suggestion, f"{suggestion.counts.defects_total} {defects} and {suggestion.counts.good_total} good {good}"


def _use(taught_id: str, limit: float) -> None:
    shelf().change(taught_id, partial(transitions.limited, limits=Limits(limit, limit)))
