"""The look at the good photos on Teach: begun, gone through, some left out and taken back."""

import pytest

from inspect_core.images.photo_quality import BLUR, Finding
from inspect_core.runtime.progress import Cancelled
from inspect_core.tuning.first_look import COPY, FirstLook, Seen
from inspect_core.ui import shell, teaching
from inspect_core.ui.teach import first_look_panel, panels
from tests.pages.waiting import wait_for_job


@pytest.fixture
def orders(product, monkeypatch):
    """What is taught; the photos are the small product's and the network is not asked."""
    ordered = []
    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))
    monkeypatch.setattr(teaching, "start", ordered.append)
    monkeypatch.setattr(panels, "show_forecast", lambda order: None)

    def look(samples, order, store, report):
        report(0.5, "looking")
        seen = [
            Seen(sample, (Finding(BLUR, "Blurred: sharpness 34 % of the others' median."),)) if i == 2
            else Seen(sample, (Finding(COPY, "Nearly the same picture as *x*."),)) if i in (5, 6)
            else Seen(sample, (), 1.2, (0.5, 0.5))
            for i, sample in enumerate(samples.good)
        ]  # fmt: skip
        return FirstLook(tuple(sorted(seen, key=lambda one: not one.findings)))

    monkeypatch.setattr(first_look_panel, "first_look", look)
    return ordered


def begun_at(app, folder):
    """The page once the look that was begun there has ended."""
    app.segmented_control(key="photos_from").set_value("Folder on this computer").run()
    app.text_input(key="folder").set_value(str(folder)).run()
    app.button(key="first_look").click().run()
    wait_for_job()
    app.run()
    assert not app.exception
    return app


@pytest.fixture
def looked(open_app, no_first_start, orders, product):
    return begun_at(open_app("pages/teach.py"), product)


def show(app, topic):
    next(one for one in app.pills if one.key.startswith("look-topic")).set_value(topic).run()
    assert not app.exception


def words(app):
    return " ".join(element.value for element in (*app.markdown, *app.caption))


def boxes(app):
    return [box for box in app.checkbox if box.key.startswith("leave-")]


def button(app, begin):
    return next(one for one in app.button if one.key.startswith(begin))


def taught(app, orders):
    app.button(key="teach").click().run()
    assert not app.exception
    photos = orders[-1].photos
    return {sample.name for part in photos for sample in part}, photos.left_out


def test_what_stands_out_is_shown_and_nothing_is_left_out_by_itself(looked, orders):
    assert "3 of 18 good photos stand out." in words(looked)
    assert "sharpness 34 %" in words(looked)
    assert "as \\*x\\*" in words(looked)
    assert "Scores 1.20 times the median" in words(looked)
    assert len(boxes(looked)) == 18
    names, left_out = taught(looked, orders)
    assert len([name for name in names if "good" in name]) == 18
    assert left_out == ()


def test_a_photo_left_out_is_not_taught_and_comes_back(looked, orders, product, tree):
    before = tree(product)
    box = boxes(looked)[0]
    name = box.key.split("-", 2)[2]
    box.check().run()
    assert "1 photo left out" in words(looked)
    names, left_out = taught(looked, orders)
    assert left_out == (name,)
    assert name not in names
    boxes(looked)[0].uncheck().run()
    assert taught(looked, orders)[1] == ()
    assert tree(product) == before


def test_all_of_a_topic_are_left_out_at_once_and_used_again(looked, orders):
    show(looked, COPY)
    assert len(boxes(looked)) == 2
    button(looked, "look-all").click().run()
    assert all(box.value for box in boxes(looked))
    assert len(taught(looked, orders)[1]) == 2
    button(looked, "look-undo").click().run()
    assert not any(box.value for box in boxes(looked))
    assert taught(looked, orders)[1] == ()


def test_a_choice_is_kept_from_one_topic_to_the_next(looked, orders):
    show(looked, BLUR)
    boxes(looked)[0].check().run()
    show(looked, COPY)
    assert [box.value for box in boxes(looked)] == [False, False]
    boxes(looked)[1].check().run()
    show(looked, first_look_panel.STRANGEST)
    assert sum(box.value for box in boxes(looked)) == 2
    assert len(taught(looked, orders)[1]) == 2


def test_with_all_left_out_there_is_nothing_to_teach(looked, product, monkeypatch):
    monkeypatch.setattr(first_look_panel, "ON_A_PAGE", 50)
    for number in range(len(boxes(looked))):
        boxes(looked)[number].check()
    looked.run()
    assert "no good photo would be left" in looked.error[0].value
    button(looked, "look-undo").click().run()
    assert not looked.error


def test_a_look_that_is_cancelled_can_be_begun_again(open_app, no_first_start, orders, product, monkeypatch):
    def stop(samples, order, store, report):
        raise Cancelled

    monkeypatch.setattr(first_look_panel, "first_look", stop)
    app = begun_at(open_app("pages/teach.py"), product)
    assert shell.jobs().current.state.value == "cancelled"
    assert not app.button(key="first_look").disabled


def test_a_list_of_photos_is_taught_like_a_folder(open_app, no_first_start, orders, product):
    photos = sorted((product / "train/good").iterdir())
    table = product / "labels.csv"
    table.write_text("".join(f"{photo.name},good\n" for photo in photos) + "gone.jpg,good\n")
    try:
        app = open_app("pages/teach.py")
        app.segmented_control(key="photos_from").set_value("Folder on this computer").run()
        app.text_input(key="folder").set_value(str(table)).run()
        assert not app.exception
        assert f"{len(photos)} good, 0 defects" in words(app).replace("\\", "")
        assert any("gone" in warning.value for warning in app.warning)
        assert taught(app, orders)[0] == {f"train/good/{photo.name}" for photo in photos}
        table.write_text("x.jpg\n")
        app.run()
        assert "labels" in app.error[0].value
    finally:
        table.unlink()
