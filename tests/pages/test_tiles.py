"""Small defects in large photos, on Teach: recommended, switched on, taught as the command line does."""

import pytest

from inspect_core.images.tiles import TilePlan
from inspect_core.ui.teach import panels


@pytest.fixture(autouse=True)
def roots(product, monkeypatch):
    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))


@pytest.fixture
def orders(monkeypatch):
    """What the page would teach."""
    found = []
    monkeypatch.setattr(panels, "show_forecast", found.append)
    return found


@pytest.fixture
def large(open_app, product, orders):
    """Photos of 320 px for a network of 128 px."""
    app = open_app("pages/teach.py")
    app.segmented_control(key="photos_from").set_value("Folder on this computer").run()
    app.text_input(key="folder").set_value(str(product)).run()
    app.radio(key="method").set_value("mahalanobis").run()
    app.select_slider(key="size").set_value(128).run()
    assert not app.exception
    return app


def test_nothing_is_asked_of_photos_that_lose_little(large):
    large.select_slider(key="size").set_value(256).run()
    assert not [toggle for toggle in large.toggle if toggle.key == "tiles"]


def test_the_smallest_defect_says_whether_to_use_tiles(large, orders):
    said = [text.value for text in large.markdown if "after squashing" in text.value]
    assert len(said) == 1
    assert said[0].startswith("A defect of 20 px is 8 px after squashing to 128 × 128 px; 16 px are needed")
    assert said[0].endswith("use tiles.")
    assert orders[-1].tiles is None, "recommended, and left to the user"
    large.number_input(key="smallest_defect").set_value(60).run()
    assert any("tiles are not needed" in text.value for text in large.markdown)


def test_switched_on_the_plan_is_said_and_ordered(large, orders):
    large.toggle(key="tiles").set_value(True).run()
    plan = TilePlan((256, 256), (128, 128), 64, 8)
    assert orders[-1].tiles == plan
    assert orders[-1].parameters["k"] <= plan.largest_k
    assert large.select_slider(key="grid").disabled
    assert any(f"{len(plan.tiles)} tiles of 128 × 128 px" in text.value for text in large.caption)
    large.selectbox(key="tile_cell").set_value("32").run()
    assert orders[-1].tiles.cell == 32
    assert not large.exception
