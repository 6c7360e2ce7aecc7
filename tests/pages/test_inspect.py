from dataclasses import replace
from pathlib import Path

import numpy as np

from inspect_core.audit.entry import LIMITS_CHANGED, RELABELLED
from inspect_core.audit.log import AuditLog
from inspect_core.features.backbones import Backbone
from inspect_core.images.photo_reader import read
from inspect_core.ui import crops, shell, teaching_job
from inspect_core.ui.inspect import saving
from inspect_core.verdict import Limits
from inspect_core.workbench import fitted_product, taught_product, transitions
from inspect_core.workbench.shelf import shelf
from tests.pages.waiting import finish, limit_by_hand, press, save_recipe, words


def test_an_empty_app_teaches_the_sample_by_itself(open_app, monkeypatch):
    started = []
    monkeypatch.setattr(teaching_job, "start_sample", lambda: started.append("sample") or shell.start("x", run))
    app = open_app()
    assert started == ["sample"]
    assert app.button(key="to_teach").label == "Teach your own product"


def run(job):
    job.report(0.5, "half way")


def test_without_samples_it_says_what_to_do(open_app, no_first_start):
    app = open_app()
    assert "No product has been taught yet." in [element.value for element in app.info]


def test_the_taught_part_lies_on_the_bench(open_app, in_the_hand):
    app = open_app()
    settings = app.session_state[f"settings-{in_the_hand.id}"]
    assert in_the_hand.limits_by_hand is None
    scores = in_the_hand.scored.scores(**in_the_hand.live)
    assert settings.position == int(scores.argmax())
    assert app.segmented_control(key=f"guard-{in_the_hand.id}").value == "warn"


def test_relabelled_part_is_not_counted_and_is_taught_again(open_app, in_the_hand, drawn):
    app = open_app()
    photos = in_the_hand.scored.photos
    position = next(i for i, photo in enumerate(photos) if photo.is_defect and photo.subset == "test")

    def say(kind: str, stamp: float) -> str:
        move = {"value": position, "label": kind, "stamp": stamp}
        app.session_state[f"bench-{in_the_hand.id}"] = {"label": move}
        app.run()
        assert not app.exception
        return drawn[-1].sentence

    before = drawn[-1].sentence
    assert say("good", 1.0).endswith("1 relabelled; teach again to count it.")
    assert drawn[-1].payload()["parts"][position]["counted"] == ""
    assert f"{photos[position].name} is good" in words(app).replace("\\", "")
    with AuditLog.open() as log:
        (entry,) = log.entries(kind=RELABELLED)
    assert (entry.facts["before"], entry.facts["after"]) == (photos[position].label, "good")
    press(app, f"relabelled-{in_the_hand.id}")
    finish(app)
    reopened = shelf().find(app.session_state["in_hand"])
    assert photos[position].path in {sample.path for sample in reopened.study.split.train}
    assert reopened.study.method == in_the_hand.study.method
    app.session_state["in_hand"] = in_the_hand.id
    assert say(photos[position].label, 2.0) == before


def test_a_recipe_is_saved_with_what_is_in_force(open_app, in_the_hand, workspace):
    from inspect_core.recipe_io.recipe_file import load

    app = open_app()
    for reason in ("", "first release", ""):  # a reason is for one recipe
        save_recipe(app, "My / flange", reason)
        assert len(app.warning) == (reason == "")
    recipe = load(workspace / "recipes" / "My-flange.zip")
    assert recipe.product == "My / flange"
    assert recipe.limits == in_the_hand.study.default_limits(**recipe.live_values)
    assert recipe.product_check.limit == in_the_hand.product_check.limit
    assert shelf().find(in_the_hand.id).recipe.digest == recipe.digest
    limit_by_hand(in_the_hand, Limits(1.0, 2.0))
    save_recipe(app, reason="new lamp")
    with AuditLog.open() as log:
        first, second = log.entries(kind=LIMITS_CHANGED)
        assert log.verify() == []
    assert (first.facts["old"], first.recipe) == (None, recipe.digest)
    assert second.facts == {
        "old": {"review": recipe.limits.review, "reject": recipe.limits.reject},
        "new": {"review": 1.0, "reject": 2.0},
        "reason": "new lamp",
    }


def test_new_photo_is_shown_and_a_damaged_one_named(open_app, in_the_hand, product):
    photo = next((product / "train/good").iterdir())
    app = open_app()
    count = len(in_the_hand.scored.photos)
    files = [("new.jpg", photo.read_bytes(), "image/jpeg"), ("bad.png", b"text", "image/png")]
    app.file_uploader(key=f"added-{in_the_hand.id}").set_value(files).run()
    assert not app.exception
    assert [photo.name for photo in shelf().find(in_the_hand.id).scored.photos[count:]] == ["new.jpg"]
    (problems,) = (error.value for error in app.error if "bad.png" in error.value)
    assert problems.startswith("**1 photo could not be added:**")
    press(app, "dismiss_uploads")
    assert not app.error


def test_a_photo_that_is_here_is_shown_and_named(open_app, in_the_hand):
    app, photos = open_app(), in_the_hand.scored.photos
    known = photos[-1]
    upload = [("again.jpg", known.path.read_bytes(), "image/jpeg")]
    app.file_uploader(key=f"added-{in_the_hand.id}").set_value(upload).run()
    assert shelf().find(in_the_hand.id).scored.photos == photos
    [words] = [error.value for error in app.error if "again.jpg" in error.value]
    assert "the same photo is here already" in words
    assert app.session_state[f"settings-{in_the_hand.id}"].position == len(photos) - 1


def test_every_new_photo_goes_on_the_bench_under_its_own_name(open_app, in_the_hand):
    photos = sorted((Path(__file__).resolve().parents[2] / "sample_data/linen/test/good").iterdir())
    names = ["一.jpg", "二.jpg", "a b.jpg", "a-b.jpg", "same.jpg", "same.jpg"]
    files = [(name, photo.read_bytes(), "image/jpeg") for name, photo in zip(names, photos, strict=False)]
    app, count = open_app(), len(in_the_hand.scored.photos)
    app.file_uploader(key=f"added-{in_the_hand.id}").set_value(files).run()
    assert not app.exception
    added = shelf().find(in_the_hand.id).scored.photos[count:]
    assert [photo.name for photo in added] == names
    assert len({photo.path for photo in added}) == len(names)


def test_added_photo_takes_one_network_run_and_no_reading(open_app, in_the_hand, monkeypatch):
    linen = Path(__file__).resolve().parents[2] / "sample_data/linen/test/good/part_060.jpg"
    app, run, runs, reads = open_app(), Backbone.run, [], []
    monkeypatch.setattr(taught_product, "read", lambda path, depth: reads.append(path) or read(path, depth))

    def counted(self, images, *join, head=False):
        runs.append(head)
        return run(self, images, *join, head=head)

    monkeypatch.setattr(Backbone, "run", counted)
    app.file_uploader(key=f"added-{in_the_hand.id}").set_value([("x.jpg", linen.read_bytes(), "image/jpeg")]).run()
    assert not app.exception
    changed = shelf().find(in_the_hand.id)
    added = len(changed.scored.photos) - 1
    assert (runs, reads) == ([True], [])
    assert np.array_equal(changed.pixels(added), read(changed.scored.photos[added].path).pixels)


def test_other_product_is_known_as_soon_as_it_is_added(open_app, in_the_hand):
    linen = Path(__file__).resolve().parents[2] / "sample_data/linen/test/good/part_060.jpg"
    app = open_app()
    app.file_uploader(key=f"added-{in_the_hand.id}").set_value([("x.jpg", linen.read_bytes(), "image/jpeg")]).run()
    assert not app.exception
    changed = shelf().find(in_the_hand.id)
    *others, added = range(len(changed.scored.photos))
    assert changed.scored.photos[added].name == "x.jpg"
    known = [changed.checked(position, ask=False) for position in others]
    assert not any(check.is_foreign for check in known if check is not None)
    assert "does not look like" in changed.checked(added, ask=False).sentence
    study = changed.study.with_parameters({}).fit()
    refitted = transitions.refitted(
        changed, fitted_product.product_from_study("x", study, (), changed.product_check), {}
    )
    assert refitted.checked(added, ask=False).is_foreign, "the check is the same one"


def test_a_photo_that_is_gone_is_named_and_the_bench_goes_on(open_app, in_the_hand, monkeypatch):
    lost = int(in_the_hand.scored.good_and_defect()[1].argmax())
    photo = replace(in_the_hand.scored.photos[lost], path=Path("moved/away.png"))
    photos = (*in_the_hand.scored.photos[:lost], photo, *in_the_hand.scored.photos[lost + 1 :])
    monkeypatch.setattr(in_the_hand.scored, "photos", photos)
    app = open_app()
    app.session_state[f"settings-{in_the_hand.id}"].position = lost
    app.run()
    assert not app.exception
    assert "away.png" in app.error[0].value
    app.session_state[f"settings-{in_the_hand.id}"].position = lost + 1
    app.run()
    assert not app.error


def test_the_photo_on_the_bench_is_read_once(open_app, in_the_hand, monkeypatch):
    read, reads = taught_product.read, []
    monkeypatch.setattr(taught_product, "read", lambda path, depth: reads.append(path) or read(path, depth))
    in_the_hand.pixels(0)
    app = open_app()
    count = len(reads)
    app.segmented_control(key=f"guard-{in_the_hand.id}").set_value("off").run()
    app.segmented_control(key=f"guard-{in_the_hand.id}").set_value("warn").run()
    assert not app.exception
    assert len(reads) == count


def test_a_full_disk_costs_no_answer(in_the_hand, monkeypatch):
    def full(key, array):
        raise OSError(28, "No space left on device")

    first = crops.embedding(in_the_hand, 0, (0, 0, 40, 30))
    monkeypatch.setattr(in_the_hand.study.store, "get", lambda key, shape: None)
    monkeypatch.setattr(in_the_hand.study.store, "put", full)
    assert np.array_equal(crops.embedding(in_the_hand, 0, (0, 0, 40, 30)), first)


def test_escapes_show_the_good_photos_that_hold_the_limit(open_app, in_the_hand, monkeypatch):
    app = open_app()
    scored = in_the_hand.scored
    limits = in_the_hand.suggested_limits(in_the_hand.live)
    known = scored.good_and_defect()[1]
    missed = int((scored.scores()[known] <= limits.review).sum())
    high = Limits(float(scored.scores().max()) + 1, float(scored.scores().max()) + 2)
    monkeypatch.setattr(type(in_the_hand), "suggested_limits", lambda self, live: high)
    app.run()
    headline = f"{int(known.sum())} of {int(known.sum())} inspected test defects score below the suggested limit"
    assert headline in [element.label for element in app.expander]
    assert missed <= known.sum()
    strangest = max(np.flatnonzero(scored.setters()), key=lambda i: scored.scores()[i])
    button, orders = f"leave_out-{in_the_hand.id}", []
    assert app.button(key=button).disabled
    app.checkbox(key=f"{button}-{strangest}").check().run()
    monkeypatch.setattr(teaching_job, "start", lambda order, follows: orders.append(order))
    app.button(key=button).click().run()
    assert not app.exception
    assert orders[0].photos.left_out == (scored.photos[strangest].name,)
    assert (orders[0].method, orders[0].parameters) == ("mahalanobis", in_the_hand.study.order.parameters)
    limit_by_hand(in_the_hand, Limits(1.0, 2.0))
    assert headline not in [element.label for element in app.run().expander]


def test_a_recipe_that_cannot_be_made_is_not_saved(open_app, in_the_hand, monkeypatch):
    def refuse(*_, **__):
        raise ValueError("the photos are gone")

    monkeypatch.setattr(taught_product.TaughtProduct, "to_recipe", refuse)
    app = save_recipe(open_app())
    assert not app.exception
    assert [error.value for error in app.error] == ["Not saved: the photos are gone"]


def test_labels_that_cannot_follow_leave_the_recipe_saved(open_app, in_the_hand, monkeypatch):
    def refuse(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(saving.defect_labels, "rename", refuse)
    app = save_recipe(open_app())
    assert not app.exception
    assert shelf().find(in_the_hand.id).recipe_digest
