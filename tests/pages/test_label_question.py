"""Teach asks how labels are meant, shows the photos of each reading, and takes a meaning for every word."""

import numpy as np
import pytest
from PIL import Image

from tests.pages.waiting import choose_folder, press, words

PAGE = "pages/teach.py"


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """photos(*names) writes them into a folder that pages may read, and returns it."""
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    rng = np.random.default_rng(0)

    def write(*names):
        for name in names:
            path = tmp_path / "parts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 255, (40, 48, 3), np.uint8)).save(path)
        return tmp_path / "parts"

    return write


def shown(app):
    """What the page says, without the signs that keep Markdown from reading it."""
    return words(app).replace("\\", "")


def key_of(app, end):
    return next(button.key for button in app.button if (button.key or "").endswith(end))


def test_folders_are_named_one_by_one(open_app, no_first_start, photos):
    folder = photos(*(f"Serie {which}/{number:02d}.png" for which in "AB" for number in range(6)))
    app = choose_folder(open_app(PAGE), folder)
    text = shown(app)
    assert "which of these are good parts: Serie A, Serie B?" in text
    assert "“Serie A” is good, “Serie B” is defective: 6 good, 6 defective" in text
    assert "Take all photos as good: 12 good, 0 defective" in text
    assert app.button(key=key_of(app, "-use")).disabled
    series = [control for control in app.segmented_control if "-word-" in (control.key or "")]
    for control, meaning in zip(series, ("a defect type", "good"), strict=True):
        control.set_value(meaning)
    app.run()
    (named,) = (field for field in app.text_input if (field.key or "").endswith("-type"))
    assert named.value == "Serie A", "a type begins as the word"
    named.set_value(" ").run()
    assert app.button(key=key_of(app, "-use")).disabled
    series[0].set_value("test only").run()
    press(app, key_of(app, "-use"))
    assert "“Serie A” is test only, “Serie B” is good." in shown(app)
    assert "12 good" in shown(app)
    press(app, key_of(app, "-change"))
    assert "Nothing is used until you choose" in shown(app)


def test_a_reading_is_chosen_by_its_button(open_app, no_first_start, photos):
    folder = photos(*(f"{number:02d}.png" for number in range(9)))
    rows = "\n".join(f"{number:02d}.png,{int(number < 6)}" for number in range(9))
    (folder / "labels.csv").write_text(f"file,result\n{rows}\n")
    app = choose_folder(open_app(PAGE), folder)
    assert "“1” is good, “0” is defective: 6 good, 3 defective" in shown(app)
    press(app, key_of(app, "-0"))
    assert "6 good, 3 defects" in shown(app)


def test_a_question_spells_the_name_of_a_list_as_it_is(open_app, no_first_start, photos):
    names = [f"{number:02d}{'_NG' * (number > 5)}.png" for number in range(9)]
    (photos(*names) / "labels.csv").write_text("file,label\n" + "".join(f"{name},good\n" for name in names))
    app = choose_folder(open_app(PAGE), photos())
    assert "labels.csv calls photos good" in "".join(element.value for element in app.markdown).replace("\\", "")
