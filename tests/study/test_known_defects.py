"""The view that known defects teach: learned without what it judges, joined where it helps, and taken back."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inspect_core.datasets.folders import scan, split
from inspect_core.features.store import FeatureStore
from inspect_core.recipe import inspect
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.study import known_defects
from inspect_core.study.known_defects import FEWEST, KnownDefects, Separation
from inspect_core.study.study import FittedStudy, Study
from inspect_core.tuning.recipe_extension import order_of

FLANGE = Path(__file__).parents[2] / "sample_data" / "flange"
CORNER = ((0.0, 0.0), (0.2, 0.0), (0.2, 0.2), (0.0, 0.2))


@pytest.fixture(scope="module")
def study(small_backbone, tmp_path_factory) -> FittedStudy:
    """16 good photos, and 20 defects with masks to judge."""
    photos = split(scan(FLANGE), seed=0, calibrate=0)
    train = photos.train[:16]
    store = FeatureStore(tmp_path_factory.mktemp("known"))
    chosen = {"parameters": {"k": 5}, "grid": (8, 12)}
    return Study.from_photos(replace(photos, train=train), small_backbone, store, method="mahalanobis", **chosen).fit()


@pytest.fixture
def helpful(monkeypatch):
    monkeypatch.setattr(KnownDefects, "helps", property(lambda known: True))


def drawn(study: FittedStudy, count: int):
    """The photos with the masks of some defects drawn as boxes."""
    outlines = {}
    for photo in [photo for photo in study.photos if photo.is_defect][:count]:
        rows, columns = np.nonzero(photo.known_mask((100, 100)))
        top, bottom = rows.min() / 100, (rows.max() + 1) / 100
        left, right = columns.min() / 100, (columns.max() + 1) / 100
        outlines[photo.digest] = (((left, top), (right, top), (right, bottom), (left, bottom)),)
    return study.scored.drawn(outlines)


def test_too_few_teach_nothing(study):
    photos = drawn(study, FEWEST - 1)
    other, scored = study.with_known_defects(photos)
    assert other.known_defects is None
    assert scored is photos
    assert other.methods == study.methods


def test_no_defect_is_judged_by_what_it_taught(study, helpful):
    learned, scored = study.with_known_defects(drawn(study, FEWEST + 1))
    teachers = [i for i, photo in enumerate(scored.photos) if photo.teaches]
    view = learned.known_defects.view
    for left_out in teachers:
        rest = {scored.photos[i].digest: scored.photos[i].drawn for i in teachers if i != left_out}
        without, _ = study.with_known_defects(study.scored.drawn(rest))
        features = study.features(scored.photos[left_out])[0]
        expected = without.known_defects.view.detector.score(features)[0].numpy()
        assert np.array_equal(scored.errors(left_out)[-1][0], expected)
        assert not np.array_equal(view.detector.score(features)[0].numpy(), expected)


def test_no_good_photo_is_judged_by_what_it_taught(study, helpful):
    _, scored = study.with_known_defects(drawn(study, FEWEST))
    learned = study._defect_learner
    fold = study.split.folds(0)[0]
    position = scored.index(fold[0].name)
    rest = learned._folds[0][0]
    assert rest.count == (len(study.split.train) - len(fold)) * 8 * 12
    patches = {
        photo.digest: learned._of_defect(photo, mask) for photo, mask in known_defects.teaching(scored)
    }  # fmt: skip
    expected = learned._detector([rest], patches).score(study.features(scored.photos[position])[0])[0].numpy()
    assert np.array_equal(scored.errors(position)[-1][0], expected)


def test_a_drawing_taken_back_leaves_everything_as_it_was(study, helpful):
    learned, scored = study.with_known_defects(drawn(study, FEWEST))
    assert learned.methods == (*study.methods, "discriminant")
    back, plain = learned.with_known_defects(scored.drawn({photo.digest: () for photo in scored.photos}))
    assert (back.methods, back.known_defects, back.bare) == (study.methods, None, None)
    assert plain.photos == study.scored.photos
    assert np.array_equal(plain.scores(), study.scored.scores())
    relearned, _ = back.with_known_defects(drawn(study, FEWEST))
    assert np.array_equal(relearned.scores(), learned.scores()), "to the bit"


def test_what_is_drawn_is_counted_in_no_figure(study):
    _, scored = study.with_known_defects(drawn(study, FEWEST))
    assert scored.chosen_defects().sum() == FEWEST
    assert scored.of_subset("test").sum() == study.scored.of_subset("test").sum() - FEWEST


def test_live_values_that_are_not_stored_have_the_view_too(study, helpful, small_backbone):
    chosen = {"parameters": {"M": 128}, "grid": (8, 12)}
    corp = Study.from_photos(study.split, small_backbone, study.store, method="corp", **chosen).fit()
    learned, _ = corp.with_known_defects(drawn(corp, FEWEST))
    q = next(value for value in range(2, 100) if value not in corp.scored.stops("q"))
    errors = [learned.scored.errors(i)[-1][0] for i in range(len(learned.photos))]
    expected = corp.at({"q": q}).with_view(learned.known_defects.view, errors)
    assert np.array_equal(learned.at({"q": q}).scores(q=q), expected.scores(q=q))


def test_a_recipe_inspects_as_the_bench_shows(study, helpful, small_backbone, tmp_path):
    learned, scored = study.with_known_defects(drawn(study, FEWEST))
    recipe = save(learned.recipe(), tmp_path / "r.zip")
    assert recipe.method == "mahalanobis+discriminant"
    assert load(tmp_path / "r.zip").method == recipe.method
    tested = [i for i, photo in enumerate(scored.photos) if photo.subset == "test"]
    assert {photo.name for photo in recipe.test_photos} == {scored.photos[i].name for i in tested}
    for i in tested[:4]:
        verdict = inspect(scored.photos[i].path, recipe, backbone=small_backbone)
        assert np.float32(verdict.score) == scored.scores()[i]


def test_a_recipe_records_what_was_drawn_to_teach_it_again(study, helpful, tmp_path):
    learned, scored = study.with_known_defects(drawn(study, FEWEST))
    save(learned.recipe(), tmp_path / "r.zip")
    recipe = load(tmp_path / "r.zip")
    outlines = {photo.digest: photo.drawn for photo in recipe.teaching.photos if photo.drawn}
    assert outlines == {photo.digest: photo.drawn for photo in scored.photos if photo.drawn}
    relearned, _ = study.with_known_defects(study.scored.drawn(outlines))
    assert np.array_equal(relearned.scores(), learned.scores())
    assert order_of(recipe, recipe.teaching, study.split).method == "mahalanobis"
    assert learned.known_defects.sentence() in recipe.provenance.calibration_note


@pytest.mark.parametrize(
    ("after", "helps"),
    [
        (Separation(8, 0.95, 3, 60), True),
        (Separation(8, 0.90, 3, 60), False),
        (Separation(7, 0.95, 3, 60), False),
        (Separation(8, 0.95, 4, 60), False),
    ],
)
def test_it_is_joined_where_defects_stand_out_more(after, helps):
    known = KnownDefects(None, 10, after, Separation(8, 0.90, 2, 60))
    assert known.helps is helps
    assert ("but not used, since it does not help" in known.sentence()) is not helps
    assert f"finds {after.detected} of 10 left out one by one, 8 without" in known.sentence()


def test_a_drawn_defect_is_one_to_choose_by(study):
    photo = next(photo for photo in study.photos if photo.is_defect)
    chosen = photo.with_drawing((CORNER,))
    assert (chosen.subset, chosen.teaches) == ("validation", True)
    assert chosen.known_mask((10, 10))[:2, :2].all()
    assert chosen.known_mask((10, 10)).sum() == 4
    assert chosen.with_drawing(()) == photo
    assert chosen.labelled("dent").with_drawing(()).subset == "test"
    assert not chosen.labelled("good").teaches
    added = replace(photo, subset="added").with_drawing((CORNER,))
    assert (added.subset, added.teaches) == ("added", True)
