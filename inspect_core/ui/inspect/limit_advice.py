"""The limit that known defects suggest once an escape has a price."""

from itertools import compress

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from inspect_core.scoring.cost_limit import ESCAPE_COST, CostLimit, cost_limit
from inspect_core.scoring.counts import counts_sentence
from inspect_core.study.evaluation import unscored_counts
from inspect_core.ui import open_product_store, shell
from inspect_core.ui.bench.bench_state import SETS, BenchState
from inspect_core.ui.session import settings_at
from inspect_core.ui.taught_product import TaughtProduct
from inspect_core.verdict import Limits


def from_known_defects(product: TaughtProduct, drawn: BenchState) -> None:
    """Show the limit that known defects suggest once an escape has a price; applied only by a click."""
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
            suggestion, sets = _suggest(product, drawn, cost)
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
    defect = scored.good_and_defect()[1]
    choose = scored.of_subset("validation") & defect
    setters = scored.setters()
    chosen = choose if choose.any() else defect & scored.of_subset("test")
    good_parts, defect_parts = (
        {photo.subset for photo in compress(scored.photos, is_used)} for is_used in (setters, chosen)
    )
    unscored = unscored_counts([
        photo for photo in scored.unscored if photo.subset in (good_parts if photo.label == "good" else defect_parts)
    ])  # fmt: skip
    groups = [photo.split_group or photo.group or photo.name for photo in scored.photos]
    suggestion = cost_limit(
        drawn.setting_scores, drawn.scores[chosen], escape_cost=cost,
        good_groups=[*compress(groups, setters)], defect_groups=[*compress(groups, chosen)],
        good_unscored=unscored["good_unscored"], defects_unscored=unscored["defects_unscored"],
    )  # fmt: skip
    defects = "validation defects" if choose.any() else "test defects"
    good = " and ".join(SETS.get(part, part) for part in sorted(good_parts))
    return suggestion, f"{suggestion.counts.defects_total} {defects} and {suggestion.counts.good_total} good {good}"


def _use(taught_id: str, limit: float) -> None:
    settings = settings_at(taught_id)
    if settings is not None and open_product_store.find(taught_id) is not None:
        settings.limits = Limits(limit, limit)
