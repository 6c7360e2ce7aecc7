"""Similar cases on the Inspect page: a gallery, a known part, one like nothing, adding it, its way to a recipe."""

import numpy as np
import pytest

from inspect_core.images.photo_reader import DecodedPhoto, read
from inspect_core.recipe_io import recipe_file
from inspect_core.scoring.anomaly_map import AREA
from inspect_core.tuning.known_cases_training import LEAST
from inspect_core.ui import crops
from inspect_core.ui.inspect import gallery_building
from inspect_core.ui.inspect.known_cases_panel import WHOLE
from inspect_core.verdict import Limits
from inspect_core.workbench import taught_product
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import finish, open_recipe, press, save_recipe, words

PAGE = "pages/inspect.py"
LIKE_NOTHING = "Nothing similar in the gallery."


def cases(part):
    return shelf().find(part.id).known_cases


def add(part, picture) -> int:
    return shelf().add(part, picture).position_of(picture.digest)


def build(app, part):
    return finish(press(app, f"build_gallery-{part.id}"))


@pytest.fixture
def app(open_app, in_the_hand):
    return build(open_app(PAGE), in_the_hand)


def choose(app, part, position):
    app.session_state[f"settings-{part.id}"].position = position
    app.run()
    assert not app.exception
    return app


def stranger(seed: int) -> DecodedPhoto:
    """A photo of stripes, which no part looks like."""
    stripes = np.kron(np.random.default_rng(seed).integers(0, 2, (1, 16, 3)) * 255, np.ones((128, 8, 1)))
    return DecodedPhoto(f"stripes{seed}.png", stripes.astype(np.uint8), f"{seed:064d}")


def test_empty_gallery_says_what_it_would_hold(open_app, in_the_hand, monkeypatch):
    app = open_app(PAGE)
    good, defect = (int(which.sum()) for which in in_the_hand.scored.good_and_defect())
    assert f"{good} good parts and {defect} labelled defects" in words(app)
    monkeypatch.setattr(gallery_building, "MOST_GOOD", 5)
    assert f"It would contain 5 of {good} good parts and" in words(app.run())


def test_what_is_looked_at_is_what_inspection_finds(in_the_hand):
    """Fewer pixels above the limit than count: the part is accepted, and there is no region to look at."""
    live = dict(in_the_hand.scored.live)
    position = int(in_the_hand.scored.scores(**live).argmax())
    highest = np.sort(in_the_hand.scored.map(position, **live), axis=None)
    few, many = (float(highest[-count]) for count in (live[AREA] - 1, 2 * live[AREA]))
    assert crops.found_boxes(in_the_hand, position, live, Limits(few, few)) == ()
    assert crops.found_boxes(in_the_hand, position, live, Limits(many, many))


def test_known_part_shows_its_like_and_a_stranger_none(app, in_the_hand):
    part = in_the_hand
    assert len(cases(part).cases) == len(part.scored.photos) >= LEAST
    known = int(np.flatnonzero(part.scored.good_and_defect()[1])[0])
    choose(app, part, known)
    assert "% similar" in words(app)
    assert f"\n{part.scored.photos[known].name}" not in words(app)

    position = add(part, stranger(1))
    choose(app, part, position)
    assert LIKE_NOTHING in words(app)
    app.selectbox(key=f"case_kind-{part.id}-{position}").set_value("good").run()
    app.text_input(key=f"case_note-{part.id}-{position}").set_value("test *stripes*").run()
    press(app, f"add_case-{part.id}-{position}")
    assert cases(part).cases[-1].name == "stripes1.png"
    assert cases(part).cases[-1].note == "test *stripes*"
    press(app.run(), f"take_out-{part.id}-{position}")
    assert "stripes1.png" not in [case.name for case in cases(part).cases]
    assert LIKE_NOTHING in words(app)


def test_gallery_limit_is_live_and_ends_with_its_gallery(app, in_the_hand, monkeypatch):
    part, slider, reads = in_the_hand, f"similar_limit-{in_the_hand.id}", []
    choose(app, part, int(np.flatnonzero(part.scored.good_and_defect()[0])[0]))
    with monkeypatch.context() as patch:
        patch.setattr(taught_product, "read", lambda path: reads.append(path) or read(path))
        app.run()
        count = len(reads)
        for limit in (0.3, 0.0):
            app.slider(key=slider).set_value(limit).run()
            assert cases(part).limit == limit
        assert len(reads) == count
    assert LIKE_NOTHING in words(app)
    build(app, part)
    assert cases(part).limit == cases(part).suggested > 0
    assert app.slider(key=slider).value == cases(part).limit
    key = f"similar_look_at-{part.id}"
    app.segmented_control(key=key).set_value(WHOLE).run()
    build(app, part)
    assert not cases(part).by_region
    assert app.segmented_control(key=key).value == WHOLE


def test_gallery_is_saved_in_the_recipe_and_revisable(app, in_the_hand, workspace):
    choose(app, in_the_hand, 0)
    save_recipe(app)
    first = shelf().find(in_the_hand.id).recipe
    assert first.known_cases.params()["cases"] == cases(in_the_hand).params()["cases"]
    open_recipe(app.switch_page("pages/recipes.py").run(), "flange.zip")
    opened = shelf().find(app.session_state["in_hand"])
    assert opened.id != in_the_hand.id
    position = add(opened, stranger(2))
    choose(app.switch_page(PAGE).run(), opened, position)
    assert LIKE_NOTHING in words(app)
    app.selectbox(key=f"case_kind-{opened.id}-{position}").set_value("good").run()
    press(app, f"add_case-{opened.id}-{position}")
    save_recipe(app)
    restored = recipe_file.load(workspace / "recipes/flange-2.zip")
    assert restored.provenance.parent == first.digest
    assert restored.known_cases.cases[-1].name == "stripes2.png"
    assert restored.limits == first.limits
    np.testing.assert_array_equal(restored.known_cases.cases[-1].picture, cases(opened).cases[-1].picture)
