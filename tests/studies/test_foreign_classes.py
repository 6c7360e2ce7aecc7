"""What a study of foreign classes says of a model that knows them, and of one that does not."""

import numpy as np
import pytest

from benchmarks.studies.foreign_classes import _figures, _mean

pytestmark = pytest.mark.usefixtures("unhurried")


def test_far_clusters_are_foreign_only_to_the_kernel():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    x = np.where(y == 1, 1.0, -1.0)[:, None] + 0.2 * rng.standard_normal((240, 2))
    test_y = np.arange(80) % 2
    test_x = np.where(test_y == 1, 1.0, -1.0)[:, None] + 0.2 * rng.standard_normal((80, 2))
    far = np.array([8.0, 8.0]) + 0.2 * rng.standard_normal((40, 2))
    figures = _figures(((x, y), (test_x, test_y), {"far": far}), seed=0)
    assert figures["KDN"]["far, oce"] == pytest.approx(0, abs=0.01)
    assert figures["KDN"]["far, auroc"] > 0.95
    assert figures["network"]["far, oce"] > 0.4
    assert "confidence where wrong" not in figures["network"]
    assert figures["network"]["error"] == 0


def test_confidence_where_wrong_is_averaged_over_wrong_seeds():
    runs = [{"m": {"error": 0.0}}, {"m": {"error": 0.2, "confidence where wrong": 0.7}}]
    assert _mean(runs) == {"m": {"error": 0.1, "confidence where wrong": 0.7}}
