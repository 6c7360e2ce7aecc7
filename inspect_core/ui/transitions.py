"""What a user can do with a product: pure functions from a product to the one that follows.

`open_product_store.change` applies them, for all windows, one at a time.
"""

from collections.abc import Mapping
from dataclasses import replace

from inspect_core.recipe import Recipe
from inspect_core.ui.taught_product import TaughtProduct
from inspect_core.verdict import Limits


def moved(product: TaughtProduct, values: Mapping[str, int]) -> TaughtProduct:
    """Live values set; scores then have another scale, and limits set by hand keep their ratio to the suggested."""
    live, limits = product.live | dict(values), product.limits_by_hand
    if limits is not None:
        before, after = (product.suggested_limits(at) for at in (product.live, live))
        ceilings = product.scored.ceiling(**product.live), product.scored.ceiling(**live)
        limits = limits.carried(before, after, ceilings)
    return replace(product, moved=live, limits_by_hand=limits)


def limited(product: TaughtProduct, limits: Limits) -> TaughtProduct:
    """Limits set by hand; the suggested ones go on to follow what is moved."""
    return replace(product, limits_by_hand=None if limits == product.suggested_limits(product.live) else limits)


def checking(product: TaughtProduct, mode: str) -> TaughtProduct:
    """The product check in this mode, if there is one."""
    return replace(product, product_check=product.product_check and product.product_check.with_mode(mode))


def saved(product: TaughtProduct, recipe: Recipe, frozen: TaughtProduct) -> TaughtProduct:
    """Saved as a recipe of the name that it states.

    frozen: the product of which it was made; what was changed since is not saved.
    """
    known = {"product": recipe.product, "recipe": recipe, "recipe_digest": str(recipe.digest)}
    if product.is_fixed:
        known["limits_by_hand"] = None  # they are the recipe's own now
    contents = replace(frozen, **known).contents()
    return replace(product, saved_contents=contents, **known)
