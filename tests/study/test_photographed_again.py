"""A study within tolerances: what is learned from copies, where they lie, and what photographing again changes."""

from dataclasses import replace

import numpy as np
import pytest

from inspect_core.features.store import FeatureStore
from inspect_core.images.folders import scan, split
from inspect_core.images.photo_reader import read
from inspect_core.images.splitting import train_on_all
from inspect_core.images.tolerances import DEFAULT_TOLERANCES, CaptureVariation, Tolerances
from inspect_core.judge.anomaly_map import image_score
from inspect_core.study import fitting
from inspect_core.study.evaluation import RepeatabilityCounts, evaluate_photos, repeatability_counts, score_test_photos
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.study import Study
from inspect_core.verdict import Limits

NOISY = Tolerances(noise=10.0, light=0.0, shift=0.0, focus=0.0, jpeg=100, copies=3)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def taught(product, backbone, tmp_path_factory):
    """taught(tolerances) is a fitted study of the product, by folds."""
    photos, store = train_on_all(split(scan(product), seed=0)), FeatureStore(tmp_path_factory.mktemp("features"))

    def made(tolerances: Tolerances | None) -> Study:
        return Study(photos, backbone, store, parameters={"k": 8}, grid=(16, 16), tolerances=tolerances).fit()

    return made


@pytest.fixture(scope="module")
def study(taught) -> Study:
    return taught(NOISY)


def test_copies_are_learned_from_with_their_photo_and_never_stored(study, taught, monkeypatch):
    stored, seen, left_out = set(study.store.folder.iterdir()), [], fitting.CrossFitter.fold_detectors

    def noted(self, report):
        for fold, views in zip(self.folds, left_out(self, report), strict=True):
            seen.append((len(fold), views[0].detector.images))
            yield views

    monkeypatch.setattr(fitting.CrossFitter, "fold_detectors", noted)
    again, photos = taught(NOISY), len(study.split.train)
    assert set(study.store.folder.iterdir()) == stored
    assert study.results.views[0].detector.images == 4 * photos
    assert seen == [(own, 4 * (photos - own)) for own, _ in seen]
    assert again.scores().tobytes() == study.scores().tobytes()
    assert again.results.repeat_scores().tobytes() == study.results.repeat_scores().tobytes()


def test_a_part_counts_once_where_limits_are_set(study):
    assert len(study.calibration_scores()) == len(study.split.train)
    assert np.isnan(study.results.repeat_scores()[study.results.setters()]).all()


def test_the_score_again_is_that_of_the_copy_by_hand(study):
    scored, position = study.results, len(study.photos) - 1
    photo = study.photos[position]
    pixels = read(photo.path).pixels
    picture = study.extractor.network_input(pixels, photo.placed)
    (copy,) = replace(NOISY, copies=1).copies_of(picture, pixels.shape[:2], photo.digest)
    for live in ({}, {"k": 4}):
        by_hand = scored.map_from_features(study.extractor.features_of_input(copy), photo.placed, **live)
        area = scored.live["area"]
        assert scored.repeat_scores(**live)[position] == image_score(by_hand, area=area)
    as_taken = scored.map_from_features(study.extractor.features_of_input(picture), photo.placed)
    assert image_score(as_taken, area=area) == study.scores()[position]


def test_noise_within_the_tolerances_moves_good_scores_less(study, taught):
    moved = []
    for own in (taught(None), study):
        shifts = []
        for photo in [photo for photo in own.photos if photo.label == "good" and photo.subset == "test"]:
            picture = own.extractor.network_input(read(photo.path).pixels, photo.placed)
            noisy = CaptureVariation(noise=10.0).apply(picture, photo.placed.photo_size, np.random.default_rng(0))
            scores = [
                float(
                    image_score(
                        own.results.map_from_features(own.extractor.features_of_input(seen), photo.placed), area=1
                    )
                )
                for seen in (picture, noisy)
            ]
            shifts.append(scores[1] - scores[0])
        moved.append(np.mean(shifts) / own.calibration_scores().std())
    assert abs(moved[1]) < 0.5 * abs(moved[0])


def test_changed_verdicts_are_counted_on_the_bench_and_by_evaluate_alike(study, taught):
    scores, again = study.scores().astype(float), study.results.repeat_scores().astype(float)
    middle = float(np.median(scores))
    limits = Limits(middle, middle)
    judge = study.results.of_subset("test")
    changed = ((scores > middle) != (again > middle)) & judge
    found = repeatability_counts(study.results, limits)
    assert (found.changed, found.total) == (changed.sum(), judge.sum())
    assert str(found.changed) in found.sentence()
    assert evaluate_photos(study.results, limits, truth_masks(study.results)).changed == found
    (streamed,) = score_test_photos(study, study.split.test, [{}])
    assert RepeatabilityCounts.from_scores(streamed.scores, streamed.repeat_scores, streamed.defect, limits) == found
    assert repeatability_counts(taught(None).results, limits) is None


def test_the_recipe_says_what_was_tolerated(taught):
    assert str(DEFAULT_TOLERANCES) in taught(DEFAULT_TOLERANCES).recipe().provenance.calibration_note
