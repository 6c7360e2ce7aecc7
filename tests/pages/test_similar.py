"""Similar cases on the Inspect page: a gallery, a known part, one like nothing, adding it, its way to a recipe."""

import time

import numpy as np
import pytest

from inspect_core.images.read import Picture, read
from inspect_core.judge.anomaly_map import AREA
from inspect_core.records import recipe_file
from inspect_core.tuning.known_cases_training import LEAST
from inspect_core.ui import crops, shelf, shell, taught_part
from inspect_core.ui.inspect import case_gathering
from inspect_core.ui.inspect.known_cases_panel import WHOLE
from inspect_core.verdict import Limits


@pytest.fixture
def taught(in_the_hand):
    """The part in hand, without a gallery or a recipe."""
    return in_the_hand


def now(taught):
    return shelf.find(taught.id)


def add(taught, picture) -> int:
    return shelf.add(taught, picture).position_of(picture.digest)


@pytest.fixture
def app(open_app, taught):
    return build(open_app("pages/inspect.py"), taught)


def build(app, taught):
    app.button(key=f"build_gallery-{taught.id}").click().run()
    while shell.jobs().current.active:
        time.sleep(0.05)
    assert shell.jobs().current.error == ""
    app.run()
    assert not app.exception
    return app


def words(app) -> str:
    return " ".join(element.value for element in (*app.markdown, *app.caption, *app.info))


def choose(app, taught, position):
    app.session_state[f"settings-{taught.id}"].position = position
    app.run()
    assert not app.exception
    return app


def stranger(seed: int) -> Picture:
    """A photo of stripes, which no part looks like."""
    stripes = np.kron(np.random.default_rng(seed).integers(0, 2, (1, 16, 3)) * 255, np.ones((128, 8, 1)))
    return Picture(f"stripes{seed}.png", stripes.astype(np.uint8), f"{seed:064d}")


def test_before_there_is_a_gallery_the_page_says_what_it_would_hold(open_app, taught):
    app = open_app("pages/inspect.py")
    good, defect = taught.scored.good_and_defect()
    assert f"{good.sum()} good parts and {defect.sum()} labelled defects" in words(app)


def test_where_the_gallery_takes_only_some_good_parts_the_page_says_of_how_many(open_app, taught, monkeypatch):
    monkeypatch.setattr(case_gathering, "MOST_GOOD", 5)
    good = int(taught.scored.good_and_defect()[0].sum())
    assert f"it takes 5 of {good} good parts and" in words(open_app("pages/inspect.py"))


def test_what_is_looked_at_is_what_inspection_finds(taught):
    """Fewer pixels above the limit than count: the part is accepted, and there is no region to look at."""
    live, position = dict(taught.scored.live), int(taught.scores(taught.scored.live).argmax())
    highest = np.sort(taught.scored.map(position, **live), axis=None)
    few, many = (float(highest[-count]) for count in (live[AREA] - 1, 2 * live[AREA]))
    assert crops.found_boxes(taught, position, live, Limits(few, few)) == ()
    assert crops.found_boxes(taught, position, live, Limits(many, many))


def test_a_known_part_is_shown_with_its_like_and_not_with_itself(app, taught):
    assert len(now(taught).cases.cases) == len(taught.scored.photos) >= LEAST
    position = int(np.flatnonzero(taught.scored.good_and_defect()[1])[0])
    choose(app, taught, position)
    assert "% alike" in words(app)
    assert f"\n{taught.scored.photos[position].name}" not in words(app)


def test_a_stranger_is_like_nothing_until_it_is_added(app, taught):
    position = add(taught, stranger(1))
    choose(app, taught, position)
    assert "Nothing like this in the gallery" in words(app)
    app.selectbox(key=f"case_kind-{taught.id}-{position}").set_value("good").run()
    app.text_input(key=f"case_note-{taught.id}-{position}").set_value("test *stripes*").run()
    app.button(key=f"add_case-{taught.id}-{position}").click().run()
    assert not app.exception
    assert now(taught).cases.cases[-1].name == "stripes1.png"
    assert now(taught).cases.cases[-1].note == "test *stripes*"
    app.run()
    app.button(key=f"take_out-{taught.id}-{position}").click().run()
    assert "stripes1.png" not in [case.name for case in now(taught).cases.cases]
    assert "Nothing like this in the gallery" in words(app)


def test_the_limit_is_live(app, taught):
    choose(app, taught, int(np.flatnonzero(taught.scored.good_and_defect()[0])[0]))
    app.slider(key=f"similar_limit-{taught.id}").set_value(0.0).run()
    assert now(taught).cases.limit == 0
    assert "Nothing like this in the gallery" in words(app)


def test_the_gallery_goes_into_the_recipe_and_an_opened_recipe_can_be_revised(app, taught, open_app, workspace):
    choose(app, taught, 0)
    app.button(key=f"save-{taught.id}").click().run()
    first = now(taught).recipe
    assert first.gallery.params()["gallery"] == now(taught).cases.params()["gallery"]
    recipes = open_app("pages/recipes.py")
    recipes.button(key="open-flange.zip").click().run()
    opened = shelf._shelf().last_used()
    assert opened is not taught
    position = add(opened, stranger(2))
    line = choose(open_app("pages/inspect.py"), opened, position)
    assert "Nothing like this in the gallery" in words(line)
    line.selectbox(key=f"case_kind-{opened.id}-{position}").set_value("good").run()
    line.button(key=f"add_case-{opened.id}-{position}").click().run()
    line.button(key=f"save-{opened.id}").click().run()
    assert not line.exception
    again = recipe_file.load(workspace / "recipes/flange-2.zip")
    assert again.provenance.parent == first.digest
    assert again.gallery.cases[-1].name == "stripes2.png"
    assert again.limits == first.limits
    np.testing.assert_array_equal(again.gallery.cases[-1].picture, now(opened).cases.cases[-1].picture)


def test_a_limit_moved_by_hand_does_not_outlive_its_gallery(app, taught):
    app.slider(key=f"similar_limit-{taught.id}").set_value(0.0).run()
    assert now(taught).cases.limit == 0
    build(app, taught)
    assert now(taught).cases.limit == now(taught).cases.suggested > 0
    assert app.slider(key=f"similar_limit-{taught.id}").value == now(taught).cases.limit


def test_another_look_is_kept(app, taught):
    app.segmented_control(key=f"similar_look_at-{taught.id}").set_value(WHOLE).run()
    build(app, taught)
    assert not now(taught).cases.by_region
    assert app.segmented_control(key=f"similar_look_at-{taught.id}").value == WHOLE


def test_a_move_of_its_limit_reads_no_photo(app, taught, monkeypatch):
    reads = []
    monkeypatch.setattr(taught_part, "read", lambda path: reads.append(path) or read(path))
    app.run()
    count = len(reads)
    app.slider(key=f"similar_limit-{taught.id}").set_value(0.3).run()
    assert now(taught).cases.limit == 0.3
    assert len(reads) == count
