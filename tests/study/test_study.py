import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from inspect_core.datasets import splitting
from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.splitting import FOLDS
from inspect_core.features import backbones
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.recipe import inspect
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.runtime.progress import Cancelled, ignore_progress
from inspect_core.scoring.anomaly_map import image_score, to_pixels
from inspect_core.scoring.limits import limits_from_good
from inspect_core.scoring.local_scale import GoodMaps, sum_error_maps
from inspect_core.scoring.metrics import aupro, auroc
from inspect_core.study.evaluation import evaluate_photos, figures, score_test_photos
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.fitting import CrossFitter
from inspect_core.study.study import Study
from inspect_core.verdict import Limits

GRID = (16, 16)
SMALL = {"mahalanobis": {"k": 8}, "corp": {"M": 64}, "nearest": {"patches": 14 * 15}}


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> FeatureStore:
    return FeatureStore(tmp_path_factory.mktemp("features"))


@pytest.fixture(scope="module")
def study(product, backbone, store) -> Study:
    with pytest.warns(UserWarning, match=r"N = 11.*k = 24"):
        return Study.from_photos(scan(product), backbone, store, parameters={"k": 24}, grid=GRID).fit()


@pytest.fixture
def network_calls(monkeypatch) -> list[int]:
    calls: list[int] = []
    run = backbones.Backbone.run

    def counted(self, images, *join, head=False):
        calls.append(len(images))
        return run(self, images, *join, head=head)

    monkeypatch.setattr(backbones.Backbone, "run", counted)
    return calls


def test_moves_of_k_and_limit_cost_no_network_and_no_fit(study, network_calls, monkeypatch):
    from inspect_core.detectors import mahalanobis

    monkeypatch.setattr(mahalanobis.LocalGaussian, "finish", lambda *a, **k: pytest.fail("fitted again"))
    before = study.scores(k=24)
    after = study.scores(k=6)
    study.map(0, k=12)
    limits = study.default_limits(k=6)
    study.evidence().sentence(limits)
    assert network_calls == []
    assert (after < before).all(), "a distance over fewer dimensions cannot be larger"


def test_app_recipe_and_reloaded_recipe_score_alike_to_the_bit(study, backbone, tmp_path):
    for k in (24, 7):
        recipe = study.recipe(k=k, product="flange")
        save(recipe, tmp_path / f"{k}.zip")
        reloaded = load(tmp_path / f"{k}.zip")
        for i, photo in enumerate(study.photos):
            pixels = read(photo.path).pixels
            for source in (recipe, reloaded):
                verdict = inspect(pixels, source, backbone=backbone)
                assert verdict.score == study.scores(k=k)[i]
                assert np.array_equal(verdict.anomaly_map, study.map(i, k=k))
                assert verdict.verdict == recipe.limits.decide(verdict.score)[0]
                assert bool(verdict.regions) == (verdict.verdict != "accept")


def test_defects_stand_out_where_they_are(study):
    figures = evaluate_photos(study.scored, study.default_limits(), truth_masks(study.scored), area=1)
    scores = study.scores(area=1)
    good, defect = study.scored.good_and_defect()
    positions = np.flatnonzero(defect & (scores > scores[good].max()))
    assert len(positions) == 2, "the third, a faint scratch, scores highest in a corner, as good parts do"
    for position, mask in zip(positions, truth_masks(study.scored, positions), strict=True):
        assert study.map(int(position))[mask].max() > scores[good].max()
    assert figures.pixel_auroc > 0.9
    assert figures.counts.defects_total == 3


@pytest.mark.parametrize("k", [24, 7])
def test_evaluation_equals_what_inspect_shows(study, k):
    (evaluation,) = score_test_photos(study, study.split.test, [{"k": k}])
    is_test = study.scored.of_subset("test")
    assert np.array_equal(evaluation.scores, study.scores(k=k)[is_test])
    on_bench = evaluate_photos(study.at({"k": k}), study.default_limits(k=k), truth_masks(study.scored), k=k)
    assert figures(evaluation, study.default_limits(k=k)) == on_bench
    maps, masks = study.at({"k": k}).maps(np.flatnonzero(is_test), k=k), truth_masks(study.scored)
    true = np.stack([mask for mask, here in zip(masks, is_test, strict=True) if here])
    assert on_bench.pixel_auroc == pytest.approx(auroc(maps.ravel(), true.ravel()), abs=1e-4)
    assert on_bench.aupro == pytest.approx(aupro(maps, true), abs=1e-4)


def test_fitting_again_gives_the_same_model_to_the_bit(study, product, backbone, store, network_calls):
    with pytest.warns(UserWarning, match="N = 11"):
        refit = Study.from_photos(scan(product), backbone, store, parameters={"k": 24}, grid=GRID).fit()
    assert network_calls == [], "every photo was in the store"
    for name, array in study.scored.views[0].detector.arrays().items():
        assert torch.equal(array, refit.scored.views[0].detector.arrays()[name]), name
    assert np.array_equal(study.scores(), refit.scores())


def test_a_store_too_small_streams_and_gives_the_same_model(study, product, backbone, tmp_path):
    small = FeatureStore(tmp_path / "small", limit=12 * 4 * 256 * 24)
    with pytest.warns(UserWarning, match="N = 11"):
        streamed = Study.from_photos(scan(product), backbone, small, parameters={"k": 24}, grid=GRID).fit()
    assert np.array_equal(study.scores(), streamed.scores())


def test_a_smaller_fit_is_the_prefix_of_a_larger_one(study, product, backbone, tmp_path):
    with pytest.warns(UserWarning, match="N = 11"):
        small = Study.from_photos(
            scan(product), backbone, FeatureStore(tmp_path), parameters={"k": 12}, grid=GRID
        ).fit()
    np.testing.assert_allclose(small.scores(k=12), study.scores(k=12), rtol=1e-3)


def test_value_between_stops_equals_a_fresh_fit_to_the_bit(product, backbone, store):
    with pytest.warns(UserWarning, match="N = 11"):
        study = Study.from_photos(scan(product), backbone, store, parameters={"k": 70}, grid=(8, 8)).fit()
    (view,), size = study.scored.views, study.scored.size
    assert 37 not in view.stops
    errors = view.errors([study.features(photo)[0] for photo in study.photos], 37)
    setters = study.scored.setters()
    good = errors[setters]
    scale = GoodMaps.from_errors(good).winsorised(good, size).finish(size).with_photo_levels(good)
    maps = to_pixels(sum_error_maps([errors], [scale]), size)
    assert np.array_equal(study.map(3, k=37), maps[3])
    assert np.array_equal(study.scores(k=37, area=5), image_score(maps, area=5))
    assert np.array_equal(study.calibration_scores(k=37), image_score(maps[setters], area=33))
    recipe = study.recipe(k=37)
    assert inspect(read(study.photos[3].path).pixels, recipe, backbone=backbone).score == study.scores(k=37)[3]
    with pytest.raises(ValueError, match="k"):
        study.scores(k=71)


def test_two_views_equal_their_reloaded_recipe_to_the_bit(product, backbone, store, tmp_path):
    parameters = {"k": 16, "components": 8, "m": 12, "patches": 600}
    channels = dict(zip(backbone.taps, backbone.tap_channels, strict=True))
    taps = [backbone.taps, backbone.taps[1:]]
    with pytest.warns(UserWarning, match="N = 11"):
        study = Study.from_photos(
            scan(product), backbone, store, method="mahalanobis+quadrics", parameters=parameters, grid=GRID, taps=taps
        ).fit()
    assert study.live == {"k": 16, "m": 12, "area": 33}
    assert study.extractor.shapes[1][-1] == min(256, sum(channels[tap] for tap in taps[1]))
    for live in (study.live, {"k": 5, "m": 3, "area": 200}):
        recipe = study.recipe(product="flange", **live)
        save(recipe, tmp_path / "r.zip")
        reloaded = load(tmp_path / "r.zip")
        assert [view.spec.digest for view in reloaded.views] == [spec.digest for spec in study.extractor.looks]
        for i in (0, len(study.photos) - 1):
            pixels = read(study.photos[i].path).pixels
            for source in (recipe, reloaded):
                verdict = inspect(pixels, source, backbone=backbone)
                assert verdict.score == study.scores(**live)[i]
                assert np.array_equal(verdict.anomaly_map, study.map(i, **live))
    refit = study.with_parameters({})
    with pytest.warns(UserWarning, match="N = 11"):
        refit = refit.fit()
    assert np.array_equal(refit.scores(), study.scores())


@pytest.mark.parametrize("method", ["mahalanobis", "corp", "nearest"])
def test_without_calibration_photos_folds_score_each_other(product, backbone, store, method):
    photos = split(scan(product), seed=0, calibrate=0)
    study = Study.from_photos(photos, backbone, store, method=method, parameters=SMALL[method], grid=GRID).fit()
    folds = photos.folds(0)
    assert len(folds) == min(FOLDS, len(photos.train))
    assert sorted(sample.name for fold in folds for sample in fold) == [sample.name for sample in photos.train]
    start, errors = study.scored.views[0].start, {photo.name: study.errors(photo)[0] for photo in study.photos}
    for fold in folds[:2]:
        fold_names = {sample.name for sample in fold}
        apart = study.fit_view(0, samples=[sample for sample in photos.train if sample.name not in fold_names])
        for sample in fold:
            photo = study.photos[study.scored.index(sample.name)]
            expected_errors = errors[sample.name][apart.stops.index(start)]
            if method == "nearest":  # what was drawn from the other photos is not what would be drawn from them alone
                assert expected_errors.mean() > study.scored.views[0].errors(study.features(photo), start).mean()
            else:
                np.testing.assert_allclose(expected_errors, apart.errors(study.features(photo), start)[0], rtol=2e-5)
    setters = study.scored.setters()
    setting = {photo.name for photo, sets in zip(study.photos, setters, strict=True) if sets}
    assert setting == {sample.name for sample in photos.train}
    assert np.array_equal(study.calibration_scores(), study.scores()[setters])
    limits = study.default_limits()
    assert (limits.review, limits.reject) == limits_from_good(study.calibration_scores())
    assert len(study.recipe().calibration_photos) == len(photos.train)


def test_a_value_that_was_not_kept_is_crossed_anew(product, backbone, store):
    photos = split(scan(product), seed=0, calibrate=0)
    study = Study.from_photos(photos, backbone, store, parameters={"k": 8}, grid=GRID).fit()
    every = study.calibration_scores(k=5)
    views = [replace(view, selected_stops=(4, 8)) for view in study.scored.views]
    crossing = CrossFitter(study.fitting)
    crossing.gather(ignore_progress)
    study = replace(study, scored=crossing.score(views, study.area, ignore_progress)[0])
    assert not study.scored.has({"k": 5})
    assert np.array_equal(study.calibration_scores(k=5), every)


def test_shading_counts_by_its_excess_beside_others_alone(product, small_backbone_with_picture, store):
    taps = [("first", "second"), ("picture",)]
    joined = Study.from_photos(
        split(scan(product), seed=0, calibrate=0), small_backbone_with_picture, store,
        method="mahalanobis+shade", taps=taps, parameters={"k": 8}, grid=(8, 12),
    ).fit().scored  # fmt: skip
    assert joined.scale(0, 8).tolerated == 0 < joined.scale(1, 0).tolerated
    assert joined.of_views([1]).scale(0, 0).tolerated == 0
    loaded = joined.of_views([1])
    assert len(np.unique(loaded.scores())) > len(loaded.photos) // 2, "alone its scores rank photos"


def test_one_of_several_detectors_equals_a_fit_alone(product, backbone, store):
    photos = split(scan(product), seed=0, calibrate=0)
    chosen = {"k": 8, "M": 64, "patches": 200}
    together = Study.from_photos(
        photos, backbone, store, method=("mahalanobis", "corp", "nearest"), parameters=chosen, grid=GRID
    ).fit()
    known = {"k": 8, "patches": 200}
    single = Study.from_photos(photos, backbone, store, method="mahalanobis+nearest", parameters=known, grid=GRID).fit()
    extracted = together.of_detector("mahalanobis+nearest", backbone, [backbone.taps] * 2)
    assert np.array_equal(extracted.scores(), single.scores())
    assert extracted.default_limits() == single.default_limits()
    assert extracted.live == single.live
    assert np.array_equal(extracted.map(1), single.map(1))
    for first, other in zip(extracted.recipe().views, single.recipe().views, strict=True):
        for name, values in first.detector.arrays().items():
            assert torch.equal(values, other.detector.arrays()[name])


def test_defects_to_choose_by_are_never_judged(product, backbone, store, monkeypatch):
    monkeypatch.setattr(splitting, "KNOWN", 2)
    photos = split(scan(product), seed=0, blind=False)
    assert photos.validation
    study = Study.from_photos(photos, backbone, store, parameters={"k": 8}, grid=GRID).fit()
    figures = evaluate_photos(study.scored, study.default_limits(), truth_masks(study.scored))
    assert figures.counts.defects_total == 3 - len(photos.validation)
    chosen = study.scored.of_subset("validation")
    assert {p.name for p, c in zip(study.photos, chosen, strict=True) if c} == {s.name for s in photos.validation}


def test_a_damaged_photo_is_left_out_and_listed(product, backbone, store, tmp_path):
    folder = tmp_path / "flange"
    shutil.copytree(product, folder)
    samples = split(scan(folder), seed=0)
    for victim in (samples.train[0], samples.test[0]):
        data = victim.path.read_bytes()
        victim.path.write_bytes(data[: len(data) // 2])
    with pytest.warns(UserWarning, match="N = 10"):
        study = Study.from_photos(samples, backbone, store, parameters={"k": 24}, grid=GRID).fit()
    assert sorted(name for name, _ in study.skipped) == sorted([samples.train[0].name, samples.test[0].name])
    assert len(study.photos) == len(samples.calibration) + len(samples.test) - 1


def test_one_good_photo_is_enough_to_begin(product, backbone, store, tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    shutil.copy(next((product / "train/good").iterdir()), folder)
    with pytest.warns(UserWarning, match="N = 1"):
        study = Study.from_photos(scan(folder), backbone, store, parameters={"k": 5}, grid=GRID).fit()
    assert study.photos == ()
    with pytest.raises(ValueError, match="no good photos are available to set the limit;"):
        study.default_limits()
    assert study.recipe(Limits(1.0, 2.0)).calibration_photos == ()


def test_cancelling_leaves_nothing_half_fitted(product, backbone, store):
    study = Study.from_photos(scan(product), backbone, store, parameters={"k": 24}, grid=GRID)
    steps = []

    def progress(fraction, step):
        steps.append(fraction)

    with pytest.raises(Cancelled):
        study.fit(progress, lambda: len(steps) >= 5)
    other = Study.from_photos(scan(product), backbone, store, parameters={"k": 24}, grid=GRID)
    with pytest.warns(UserWarning, match="N = 11"):
        fits = study.fit(), other.fit()
    assert np.array_equal(*(fit.scores() for fit in fits))


def test_progress_goes_from_nothing_to_all(product, backbone, store):
    steps = []
    with pytest.warns(UserWarning, match="N = 11"):
        Study.from_photos(scan(product), backbone, store, parameters={"k": 24}, grid=GRID).fit(
            lambda fraction, _: steps.append(fraction)
        )
    assert steps == sorted(steps)
    assert 0 < steps[0] < 0.1
    assert steps[-1] == 1.0


def test_names_and_values_that_are_not_there(study):
    with pytest.raises(ValueError, match="not among"):
        study.map("gone.png")
    with pytest.raises(ValueError, match="live parameter"):
        study.scores(q=3)


@pytest.fixture(scope="module")
def quadric_study(product, backbone, store) -> Study:
    parameters = {"components": 8, "m": 12, "robust": 1, "patches": 600}
    return Study.from_photos(scan(product), backbone, store, method="quadrics", parameters=parameters, grid=GRID).fit()


@pytest.mark.parametrize("m", [3, 12])
def test_quadrics_equal_their_reloaded_recipe_to_the_bit(quadric_study, backbone, tmp_path, m):
    save(quadric_study.recipe(m=m, product="flange"), tmp_path / "q.zip")
    recipe = load(tmp_path / "q.zip")
    assert recipe.live_values == {"m": m, "area": 33}
    scores = quadric_study.scores(m=m)
    for position in (0, len(scores) - 1):
        verdict = inspect(read(quadric_study.photos[position].path).pixels, recipe, backbone=backbone)
        assert verdict.score == float(scores[position])


def test_quadrics_begin_with_all_of_them_and_never_with_more(quadric_study, product, backbone, store):
    assert quadric_study.live == {"m": 12, "area": 33}
    with pytest.raises(ValueError, match="m is 99"):
        Study.from_photos(
            scan(product), backbone, store, method="quadrics", parameters={"components": 8, "m": 99}, grid=GRID
        ).fit()


def test_quadric_fit_is_cancelled_midway_without_trace(product, backbone, store):
    study = Study.from_photos(
        scan(product), backbone, store, method="quadrics", parameters={"components": 8, "m": 12, "robust": 1}, grid=GRID
    )
    messages: list[float] = []

    def progress(fraction: float, step: str) -> None:
        if step == "learning from the good photos":
            messages.append(fraction)

    with pytest.raises(Cancelled):
        study.fit(progress, lambda: len(messages) > len(study.split.train) + 3)
    assert messages == sorted(messages), "progress does not go back"


def test_quadrics_use_the_closed_form_unless_robust(quadric_study):
    closed = quadric_study.with_parameters({"robust": 0}).fit().scored.views[0].detector
    assert closed.penalty_value < 1e-8
    assert quadric_study.scored.views[0].detector.penalty_value > 1e-8
    sample = quadric_study.patch_sample(600).double()
    assert quadric_study.scored.views[0].detector.score(sample).mean() < closed.score(sample).mean()
