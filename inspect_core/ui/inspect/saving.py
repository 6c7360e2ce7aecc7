"""Saving what is in force on the bench as a recipe in the workspace."""

from functools import partial

import streamlit as st

from inspect_core.audit.changes import limits_in_words
from inspect_core.recipe_io.recorded_saving import save_recorded
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import pluralise
from inspect_core.scoring.anomaly_map import AREA
from inspect_core.ui import saved_recipes, shell
from inspect_core.workbench import defect_labels, transitions
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct


def save_recipe(product: TaughtProduct) -> None:
    """Save what is in force as a recipe in the workspace; from an opened recipe, a revision with it as its parent."""
    state = f"{product.id}-{product.recipe_digest}"  # another one once it is saved: closed and empty
    with st.popover("Save as recipe", type="primary", icon=":material/inventory_2:", key=f"saving-{state}"):
        name = st.text_input("Name", value=product.product, max_chars=60, key=f"recipe_name-{state}")
        placeholder = "e.g. first release, new lamp"
        reason = st.text_input("Reason", max_chars=200, key=f"recipe_reason-{state}", placeholder=placeholder)
        if product.limits is not None:
            st.markdown(shell.escape(product.evidence().sentence(product.limits)))
        st.caption(shell.escape(_what_is_saved(product)))
        for warning in product.warnings:
            st.warning(shell.escape(warning), icon=":material/warning:")
        looked_at = f"looked-at-{product.id}"
        shown = st.session_state.get(looked_at)
        st.session_state[looked_at] = product.contents()
        if st.button("Save", type="primary", key=f"save-{product.id}"):
            if shown != product.contents():
                words = "This product was changed in another window. This is how it is now: look at it, then save."
                st.warning(words, icon=":material/sync_problem:")
                return
            if not (name.strip() and reason.strip()):
                st.warning("Enter a name and a reason. Both are recorded.")
                return
            provenance = {"product": name.strip(), "author": shell.current_user(), "reason": reason.strip()}
            before = product.recipe.limits if product.recipe is not None and product.recipe_digest else None
            try:
                recipe = product.to_recipe(**provenance)
                with workspace.free_recipe_path(name.strip()) as path:
                    recipe = save_recorded(recipe, path, before, reason=provenance["reason"], user=provenance["author"])
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                st.error(f"Not saved: {shell.escape(why)}", icon=":material/error:")
                return
            shelf().change(product.id, partial(transitions.saved, recipe=recipe, frozen=product))
            try:
                defect_labels.rename(product.product, name.strip())
            except OSError as error:  # the recipe is saved all the same
                st.toast(f"Labels of defect types stay under the former name: {shell.escape(error)}", duration="long")
            st.toast(f"Saved as {shell.escape(saved_recipes.names([path])[path])}.", icon=":material/check_circle:")
            st.rerun()


def _what_is_saved(product: TaughtProduct) -> str:
    """The values and limits in force, and the photos by which they are judged, in one line."""
    limits = product.limits
    by = "set by hand" if product.limits_by_hand is not None else "suggested"
    words = [", ".join(product.values()), f"minimum area {product.live[AREA]}"]
    if limits is not None:
        words.append(f"{limits_in_words(limits)} ({by})")
    words.append(pluralise(len(product.scored.photos), "photo"))
    return " · ".join(filter(None, words))
