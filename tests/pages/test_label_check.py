"""What Inspect shows where scores contradict labels, and its button."""

from dataclasses import replace

import pytest

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.splitting import Split
from inspect_core.tuning.label_check import LabelCheck
from inspect_core.ui import teaching_job
from inspect_core.ui.inspect import label_check_panel
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import press, words

PAGE = "pages/inspect.py"
pytestmark = pytest.mark.usefixtures("no_first_start")


@pytest.fixture
def orders(monkeypatch):
    """What would be taught, of a product whose labels are in doubt."""
    orders = []
    monkeypatch.setattr(label_check_panel, "check_labels", lambda scored: LabelCheck(0.3, True, ()))
    monkeypatch.setattr(teaching_job, "start", orders.append)
    return orders


def test_doubtful_labels_are_exchanged_by_a_button(open_app, in_the_hand, orders, monkeypatch):
    other = Split((), (), ())
    monkeypatch.setattr(label_check_panel, "exchanged", lambda photos, *, seed: other)
    app = open_app(PAGE)
    assert "are the labels the wrong way round?" in app.warning[0].value
    assert "Taught as good: " in words(app)
    press(app, f"exchange-{in_the_hand.id}")
    assert [(order.photos, order.method, order.product) for order in orders] == [
        (other, None, in_the_hand.order.product)
    ]


def test_too_few_defects_are_not_exchanged_and_the_page_says_so(open_app, in_the_hand, orders):
    app = press(open_app(PAGE), f"exchange-{in_the_hand.id}")
    assert "3 good photos cannot show how much good parts differ" in app.error[0].value
    assert orders == []


def test_good_photos_that_look_defective_are_shown(open_app, in_the_hand, monkeypatch):
    suspects = tuple(photo.name for photo in in_the_hand.scored.photos if photo.label == GOOD)[:3]
    monkeypatch.setattr(label_check_panel, "check_labels", lambda scored: LabelCheck(0.9, False, suspects))
    app = open_app(PAGE)
    assert any("score nearer to the known defects" in expander.label for expander in app.expander)
    assert "Good photos that look like known defects: 3" in words(app)


def test_nothing_is_shown_where_labels_and_scores_agree(open_app, in_the_hand, monkeypatch):
    monkeypatch.setattr(label_check_panel, "check_labels", lambda scored: LabelCheck(0.9, False, ()))
    app = open_app(PAGE)
    assert f"exchange-{in_the_hand.id}" not in {button.key for button in app.button}
    assert "Good photos that look like known defects" not in words(app)


def test_two_products_are_told_on_top_and_where_it_is_saved(open_app, in_the_hand):
    """Not in the closed line of notes at the end of the page."""
    sentence = "These look like two products, 30 and 20 of 50."
    shelf().change(in_the_hand.id, lambda product: replace(product, warnings=(sentence,)))
    app = open_app(PAGE)
    assert [warning.value for warning in app.warning].count(sentence) == 2
