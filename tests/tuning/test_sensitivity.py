import math

import numpy as np
import pytest
import torch

from inspect_core.detectors import cop_corp, mahalanobis
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.runtime.progress import Cancelled
from inspect_core.scoring.metrics import aupro, auroc, fpr95_of_foreign, fpr_at_tpr
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning import sensitivity
from tests.study import made_up
from tests.study.made_up import SIZE, bench, photo

KINDS = ("good", "good", "good", "good", "good", "dent", "dent", "unknown")
PARTS = ("calibration", "calibration", "calibration", "test", "test", "test", "test", "added")


def patches(i: int) -> torch.Tensor:
    rows = made_up.patches(i)
    if KINDS[i] == "dent":
        rows[0, 1, 2] += 3
    return rows


def features(i: int) -> list[torch.Tensor]:
    return [patches(i)]


def view(method: str, detector) -> FittedMethod:
    return FittedMethod(method, detector, PatchFeatureSpec(("made up",)))


def filled(views, defect_types=KINDS) -> ScoredPhotos:
    numbered = enumerate(zip(defect_types, PARTS, strict=True))
    return bench(views, [photo(f"p{i}", kind, part) for i, (kind, part) in numbered], patches)


@pytest.fixture
def scored(recipe) -> ScoredPhotos:
    return filled(recipe.views)


@pytest.fixture
def masks() -> list[np.ndarray | None]:
    dent = np.zeros(SIZE, bool)
    dent[18:30, 66:90] = True
    return [{"good": np.zeros(SIZE, bool), "dent": dent}.get(kind) for kind in KINDS]


def test_figures_of_every_stop_are_those_of_its_maps(scored, masks):
    readings = sensitivity.live_sensitivity(scored, masks, "k", (1, 3, 5), {})
    judge = slice(3, 7)
    for reading, k in zip(readings, (1, 3, 5), strict=True):
        scores, defect = scored.scores(k=k), np.array([False, False, True, True])
        assert reading.value == k
        assert reading.image_auroc == auroc(scores[judge], defect)
        assert reading.good_rejected_at_95_caught == fpr_at_tpr(scores[judge], defect)
        assert reading.fpr95 == fpr95_of_foreign(scores[judge][~defect], scores[judge][defect])
        assert reading.aupro == pytest.approx(aupro(scored.maps(k=k)[judge], np.stack(masks[judge])), abs=1e-3)
        calibrate = scored.calibration_scores(k=k)
        assert len(calibrate) == 3
        assert reading.spread == pytest.approx((calibrate.max() - np.median(calibrate)) / np.median(calibrate))


def test_spread_remains_without_defects_or_calibration(recipe):
    scored = filled(recipe.views, defect_types=("good",) * 8)
    (reading,) = sensitivity.live_sensitivity(scored, [np.zeros(SIZE, bool)] * 8, "k", (5,), {})
    assert np.isnan([reading.image_auroc, reading.aupro, reading.good_rejected_at_95_caught, reading.fpr95]).all()
    assert reading.spread > 0
    scored = bench(recipe.views, [photo(f"p{i}") for i in range(3)], patches)
    (reading,) = sensitivity.live_sensitivity(scored, [None] * 3, "k", (5,), {})
    assert reading.spread == pytest.approx(sensitivity.spread(scored.scores()))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [((1, 2, 4), 1), ((2, 2), 0), ((), np.nan), ((3,), np.nan), ((0, 0), np.nan), ((-2, -1), np.nan)],
)
def test_spread_by_hand(scores, expected):
    assert sensitivity.spread(np.array(scores, float)) == pytest.approx(expected, nan_ok=True)


def test_stops_span_the_fit_and_hold_the_value_in_force():
    rng = np.random.default_rng(0)
    detector = mahalanobis.fit(rng.normal(size=(130, 1, 1, 100)).astype(np.float32), k=100)
    scored = ScoredPhotos([view("mahalanobis", detector)], (1, 1), (32, 32))
    for value in (1, 37, 100):
        stops = sensitivity.chosen_stops(scored, "k", value)
        assert stops == tuple(sorted(set(stops)))
        assert (stops[0], stops[-1]) == (1, 100)
        assert scored.stop_of("k", value) in stops
        assert set(stops) <= set(scored.stops("k"))
        assert len(stops) <= 11


@pytest.fixture
def corp() -> tuple[ScoredPhotos, np.ndarray]:
    rows = np.random.default_rng(50).normal(size=(400, 5)).astype(np.float32)
    return filled([view("corp", cop_corp.fit_corp(rows, gamma=1.0, M=32))]), rows


def test_refits_are_read_at_the_same_share_of_variance(corp, masks):
    scored, rows = corp
    fitted = {gamma: cop_corp.fit_corp(rows, gamma=gamma, M=32) for gamma in (0.25, 2.0)}
    readings = sensitivity.refit_sensitivity(scored, masks, (0.25, 2.0), fitted.get, features, {}, view=0, fraction=0.8)
    for reading, (gamma, detector) in zip(readings, fitted.items(), strict=True):
        q = detector.components_for(0.8)
        refit = filled([view("corp", detector)])
        assert reading.value == gamma
        assert reading == sensitivity.read_figures(refit, gamma, masks, q=q)


def test_a_value_that_cannot_be_fitted_leaves_a_gap(corp, masks):
    scored, rows = corp

    def fit_at(gamma: float):
        return cop_corp.fit_corp(rows, gamma=gamma, M=32)

    broken, sound = sensitivity.refit_sensitivity(
        scored, masks, (-1.0, 1.0), fit_at, features, {}, view=0, fraction=0.9
    )
    assert math.isnan(broken.image_auroc)
    assert math.isnan(broken.spread)
    assert math.isfinite(sound.image_auroc)


def test_progress_grows_and_can_stop_the_work(corp, masks):
    scored, rows = corp
    fitted = cop_corp.fit_corp(rows, gamma=1.0, M=32)
    reports: list[float] = []
    how = {"view": 0, "fraction": 0.9, "report": lambda fraction, _: reports.append(fraction)}
    sensitivity.refit_sensitivity(scored, masks, (1.0, 2.0), lambda _: fitted, features, {}, **how)
    assert reports == sorted(reports)
    assert reports[0] == 0
    assert reports[-1] == 1

    def stop(fraction: float, step: str) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        sensitivity.live_sensitivity(scored, masks, "q", (1, 2), {}, stop)
