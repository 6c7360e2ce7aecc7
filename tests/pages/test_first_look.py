"""The look at the good photos on Teach: begun, gone through, some left out and taken back."""

import pytest

from inspect_core.images.photo_quality import BLUR, Finding
from inspect_core.runtime.progress import Cancelled
from inspect_core.tuning.photo_screening import COPY, ScreenedPhoto, ScreeningResult
from inspect_core.ui import shell, teaching_job
from inspect_core.ui.teach import screening_panel, teach_panels
from tests.pages.waiting import choose_folder, press, wait_for_job, words

pytestmark = pytest.mark.usefixtures("no_first_start")


@pytest.fixture
def orders(product, monkeypatch):
    """What is taught; the photos are the small product's and the network is not asked."""
    ordered = []
    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))
    monkeypatch.setattr(teaching_job, "start", ordered.append)
    monkeypatch.setattr(teach_panels, "show_forecast", lambda order: None)

    def look(samples, order, store, report):
        report(0.5, "looking")
        blurred = Finding(BLUR, "Blurred: sharpness 34% of the others' median.")
        copied = Finding(COPY, "Nearly the same picture as *x*.")
        seen = [ScreenedPhoto(sample, (), 1.2, (0.5, 0.5)) for sample in samples.good]
        for i, finding in ((2, blurred), (5, copied), (6, copied)):
            seen[i] = ScreenedPhoto(samples.good[i], (finding,))
        return ScreeningResult(tuple(sorted(seen, key=lambda one: not one.findings)))

    monkeypatch.setattr(screening_panel, "screen_photos", look)
    return ordered


def look(app):
    """The page once the look that was begun there has ended."""
    press(app, "first_look")
    wait_for_job()
    app.run()
    assert not app.exception
    return app


@pytest.fixture
def looked(open_app, orders, product):
    return look(choose_folder(open_app("pages/teach.py"), product))


def show(app, topic):
    next(one for one in app.pills if one.key.startswith("look-topic")).set_value(topic).run()
    assert not app.exception


def boxes(app):
    return [box for box in app.checkbox if box.key.startswith("leave-")]


def button(app, begin: str):
    """A click on the button whose key begins so."""
    press(app, next(one.key for one in app.button if one.key.startswith(begin)))


def taught(app, orders) -> tuple[set[str], tuple[str, ...]]:
    """The names of the photos taught, and of those left out."""
    press(app, "teach")
    photos = orders[-1].photos
    return {sample.name for part in photos for sample in part}, photos.left_out


def test_what_stands_out_is_shown_and_only_a_photo_left_out_is_not_taught(looked, orders, product, tree):
    before = tree(product)
    assert "3 of 18 good photos are unusual." in words(looked)
    assert "sharpness 34%" in words(looked)
    assert "as \\*x\\*" in words(looked)
    assert "Peak score\\: 1.20 times the median" in words(looked)
    assert len(boxes(looked)) == 18
    names, left_out = taught(looked, orders)
    assert len([name for name in names if "good" in name]) == 18
    assert left_out == ()

    box = boxes(looked)[0]
    name = box.key.split("-", 2)[2]
    box.check().run()
    assert "1 photo excluded from" in words(looked)
    names, left_out = taught(looked, orders)
    assert left_out == (name,)
    assert name not in names
    boxes(looked)[0].uncheck().run()
    assert taught(looked, orders)[1] == ()
    assert tree(product) == before


def test_photos_are_left_out_topic_by_topic_all_of_one_at_once_and_never_all(looked, orders, monkeypatch):
    show(looked, COPY)
    assert len(boxes(looked)) == 2
    button(looked, "look-all")
    assert all(box.value for box in boxes(looked))
    assert len(taught(looked, orders)[1]) == 2
    button(looked, "look-undo")
    assert not any(box.value for box in boxes(looked))
    assert taught(looked, orders)[1] == ()

    show(looked, BLUR)
    boxes(looked)[0].check().run()
    show(looked, COPY)
    assert [box.value for box in boxes(looked)] == [False, False]
    boxes(looked)[1].check().run()
    show(looked, screening_panel.STRANGEST)
    assert sum(box.value for box in boxes(looked)) == 2
    assert len(taught(looked, orders)[1]) == 2

    monkeypatch.setattr(screening_panel, "ON_A_PAGE", 50)
    for box in boxes(looked.run()):
        box.check()
    looked.run()
    assert "no good photos would remain for training;" in looked.error[0].value
    button(looked, "look-undo")
    assert not looked.error


def test_a_look_that_is_cancelled_can_be_begun_again(open_app, orders, product, monkeypatch):
    def stop(samples, order, store, report):
        raise Cancelled

    monkeypatch.setattr(screening_panel, "screen_photos", stop)
    app = look(choose_folder(open_app("pages/teach.py"), product))
    assert shell.jobs().current.state.value == "cancelled"
    assert not app.button(key="first_look").disabled


def test_a_list_of_photos_is_taught_like_a_folder(open_app, orders, product):
    photos = sorted((product / "train/good").iterdir())
    table = product / "labels.csv"
    table.write_text("".join(f"{photo.name},good\n" for photo in photos) + "gone.jpg,good\n")
    try:
        app = choose_folder(open_app("pages/teach.py"), table)
        assert f"{len(photos)} good, 0 defects" in words(app).replace("\\", "")
        assert any("gone" in warning.value for warning in app.warning)
        assert taught(app, orders)[0] == {f"train/good/{photo.name}" for photo in photos}
        table.write_text("x.jpg\n")
        app.run()
        assert "labels" in app.error[0].value
    finally:
        table.unlink()
