import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from inspect_core.datasets.folders import scan, split
from inspect_core.datasets.splitting import train_on_all
from inspect_core.detectors import kernel_pca
from inspect_core.detectors.cop_corp import covariance
from inspect_core.detectors.cop_corp.feature_maps import cosine_fourier_map
from inspect_core.features.backbones import Backbone
from inspect_core.features.store import FeatureStore
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.method import Workload
from inspect_core.methods.registry import METHODS
from inspect_core.runtime.progress import Cancelled
from inspect_core.study.study import FittedStudy, Study
from inspect_core.tuning import patch_sample
from inspect_core.tuning.patch_sample import PatchSample, SampleFit, explained, stop_explaining
from inspect_core.workbench import previews
from inspect_core.workbench.previews import LEAD, PreviewRun

GRID = (16, 16)
PLACES = 256


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> FeatureStore:
    return FeatureStore(tmp_path_factory.mktemp("features"))


@pytest.fixture(scope="module")
def corp(product, backbone, store) -> FittedStudy:
    return Study.from_photos(
        scan(product), backbone, store, method="corp", parameters={"gamma": 2.0, "M": 96}, grid=GRID
    ).fit()


@pytest.fixture(scope="module")
def folded(product, backbone, store) -> FittedStudy:
    """Whose good photos set the limits too, in folds."""
    photos = train_on_all(split(scan(product), seed=0))
    return Study.from_photos(
        photos, backbone, store, method="corp", parameters={"gamma": 2.0, "M": 32}, grid=GRID
    ).fit()


@pytest.fixture(scope="module")
def hoffmann(product, backbone, store) -> FittedStudy:
    return Study.from_photos(
        scan(product), backbone, store, method="kernel_pca", parameters={"patches": 150}, grid=GRID
    ).fit()


@pytest.fixture
def no_network(monkeypatch) -> None:
    monkeypatch.setattr(Backbone, "run", lambda *a, **k: pytest.fail("the network ran"))


def test_the_sample_is_drawn_evenly_from_the_store(corp, no_network):
    sample = corp.patch_sample(110)
    rows = torch.cat([corp.photo_features.features_of(photo)[0].reshape(PLACES, -1) for photo in corp.split.train])
    photos = []
    for row in sample:
        positions = (rows == row).all(dim=1).nonzero()
        assert len(positions), "every patch is one of the photos to fit"
        photos.append(int(positions[0]) // PLACES)
    assert np.bincount(photos).tolist() == [10] * len(corp.split.train)
    assert torch.equal(corp.patch_sample(110), sample)


def test_all_patches_when_there_are_fewer_than_wanted(corp):
    assert len(PatchSample.from_study(corp).patches) == PLACES * len(corp.split.train)


def test_a_preview_has_the_draw_of_the_full_fit(corp):
    sample = PatchSample.from_study(corp)
    for gamma, M in ((0.5, 32), (2.0, 96), (8.0, 128)):
        detector = sample.fit({"gamma": gamma, "M": M})
        drawn = cosine_fourier_map(sample.patches.shape[-1], gamma=gamma, M=M, seed=corp.order.seed, orthogonal=True)
        expected = covariance.fit(sample.patches, drawn, explained_variance=0.9)
        assert torch.equal(detector.feature_map.w0, expected.feature_map.w0)
        assert torch.equal(detector.feature_map.u, expected.feature_map.u)
        torch.testing.assert_close(detector.eigenvalues, expected.eigenvalues, rtol=1e-4, atol=1e-6)
        photo = corp.features(corp.photos[0])[0]
        torch.testing.assert_close(detector.score(photo, q=9), expected.score(photo, q=9), rtol=1e-3, atol=1e-5)


def test_of_all_patches_the_preview_is_the_full_fit(corp):
    detector = PatchSample.from_study(corp).fit({})
    photo = corp.features(corp.photos[0])[0]
    torch.testing.assert_close(
        detector.score(photo, q=5), corp.scored.views[0].detector.score(photo, q=5), rtol=1e-3, atol=1e-5
    )


def test_the_exact_kernel_previews_on_the_sample_of_its_fit(hoffmann):
    sample = PatchSample.from_study(hoffmann)
    sigma = hoffmann.scored.views[0].detector.kernel.sigma
    preview = sample.fit({"sigma": 2 * sigma})
    full = hoffmann.with_parameters({"sigma": 2 * sigma}).fit().scored.views[0].detector
    assert len(sample.patches) == 150
    assert torch.equal(preview.x, full.x)
    photo = hoffmann.features(hoffmann.photos[0])[0]
    assert torch.equal(preview.score(photo, q=20), full.score(photo, q=20))


def test_cancelling_ends_the_fit(corp):
    with pytest.raises(Cancelled):
        PatchSample.from_study(corp).fit({"gamma": 1.0}, lambda: True)
    with pytest.raises(Cancelled):
        PatchSample.from_study(corp, lambda: True)


def test_values_out_of_range_are_refused_as_in_the_fit(corp):
    with pytest.raises(ValueError, match="gamma is -1"):
        PatchSample.from_study(corp).fit({"gamma": -1.0})


def test_the_share_that_q_stands_for(corp, hoffmann):
    for study in (corp, hoffmann):
        view = replace(study.scored.views[0], selected_stops=(1, 3, 10))
        eigenvalues = view.detector.eigenvalues.numpy()
        fractions = explained(view, (1, 3, len(eigenvalues)))
        np.testing.assert_allclose(fractions, [eigenvalues[:q].sum() / eigenvalues.sum() for q in (1, 3, None)])
        assert stop_explaining(view, fractions[1]) == 3
        assert stop_explaining(view, 1.1) == 10
        assert stop_explaining(view, 0.0) == 1


def test_features_that_vary_in_nothing_are_explained_by_nothing():
    constant = kernel_pca.KernelPCA(
        kernel_pca.GaussianKernel(1.0), torch.zeros(1, 2), torch.zeros(1, 0), torch.zeros(1), torch.zeros(0), 0
    )
    assert explained(FittedMethod("kernel_pca", constant, spec=None), (0, 1)).tolist() == [1.0, 1.0]


def test_the_share_at_hand_starts_the_fit_it_belongs_to(corp):
    scored = corp.scored
    q, view = scored.stops("q")[10], scored.views[0]
    assert stop_explaining(view, float(explained(view, [q])[0])) == q


def test_chosen_q_stays_in_a_preview_and_a_default_follows(corp, hoffmann):
    for study, name, value in ((corp, "gamma", 8.0), (hoffmann, "sigma", 1e3)):
        sample, study_view = PatchSample.from_study(study), study.scored.views[0]
        run = PreviewRun({name: value}, (), 0, study.live)
        run.work(lambda sample=sample: sample)
        assert run.live["q"] == run.scored.stop_of("q", run.scored.views[0].start)
        assert run.chosen(0) is None
        run.live = run.live | {"q": 2}
        assert run.chosen(0) == 2, "moved by hand in the preview"
        run = PreviewRun({name: value}, (), 0, study.live, study_view.stops[3])
        run.work(lambda sample=sample: sample)
        assert run.live["q"] == run.chosen(0) == study_view.stops[3]


@pytest.fixture
def asked(monkeypatch):
    """asked(study, current, parameters, first=0) is the run of a move on a study, without its full fit."""
    monkeypatch.setattr(previews, "fit_all", lambda product, run: None)

    def ask(study: FittedStudy, current: PreviewRun | None, parameters: dict[str, float], *, first: int) -> PreviewRun:
        product = SimpleNamespace(scored=study.scored, patch_sample=lambda: PatchSample.from_study(study))
        return previews.ask(product, current, parameters, study.live, first=first)

    return ask


@pytest.fixture
def order(monkeypatch) -> list[str]:
    """The names of photos in the order in which previews score them."""
    names, errors = [], FittedStudy.errors
    monkeypatch.setattr(FittedStudy, "errors", lambda self, photo: names.append(photo.name) or errors(self, photo))
    return names


def test_the_shown_photo_comes_first_and_all_follow(corp, asked, no_network, order):
    first = len(corp.photos) - 2
    run = asked(corp, None, {"gamma": 1.0, "M": 32}, first=first)
    assert run.ended.wait(60)
    assert run.error == ""
    assert run.complete
    assert run.done == len(corp.photos)
    lead = [photo.name for photo in corp.photos if photo.subset == "calibration"][:LEAD]
    assert order[: len(lead) + 1] == [*lead, corp.photos[first].name], "after those that scale it"
    assert run.scored.photos == corp.photos
    assert run.scored.unscored == corp.scored.unscored
    repeated = asked(corp, run, {"gamma": 1.0, "M": 32}, first=0)
    assert repeated is run, "the same move is not run twice"


def test_many_features_are_shown_by_few_first(corp, asked, no_network, monkeypatch):
    fitted, begun = [], SampleFit.__init__

    def begin(self, sample, parameters, cancelled=None):
        fitted.append(parameters["M"])
        begun(self, sample, parameters, cancelled)

    monkeypatch.setattr(SampleFit, "__init__", begin)
    exact = asked(corp, None, {"gamma": 1.0, "M": 32}, first=0)
    assert exact.ended.wait(60)
    monkeypatch.setattr("inspect_core.methods.corp.COARSE", 16)
    go_on, show, live = threading.Event(), PreviewRun._show_wanted, []

    def wait(self, sample, detector):
        show(self, sample, detector)
        live.append((self.ready(0), dict(self.live), self.map(0, {}).tobytes()))
        assert go_on.wait(60)

    monkeypatch.setattr(PreviewRun, "_show_wanted", wait)
    coarse = asked(corp, None, {"gamma": 1.0, "M": 32}, first=0)
    go_on.set()
    assert coarse.ended.wait(60)
    assert fitted == [32, 16, 32]
    assert [entry[:2] for entry in live[:2]] == [(True, {}), (True, {})], "shown, and not to be moved yet"
    assert live[0][2] != live[1][2]
    assert coarse.complete
    assert np.array_equal(coarse.scored.scores(**coarse.live), exact.scored.scores(**exact.live))


def test_good_photos_are_scored_by_what_has_not_seen_them(folded, asked, no_network):
    """As in a fit; and of all patches the limits and verdicts are those of a fit without copies."""
    run = asked(folded, None, {"gamma": 1.0, "M": 32}, first=0)
    assert run.ended.wait(60)
    assert run.error == ""
    full = folded.with_parameters({"gamma": 1.0, "M": 32}).fit().scored
    live = full.live | {"q": 9}
    scores, expected = run.scored.scores(**live), full.scores(**live)
    np.testing.assert_allclose(scores, expected, rtol=2e-3)
    limits, of_fit = run.scored.default_limits(**live), full.default_limits(**live)
    assert limits.review == pytest.approx(of_fit.review, rel=2e-3)
    assert [limits.decide(score)[0] for score in scores] == [of_fit.decide(score)[0] for score in expected]
    seen_all = run.scored.views[0].sweep([folded.features(folded.photos[0])[0]], (9,))[0]
    assert folded.photos[0].subset == "calibration"
    assert not np.allclose(seen_all[0], run.scored.errors(0)[0][run.scored.stops("q").index(9)])


def test_folds_are_joined_where_the_eigenvectors_take_long(folded, monkeypatch):
    sample = PatchSample.from_study(folded)
    all_of_them = SampleFit(sample, {"M": 64}).folds
    method = METHODS["corp"]
    costs = method.costs(Workload(1, 0, *sample.patches.shape), folded.parameters[0] | {"M": 64})
    monkeypatch.setattr(patch_sample, "SECONDS", 5.5 * costs.seconds)
    joined = SampleFit(sample, {"M": 64}).folds
    assert [len(all_of_them), len(joined), len(SampleFit(sample, {"M": 96}).folds)] == [10, 5, 4]
    names = [sorted(photo.name for fold in folds for photo in fold) for folds in (all_of_them, joined)]
    assert names[0] == names[1] == sorted(photo.name for photo in folded.split.train)


def test_a_newer_move_stops_the_older(corp, asked, monkeypatch):
    entered, go_on = threading.Event(), threading.Event()
    features = Study.features

    def slow(self, photo):
        entered.set()
        assert go_on.wait(60)
        return features(self, photo)

    monkeypatch.setattr(Study, "features", slow)
    older = asked(corp, None, {"gamma": 1.0, "M": 32}, first=0)
    assert entered.wait(60)
    newer = asked(corp, older, {"gamma": 4.0, "M": 32}, first=0)
    go_on.set()
    assert older.ended.wait(60)
    assert newer.ended.wait(60)
    assert not older.complete
    assert newer.complete


def test_a_photo_looked_at_meanwhile_comes_next(corp, order):
    run = PreviewRun({"gamma": 1.0, "M": 32}, corp.photos, 0, corp.live)
    run.want(5)
    run.work(lambda: PatchSample.from_study(corp))
    lead = len([photo for photo in corp.photos if photo.subset == "calibration"][:LEAD])
    assert order[lead : lead + 2] == [corp.photos[0].name, corp.photos[5].name]
    assert run.complete


def test_what_went_wrong_is_told(corp, asked):
    run = asked(corp, None, {"gamma": 0.0}, first=0)
    assert run.ended.wait(60)
    assert "gamma is 0.0" in run.error
    assert not run.complete
