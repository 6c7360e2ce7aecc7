"""The page Methods: every playground draws without a taught part, and what the browser moved is learned from."""

import numpy as np
import pytest

from inspect_core.playgrounds.boundaries import FITS, LEAST_POINTS
from inspect_core.ui.methods import embedding_playgrounds, plane
from tests.pages.waiting import words

PAGE = "pages/methods.py"
pytestmark = pytest.mark.usefixtures("no_first_start", "unhurried")


@pytest.fixture
def sent(monkeypatch) -> list[dict]:
    """What the plane was given to draw, the latest last."""
    calls, draw = [], plane._PLANE
    monkeypatch.setattr(plane, "_PLANE", lambda **all: calls.append(all["data"]) or draw(**all))
    return calls


def look_at(app, view: str):
    app.segmented_control(key="methods_view").set_value(view).run()
    assert not app.exception, app.exception
    return app


def test_every_playground_opens_and_follows_its_sliders(open_app, sent, monkeypatch):
    monkeypatch.setattr(embedding_playgrounds, "tsne", lambda features: features[:, :2])
    app = open_app(PAGE)
    assert [panel["title"] for panel in sent[-1]["panels"]] == list(FITS)
    before = sent[-1]["panels"][0]
    app.slider(key="sigma-Square").set_value(1.0).run()
    assert sent[-1]["panels"][0]["field"] != before["field"]
    app.selectbox(key="novelty_set").set_value("Your own points").run()
    assert {panel["words"] for panel in sent[-1]["panels"]} == {f"Needs {LEAST_POINTS} points; there are 0."}

    look_at(app, "Quadrics")
    assert sent[-1]["version"] == ""
    app.segmented_control(key="quadric_cloud").set_value("In space").run()
    points = np.array(sent[-1]["points"])
    app.slider(key="quadric_turn").set_value(120).run()
    assert not np.allclose(points, sent[-1]["points"])

    look_at(app, "Semi-orthogonal")
    assert "sampled **78%**" in words(app)
    app.slider(key="embedding_distinct").set_value(20).run()
    assert "sampled **78%**" not in words(app)

    look_at(app, "Forest, net and kernel density")
    assert len(sent[-1]["panels"]) == 4
    app.select_slider(key="shift-ellipse").set_value(40.0).run()

    look_at(app, "CoRP")
    assert "AUROC 0.9" in words(app)


def test_points_that_the_browser_moved_are_learned_from(sent, open_app, monkeypatch):
    moved = [[0.5 * i, 0.3 * i * i, 0] for i in range(LEAST_POINTS)]
    state = {"points": {"stamp": 7.5, "version": "Square", "points": moved, "chosen": 0}}
    monkeypatch.setattr(plane.st, "session_state", {"novelty": state})
    assert plane.points("novelty", "Square", np.zeros((1, 3))).tolist() == moved
    assert plane.points("novelty", "Spiral", np.zeros((1, 3))).tolist() == [[0, 0, 0]], "of another set"
