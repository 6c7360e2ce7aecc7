"""Similar cases on the Inspect page: a gallery, a known part, one like nothing, adding it, its way to a recipe."""

import time

import numpy as np
import pytest

from inspect_core.images.read import Picture, read
from inspect_core.records import recipe_file
from inspect_core.similar.surface import LEAST
from inspect_core.ui import shell, taught_part
from inspect_core.ui.similar.panels import WHOLE


@pytest.fixture
def hand(in_the_hand):
    """The part in hand, without a gallery or a recipe."""
    return in_the_hand


def now(hand):
    return taught_part.find(hand.id)


def add(hand, picture) -> int:
    return taught_part.add(hand, picture).position_of(picture.digest)


@pytest.fixture
def app(open_app, hand):
    return build(open_app("pages/inspect.py"), hand)


def build(app, hand):
    app.button(key=f"build_gallery-{hand.id}").click().run()
    while shell.jobs().current.active:
        time.sleep(0.05)
    assert shell.jobs().current.error == ""
    app.run()
    assert not app.exception
    return app


def words(app) -> str:
    return " ".join(element.value for element in (*app.markdown, *app.caption, *app.info))


def choose(app, hand, position):
    app.session_state[f"settings-{hand.id}"]["position"] = position
    app.run()
    assert not app.exception
    return app


def stranger(seed: int) -> Picture:
    """A photo of stripes, which no part looks like."""
    stripes = np.kron(np.random.default_rng(seed).integers(0, 2, (1, 16, 3)) * 255, np.ones((128, 8, 1)))
    return Picture(f"stripes{seed}.png", stripes.astype(np.uint8), f"{seed:064d}")


def test_before_there_is_a_gallery_the_page_says_what_it_would_hold(open_app, hand):
    app = open_app("pages/inspect.py")
    good, defect = hand.tray.kinds()
    assert f"{good.sum()} good parts and {defect.sum()} labelled defects" in words(app)


def test_a_known_part_is_shown_with_its_like_and_not_with_itself(app, hand):
    assert len(now(hand).cases.gallery.names) == len(hand.tray.photos) >= LEAST
    position = int(np.flatnonzero(hand.tray.kinds()[1])[0])
    choose(app, hand, position)
    assert "% alike" in words(app)
    assert f"\n{hand.tray.photos[position].name}" not in words(app)


def test_a_stranger_is_like_nothing_until_it_is_added(app, hand):
    position = add(hand, stranger(1))
    choose(app, hand, position)
    assert "Nothing like this in the gallery" in words(app)
    app.selectbox(key=f"case_kind-{hand.id}-{position}").set_value("good").run()
    app.text_input(key=f"case_note-{hand.id}-{position}").set_value("test *stripes*").run()
    app.button(key=f"add_case-{hand.id}-{position}").click().run()
    assert not app.exception
    assert now(hand).cases.gallery.names[-1] == "stripes1.png"
    assert now(hand).cases.gallery.notes[-1] == "test *stripes*"
    app.run()
    app.button(key=f"take_out-{hand.id}-{position}").click().run()
    assert "stripes1.png" not in now(hand).cases.gallery.names
    assert "Nothing like this in the gallery" in words(app)


def test_the_limit_is_live(app, hand):
    choose(app, hand, int(np.flatnonzero(hand.tray.kinds()[0])[0]))
    app.slider(key=f"similar_limit-{hand.id}").set_value(0.0).run()
    assert now(hand).cases.limit == 0
    assert "Nothing like this in the gallery" in words(app)


def test_the_gallery_goes_into_the_recipe_and_an_opened_recipe_can_be_revised(app, hand, open_app, workspace):
    choose(app, hand, 0)
    app.button(key=f"save-{hand.id}").click().run()
    first = now(hand).recipe
    assert first.gallery.gallery.names == now(hand).cases.gallery.names
    recipes = open_app("pages/recipes.py")
    recipes.button(key="open-flange.zip").click().run()
    opened = next(reversed(taught_part._shelf().items.values()))
    assert opened is not hand
    position = add(opened, stranger(2))
    line = choose(open_app("pages/inspect.py"), opened, position)
    assert "Nothing like this in the gallery" in words(line)
    line.selectbox(key=f"case_kind-{opened.id}-{position}").set_value("good").run()
    line.button(key=f"add_case-{opened.id}-{position}").click().run()
    line.button(key=f"save-{opened.id}").click().run()
    assert not line.exception
    again = recipe_file.load(workspace / "recipes/flange-2.zip")
    assert again.provenance.parent == first.digest
    assert again.gallery.gallery.names[-1] == "stripes2.png"
    assert again.limits == first.limits
    np.testing.assert_array_equal(again.gallery.pictures[-1], now(opened).cases.pictures[-1])


def test_a_limit_moved_by_hand_does_not_outlive_its_gallery(app, hand):
    app.slider(key=f"similar_limit-{hand.id}").set_value(0.0).run()
    assert now(hand).cases.limit == 0
    build(app, hand)
    assert now(hand).cases.limit == now(hand).cases.suggested > 0
    assert app.slider(key=f"similar_limit-{hand.id}").value == now(hand).cases.limit


def test_another_look_is_kept(app, hand):
    app.segmented_control(key=f"similar_look_at-{hand.id}").set_value(WHOLE).run()
    build(app, hand)
    assert not now(hand).cases.by_region
    assert app.segmented_control(key=f"similar_look_at-{hand.id}").value == WHOLE


def test_a_move_of_its_limit_reads_no_photo(app, hand, monkeypatch):
    reads = []
    monkeypatch.setattr(taught_part, "read", lambda path: reads.append(path) or read(path))
    app.run()
    count = len(reads)
    app.slider(key=f"similar_limit-{hand.id}").set_value(0.3).run()
    assert now(hand).cases.limit == 0.3
    assert len(reads) == count
