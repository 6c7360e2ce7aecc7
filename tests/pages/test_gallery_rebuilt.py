"""A gallery built anew takes the place of the one before, with the limit and the crops of its own."""

import time

import pytest

from inspect_core.images.read import read
from inspect_core.ui import in_hand, shell
from inspect_core.ui.similar_panels import WHOLE


@pytest.fixture
def app(open_app, in_the_hand, monkeypatch):
    monkeypatch.setattr(in_the_hand, "cases", None)
    app = open_app()
    return build(app, in_the_hand)


def build(app, hand):
    app.button(key=f"build_gallery-{hand.id}").click().run()
    while shell.jobs().current.active:
        time.sleep(0.05)
    app.run()
    assert not app.exception
    return app


def test_a_limit_moved_by_hand_does_not_outlive_its_gallery(app, in_the_hand):
    app.slider(key=f"similar_limit-{in_the_hand.id}").set_value(0.0).run()
    assert in_the_hand.cases.limit == 0
    build(app, in_the_hand)
    assert in_the_hand.cases.limit == in_the_hand.cases.suggested > 0
    assert app.slider(key=f"similar_limit-{in_the_hand.id}").value == in_the_hand.cases.limit


def test_another_look_is_kept(app, in_the_hand):
    app.segmented_control(key=f"similar_look_at-{in_the_hand.id}").set_value(WHOLE).run()
    build(app, in_the_hand)
    assert not in_the_hand.cases.by_region
    assert app.segmented_control(key=f"similar_look_at-{in_the_hand.id}").value == WHOLE


def test_a_move_of_its_limit_reads_no_photo(app, in_the_hand, monkeypatch):
    reads = []
    monkeypatch.setattr(in_hand, "read", lambda path: reads.append(path) or read(path))
    app.run()
    count = len(reads)
    app.slider(key=f"similar_limit-{in_the_hand.id}").set_value(0.3).run()
    assert in_the_hand.cases.limit == 0.3
    assert len(reads) == count
