from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from inspect_core.judge.anomaly_map import image_score, to_pixels
from inspect_core.study.scored_photos import ScoredPhoto, ScoredPhotos


def photo(name: str, kind: str = "good", part: str = "judge") -> ScoredPhoto:
    return ScoredPhoto(name, name * 8, (64, 96), kind, part, Path(name))


@pytest.fixture
def scored(recipe) -> ScoredPhotos:
    scored = ScoredPhotos("mahalanobis", recipe.detector, recipe.grid, recipe.backbone.size)
    for i in range(5):
        scored = scored.with_photo(
            photo(f"p{i}", "scratch" if i == 3 else "good", "calibrate" if i == 0 else "judge"), patches(i)
        )
    return scored


def patches(i: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(i).normal(size=(1, 4, 3, 5)).astype(np.float32))


def test_every_stop_equals_the_detector_to_the_bit(scored, recipe):
    for k in scored.stops:
        for i in range(5):
            grid = recipe.detector.score_projected(patches(i), k=k)[0].numpy()
            expected = to_pixels(grid, (64, 96))
            assert np.array_equal(scored.map(i, k=k), expected)
            assert scored.scores(k=k)[i] == image_score(expected)
            assert np.array_equal(scored.maps([i], k=k)[0], expected)


def test_it_begins_with_the_largest_value(scored):
    assert scored.live == {"k": 5}
    assert np.array_equal(scored.scores(), scored.scores(k=5))


def test_what_is_known_of_the_photos(scored):
    good, defect = scored.good_and_defect()
    assert good.tolist() == [True, True, True, False, True]
    assert defect.tolist() == [False, False, False, True, False]
    assert scored.of_subset("calibrate").tolist() == [True, False, False, False, False]
    assert scored.index("p3") == 3


def test_a_photo_of_unknown_truth_is_neither_good_nor_defect(scored):
    scored = scored.with_photo(photo("new", "unknown", "added"), patches(9))
    good, defect = scored.good_and_defect()
    assert not good[-1]
    assert not defect[-1]
    assert len(scored.scores()) == 6


def test_an_empty_tray_has_no_scores(recipe):
    scored = ScoredPhotos("mahalanobis", recipe.detector, recipe.grid, recipe.backbone.size)
    assert scored.scores().shape == (0,)
    assert scored.maps().shape == (0, 64, 96)


@pytest.mark.parametrize("live", [{"k": 0}, {"k": 6}, {"q": 1}])
def test_values_that_were_not_kept_are_refused(scored, live):
    with pytest.raises(ValueError, match=r"k is|live parameter"):
        scored.scores(**live)
    with pytest.raises(ValueError, match="not on the tray"):
        scored.index("gone")


def test_a_photo_more_leaves_the_tray_as_it_was(scored):
    before = scored.photos, scored.scores(), scored.map(4, k=2), scored.grid_errors(k=3)
    more = scored.with_photo(photo("new"), patches(9))
    assert (len(scored.photos), len(more.photos)) == (5, 6)
    assert scored.photos is before[0]
    for now, then in zip((scored.scores(), scored.map(4, k=2), scored.grid_errors(k=3)), before[1:], strict=True):
        assert np.array_equal(now, then)
    assert np.array_equal(more.scores()[:5], before[1])


def test_photos_added_at_once_from_several_threads_keep_their_own_errors(scored, recipe):
    def one_more(i: int) -> None:
        more = scored.with_photo(photo(f"p{i}"), patches(i))
        grid = recipe.detector.score_projected(patches(i), k=4)[0].numpy()
        assert np.array_equal(more.grid_errors(k=4)[5], grid)
        assert np.array_equal(more.maps([5, 0], k=4), np.stack([to_pixels(grid, (64, 96)), scored.map(0, k=4)]))
        assert len(more.scores(k=4)) == len(more.photos) == 6

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one_more, range(10, 74)))
    assert len(scored.scores()) == len(scored.photos) == 5


def test_a_block_cut_short_by_a_full_disk_leaves_the_next_one_whole(scored, monkeypatch):
    file = scored._blocks._file

    class Full:
        seek, fileno, flush = file.seek, file.fileno, file.flush

        def write(self, data):
            file.write(data[:100])
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(scored._blocks, "_file", Full())
        with pytest.raises(OSError, match="No space"):
            scored.with_photo(photo("new"), patches(9))
    other = scored.with_photo(photo("new"), patches(9))
    grid = scored.detector.score_projected(patches(9), k=4)[0].numpy()
    assert np.array_equal(other.grid_errors(k=4)[5], grid)
