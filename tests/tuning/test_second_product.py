"""Two products among photos that are to show one: both groups are told, outliers and variation are not."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import Split
from inspect_core.features.store import FeatureStore
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.photo_screening import PRODUCT, find_second_product, screen_photos
from inspect_core.tuning.second_product import second_product, two_products_sentence
from inspect_core.tuning.teaching import teach

pytestmark = pytest.mark.usefixtures("unhurried")

SAMPLES = Path(__file__).parents[2] / "sample_data"


def clusters(*sizes: int, spread: float = 0.05) -> np.ndarray:
    """(n, 16) directions about one of 16 axes for each group."""
    rng = np.random.default_rng(0)
    return np.concatenate([3 * (np.eye(16)[i] + rng.normal(0, spread, (n, 16))) for i, n in enumerate(sizes)])


@pytest.mark.parametrize("sizes", [(30, 20), (20, 30), (50, 3)])
def test_the_smaller_of_two_groups_is_told(sizes):
    second = second_product(clusters(*sizes))
    assert second.sum() == min(sizes)
    assert len(set(second[: sizes[0]])) == len(set(second[sizes[0] :])) == 1


@pytest.mark.parametrize("photos", [clusters(50), clusters(50, 2), clusters(40, spread=0.5), np.ones((30, 16))])
def test_one_group_outliers_and_equal_photos_are_one_product(photos):
    assert not second_product(photos).any()


@pytest.mark.slow
def test_flanges_and_boards_are_told_before_and_after_teaching(tmp_path):
    folder = tmp_path / "mixed" / "good"
    folder.mkdir(parents=True)
    for product, count in (("flange", 18), ("board", 12)):
        for path in sorted((SAMPLES / product / "train/good").iterdir())[:count]:
            shutil.copy(path, folder / f"{product} {path.name}")
    samples, store = scan(folder.parent), FeatureStore(tmp_path / "store")
    order = TeachingConfig("mixed", Split((), (), ()), size=(128, 128), grid=(16, 16), method="mahalanobis")
    assert find_second_product(samples, order, store, lambda *_: None) == two_products_sentence(30, 12)
    screening = screen_photos(samples, order, store, lambda fraction, step: None)
    assert screening.sentence() == two_products_sentence(30, 12)
    names = {
        photo.sample.name for photo in screening.photos if PRODUCT in {finding.topic for finding in photo.findings}
    }
    assert names == {f"good/{path.name}" for path in folder.glob("board*")}
    photos = Split(tuple(samples.good), (), ())
    order = TeachingConfig(
        "mixed", photos, size=(128, 128), grid=(16, 16), method="mahalanobis", tolerances=None, taps="expansions"
    )
    assert any(note.startswith(two_products_sentence(30, 12)) for note in teach(order, store, lambda *_: None).warnings)
