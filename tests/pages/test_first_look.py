"""The look at the good photos on Teach: begun, gone through, some left out and taken back."""

import pytest

from inspect_core.images.photo_quality import BLUR, Finding
from inspect_core.runtime.progress import Cancelled
from inspect_core.tuning.photo_screening import COPY, ScreenedPhoto, ScreeningResult
from inspect_core.ui import result_cache, shell, teaching_job
from inspect_core.ui.teach import screening_panel, teach_panels
from tests.pages.waiting import choose_folder, press, wait_for_job, words

pytestmark = pytest.mark.usefixtures("no_first_start")


@pytest.fixture
def orders(product, monkeypatch):
    """What is taught; the photos are the small product's and the network is not asked."""
    ordered = []
    monkeypatch.setenv("LOUPE_ROOTS", str(product.parent))
    monkeypatch.setattr(teaching_job, "start", ordered.append)
    monkeypatch.setattr(teach_panels, "show_plan", lambda order: None)

    def screen(samples, order, store, report):
        report(0.5, "looking")
        blurred = Finding(BLUR, "Blurred: sharpness 34% of the others' median.")
        copied = Finding(COPY, "Nearly the same picture as *x*.")
        screened = [ScreenedPhoto(sample, (), 1.2, (0.5, 0.5)) for sample in samples.good]
        for i, finding in ((2, blurred), (5, copied), (6, copied)):
            screened[i] = ScreenedPhoto(samples.good[i], (finding,))
        return ScreeningResult(tuple(sorted(screened, key=lambda photo: not photo.findings)))

    monkeypatch.setattr(screening_panel, "screen_photos", screen)
    return ordered


def screen_folder(app):
    """The page once the look that was begun there has ended."""
    press(app, "first_look")
    wait_for_job()
    app.run()
    assert not app.exception
    return app


@pytest.fixture
def screened_app(open_app, orders, product):
    return screen_folder(choose_folder(open_app("pages/teach.py"), product))


def test_a_second_product_is_told_before_teaching(open_app, orders, product, monkeypatch):
    """Once, by itself, and not again by a window that has cancelled it."""
    begun = []

    def find(samples, *_):
        begun.append(samples.root)
        return "These look like two products: 11 and 7 of 18."

    monkeypatch.setattr(screening_panel, "FEWEST_LOOKED", 5)
    monkeypatch.setattr(screening_panel, "find_second_product", find)
    app = choose_folder(open_app("pages/teach.py"), product)
    wait_for_job()
    app.run()
    (warning,) = (element.value for element in app.warning if "two products" in element.value)
    assert "exclude those of the other product" in warning
    assert begun == [product]
    result_cache.result_cache().clear()
    app.run()
    assert begun == [product]


def show(app, topic):
    next(pill for pill in app.pills if pill.key.startswith("look-topic")).set_value(topic).run()
    assert not app.exception


def boxes(app):
    return [box for box in app.checkbox if box.key.startswith("leave-")]


def button(app, begin: str):
    """A click on the button whose key begins so."""
    press(app, next(candidate.key for candidate in app.button if candidate.key.startswith(begin)))


def teach_remaining(app, orders) -> tuple[set[str], tuple[str, ...]]:
    """The names of the photos taught, and of those left out."""
    press(app, "teach")
    photos = orders[-1].photos
    return {sample.name for part in photos for sample in part}, photos.left_out


@pytest.mark.usefixtures("unhurried")
def test_findings_are_shown_and_excluded_photos_not_taught(screened_app, orders, product, tree):
    before = tree(product)
    assert "3 of 18 good photos are unusual." in words(screened_app)
    assert "sharpness 34%" in words(screened_app)
    assert "as \\*x\\*" in words(screened_app)
    assert "scores 1.20 times as high as usual" in words(screened_app)
    assert len(boxes(screened_app)) == 18
    names, left_out = teach_remaining(screened_app, orders)
    assert len([name for name in names if "good" in name]) == 18
    assert left_out == ()

    box = boxes(screened_app)[0]
    name = box.key.split("-", 2)[2]
    box.check().run()
    assert "1 photo excluded from" in words(screened_app)
    names, left_out = teach_remaining(screened_app, orders)
    assert left_out == (name,)
    assert name not in names
    boxes(screened_app)[0].uncheck().run()
    assert teach_remaining(screened_app, orders)[1] == ()
    assert tree(product) == before


@pytest.mark.usefixtures("unhurried")
def test_photos_are_excluded_by_topic_and_never_all(screened_app, orders, monkeypatch):
    show(screened_app, COPY)
    assert len(boxes(screened_app)) == 2
    button(screened_app, "look-all")
    assert all(box.value for box in boxes(screened_app))
    assert len(teach_remaining(screened_app, orders)[1]) == 2
    button(screened_app, "look-undo")
    assert not any(box.value for box in boxes(screened_app))
    assert teach_remaining(screened_app, orders)[1] == ()

    show(screened_app, BLUR)
    boxes(screened_app)[0].check().run()
    show(screened_app, COPY)
    assert [box.value for box in boxes(screened_app)] == [False, False]
    boxes(screened_app)[1].check().run()
    show(screened_app, screening_panel.STRANGEST)
    assert sum(box.value for box in boxes(screened_app)) == 2
    assert len(teach_remaining(screened_app, orders)[1]) == 2

    monkeypatch.setattr(screening_panel, "ON_A_PAGE", 50)
    for box in boxes(screened_app.run()):
        box.check()
    screened_app.run()
    assert "No good photos would remain for training;" in screened_app.error[0].value
    button(screened_app, "look-undo")
    assert not screened_app.error


def test_a_look_that_is_cancelled_can_be_begun_again(open_app, orders, product, monkeypatch):
    def stop(samples, order, store, report):
        raise Cancelled

    monkeypatch.setattr(screening_panel, "screen_photos", stop)
    app = screen_folder(choose_folder(open_app("pages/teach.py"), product))
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
        assert teach_remaining(app, orders)[0] == {f"train/good/{photo.name}" for photo in photos}
        table.write_text("x.jpg\n")
        app.run()
        assert "labels" in app.error[0].value
    finally:
        table.unlink()
