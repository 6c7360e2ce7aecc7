"""The good parts that look strangest, and where: what a limit has to let pass, or what is not good after all."""

import numpy as np
import streamlit as st

from inspect_core.images import heatmap
from inspect_core.images.boxes import downscale
from inspect_core.images.photo_reader import ImageError
from inspect_core.ui import shell
from inspect_core.ui.session import show_on_bench
from inspect_core.verdict import VERDICT_PHRASES
from inspect_core.workbench.taught_product import TaughtProduct

COUNT = 10
ACROSS = 5
SIDE = 320
PUBLISHED = 0.0, 10.0
"""Scores between which the papers' colours run."""


def show_unusual_parts(product: TaughtProduct) -> None:
    """Show the ten good parts of highest score with their heatmaps, in Loupe's colours or in those of the papers."""
    live, limits = product.live, product.limits
    evidence = product.evidence()
    scores = product.scored.scores(**live)
    good = np.flatnonzero(product.scored.good_and_defect()[0])
    ranked = good[np.argsort(-scores[good], kind="stable")][:COUNT]
    if not len(ranked):
        st.info("No good photos yet. Add some on Inspect.")
        return
    st.markdown(
        "The good parts with the highest scores. If one is actually defective, it raises the limit for all the "
        "others. If it is good, add it to the training photos."
    )
    rainbow = st.toggle(
        "Fixed colour scale, 0 to 10", key="strangest_rainbow",
        help="The papers' fixed colour scale (jet, clamped), the same for every part and detector. Loupe's own scale "
            "turns warm at the limit.",
    )  # fmt: skip
    limit = np.inf if limits is None else limits.review
    typical_score = product.scored.typical_score(**live)
    for rank, position in enumerate(ranked.tolist()):
        if rank % ACROSS == 0:
            columns = st.columns(ACROSS, gap="small")
        name = product.scored.photos[position].name
        score = float(scores[position])
        with columns[rank % ACROSS].container(border=True):
            try:
                pixels = downscale(product.pixels(position), SIDE)
            except ImageError as error:
                st.caption(shell.escape(error))
                continue
            shown = product.scored.map(position, **live)
            picture = (
                heatmap.rainbow(pixels, shown, *PUBLISHED) if rainbow
                else heatmap.overlay(pixels, shown, limit, typical_score=min(typical_score, limit))
            )  # fmt: skip
            st.image(picture, output_format="PNG", width="stretch", alt=f"{name}, score {score:.3g}, with its heatmap")
            verdict = "accept" if limits is None else evidence.verdict(position, limits)
            above = "" if verdict == "accept" else f" · {VERDICT_PHRASES[verdict]}"
            st.caption(f"**{rank + 1:d}** · {shell.escape(name)} · score {score:.3g}{above}")
            if st.button("Show on Inspect", key=f"strangest-{rank}", width="stretch"):
                show_on_bench(product, position, None)
