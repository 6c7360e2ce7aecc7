import numpy as np
import pytest
from sklearn.manifold import trustworthiness

from inspect_core.features.store import FeatureStore
from inspect_core.runtime.progress import Cancelled
from inspect_core.tuning import tsne as arranging
from inspect_core.tuning.tsne import arrange, tsne
from tests.study.made_up import rows_of

pytestmark = pytest.mark.slow


def two_groups(n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.concatenate([rng.normal(size=(n, 8)), rng.normal(size=(n, 8)) + 12]).astype(np.float32)


def test_tsne_keeps_groups_apart_and_neighbours_together():
    rows, reports = two_groups(), []
    positions = tsne(rows, report=lambda fraction, _: reports.append(fraction))
    assert positions.shape == (120, 2)
    assert trustworthiness(rows, positions, n_neighbors=10) > 0.85
    centres = positions[:60].mean(0), positions[60:].mean(0)
    first, second = (np.linalg.norm(positions - centre, axis=1) for centre in centres)
    assert ((first < second) == np.repeat([True, False], 60)).all()
    assert reports == [0.0, 0.25, 0.5, 0.75]


def test_tsne_is_seeded_and_handles_few_and_equal_points():
    rows = two_groups(20)
    assert np.array_equal(tsne(rows, seed=3), tsne(rows, seed=3))
    assert np.isfinite(tsne(two_groups()[:5])).all()
    assert (tsne(np.ones((9, 3), np.float32)) == 0).all()
    with pytest.raises(ValueError, match="there are 4 points"):
        tsne(two_groups()[:4])


def test_tsne_stops_when_its_report_says_so():
    def stop(fraction: float, step: str) -> None:
        if fraction > 0:
            raise Cancelled

    with pytest.raises(Cancelled):
        tsne(two_groups(), report=stop)


def test_an_arrangement_is_kept_under_what_it_shows(tmp_path, monkeypatch):
    store, points = FeatureStore(tmp_path), rows_of(30)
    first = arrange(points, store)
    monkeypatch.setattr(arranging, "tsne", lambda *a, **k: pytest.fail("arranged again"))
    assert np.array_equal(arrange(points, store), first)
    with pytest.raises(pytest.fail.Exception):
        arrange(points, store, seed=1)
    with pytest.raises(pytest.fail.Exception):
        arrange(rows_of(30, seed=5), store)


def test_a_full_disk_does_not_lose_an_arrangement(tmp_path, monkeypatch):
    def full(key: str, array: np.ndarray) -> None:
        raise OSError("no space left on device")

    store, points = FeatureStore(tmp_path), rows_of(30)
    monkeypatch.setattr(store, "put", full)
    assert np.array_equal(arrange(points, store), tsne(points.features))
