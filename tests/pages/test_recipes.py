import pytest

from inspect_core.records.recipe_file import save
from inspect_core.ui import taught_part


@pytest.fixture
def saved(taught, workspace):
    return save(taught.study.recipe(product="flange", reason="first", guard=taught.guard), workspace / "recipes/f.zip")


def words(app) -> str:
    return " ".join(element.value for element in (*app.markdown, *app.caption, *app.subheader, *app.info))


def test_an_empty_page_says_what_to_do_next(open_app, no_first_start):
    app = open_app("pages/recipes.py")
    assert "No recipe has been saved yet" in words(app)
    assert app.button(key="to_inspect").label == "Go to Inspect"


def test_a_recipe_shows_what_is_in_it(open_app, no_first_start, saved):
    app = open_app("pages/recipes.py")
    assert app.subheader[0].value == "flange"
    assert saved.digest[:12] in words(app)
    assert "k = " in words(app)
    assert "first" in words(app)


def test_opening_puts_it_in_the_hand_with_its_limits_and_guard(open_app, no_first_start, exported, saved):
    app = open_app("pages/recipes.py")
    app.button(key="open-f.zip").click().run()
    assert not app.exception
    hand = next(reversed(taught_part._shelf().items.values()))
    assert hand.recipe.digest == saved.digest
    assert hand.suggested_limits(dict(hand.recipe.live)) == saved.limits
    assert hand.guard is not None


def test_deleting_asks_first(open_app, no_first_start, saved, workspace):
    app = open_app("pages/recipes.py")
    assert (workspace / "recipes/f.zip").exists()
    app.button(key="delete-f.zip").click().run()
    assert not (workspace / "recipes/f.zip").exists()
    assert "No recipe has been saved yet" in words(app)


def test_a_damaged_recipe_is_named_and_the_others_stay(open_app, no_first_start, saved, workspace):
    (workspace / "recipes/broken.zip").write_bytes((workspace / "recipes/f.zip").read_bytes()[:3000])
    app = open_app("pages/recipes.py")
    assert any("broken.zip" in error.value for error in app.error)
    assert app.button(key="open-f.zip").label == "Open"


def test_a_recipe_from_a_file_is_checked_before_it_is_kept(open_app, no_first_start, saved, workspace):
    data = (workspace / "recipes/f.zip").read_bytes()
    app = open_app("pages/recipes.py")
    app.file_uploader(key="recipe_upload").set_value([("../other.zip", data[:-50], "application/zip")]).run()
    app.button(key="add_recipe").click().run()
    assert any("not a complete recipe zip" in error.value for error in app.error)
    assert sorted(path.name for path in (workspace / "recipes").iterdir()) == ["f.zip"]
    app.file_uploader(key="recipe_upload").set_value([("other.zip", data, "application/zip")]).run()
    app.button(key="add_recipe").click().run()
    assert not app.exception
    assert sorted(path.name for path in (workspace / "recipes").iterdir()) == ["f.zip", "other.zip"]
