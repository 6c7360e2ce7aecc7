"""Nothing of ours outlives its use: Streamlit keeps what widgets and fragments hold for as long as a session lives."""

import gc
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage

from inspect_core.classify.kernel_density import fit_kdf
from inspect_core.runtime.jobs import Job
from inspect_core.study.study import Study
from inspect_core.ui import shell, teaching_job
from inspect_core.whole_part import defect_type_training as training
from inspect_core.workbench import defect_labels
from inspect_core.workbench.shelf import SIZE, shelf
from inspect_core.workbench.taught_product import TaughtProduct
from tests.pages.waiting import another, finish, press, sent_back, slider, wait_for_job

PAGES = sorted(f"pages/{path.name}" for path in (Path(__file__).parents[2] / "pages").glob("*.py"))


@pytest.fixture
def fragments(monkeypatch) -> list:
    """Every fragment that a session registers from now on."""
    stored, register = [], MemoryFragmentStorage.register

    def noted(storage, key, fragment, **options):
        stored.append(fragment)
        register(storage, key, fragment, **options)

    monkeypatch.setattr(MemoryFragmentStorage, "register", noted)
    return stored


def ours(start: object) -> Iterator[object]:
    """Objects of our classes that can be reached from this one, but not by way of a module."""
    modules = {id(module.__dict__) for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)}
    visited, to_do = set(), [start]
    while to_do:
        thing = to_do.pop()
        if id(thing) in visited or id(thing) in modules or isinstance(thing, types.ModuleType | types.FrameType | type):
            continue
        visited.add(id(thing))
        if type(thing).__module__.startswith("inspect_core"):
            yield thing
        if isinstance(thing, types.FunctionType):
            to_do += [thing.__closure__, thing.__defaults__, thing.__kwdefaults__]
        else:
            to_do += gc.get_referents(thing)


def assert_nothing_of_ours_is_held(app, fragments: list) -> None:
    """By any widget that this session ever drew, or by a fragment."""
    metadata = app._session_state._state._new_widget_state.widget_metadata
    assert len(metadata) > 5
    fields = ("callback", "callbacks", "callback_args", "callback_kwargs", "serializer", "deserializer", "presenter")
    objects = {name: list(ours([getattr(widget, field) for field in fields])) for name, widget in metadata.items()}
    assert {name: things for name, things in objects.items() if things} == {}
    assert fragments
    assert [list(ours(fragment)) for fragment in fragments] == [[] for _ in fragments]


def test_what_can_be_reached_is_found():
    job = Job("title", "owner", "about")
    assert job in list(ours(lambda: job))
    assert job in list(ours({"a": [partial(print, job.cancel)]}))
    assert list(ours(Job)) == []


def test_no_widget_holds_anything_of_ours_or_moves_by_itself(
    open_app, in_the_hand, no_first_start, fragments, monkeypatch
):
    monkeypatch.setitem(training.FITS, training.FOREST, partial(fit_kdf, trees=30))
    defect_labels.set_label(in_the_hand, [0], "dent")
    app = open_app()
    finish(press(app, f"build_gallery-{in_the_hand.id}"))
    go_on = threading.Event()
    job = shell.jobs().submit("Long work", lambda job: go_on.wait(60))
    shown = {button.key for button in app.run().button}
    go_on.set()
    assert f"cancel-{job.id}" in shown
    assert any(key.startswith("take_out") for key in shown)
    finish(app.switch_page("pages/defect_types.py").run())
    app.toggle(key=f"together-{in_the_hand.id}").set_value(False).run()
    finish(press(app, "learn_kinds"))
    for page in PAGES:
        app.switch_page(page).run()
        assert not app.exception, app.exception
        assert sent_back(app.run()) == []
    assert_nothing_of_ours_is_held(app, fragments)


def test_preview_is_held_by_its_session_alone(open_app, flange_under, fragments):
    shelf().put(part := flange_under("corp", M=64))
    app = open_app("pages/inspect.py")
    slider(app, "M", part).set_value(128).run()
    run = app.session_state[f"settings-{part.id}"].preview
    assert run.ended.wait(60)
    app.run()
    assert shelf().find(part.id).fitted()["M"] == 128
    assert_nothing_of_ours_is_held(app, fragments)
    assert not [thing for thing in ours(run) if isinstance(thing, TaughtProduct | Study)]


def test_a_part_that_was_put_away_is_gone(open_app, flange):
    part = another(flange)
    references = [weakref.ref(part), weakref.ref(part.scored)]
    key = shelf().put(part)
    app = open_app("pages/inspect.py")
    app.segmented_control(key=f"guard-{key}").set_value("stop").run()
    references += [weakref.ref(part), weakref.ref(shelf().find(key))]
    for page in PAGES:
        app.switch_page(page).run()
    wait_for_job()  # Explore computes its map when it is opened
    del part
    for _ in range(SIZE):
        shelf().put(another(flange))
    app.run()
    gc.collect()
    assert [ref() for ref in references] == [None] * len(references)


def test_a_job_that_ended_holds_nothing_of_what_it_made(open_app, flange, monkeypatch):
    made, go_on = [], threading.Event()

    def teach(order, report):
        assert go_on.wait(60)
        part = another(flange)
        made.append(weakref.ref(part))
        return part

    monkeypatch.setattr(teaching_job, "teach", teach)
    app = open_app()
    assert any(button.label == "Cancel" for button in app.button)
    go_on.set()
    finish(app)
    assert shelf().find(app.session_state["in_hand"]) is not None
    shelf().items.clear()
    app.run()
    gc.collect()
    assert made[0]() is None
