"""What a user can do with a product: pure functions from a product to the one that follows.

`Shelf.change` applies them, for all windows, one at a time.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from inspect_core.images.areas import Outline
from inspect_core.recipe import Recipe
from inspect_core.scoring.anomaly_map import AREA, largest_area
from inspect_core.study.study import FittedStudy
from inspect_core.verdict import Limits
from inspect_core.workbench.fitted_product import with_changes
from inspect_core.workbench.taught_product import TaughtProduct, new_id

KEPT = "Kept from before: "
"""How the note begins that says what became of what a user had set."""


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


def drawn(product: TaughtProduct, digest: str, outlines: tuple[Outline, ...]) -> TaughtProduct:
    """The defect of a photo drawn, by content digest, and what known defects teach learned again; limits set by hand
    keep their ratio to the suggested.
    """
    new = product.with_drawings({digest: outlines})
    limits, live = product.limits_by_hand, product.live
    if limits is not None and new is not product:
        ceilings = product.scored.ceiling(**live), new.scored.ceiling(**live)
        limits = limits.carried(product.suggested_limits(live), new.suggested_limits(live), ceilings)
    return replace(new, limits_by_hand=limits)


def checking(product: TaughtProduct, mode: str) -> TaughtProduct:
    """The product check in this mode, if there is one."""
    return replace(product, product_check=product.product_check and product.product_check.with_mode(mode))


def saved(product: TaughtProduct, recipe: Recipe, frozen: TaughtProduct) -> TaughtProduct:
    """Saved as a recipe of the name that it states.

    frozen: the product of which it was made; what was changed since is not saved.
    """

    def with_recipe(state: TaughtProduct) -> TaughtProduct:
        # The limits of a fixed product are the recipe's own now.
        limits = None if product.is_fixed else state.limits_by_hand
        digest = str(recipe.digest)
        return replace(state, product=recipe.product, recipe=recipe, recipe_digest=digest, limits_by_hand=limits)

    return replace(with_recipe(product), saved_contents=with_recipe(frozen).contents())


class LimitsByHand(NamedTuple):
    """Limits that a user set, and on their scale the suggested ones and the ceiling of the scores."""

    limits: Limits
    suggested: Limits
    ceiling: float | None

    @classmethod
    def from_product(cls, product: TaughtProduct) -> "LimitsByHand | None":
        """Those in force for a product; None where the suggested ones are."""
        if (limits := product.limits_by_hand) is None:
            return None
        live = product.live
        return cls(limits, product.suggested_limits(live), product.scored.ceiling(**live))


def refitted_in_place(
    before: TaughtProduct, study: FittedStudy, chosen: Mapping[str, int], by_hand: LimitsByHand | None = None
) -> TaughtProduct:
    """A product under another fit of its photos, otherwise as `refitted`; the one before stays for `undone`."""
    order, at = before.order or study.order, before.own_study.order.parameters
    moved = {name: value for name, value in study.order.parameters.items() if at.get(name) != value}
    fitted = replace(
        before,
        order=replace(order, parameters={**order.parameters, **moved}),
        scored=study.scored,
        study=study,
        recipe=None,
        thumbnails=before.thumbnails[: len(study.photos)],
        before=replace(before, before=None),
        fit=new_id(),
        _memo=before._memo.of_another_fit(study),
    )
    return refitted(before, fitted, chosen, by_hand)


def undone(product: TaughtProduct) -> TaughtProduct:
    """A product as it was before its last refit, with what was added, labelled, learned and drawn since."""
    if product.before is None:
        return product
    earlier = with_changes(product.before, product.scored.photos, product.scored.areas)
    return replace(
        earlier,
        product_check=product.product_check,
        defect_types=product.defect_types,
        known_cases=product.known_cases,
        mm_per_pixel=product.mm_per_pixel,
    )


def refitted(
    before: TaughtProduct, fitted: TaughtProduct, chosen: Mapping[str, int], by_hand: LimitsByHand | None = None
) -> TaughtProduct:
    """A product under another fit with what was set, added, labelled, learned and drawn before.

    chosen: values of live parameters that a user chose; by_hand: limits, None for those in force before. What cannot
    stay, or stays in another unit, is named in a note.
    """
    if fitted.product_check is before.product_check:
        fitted._memo.foreign.update(before._memo.foreign)
    new = with_changes(fitted, before.scored.photos, before.scored.areas)
    scored = new.scored
    most = {view.live_parameter: view.definition.max_value(view.detector) for view in scored.views} | {
        AREA: largest_area(scored.size)
    }
    live = {name: min(chosen[name], most[name]) for name in scored.live if name in chosen}
    live = {name: value if name == AREA else scored.stop_of(name, value) for name, value in live.items()}
    changes = [
        f"{name} {value}" if value == chosen[name] else f"{name} {chosen[name]} became {value}"
        for name, value in live.items()
    ]
    limits = None
    by_hand = by_hand or LimitsByHand.from_product(before)
    if by_hand is not None and len(scored.calibration_scores()):
        now = dict(scored.live) | live
        ceilings = by_hand.ceiling, scored.ceiling(**now)
        limits = by_hand.limits.carried(by_hand.suggested, new.suggested_limits(now), ceilings)
        changes.append(f"limits {_in_words(by_hand.limits)} became {_in_words(limits)}, as scores have another scale")
    notes = [note for note in new.notes if not note.startswith(KEPT)]
    return replace(
        new,
        notes=(*notes, *([f"{KEPT}{'; '.join(changes)}."] if changes else ())),
        moved=live,
        limits_by_hand=limits,
        defect_types=before.defect_types,
        known_cases=before.known_cases,
        mm_per_pixel=before.mm_per_pixel,
        refit_of=before.id,
    )


def _in_words(limits: Limits) -> str:
    return f"{limits.review:.4g} / {limits.reject:.4g}"
