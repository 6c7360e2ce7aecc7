"""The settings of this session for the current product: every page reads them here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import streamlit as st

from inspect_core.ui import shell
from inspect_core.workbench.escape_remedies import AppliedRemedy
from inspect_core.workbench.previews import PreviewRun
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct, describe


@dataclass
class SessionSettings:
    """What one session has of its own for one product.

    position: of the photo shown; framed_patch: framed on a photo, (position, (row, column)); added: ids of the files
    added; problems: why the last ones could not be added; preview: the current run; fit, fitted: of the product as the
    session last saw it, the number and the values of its refit parameters; refits_set: how often their sliders were set
    by other than their moves; drawing_stamps: by key of what is drawn on, of the last drawing put in force;
    areas_problem: why the last one of areas could not be; remedy: what was applied last to find an escape.
    """

    position: int
    fit: str
    fitted: dict[str, float]
    framed_patch: tuple[int, tuple[int, int]] | None = None
    added: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    preview: PreviewRun | None = None
    refits_set: int = 0
    drawing_stamps: dict[str, float] = field(default_factory=dict)
    areas_problem: str = ""
    remedy: AppliedRemedy | None = None

    def follow(self, product: TaughtProduct) -> None:
        """Set the sliders of refit parameters to what was fitted in any window; what was moved here since stays."""
        if self.fit == product.fit:
            return
        fitted = product.fitted()
        shown = {name: st.session_state.get(self.refit_key(product, name), value) for name, value in fitted.items()}
        self.set_refits(product, {name: fitted[name] if v == self.fitted[name] else v for name, v in shown.items()})
        self.fit, self.fitted = product.fit, fitted

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


def settings_of(product: TaughtProduct) -> SessionSettings:
    """This session's settings for a product; drops those of products that are no longer open."""
    if _key(product.id) not in st.session_state:
        before = settings_at(product.refit_of)
        position = before.position if before else _strangest(product)
        st.session_state[_key(product.id)] = SessionSettings(position, product.fit, product.fitted())
        for key in [key for key in st.session_state if str(key).startswith(_key(""))]:
            if shelf().find(key.removeprefix(_key(""))) is None:
                del st.session_state[key]
    settings = st.session_state[_key(product.id)]
    settings.follow(product)
    return settings


def settings_at(taught_id: str | None) -> SessionSettings | None:
    """This session's settings for the product with this id; None without any."""
    return st.session_state.get(_key(taught_id))


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


def _strangest(product: TaughtProduct) -> int:
    return int(product.scored.scores(**product.live).argmax()) if product.scored.photos else 0


def _key(taught_id: str | None) -> str:
    return f"settings-{taught_id or ''}"
