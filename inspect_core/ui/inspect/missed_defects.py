"""When the suggested limit accepts many known defects: which good photos hold it up, and the ways on."""

import numpy as np
import streamlit as st

from inspect_core.runtime.wording import pluralise
from inspect_core.ui import shell
from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.ui.inspect import limit_advice, relabelling
from inspect_core.workbench.taught_product import TaughtProduct

MISSED = 0.2
"""Share of the known defects at or below the review limit from which on the strip is shown."""
SHOWN = 6
"""Good photos that hold the limit up: those of the largest scores."""
WIDTH = 112


def strip(product: TaughtProduct, drawn: BenchState) -> None:
    """Shown for the suggested limits alone; a limit set by hand is the engineer's own."""
    scored, evidence = product.scored, drawn.evidence
    setters = np.flatnonzero(scored.setters())
    known = evidence.defect
    if product.is_fixed or not known.any() or not len(setters) or drawn.limits != drawn.suggested:
        return
    missed = int(evidence.missed(drawn.limits).sum())
    total = int(known.sum())
    if missed <= MISSED * total:
        return
    highest = setters[np.argsort(-drawn.scores[setters], kind="stable")][:SHOWN]
    headline = f"{missed} of {pluralise(total, 'inspected test defect')} score below the suggested limit"
    with st.expander(headline, icon=":material/warning:", key=f"missed-{product.id}"):
        st.markdown("These good photos push the limit up. Is one of them defective, blurred or of another product?")
        columns = st.columns(len(highest))
        for column, position in zip(columns, highest.tolist(), strict=True):
            with column:
                st.image(product.thumbnails[position], width=WIDTH)
                st.checkbox(
                    shell.escape(scored.photos[position].name.rsplit("/", 1)[-1]), key=_key(product, position),
                    help=shell.escape(f"{scored.photos[position].name}, score {drawn.scores[position]:.4g}"),
                )  # fmt: skip
        left_out = [scored.photos[i].name for i in highest.tolist() if st.session_state.get(_key(product, i))]
        row = st.container(horizontal=True)
        if row.button(
            "Exclude and teach again", icon=":material/restart_alt:", disabled=not left_out,
            key=f"leave_out-{product.id}", help="Teaches again without them, using the same detector.",
        ):  # fmt: skip
            relabelling.start_again(product, lambda photos: photos.without(left_out))
        limit_advice.offer_limit(row, product, drawn)
        if row.button("Compare detectors", icon=":material/compare:", key=f"to_compare-{product.id}"):
            shell.go_to("pages/compare.py")


def _key(product: TaughtProduct, position: int) -> str:
    return f"leave_out-{product.id}-{position}"
