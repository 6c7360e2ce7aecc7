"""What if the part shown is photographed again: on the bench, and the tolerances on Teach."""

import numpy as np
import pytest

from inspect_core.images.tolerances import CAREFUL, Tolerances
from inspect_core.ui.inspect import what_if

PAGE = "pages/inspect.py"


@pytest.mark.parametrize("last", [0, 1, 7, 23, 24])
@pytest.mark.parametrize("end", [12.0, -12.0])
def test_the_farthest_that_holds_is_found_by_halving(last, end):
    asked = []

    def holds(value: float) -> bool:
        asked.append(value)
        return abs(value) <= last * 0.5

    assert what_if.farthest(holds, end, 0.5) == np.sign(end) * min(last * 0.5, 12.0)
    assert len(asked) <= 6


@pytest.mark.slow
def test_noise_on_the_part_shown_moves_its_score_and_its_verdict_holds_as_far_as_said(open_app, in_the_hand):
    app = open_app(PAGE)
    app.session_state[f"again-{in_the_hand.id}"] = True
    app.run()
    assert not app.exception
    key = next(slider.key for slider in app.slider if str(slider.key).startswith("again_noise-"))
    position = int(key.rsplit("-", 1)[1])
    before = [markdown.value for markdown in app.markdown if " at a score of " in markdown.value]
    assert f"at {in_the_hand.scored.scores()[position]:.4g}." in before[0]
    app.slider(key=key).set_value(12.0).run()
    after = [markdown.value for markdown in app.markdown if " at a score of " in markdown.value]
    assert before != after
    app.button(key=key.replace("noise", "range")).click().run()
    assert any(markdown.value.startswith("Stays ") for markdown in app.markdown)
    app.slider(key=key).set_value(3.0).run()
    assert any(markdown.value.startswith("Stays ") for markdown in app.markdown), "the answer stays for this part"
    assert not app.exception


@pytest.mark.slow
def test_tolerances_are_taught_as_set_and_can_be_left_out(open_app, monkeypatch):
    from inspect_core.ui import teaching

    orders = []
    monkeypatch.setattr(teaching, "start", orders.append)
    app = open_app("pages/teach.py")
    app.slider(key="tolerance_noise").set_value(3.0).run()
    app.button(key="teach").click().run()
    app.toggle(key="tolerate").set_value(False).run()
    app.button(key="teach").click().run()
    assert not app.exception
    assert [order.tolerances for order in orders] == [
        Tolerances(3.0, CAREFUL.light, CAREFUL.shift, CAREFUL.focus, CAREFUL.jpeg), None
    ]  # fmt: skip
