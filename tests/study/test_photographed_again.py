"""A study within tolerances: what is learned from copies, where they lie, and what photographing again changes."""

from dataclasses import replace

import numpy as np
import pytest

from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.splitting import train_on_all
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.images.tolerances import DEFAULT_TOLERANCES, CaptureVariation, Tolerances
from inspect_core.scoring.anomaly_map import image_score
from inspect_core.scoring.limits import limits_from_good
from inspect_core.scoring.local_scale import GoodMaps
from inspect_core.study import fitting, photo_features
from inspect_core.study.evaluation import evaluate_photos, score_test_photos
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.photo_evidence import evidence_of
from inspect_core.study.study import Study
from inspect_core.verdict import Limits

NOISY = Tolerances(noise=10.0, light=0.0, shift=0.0, focus=0.0, jpeg=100, copies=3)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fit_with(product, backbone, tmp_path_factory):
    """fit_with(tolerances) is a fitted study of the product, by folds."""
    photos, store = train_on_all(split(scan(product), seed=0)), FeatureStore(tmp_path_factory.mktemp("features"))

    def made(tolerances: Tolerances | None) -> Study:
        return Study.from_photos(
            photos, backbone, store, parameters={"k": 8}, grid=(16, 16), tolerances=tolerances
        ).fit()

    return made


@pytest.fixture(scope="module")
def study(fit_with) -> Study:
    return fit_with(NOISY)


def test_copies_are_trained_on_and_never_stored(study, fit_with, monkeypatch):
    stored, fold_calls, left_out = set(study.store.folder.iterdir()), [], fitting.CrossFitter.fold_detectors

    def noted(self, report):
        for fold, views in zip(self.folds, left_out(self, report), strict=True):
            fold_calls.append((len(fold), views[0].detector.images))
            yield views

    monkeypatch.setattr(fitting.CrossFitter, "fold_detectors", noted)
    refit, photos = fit_with(NOISY), len(study.split.train)
    assert set(study.store.folder.iterdir()) == stored
    assert study.scored.views[0].detector.images == 4 * photos
    assert fold_calls == [(size, 4 * (photos - size)) for size, _ in fold_calls]
    assert refit.scores().tobytes() == study.scores().tobytes()
    assert refit.scored.repeat_scores().tobytes() == study.scored.repeat_scores().tobytes()


def test_a_large_photo_is_decoded_once_for_itself_and_its_copies(study, fit_with, monkeypatch):
    paths = []
    monkeypatch.setattr(photo_features, "LARGE", 1)
    monkeypatch.setattr(photo_features, "read", lambda path, depth: paths.append(path) or read(path, depth))
    refit = fit_with(NOISY)
    assert len(paths) == len(set(paths)) == len(study.split.train) + len(study.split.test)
    assert refit.scores().tobytes() == study.scores().tobytes()
    assert refit.scored.repeat_scores().tobytes() == study.scored.repeat_scores().tobytes()
    assert not refit.photo_features.inputs, "nothing is held after the fit"


def test_a_part_counts_once_where_limits_are_set(study):
    assert len(study.calibration_scores()) == len(study.split.train)
    repeats = study.scored.repeat_scores()[study.scored.setters()]
    assert np.isfinite(repeats).all()
    assert study.default_limits() == Limits(*limits_from_good(study.calibration_scores()))


def test_places_are_scaled_by_photos_and_by_copies(study):
    """So that what varies within the tolerances does not stand out on new photos."""
    scored, stop = study.scored, study.scored.live["k"]
    setters = np.flatnonzero(scored.setters())
    both = [errors.at(setters, 0, stop) for errors in (scored.stored, scored.stored.photographed_again())]
    errors = np.concatenate(both)
    maps = GoodMaps.from_errors(errors)
    by_photo = GoodMaps.from_errors(np.mean(both, axis=0))
    expected = maps.winsorised(errors, scored.size).finish(scored.size, fixed=by_photo.is_fixed(scored.size))
    np.testing.assert_array_equal(scored.scale(0, stop).gain, expected.gain)
    as_taken = GoodMaps.from_errors(both[0])
    assert scored.scale(0, stop).spread > as_taken.winsorised(both[0], scored.size).finish(scored.size).spread


def test_the_score_again_is_that_of_the_copy_by_hand(study):
    scored, position = study.scored, len(study.photos) - 1
    photo = study.photos[position]
    pixels = read(photo.path).pixels
    picture = study.extractor.network_input(pixels, photo.placed)
    (copy,) = replace(NOISY, copies=1).copies_of(picture, pixels.shape[:2], photo.digest, lambda variation: picture)
    for live in ({}, {"k": 4}):
        by_hand = scored.map_from_features(study.extractor.features_of_inputs([copy]), photo.placed, **live)
        area = scored.live["area"]
        assert scored.repeat_scores(**live)[position] == image_score(by_hand, area=area)
    as_taken = scored.map_from_features(study.extractor.features_of_inputs([picture]), photo.placed)
    assert image_score(as_taken, area=area) == study.scores()[position]


def test_noise_within_the_tolerances_stops_fewer_good_parts(study, fit_with):
    moved = []
    for study_scored in (fit_with(None), study):
        shifts = []
        for photo in [photo for photo in study_scored.photos if photo.label == "good" and photo.subset == "test"]:
            picture = study_scored.extractor.network_input(read(photo.path).pixels, photo.placed)
            noisy = CaptureVariation(noise=10.0).apply(picture, photo.placed.photo_size, np.random.default_rng(0))
            scores = [
                float(
                    image_score(
                        study_scored.scored.map_from_features(
                            study_scored.extractor.features_of_inputs([pixels]), photo.placed
                        ),
                        area=1,
                    )
                )
                for pixels in (picture, noisy)
            ]
            shifts.append(scores[1] - scores[0])
        moved.append(np.mean(shifts) / study_scored.calibration_scores().std())
    assert moved[1] < 0.5 * moved[0]


def test_changed_verdicts_are_equal_on_inspect_and_evaluate(study, fit_with):
    scores, repeats = study.scores().astype(float), study.scored.repeat_scores().astype(float)
    middle = float(np.median(scores))
    limits = Limits(middle, middle)
    judge = study.scored.of_subset("test")
    changed = ((scores > middle) != (repeats > middle)) & judge
    counts = evidence_of(study.scored).repeatability(limits)
    assert (counts.changed, counts.total) == (changed.sum(), judge.sum())
    assert str(counts.changed) in counts.sentence()
    assert evaluate_photos(study.scored, limits, truth_masks(study.scored)).changed == counts
    (streamed,) = score_test_photos(study, study.split.test, [{}])
    assert streamed.evidence().repeatability(limits) == counts
    assert evidence_of(fit_with(None).scored).repeatability(limits) is None


def test_the_recipe_says_what_was_tolerated(fit_with):
    assert str(DEFAULT_TOLERANCES) in fit_with(DEFAULT_TOLERANCES).recipe().provenance.calibration_note
