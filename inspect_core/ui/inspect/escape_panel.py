"""Why a known defect was accepted: where it stands among good parts, and ways to find it, each with what it costs."""

import streamlit as st

from inspect_core.runtime.wording import pluralise
from inspect_core.study.known_defects import FEWEST
from inspect_core.ui import shell
from inspect_core.ui.inspect.shown_photo import ShownPhoto
from inspect_core.ui.session import settings_at
from inspect_core.workbench.escape_remedies import AppliedRemedy, Remedy, Settings, remedies, standing
from inspect_core.workbench.shelf import shelf


def show(shown: ShownPhoto) -> None:
    """Show an expander on an escape; after a way was taken, the way back."""
    product, position, view = shown.product, shown.position, shown.view
    if product.is_fixed:
        return
    if (applied := shown.settings.remedy) is not None and applied.after == Settings.of_product(product):
        row = st.container(horizontal=True, vertical_alignment="center")
        row.caption(shell.escape(f"{applied.words}: in force."), width="content")
        row.button("Undo", key=f"undo_remedy-{product.id}", icon=":material/undo:", on_click=_put_back,
                   args=(product.id, applied.before))  # fmt: skip
    photo = product.scored.photos[position]
    if not photo.is_defect or view.evidence.verdict(position, view.limits) != "accept":
        return
    with st.expander("Why was this accepted?", key=f"escape-{product.id}", on_change="rerun") as opened:
        if not opened.open:
            return
        where = standing(product, position, view.scores)
        st.markdown(shell.escape(_standing_words(view.scores[position], where.above, where.good)))
        if where.nearest is not None:
            title, above = where.nearest
            nearest = f"Of its maps, {title} comes nearest: alone it ranks the part above {above} of {where.good}."
            st.caption(shell.escape(nearest))
        ways = remedies(product, position, view.evidence, view.limits)
        for number, way in enumerate(ways):
            row = st.container(horizontal=True, vertical_alignment="center")
            row.markdown(f"**{shell.escape(way.words)}**: {shell.escape(_effect(way))}", width="stretch")
            row.button("Apply", key=f"remedy-{product.id}-{position}-{number}", on_click=_apply,
                       args=(product.id, way))  # fmt: skip
        if not ways:
            st.caption("No limit, share of the map or area at hand would find it.")
        missing = FEWEST - sum(photo.teaches for photo in product.scored.photos)
        if missing > 0:
            st.caption(
                f"Or draw defects, below: {pluralise(missing, 'more drawn defect')} teach a map of their own. "
                "For defects much smaller than the part, teach again with the smallest relevant defect stated."
            )


def _standing_words(score: float, above: int, good: int) -> str:
    """Where a score lies among the good photos that set the limits."""
    return f"Its score, {score:.4g}, is above that of {above} of the {good} good photos that set the limits."


def _effect(way: Remedy) -> str:
    """What a way finds and costs on the photos counted here."""
    defects = f"{pluralise(way.detected, 'known defect')} more found" if way.detected >= 0 else (
        f"{pluralise(-way.detected, 'known defect')} lost"
    )  # fmt: skip
    if way.stopped == 0:
        return f"{defects}, no good part more stopped."
    word = "more" if way.stopped > 0 else "fewer"
    return f"{defects}, {pluralise(abs(way.stopped), 'good part')} {word} stopped."


def _apply(taught_id: str, way: Remedy) -> None:
    product, settings = shelf().find(taught_id), settings_at(taught_id)
    if product is None or settings is None:
        return
    changed = shelf().change(taught_id, way.apply)
    if changed is not None:
        settings.remedy = AppliedRemedy(way.words, Settings.of_product(product), Settings.of_product(changed))


def _put_back(taught_id: str, before: Settings) -> None:
    if (settings := settings_at(taught_id)) is not None:
        settings.remedy = None
    shelf().change(taught_id, before.put_back)
