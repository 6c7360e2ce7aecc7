"""On Inspect: a defect is drawn and teaches, an escape is explained, a way is taken and taken back."""

import pytest

from inspect_core.study import known_defects, study
from inspect_core.study.known_defects import KnownDefects
from inspect_core.ui.inspect import defect_drawing_panel, escape_panel
from inspect_core.verdict import Limits
from inspect_core.workbench import transitions
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import latest, limit_by_hand, press, words

BOX = [[0.2, 0.2], [0.4, 0.2], [0.4, 0.4], [0.2, 0.4]]


@pytest.fixture
def part(flange_under, monkeypatch):
    """In hand; two drawn defects teach, and help."""
    for module in (known_defects, study, defect_drawing_panel, escape_panel):
        monkeypatch.setattr(module, "FEWEST", 2)
    monkeypatch.setattr(KnownDefects, "helps", property(lambda known: True))
    shelf().put(part := flange_under("mahalanobis", k=8))
    return part


def show(app, part, position: int) -> None:
    app.session_state[f"settings-{part.id}"].position = position
    app.run()
    assert not app.exception


def draw(app, part, position: int, rows: list, stamp: float) -> None:
    show(app, part, position)
    key = f"drawing-{part.id}-{part.scored.photos[position].digest[:16]}"
    app.session_state[key] = {"areas": {"stamp": stamp, "areas": rows}}
    app.run()
    assert not app.exception


def test_drawn_defects_teach_and_are_taken_back(open_app, part):
    defects = [i for i, photo in enumerate(part.scored.photos) if photo.is_defect][:2]
    app = open_app()
    for number, position in enumerate(defects, start=1):
        draw(app, part, position, [{"mode": "defect", "outline": BOX, "strictness": 1}], float(number))
        assert latest(part).scored.photos[position].drawn == (tuple(map(tuple, BOX)),)
    assert [view.method for view in latest(part).scored.views] == ["mahalanobis", "discriminant"]
    assert latest(part).fit != part.fit
    draw(app, part, defects[0], [{"mode": "defect", "outline": [[2, 2]]}], 3.0)
    assert latest(part).scored.photos[defects[0]].drawn, "what cannot be read changes nothing"
    draw(app, part, defects[0], [], 4.0)
    assert [view.method for view in latest(part).scored.views] == ["mahalanobis"]
    assert (latest(part).scored.scores() == part.scored.scores()).all()


def test_what_was_drawn_teaches_another_fit_too(open_app, part, flange_under):
    shelf().put(other := flange_under("mahalanobis+corp", k=8, M=64))
    defects = [i for i, photo in enumerate(other.scored.photos) if photo.is_defect][:2]
    product = other
    for position in defects:
        product = transitions.drawn(product, other.scored.photos[position].digest, (tuple(map(tuple, BOX)),))
    study = product.own_study.with_parameters({"gamma": 0.5}).fit()
    refitted = transitions.refitted_in_place(product, study, {})
    assert [view.method for view in refitted.scored.views] == ["mahalanobis", "corp", "discriminant"]
    assert refitted.fitted()["gamma"] == 0.5
    assert [view.method for view in transitions.undone(refitted).scored.views] == [
        view.method for view in product.scored.views
    ]


def test_a_limit_by_hand_keeps_its_ratio_under_what_was_drawn(open_app, part):
    defects = [i for i, photo in enumerate(part.scored.photos) if photo.is_defect][:2]
    suggested = part.suggested_limits(part.live)
    limit_by_hand(part, Limits(2 * suggested.reject, 2 * suggested.reject))
    app = open_app()
    for number, position in enumerate(defects, start=1):
        draw(app, part, position, [{"mode": "defect", "outline": BOX, "strictness": 1}], float(number))
    product = latest(part)
    after = product.suggested_limits(product.live)
    assert product.limits.reject / after.reject == pytest.approx(2)


def test_an_escape_is_explained_and_a_way_taken_and_undone(open_app, part):
    position = next(i for i, photo in enumerate(part.scored.photos) if photo.is_defect)
    score = float(part.scored.scores()[position])
    limit_by_hand(part, Limits(1.01 * score, 2 * score))
    before = latest(part).limits
    app = open_app()
    show(app, part, position)
    app.session_state[f"escape-{part.id}"] = True
    app.run()
    assert "good photos that set the limits" in words(app)
    assert "known defect more found" in words(app) or "known defects more found" in words(app)
    press(app, f"remedy-{part.id}-{position}-0")
    changed = latest(part)
    assert changed.evidence().verdict(position, changed.limits) != "accept"
    press(app, f"undo_remedy-{part.id}")
    assert latest(part).limits == before
    assert latest(part).evidence().verdict(position, before) == "accept"
    app.session_state[f"escape-{part.id}"] = True
    app.run()
    press(app, f"remedy-{part.id}-{position}-0")
    limit_by_hand(part, Limits(0.5 * score, 2 * score))
    app.run()
    assert f"undo_remedy-{part.id}" not in [button.key for button in app.button], "it is no longer what is in force"
