"""The settings of this session for the current product: every page reads them here."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import streamlit as st

from inspect_core.study.unsaved_products import InForce
from inspect_core.ui import open_product_store, shell
from inspect_core.ui.previews import PreviewRun
from inspect_core.ui.taught_product import TaughtProduct, describe
from inspect_core.verdict import Limits
from inspect_core.whole_part.product_check import OFF, ProductCheck


@dataclass
class SessionSettings:
    """The settings of one session for one product, which keeps the last ones (`remember`).

    live: the live parameters in force by name, the area among them; limits: set by hand, None for the suggested ones;
    position: of the photo shown; product_check_mode: of the product check; framed_patch: framed on a photo, (position,
    (row, column)); added: ids of the files added; problems: why the last ones could not be added; preview: the current
    run; in_force: what this session last saw set, in any window; fit, fitted: of the product as it last saw it, the
    number and the values of its refit parameters; refits_set: how often their sliders were set by other than their
    moves; areas_stamp: of the last areas put in force; areas_problem: why the last drawing could not be.
    """

    live: dict[str, int]
    limits: Limits | None
    position: int
    product_check_mode: str
    in_force: InForce
    fit: str
    fitted: dict[str, float]
    framed_patch: tuple[int, tuple[int, int]] | None = None
    added: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    preview: PreviewRun | None = None
    refits_set: int = 0
    areas_stamp: float | None = None
    areas_problem: str = ""

    def move_live(self, product: TaughtProduct, values: Mapping[str, int]) -> None:
        """Set live values; scores then have another scale, and limits set by hand keep their ratio to the suggested."""
        live = self.live | dict(values)
        if self.limits is not None:
            before, after = (product.suggested_limits(at) for at in (self.live, live))
            ceilings = product.scored.ceiling(**self.live), product.scored.ceiling(**live)
            self.limits = self.limits.carried(before, after, ceilings)
        self.live = live

    def follow(self, product: TaughtProduct) -> None:
        """Take on what was set or fitted in any other window; what was moved here since stays as it is."""
        if self.fit == product.fit:
            latest = open_product_store.find(product.id)  # `product` may be of before a change by this window
            last = self.in_force
            set_here = self.live != {**self.live, **last.live} or self.limits != last.limits_by_hand
            if latest is None or latest.fit != self.fit or set_here:
                return
            if _values_set(latest.in_force) != _values_set(last):
                self._take_on(latest)
            return
        fitted = product.fitted()
        shown = {name: st.session_state.get(self.refit_key(product, name), value) for name, value in fitted.items()}
        self.set_refits(product, {name: fitted[name] if v == self.fitted[name] else v for name, v in shown.items()})
        self.fit, self.fitted = product.fit, fitted
        self._take_on(product)

    def refit_key(self, product: TaughtProduct, name: str) -> str:
        """The key of the slider of a refit parameter."""
        return f"{name}-{product.id}-{self.refits_set}"

    def set_refits(self, product: TaughtProduct, values: Mapping[str, float]) -> None:
        """Set the sliders of refit parameters that stand elsewhere.

        By other sliders in their place: a browser that has not yet been told sends the old value once more, which would
        be a move back, and begin a fit.
        """
        if any(st.session_state.get(self.refit_key(product, name), value) != value for name, value in values.items()):
            self.refits_set += 1
            for name, value in values.items():
                st.session_state[self.refit_key(product, name)] = value

    def _take_on(self, product: TaughtProduct) -> None:
        self.in_force = product.in_force
        self.live = product.live_in_force
        self.limits = product.in_force.limits_by_hand

    def product_check(self, product: TaughtProduct) -> ProductCheck | None:
        """The product check in this session's mode; None without one."""
        return product.product_check and product.product_check.with_mode(self.product_check_mode)


def settings_of(product: TaughtProduct) -> SessionSettings:
    """This session's settings for a product; drops those of products that are no longer open."""
    if _key(product.id) not in st.session_state:
        last, live = product.in_force, product.live_in_force
        before = settings_at(product.refit_of)
        st.session_state[_key(product.id)] = SessionSettings(
            live,
            last.limits_by_hand,
            before.position if before else _strangest(product, live),
            last.product_check_mode or (product.product_check.mode if product.product_check else OFF),
            last,
            product.fit,
            product.fitted(),
        )
        for key in [key for key in st.session_state if str(key).startswith(_key(""))]:
            if open_product_store.find(key.removeprefix(_key(""))) is None:
                del st.session_state[key]
    settings = st.session_state[_key(product.id)]
    settings.follow(product)
    return settings


def remember(product: TaughtProduct, settings: SessionSettings, limits: Limits, setting_scores: np.ndarray) -> None:
    """Keep what is in force with the product, for the next window and for after a restart.

    limits: in force; setting_scores: (n,) of the photos that set the suggested ones.
    """
    scores = tuple(map(float, setting_scores))
    in_force = InForce(dict(settings.live), limits, settings.limits is not None, scores, settings.product_check_mode)
    settings.in_force = in_force
    if in_force != product.in_force:

        def set_in_force(current: TaughtProduct) -> TaughtProduct:
            """Not what is in force under another fit, which has taken its place since it was drawn."""
            return replace(current, in_force=in_force) if current.fit == product.fit else current

        open_product_store.change(product.id, set_in_force)


def settings_at(taught_id: str | None) -> SessionSettings | None:
    """This session's settings for the product with this id; None without any."""
    return st.session_state.get(_key(taught_id))


def active_values(product: TaughtProduct) -> tuple[dict[str, int], Limits | None]:
    """The live value and the limits this session works with; limits None while no photo can set them."""
    settings = settings_of(product)
    try:
        return settings.live, settings.limits or product.suggested_limits(settings.live)
    except ValueError:
        return settings.live, None


def pending_fit(product: TaughtProduct) -> str:
    """What is being fitted, and what other pages show until then; "" where nothing is."""
    settings = settings_at(product.id)
    run = None if settings is None else settings.preview
    if run is None or run.ended.is_set():
        return ""
    now, pending = describe(product.fitted()), describe(run.parameters)
    return f"{pending} is being fitted. Until then this page shows {now}."


def show_on_bench(product: TaughtProduct, position: int, place: tuple[int, int] | None) -> None:
    """Go to Inspect with this photo on the bench and the patch in this row and column of the grid framed."""
    settings = settings_of(product)
    settings.position = position
    settings.framed_patch = None if place is None else (position, place)
    shell.go_to("pages/inspect.py")


def _values_set(in_force: InForce) -> tuple[dict[str, int], Limits | None]:
    """What all windows share; each has its own mode of the product check."""
    return dict(in_force.live), in_force.limits_by_hand


def _strangest(product: TaughtProduct, live: dict[str, int]) -> int:
    return int(product.scored.scores(**live).argmax()) if product.scored.photos else 0


def _key(taught_id: str | None) -> str:
    return f"settings-{taught_id or ''}"
