"""Photos in the batches of a pretended GPU: how often the network runs, what is read ahead, and the same bits."""

import math
import threading
from collections import Counter, deque
from dataclasses import replace

import cv2
import numpy as np
import pytest
import torch

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.folders import scan
from inspect_core.features import gpu_batches
from inspect_core.features.gpu_batches import GpuBatches
from inspect_core.features.store import FeatureStore
from inspect_core.images.photo_reader import read
from inspect_core.images.tolerances import Tolerances
from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.line.challenge import challenge, name_parts
from inspect_core.recipe import LoadedRecipe
from inspect_core.runtime.ordered_pool import CORES
from inspect_core.runtime.progress import ignore_progress
from inspect_core.study import photo_features
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.study import Study
from inspect_core.study.study_tasks import FitTask, Shard
from tests.eager import AT_ONCE, SIZE, network
from tests.pretend_gpu import GPU, pretended

GRID, COPIES = (8, 12), 2


@pytest.fixture
def gpu(monkeypatch):
    """A pretended GPU that takes AT_ONCE images."""
    monkeypatch.setattr(gpu_batches, "largest_batch", lambda device, size: AT_ONCE)
    with pretended():
        yield GPU


@pytest.fixture
def many(tmp_path):
    """many(count) writes photos of one part, with noise."""

    def write(count: int) -> list[PhotoFile]:
        rng = np.random.default_rng(0)
        ground = cv2.GaussianBlur(rng.integers(60, 200, (*SIZE, 3)).astype(np.uint8), (0, 0), 4)
        samples = []
        for number in range(count):
            pixels = np.clip(ground + rng.normal(0, 4, ground.shape), 0, 255).astype(np.uint8)
            path = tmp_path / "photos" / f"{number:03}.png"
            path.parent.mkdir(exist_ok=True)
            cv2.imwrite(str(path), pixels)
            samples.append(PhotoFile(path, path.name, "good", SIZE))
        return samples

    return write


@pytest.fixture
def runs(monkeypatch) -> Counter:
    """How many batches the network was given, by the images in them."""
    counted, padded = Counter(), GpuBatches._padded

    def count(batches, images, *arguments):
        counted[len(images)] += 1
        return padded(batches, images, *arguments)

    monkeypatch.setattr(GpuBatches, "_padded", count)
    return counted


@pytest.fixture
def fitted(gpu, many, tmp_path):
    """A study of 30 photos, fitted on the pretended GPU."""
    samples = many(30)
    folder, store = samples[0].path.parent, FeatureStore(tmp_path / "features")
    return Study.from_photos(
        scan(folder), network(gpu), store, method="mahalanobis", grid=GRID, parameters={"k": 6}
    ).fit()


def afresh(study: Study, folder) -> PhotoFeatures:
    """The features of the study's photos, of which none is stored yet."""
    return PhotoFeatures.here(study.extractor, FeatureStore(folder))


def learn(study: Study, features: PhotoFeatures, samples, tolerances: Tolerances | None) -> None:
    fit = replace(study.fitting.fit_of(samples), tolerances=tolerances)
    deque(FitTask(fit).process(features, Shard(0, samples), ignore_progress), maxlen=0)


@pytest.mark.usefixtures("unhurried")
def test_300_photos_with_copies_take_as_few_runs_as_can_be(fitted, many, runs, tmp_path):
    runs.clear()
    learn(fitted, afresh(fitted, tmp_path / "empty"), many(300), Tolerances(copies=COPIES))
    assert runs.total() == math.ceil(300 * (1 + COPIES) / AT_ONCE)
    assert runs[AT_ONCE] >= runs.total() - 1


def test_the_next_batch_is_read_while_the_network_runs(fitted, many, runs, tmp_path, monkeypatch):
    samples, padded, counted, waited = many(5 * AT_ONCE), GpuBatches._padded, Counter(), []
    more_read = threading.Condition()

    def read_and_tell(path, depth):
        picture = read(path, depth)
        with more_read:
            counted["read"] += 1
            more_read.notify_all()
        return picture

    def wait_for_the_next(batches, images, *arguments):
        counted["run"] += len(images)
        expected = min(counted["run"] + AT_ONCE, len(samples))
        with more_read:
            waited.append(more_read.wait_for(lambda: counted["read"] >= expected, timeout=20))
        return padded(batches, images, *arguments)

    monkeypatch.setattr(photo_features, "read", read_and_tell)
    monkeypatch.setattr(GpuBatches, "_padded", wait_for_the_next)
    learn(fitted, afresh(fitted, tmp_path / "empty"), samples, None)
    assert waited == [True] * 5


@pytest.mark.usefixtures("unhurried")
def test_memory_is_bounded_by_the_batch_and_not_by_the_folder(fitted, many, tmp_path, monkeypatch):
    samples, read_photos, most_ahead = many(20 * AT_ONCE), [], []

    def read_and_note(path, depth):
        read_photos.append(path)
        return read(path, depth)

    def done(photos):
        most_ahead.append(len(read_photos) - AT_ONCE * (len(most_ahead) + 1))
        return [None] * len(photos)

    monkeypatch.setattr(photo_features, "read", read_and_note)
    deque(afresh(fitted, tmp_path / "empty").in_batches(done, samples), maxlen=0)
    assert max(most_ahead) <= CORES + max(CORES, AT_ONCE)


def test_features_are_the_same_in_any_company(fitted, many, tmp_path):
    def values(features):
        return [view.cpu() for view in features]

    def each(photos):
        return [[values(features) for features in looks] for _, looks in photos]

    samples, tolerances = many(2 * AT_ONCE + 3), Tolerances(copies=COPIES)
    together = list(afresh(fitted, tmp_path / "a").in_batches(each, samples, tolerances))
    backwards = list(afresh(fitted, tmp_path / "b").in_batches(each, samples[::-1], tolerances))[::-1]
    for sample, looks, others in zip(samples, together, backwards, strict=True):
        single = values(fitted.extractor.features(read(sample.path).pixels))
        assert len(looks) == 1 + COPIES
        for features, other in zip([*looks, looks[0]], [*others, single], strict=True):
            assert all(torch.equal(view, expected) for view, expected in zip(features, other, strict=True))


def test_batch_challenge_and_trial_fill_their_batches(fitted, runs):
    inspector = LoadedRecipe(fitted.recipe(), fitted.extractor.backbone)
    paths = [photo.path for photo in fitted.photos][: AT_ONCE + 2]
    singles = [inspector.inspect(read(path).pixels) for path in paths]
    runs.clear()
    rows = run(inspector, photos_of(paths), Outputs())
    assert dict(runs) == {AT_ONCE: 1, 2: 1}
    assert {row.name: row.score for row in rows} == {
        path.name: verdict.score for path, verdict in zip(paths, singles, strict=True)
    }
    runs.clear()
    verdicts = inspector.inspect_all(read(path).pixels for path in paths)
    assert [verdict.score for verdict in verdicts] == [verdict.score for verdict in singles]
    assert dict(runs) == {AT_ONCE: 1, 2: 1}
    good = [path for path, verdict in zip(paths, singles, strict=True) if verdict.verdict == "accept"]
    named = name_parts(inspector, good, [])
    inspector.challenge_parts = tuple(replace(part, digest="") for part in named)  # as by other photos
    runs.clear()
    assert all(result.passed for result in challenge(inspector, {path.stem: path for path in good}))
    assert runs.total() == math.ceil(len(good) / AT_ONCE)


def test_one_photo_that_fails_does_not_take_its_batch_with_it(fitted, many, monkeypatch):
    inspector = LoadedRecipe(fitted.recipe(), fitted.extractor.backbone)
    photos = [(photo.name, photo.path) for photo in fitted.photos][:AT_ONCE]
    compute_maps, bad = LoadedRecipe.compute_maps, inspector.prepare(read(photos[3][1]).pixels).picture

    def fails_on_one(self, placed, *, head):
        if any(np.array_equal(photo.picture, bad) for photo in placed):
            raise ValueError("features is not finite in row 0")
        return compute_maps(self, placed, head=head)

    monkeypatch.setattr(LoadedRecipe, "compute_maps", fails_on_one)
    rows = run(inspector, photos, Outputs())
    assert [number for number, row in enumerate(rows) if row.score is None] == [3]
    assert rows[3].reason == "features is not finite in row 0"
