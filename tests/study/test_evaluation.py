"""Figures of the judge photos: what limits promise, where defects are caught, and photos without a score."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets.folders import scan
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import NotLocated
from inspect_core.images.photo_reader import read
from inspect_core.recipe_io.recipe_file import load, save
from inspect_core.scoring import defect_hits as rule
from inspect_core.scoring.counts import UnscoredCounts
from inspect_core.scoring.limits import limits_from_good, provable_bound
from inspect_core.study.evaluation import evaluate_photos, figures, forecast_sentence, outcomes, score_test_photos
from inspect_core.study.evaluation_scores import EvaluationScores, truth_masks
from inspect_core.study.photo_evidence import evidence_of, found_up_to
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.tuning.product_check_training import train_product_check
from inspect_core.verdict import Limits
from tests.study.made_up import bench, photo


@pytest.fixture
def setting(recipe):
    """setting(count, groups) is photos of good parts that set limits, in that many groups, None: each alone."""

    def make(count: int, groups: int | None = None) -> ScoredPhotos:
        lots = [None if groups is None else f"lot {i % groups}" for i in range(count)]
        return bench(
            recipe.views, [photo(f"{i}", "good", "calibration", split_group=lot) for i, lot in enumerate(lots)]
        )

    return make


def promised(scored: ScoredPhotos, limits: Limits | None = None) -> str:
    return forecast_sentence(scored, limits or scored.default_limits(), scored.scores(), scored.calibration_scores())


def test_what_photos_promise_and_what_few_of_them_cannot(setting):
    scored = setting(12)
    bounds, scores = promised(scored), scored.calibration_scores()
    least = f"12 good parts can only prove that at most {provable_bound(12)} in 100 good parts will be rejected"
    assert f"{least}; 30 would bring this to {provable_bound(30)}." in bounds
    assert provable_bound(20) > provable_bound(12) / 2 >= provable_bound(30)
    assert "can only prove" not in promised(setting(60))
    assert "4 groups of good parts (12 photos) can only prove" in promised(setting(12, groups=4))
    assert "review" in bounds
    assert "review" not in promised(scored, Limits(float(scores.max()), float(scores.max())))
    assert forecast_sentence(setting(0), Limits(1, 2), np.zeros(0), np.zeros(0)) == ""
    bounds = promised(scored, Limits(float(np.median(scores)), float(np.median(scores))))
    low, high = (int(end) for end in bounds.split("rejected (")[1].split(")")[0].split(" to "))
    assert 5 < low < 50 < high < 95, "of 12 scores 6 lie above the median"


def test_limits_follow_good_test_photos_that_contradict(recipe, monkeypatch):
    photos = [photo(f"{i}", "good", "calibration") for i in range(30)] + [photo(f"t{i}", "good") for i in range(12)]
    scored = bench(recipe.views, photos)
    setting, limits = scored.calibration_scores(), scored.default_limits()
    scores = np.concatenate([setting, np.sort(setting)[:12]])
    monkeypatch.setattr(ScoredPhotos, "scores", lambda scored, **live: scores)
    assert scored.default_limits() == limits == Limits(*limits_from_good(setting))
    assert "test photo" not in forecast_sentence(scored, limits, scores, setting)
    scores[30:] += limits.reject - setting.min()
    followed = scored.default_limits()
    assert followed == Limits(*limits_from_good(scores))
    assert followed.review > limits.review
    sentence = forecast_sentence(scored, followed, scores, setting)
    assert "based on 30 good parts and 12 good test photos. The test photos score higher: they" in sentence
    before, after = (
        int(forecast_sentence(scored, at, scores, setting).split("parts: ")[1].split()[0]) for at in (limits, followed)
    )
    assert after < before


@pytest.fixture
def scored(recipe, tmp_path: Path) -> ScoredPhotos:
    """Two good parts, a defect on the left, one whose mask is empty, and one without a mask."""
    photos = []
    for i, kind in enumerate(("good", "scratch", "dent", "dent", "good")):
        mask, drawn = tmp_path / f"{i}.png", np.zeros((64, 96), np.uint8)
        drawn[10:20, 5:15] = 255 * (i == 1)
        Image.fromarray(drawn).save(mask)
        photos.append(photo(f"p{i}", kind, mask=None if i == 3 else mask))
    return bench(recipe.views, photos)


def test_inspect_and_evaluate_agree_and_read_each_mask_once(scored, monkeypatch):
    mask = scored.photos[1].known_mask(scored.size)
    for live in ({}, {"k": 2, "area": 40}):
        hit_limits = found_up_to(scored, **live)
        area = live.get("area", 12)
        assert hit_limits[1] == rule.hit_limit(scored.map(1, **live), rule.dilate_mask(mask), area=area)
        assert np.isnan(hit_limits[[0, 2, 3, 4]]).all()
        evaluation = EvaluationScores.from_scored(scored, live, range(5), truth_masks(scored))
        np.testing.assert_array_equal(evaluation.hit_limits, hit_limits)
        merged = EvaluationScores.merged([evaluation, evaluation])
        np.testing.assert_array_equal(merged.hit_limits, np.tile(hit_limits, 2))
    monkeypatch.setattr(ScoredPhoto, "known_mask", lambda *_: pytest.fail("read again"))
    found_up_to(scored, k=3)
    assert found_up_to(scored, k=3) is found_up_to(scored, k=3)


def test_the_sentence_tells_those_caught_elsewhere(scored):
    evidence = evidence_of(scored)
    below = float(scored.maps().min()) - 1
    message = evidence.sentence(Limits(below, below))
    assert "misses 0 of 3 defects, detects 3 of 3 (1 at the defect, 0 elsewhere, 2 without a mask)" in message
    elsewhere = replace(evidence, hit_limits=np.where(np.isnan(evidence.hit_limits), np.nan, below))
    assert "(0 at the defect, 1 elsewhere, 2" in elsewhere.sentence(Limits(below, below))
    assert "detects" not in replace(evidence, hit_limits=np.full(5, np.nan)).sentence(Limits(below, below))


@pytest.mark.slow
def test_what_the_product_check_stops_is_counted_and_recorded(product, small_backbone, tmp_path):
    parameters = {"k": 8}
    study = Study.from_photos(
        scan(product), small_backbone, FeatureStore(tmp_path), grid=(8, 12), parameters=parameters
    ).fit()
    check = train_product_check(small_backbone, study.split.train, study.split.calibration, mode="stop")
    everything = {photo.digest for photo in study.photos}
    for limit, foreign in ((-1.0, everything), (9.0, set())):
        checks = replace(check, limit=limit)
        assert study.foreign(checks) == foreign
        assert study.foreign(checks.with_mode("warn")) == set()
        recipe = study.recipe(product_check=checks)
        save(recipe, tmp_path / f"{limit}.zip")
        for known in (recipe.evidence(), load(tmp_path / f"{limit}.zip").evidence(), study.evidence(foreign)):
            counts = known.counts(recipe.limits)
            assert counts.good_rejected == counts.good_total * bool(foreign)
            assert counts.defects_missed == 0 or not foreign


@pytest.mark.slow
def test_photos_without_a_score_stand_in_every_count(product, small_backbone, tmp_path, monkeypatch):
    root = shutil.copytree(product, tmp_path / "flange")
    lost = [sorted((root / name).iterdir())[0] for name in ("test/good", "test/scratch", "train/good")]
    missing, place = {read(path).pixels.tobytes() for path in lost}, FeatureExtractor.place

    def placed(self: FeatureExtractor, pixels: np.ndarray):
        if pixels.tobytes() in missing:
            raise NotLocated("nothing in the photo matches the reference")
        return place(self, pixels)

    monkeypatch.setattr(FeatureExtractor, "place", placed)
    photos, damaged = scan(root), next((root / "test/dent").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:900])
    study = Study.from_photos(
        photos, small_backbone, FeatureStore(tmp_path / "store"), grid=(8, 12), parameters={"k": 8}
    ).fit()
    assert {photo.sample.path: (photo.verdict, photo.label) for photo in study.scored.unscored} == {
        lost[0]: ("not located", "good"),
        lost[1]: ("not located", "scratch"),
        lost[2]: ("not located", "good"),
        damaged: ("not judged", "dent"),
    }
    limits = study.default_limits()
    message = study.evidence().sentence(limits)
    assert " of 3 inspected good parts (" in message
    assert " of 1 inspected defect, " in message
    assert (
        "; 1 of 3 defects not located, 1 of 3 defects not judged, 1 of 4 good parts not located, sort by hand"
        in message
    )
    evaluation = evaluate_photos(study.scored, limits, truth_masks(study.scored))
    counts = evaluation.counts
    assert (counts.good_unscored, counts.defects_unscored) == (UnscoredCounts(1), UnscoredCounts(1, 1))
    assert (counts.good_total, counts.defects_total, counts.with_mask) == (4, 3, 1)
    shown = study.split.test
    (test_scores,) = score_test_photos(study, shown, [study.live])
    features = study.photo_features
    assert figures(test_scores, limits, features.unscored(("test", sample) for sample in shown)).counts == counts
    assert outcomes(evaluation)["not_located"] == 2
