"""What all page tests do: wait for the job in the background, press, read the page."""

import copy
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from inspect_core.ui import shell
from inspect_core.verdict import Limits
from inspect_core.workbench import taught_product
from inspect_core.workbench.shelf import shelf
from inspect_core.workbench.taught_product import TaughtProduct


def wait_until(done: Callable[[], object], seconds: float = 120) -> None:
    limit = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < limit, "it did not come to an end"
        time.sleep(0.02)


def wait_for_job() -> None:
    wait_until(lambda: shell.jobs().current is None or not shell.jobs().current.active)


def finish(app):
    """The app once the job has ended without an error, run again without an exception."""
    wait_for_job()
    assert shell.jobs().current.error == "", shell.jobs().current.error
    app.run()
    assert not app.exception, app.exception
    return app


def opened(app):
    """The app with what it opened: chosen while a job ran, it begins once that has ended."""
    return finish(finish(app))


def press(app, key: str):
    """The app after a click on the button of this key, or of this label, without an exception."""
    button = next(button for button in app.button if key in (button.key, button.label))
    button.click().run()
    assert not app.exception, app.exception
    return app


def open_recipe(app, file: str):
    """The recipe of this file opened without its photos: where Loupe lies decides whether it may read them.

    On the page that waits for it, to which a browser goes; `app` stays where it was switched to.
    """
    keys = [button.key for button in app.button]
    pressed = press(app, key if (key := f"open-alone-{file}") in keys else f"open-{file}")
    return finish(pressed.switch_page("pages/inspect.py"))


def slider(app, name: str, part: TaughtProduct):
    """The slider of a live parameter, or of the smallest area ("area"), whose key goes on with the photo's scale."""
    return next(element for element in app.select_slider if element.key.startswith(f"{name}-{part.id}"))


def sign(control) -> str:
    """The sign in the label of a parameter's control: "k" of "Detail (k)"."""
    return control.label.rpartition("(")[2].removesuffix(")")


def sent_back(app) -> list[str]:
    """The labels of widgets that the last run moved by itself, which undoes what a user has moved meanwhile."""
    kinds = ("select_slider", "slider", "checkbox", "toggle", "number_input", "text_input", "selectbox", "multiselect")
    return [element.label for kind in kinds for element in app.get(kind) if element.proto.set_value]


def begins_elsewhere(app) -> list[str]:
    """The labels of widgets whose default is not their value: a browser that mounts one later than the run that set it
    begins with the default, and sends that with its next event as a move that nobody made.
    """
    labels = []
    for kind in ("select_slider", "slider", "checkbox", "toggle", "number_input", "button_group"):
        for element in app.get(kind):
            state, proto = element._widget_state, element.proto
            field = state.WhichOneof("value")
            value = getattr(state, field) if field else None
            begin = proto.default if kind != "number_input" or proto.HasField("default") else None
            if kind in ("select_slider", "button_group"):
                options = proto.options
                names = [option if isinstance(option, str) else option.content for option in options]
                begin = [names[int(position)] for position in begin]
            shown = list(value.data) if hasattr(value, "data") else value
            if (list(begin) if kind == "slider" else begin) != shown:
                labels.append(element.label)
    return labels


def save_recipe(app, name: str = "", reason: str = "first release"):
    """What is on the bench saved as a recipe."""
    app.run()
    fields = {field.label: field for field in app.text_input}
    if name:
        fields["Name"].set_value(name)
    fields["Reason"].set_value(reason).run()
    return press(app, "Save")


def choose_folder(app, path):
    """Teach on the photos of this folder."""
    app.segmented_control(key="photos_from").set_value("Folder on this computer").run()
    app.text_input(key="folder").set_value(str(path)).run()
    assert not app.exception
    return app


def words(app) -> str:
    """All that the page says outside its widgets and tables."""
    kinds = (app.markdown, app.caption, app.header, app.info, app.warning, app.error, app.success, app.toast)
    return " ".join(element.value for elements in kinds for element in elements)


def end_process() -> None:
    """What a process has in memory is gone, as after a restart."""
    st.cache_resource.clear()
    st.cache_data.clear()
    sys.modules[shelf.__module__]._shelves.clear()


def latest(part: TaughtProduct) -> TaughtProduct:
    """The product as it is now, in all windows."""
    return shelf().find(part.id)


def limit_by_hand(part: TaughtProduct, limits: Limits | None) -> None:
    """Limits set as on the bench, in any window; None for the suggested ones."""
    shelf().change(part.id, lambda product: replace(product, limits_by_hand=limits))


def another(part: TaughtProduct) -> TaughtProduct:
    """The same as another part in hand, opened now, with a tray of its own, which nobody holds."""
    return replace(
        part,
        id=uuid.uuid4().hex[:12],
        opened_at=time.time(),
        scored=copy.copy(part.scored),
        _memo=taught_product._Memo(),
    )
