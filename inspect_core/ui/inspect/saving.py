"""Saving what is in force on the bench as a recipe in the workspace."""

from dataclasses import replace

import streamlit as st

from inspect_core.recipe_io.recorded_saving import save_recorded
from inspect_core.runtime import workspace
from inspect_core.study.unsaved_products import InForce
from inspect_core.ui import defect_labels, open_product_store, saved_recipes, shell
from inspect_core.ui.session import SessionSettings
from inspect_core.ui.taught_product import TaughtProduct
from inspect_core.verdict import Limits


def save_recipe(product: TaughtProduct, limits: Limits, settings: SessionSettings) -> None:
    """Save what is in force as a recipe in the workspace; from an opened recipe, a revision with it as its parent."""
    state = f"{product.id}-{product.recipe_digest}"  # another one once it is saved: closed and empty
    with st.popover("Save as recipe", type="primary", icon=":material/inventory_2:", key=f"saving-{state}"):
        name = st.text_input("Name", value=product.product, max_chars=60, key=f"recipe_name-{state}")
        placeholder = "e.g. first release, new lamp"
        reason = st.text_input("Reason", max_chars=200, key=f"recipe_reason-{state}", placeholder=placeholder)
        if st.button("Save", type="primary", key=f"save-{product.id}"):
            if not (name.strip() and reason.strip()):
                st.warning("Enter a name and a reason. Both are recorded.")
                return
            provenance = {"product": name.strip(), "author": shell.current_user(), "reason": reason.strip()}
            check = settings.product_check(product)
            before = product.recipe.limits if product.recipe is not None and product.recipe_digest else None
            try:
                recipe = product.to_recipe(limits, settings.live, product_check=check, **provenance)
                with workspace.free_recipe_path(name.strip()) as path:
                    saved = save_recorded(recipe, path, before, reason=provenance["reason"], user=provenance["author"])
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                st.error(f"Not saved: {shell.escape(why)}", icon=":material/error:")
                return

            def as_saved(current: TaughtProduct) -> TaughtProduct:
                by_hand = settings.limits is not None
                mode = settings.product_check_mode
                last = InForce(dict(settings.live), limits, by_hand, current.in_force.set_on, mode)
                known = {"recipe": saved, "recipe_digest": str(saved.digest), "product": name.strip()}
                return replace(current, in_force=last, **known).as_saved()

            open_product_store.change(product.id, as_saved)
            try:
                defect_labels.rename(product.product, name.strip())
            except OSError as error:  # the recipe is saved all the same
                st.toast(f"Labels of defect types stay under the former name: {shell.escape(error)}", duration="long")
            st.toast(f"Saved as {shell.escape(saved_recipes.names([path])[path])}.", icon=":material/check_circle:")
            st.rerun()
