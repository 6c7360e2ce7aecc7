import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import pdist

from inspect_core.features.store import Store
from inspect_core.images.folders import scan, split
from inspect_core.methods.subspace import FRACTIONS, KERNEL_VALUES
from inspect_core.methods.table import METHODS
from inspect_core.runtime.progress import Cancelled
from inspect_core.study.study import Study
from inspect_core.tuning.patch_sample import PatchSample
from inspect_core.tuning.suggest import TIE, Suggestion, candidates, suggest
from inspect_core.tuning.trial import Trial, is_better

GRID = (16, 16)
SPREAD = np.array([-0.1, 0.0, 0.1])
"""Of the qualities of photos: differences between settings may come from it."""
QUICK = {"corp": {"M": 96}, "kernel_pca": {"patches": 200}, "mahalanobis": {"k": 16}}


@pytest.fixture(scope="module")
def make(product, backbone, tmp_path_factory):
    """make(method) is a fitted study of the small product; all of a method share their features."""
    store, samples = Store(tmp_path_factory.mktemp("features")), scan(product)

    def study(method: str, **options) -> Study:
        photos = split(samples, seed=0, calibrate=options.pop("calibrate", 0.2))
        parameters = QUICK.get(method, {}) | options
        return Study(photos, backbone, store, method=method, parameters=parameters, grid=GRID).fit()

    return study


def fitted_at(study: Study, suggestion: Suggestion) -> Study:
    """The study as it is after the suggestion has been followed."""
    followed = study.with_parameters({**study.order.parameters, **suggestion.parameters}).fit()
    if "explained_variance" not in suggestion.parameters:
        followed.begin_with(**suggestion.live)
    return followed


def directions(patches: torch.Tensor) -> np.ndarray:
    rows = patches.double().numpy()
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def median_square(rows: np.ndarray) -> float:
    return float(np.median(pdist(rows, "sqeuclidean")))


def test_widths_are_tried_by_the_kernel_values_they_give(make):
    for method, name in (("corp", "gamma"), ("kernel_pca", "sigma")):
        study = make(method)
        patches = PatchSample.of(study).patches
        chosen = np.random.default_rng(0).permutation(len(patches))[:1000]
        square = median_square(directions(patches[chosen]) if name == "gamma" else patches[chosen].double().numpy())
        (_, own, _), *others = candidates(study, ())
        assert own == {}, "the default is tried first"
        widths = [parameters[name] for _, parameters, _ in others]
        values = [np.exp(-width * square) if name == "gamma" else np.exp(-square / (2 * width**2)) for width in widths]
        np.testing.assert_allclose(values, KERNEL_VALUES, rtol=1e-2)


def test_the_same_photos_and_seed_give_the_same_suggestion(make):
    first, again = suggest(make("corp")), suggest(make("corp"))
    assert first == again


@pytest.mark.parametrize("method", ["corp", "cop", "kernel_pca", "pca"])
def test_the_suggested_setting_finds_true_defects_better_than_a_degenerate_one(make, method):
    """Held against the truth that it never saw: the share of pixels ranked rightly on photos with masks."""
    from inspect_core.study.evaluation import evaluate
    from inspect_core.study.judged import truth_masks

    first = make(method)
    suggestion = suggest(first, fixed=QUICK.get(method, {}))
    study = fitted_at(first, suggestion)
    masks = truth_masks(study.scored)
    degenerate = {"corp": {"gamma": 1e3}, "kernel_pca": {"sigma": 1e-2}}.get(method, {"explained_variance": 0.05})
    worse = study.with_parameters(degenerate).fit()
    found, lost = (evaluate(one, one.default_limits(), masks, **one.live) for one in (study, worse))
    assert found.pixel_auroc > 0.8
    assert found.pixel_auroc > lost.pixel_auroc
    assert suggestion.live.items() <= study.live.items()


def tried(monkeypatch, *means: float) -> None:
    """Let the settings, the default first, have these mean qualities."""
    found = iter(means)
    monkeypatch.setattr(Trial, "qualities", lambda self, scored, **live: next(found) + SPREAD)


@pytest.mark.parametrize("best", [0.5, 0.51])
def test_the_default_stays_when_nothing_is_better(make, monkeypatch, best):
    """A lead of .01 in the mean of three photos is chance when each moves by .1."""
    shuffled = iter([SPREAD, *[SPREAD[[2, 0, 1]]] * len(FRACTIONS)])
    means = iter([0.5, best, *[0.4] * len(FRACTIONS)])
    monkeypatch.setattr(Trial, "qualities", lambda self, scored, **live: next(means) + next(shuffled))
    study = make("cop")
    suggestion = suggest(study)
    start = next(iter(candidates(study, ())))[2].components_for(study.parameters[0]["explained_variance"])
    assert (suggestion.parameters, suggestion.live) == ({}, {"q": start})
    assert suggestion.basis.startswith("The default: on 24 good photos with synthetic defects pasted in, none of 7")


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.integers(0, 99))
def test_better_is_what_a_one_sided_paired_t_test_says(qualities, seed):
    first = np.array(qualities)
    second = first + np.random.default_rng(seed).normal(-0.02, 0.05, len(first))
    assert is_better(first, second) == (stats.ttest_rel(first, second, alternative="greater").pvalue < 0.05)
    assert not is_better(first, first)
    assert not (is_better(first, second) and is_better(second, first))


def test_the_best_setting_wins_and_ties_go_to_the_smaller_value(make, monkeypatch):
    tried(monkeypatch, 0.5, 0.70, 0.8, 0.8 + 0.9 * TIE, 0.8 + 0.9 * TIE, 0.75, 0.6, 0.6)
    study = make("cop")
    detector = next(iter(candidates(study, ())))[2]
    suggestion = suggest(study)
    assert suggestion.parameters == {"explained_variance": FRACTIONS[1]}
    assert suggestion.live == {"q": detector.components_for(FRACTIONS[1])}


def test_what_the_user_chose_is_kept(make):
    assert suggest(make("corp", gamma=3.0), fixed=("gamma",)).parameters["gamma"] == 3.0
    fraction = suggest(make("corp", explained_variance=0.91), fixed=("explained_variance",)).parameters
    assert fraction.get("explained_variance", 0.91) == 0.91
    assert suggest(make("kernel_pca", q=30), fixed=("q", "patches")).live == {"q": 30}
    with pytest.warns(UserWarning, match="N = 11"):
        assert suggest(make("mahalanobis"), fixed=("k",)) is None


def test_a_suggestion_changes_nothing_by_itself(make, monkeypatch):
    tried(monkeypatch, 0.5, *[0.8] * 20)
    with pytest.warns(UserWarning, match="N = 11"):
        study = make("mahalanobis")
    suggestion = suggest(study)
    assert suggestion.live["k"] < study.live["k"] == 16
    assert study.recipe().live == study.live
    assert suggestion.basis.startswith("Suggested, and not set: ")


def test_the_sentence_says_what_it_rests_on(make, monkeypatch):
    for calibrate in (0.2, 0.0):
        tried(monkeypatch, 0.5, *[0.8] * len(FRACTIONS))
        basis = suggest(make("cop", calibrate=calibrate)).basis
        assert "24 good photos with synthetic defects pasted in" in basis
        assert f"of {len(FRACTIONS)} settings" in basis
        assert ("also learned from" in basis) == (calibrate == 0)


def test_progress_and_cancelling(make):
    steps = []
    suggest(make("cop"), progress=lambda fraction, step: steps.append(fraction))
    assert steps == sorted(steps)
    assert steps[-1] == 1.0
    seen = []

    def stop_at_five(fraction, step):
        seen.append(step)
        if len(seen) == 5:
            raise Cancelled

    with pytest.raises(Cancelled):
        suggest(make("corp"), progress=stop_at_five)
    assert len(seen) == 5


def test_patches_that_are_all_equal_leave_the_width_alone():
    assert METHODS["corp"].settings(torch.ones(50, 256), 0) == [{}]
    assert METHODS["kernel_pca"].settings(torch.ones(1, 256), 0) == [{}]


def test_methods_without_a_value_to_suggest(make):
    assert suggest(make("nearest", patches=100)) is None


def test_other_parameters_need_no_other_features_and_k_does(make):
    study = make("corp")
    other = study.with_parameters({"gamma": 0.5})
    assert other.parameters[0]["gamma"] == 0.5
    assert other.parameters[0]["M"] == study.parameters[0]["M"]
    assert study.parameters[0]["gamma"] == 1.0
    with pytest.raises(ValueError, match="need other features"):
        make("mahalanobis").with_parameters({"k": 8})
