"""What if the part shown is photographed again, on the bench?"""

import numpy as np
import pytest

from inspect_core.ui.inspect import repeat_photo_panel
from tests.pages.waiting import press

PAGE = "pages/inspect.py"


@pytest.mark.parametrize("last", [0, 1, 7, 23, 24])
@pytest.mark.parametrize("end", [12.0, -12.0])
def test_the_farthest_that_holds_is_found_by_halving(last, end):
    asked = []

    def holds(value: float) -> bool:
        asked.append(value)
        return abs(value) <= last * 0.5

    assert repeat_photo_panel.farthest(holds, end, 0.5) == np.sign(end) * min(last * 0.5, 12.0)
    assert len(asked) <= 6


def test_simulated_repeat_photo_moves_score_within_tolerance(open_app, in_the_hand):
    app = open_app(PAGE)
    app.session_state[f"again-{in_the_hand.id}"] = True
    app.run()
    key = next(slider.key for slider in app.slider if str(slider.key).startswith("again_noise-"))
    position = int(key.rsplit("-", 1)[1])

    def captions(text: str) -> list[str]:
        return [markdown.value for markdown in app.markdown if text in markdown.value]

    before = captions("with score")
    assert f", score {in_the_hand.scored.scores()[position]:.4g}." in before[0]
    app.slider(key=key).set_value(12.0).run()
    assert before != captions("with score")
    press(app, key.replace("noise", "range"))
    assert captions("Stays ")
    app.slider(key=key).set_value(3.0).run()
    assert captions("Stays "), "the answer stays for this part"
    assert not app.exception
