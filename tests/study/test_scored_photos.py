import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from inspect_core.detectors import cop_corp
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.methods.fitted_method import FittedMethod, joined_errors, sweep_errors
from inspect_core.scoring.anomaly_map import area_stops, image_score, to_pixels
from inspect_core.scoring.local_scale import GoodMaps
from inspect_core.study import scored_photos
from inspect_core.study.scored_photos import ScoredPhotos
from tests.study.made_up import bench, patches, photo

GROUPS = ("a", "a", "b", None, "c", "c", None, None)
"""Of the calibrate photos of `fused`; None for a photo that stands alone."""


@pytest.fixture
def scored(recipe) -> ScoredPhotos:
    kinds = enumerate(("good", "good", "good", "scratch", "good"))
    return bench(recipe.views, [photo(f"p{i}", kind, "test" if i else "added") for i, kind in kinds])


def test_every_stop_equals_the_detector_to_the_bit(scored, recipe):
    for k in scored.stops("k"):
        for i in range(5):
            grid = recipe.views[0].detector.score_projected(patches(i), k=k)[0].numpy()
            expected = to_pixels(grid, (64, 96))
            assert np.array_equal(scored.map(i, k=k), expected)
            assert scored.scores(k=k)[i] == image_score(expected, area=12)
            assert scored.scores(k=k, area=1)[i] == expected.max()
            assert np.array_equal(scored.maps([i], k=k)[0], expected)


def test_what_is_known_of_the_photos(scored, recipe):
    assert scored.live == {"k": 5, "area": 12}
    assert np.array_equal(scored.scores(), scored.scores(k=5)), "it begins with the largest value"
    more = scored.with_photo(photo("new", "unknown", "added"), [patches(9)])
    good, defect = more.good_and_defect()
    assert good.tolist() == [True, True, True, False, True, False]
    assert defect.tolist() == [False, False, False, True, False, False]
    assert more.of_subset("added").tolist() == [True, False, False, False, False, True]
    assert scored.index("p3") == 3
    assert len(more.scores()) == 6
    empty = ScoredPhotos(recipe.views, recipe.grid, recipe.backbone.size)
    assert empty.scores().shape == (0,)
    assert empty.maps().shape == (0, 64, 96)
    assert scored.scale(0, 5) is None, "raw without calibrate photos, and the judged ones set limits"
    assert scored.setters().tolist() == [False, True, True, False, True]
    assert np.array_equal(scored.calibration_scores(), scored.scores()[[1, 2, 4]])


@pytest.mark.parametrize("live", [{"k": 0}, {"k": 6}, {"q": 1}, {"area": 0}, {"area": 308}])
def test_values_that_were_not_kept_are_refused(scored, live):
    with pytest.raises(ValueError, match=r"k is|live parameter|area is"):
        scored.scores(**live)
    with pytest.raises(ValueError, match="not among"):
        scored.index("gone")


def test_a_photo_more_leaves_the_tray_as_it_was(scored):
    before = scored.photos, scored.scores(), scored.map(4, k=2), scored.grid_errors(k=3)
    more = scored.with_photo(photo("new"), [patches(9)])
    assert (len(scored.photos), len(more.photos)) == (5, 6)
    assert scored.photos is before[0]
    for now, then in zip((scored.scores(), scored.map(4, k=2), scored.grid_errors(k=3)), before[1:], strict=True):
        assert np.array_equal(now, then)
    assert np.array_equal(more.scores()[:5], before[1])
    began = more.with_initial_live({"k": 2, "area": 7})
    assert (began.live, more.live, scored.live) == ({"k": 2, "area": 7}, {"k": 5, "area": 12}, {"k": 5, "area": 12})
    assert np.array_equal(began.scores(), more.scores(k=2, area=7))


def test_photos_added_in_one_step_equal_one_after_the_other(scored):
    errors = sweep_errors(scored.seen_by(), [[patches(i)] for i in range(9, 12)])
    rows = [(photo("new"), errors[:1]), (photo("twice"), errors[1:])]
    together = scored.with_errors(rows)
    single = scored.with_errors(rows[:1]).with_errors(rows[1:])
    assert together.photos == single.photos
    assert np.array_equal(together.scores(k=3), single.scores(k=3))
    assert together.stored.repeat_rows.tolist()[:-1] == [-1] * 6
    assert np.array_equal(together.stored.photographed_again().at(6, 0, 3), errors[2][0][2])
    with pytest.raises(ValueError, match="strange has no finite score"):
        scored.with_errors([*rows, (photo("strange"), [[np.full_like(errors[0][0], np.nan)]])])
    assert len(scored.photos) == len(scored.scores()) == 5


def test_photos_added_from_several_threads_keep_their_errors(scored, recipe):
    def one_more(i: int) -> None:
        more = scored.with_photo(photo(f"p{i}"), [patches(i)])
        grid = recipe.views[0].detector.score_projected(patches(i), k=4)[0].numpy()
        assert np.array_equal(more.grid_errors(k=4)[5], grid)
        assert np.array_equal(more.maps([5, 0], k=4), np.stack([to_pixels(grid, (64, 96)), scored.map(0, k=4)]))
        assert len(more.scores(k=4)) == len(more.photos) == 6

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(one_more, range(10, 74)))
    assert len(scored.scores()) == len(scored.photos) == 5


def test_block_cut_by_a_full_disk_leaves_the_next_whole(scored, monkeypatch):
    file = scored.stored.blocks._file

    class Full:
        seek, fileno, flush = file.seek, file.fileno, file.flush

        def write(self, data):
            file.write(data[:100])
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(scored.stored.blocks, "_file", Full())
        with pytest.raises(OSError, match="No space"):
            scored.with_photo(photo("new"), [patches(9)])
    other = scored.with_photo(photo("new"), [patches(9)])
    grid = scored.views[0].detector.score_projected(patches(9), k=4)[0].numpy()
    assert np.array_equal(other.grid_errors(k=4)[5], grid)


@pytest.fixture
def fused(recipe) -> ScoredPhotos:
    """Two views, eight good calibrate photos in groups, then two judge photos."""
    rows = np.random.default_rng(50).normal(size=(400, 5)).astype(np.float32)
    second = FittedMethod("cop", cop_corp.fit_cop(rows), PatchFeatureSpec(("made up",)))
    scored = ScoredPhotos((*recipe.views, second), recipe.grid, recipe.backbone.size)
    for i in range(10):
        group = GROUPS[i] if i < 8 else None
        part, name = ("calibration", f"p{i}") if i < 8 else ("test", f"p{i}")
        scored = scored.with_photo(photo(name, "good", part, split_group=group), view_features(i))
    return scored


def view_features(i: int) -> list[torch.Tensor]:
    """What each of the two views sees of a photo."""
    return [patches(i), patches(100 + i)]


def own_errors(scored: ScoredPhotos, k: int, q: int) -> list[np.ndarray]:
    """(photos, h, w) raw errors of each view."""
    return [
        view.errors([view_features(i)[number] for i in range(len(scored.photos))], value)
        for number, (view, value) in enumerate(zip(scored.views, (k, q), strict=True))
    ]


def added(errors: list[np.ndarray], scales: list) -> np.ndarray:
    """The sum of standardised errors, in float64."""
    joined = np.zeros(errors[0].shape)
    for view_errors, scale in zip(errors, scales, strict=True):
        deviations = scale.gain.astype(float) * (view_errors.astype(float) - scale.centre)
        medians = np.sort(deviations.reshape(len(deviations), -1))[:, deviations[0].size // 2]
        off = np.clip(medians - scale.photo_level, -scale.reach, scale.reach)
        joined += (deviations - off[:, None, None]) / scale.spread
    return joined


@pytest.mark.parametrize(("k", "q"), [(5, 2), (2, 1), (4, 3)])
def test_errors_of_two_views_are_standardised_and_added(fused, k, q):
    errors = own_errors(fused, k, q)
    scales = [
        GoodMaps.from_errors(good).winsorised(good, fused.size).finish(fused.size).with_photo_levels(good)
        for good in (view_map[:8] for view_map in errors)
    ]
    np.testing.assert_allclose(fused.grid_errors(k=k, q=q), added(errors, scales), rtol=1e-4, atol=1e-5)
    for view in (0, 1):
        view_map = to_pixels(scales[view].apply(errors[view]), fused.size)
        np.testing.assert_allclose(fused.maps(view=view, k=k, q=q), view_map, rtol=1e-5)


def test_a_method_of_two_votes_is_added_twice(fused, monkeypatch):
    errors = own_errors(fused, 5, 2)
    scales = [
        GoodMaps.from_errors(good).winsorised(good, fused.size).finish(fused.size).with_photo_levels(good)
        for good in (view_map[:8] for view_map in errors)
    ]
    monkeypatch.setattr(fused.views[1].definition, "votes", 2.0)
    twice = added([*errors, errors[1]], [*scales, scales[1]])
    np.testing.assert_allclose(fused.grid_errors(k=5, q=2), twice, rtol=1e-4, atol=1e-5)


def test_a_photo_scores_the_same_whichever_way_it_is_asked_for(fused):
    views = [
        FittedMethod(view.method, view.detector, view.spec, fused.scales(i, view.stops))
        for i, view in enumerate(fused.views)
    ]
    for live in ({"k": 5, "q": 2}, {"k": 1, "q": 4, "area": 307}):
        for i in range(10):
            expected = to_pixels(joined_errors(views, [view_features(i)], live)[0], fused.size)
            assert np.array_equal(fused.map(i, **live), expected)
            assert fused.scores(**live)[i] == image_score(expected, area=live.get("area", 12))


@pytest.mark.parametrize("which", [(0,), (1,), (1, 0)])
def test_subset_of_views_scores_as_if_fitted_alone(fused, which):
    single = ScoredPhotos([fused.views[i] for i in which], fused.grid, fused.size)
    for i, fused_photo in enumerate(fused.photos):
        single = single.with_photo(fused_photo, [view_features(i)[view] for view in which])
    result = fused.of_views(which)
    assert (result.live, result.photos) == (single.live, single.photos)
    for live in ({}, {view.live_parameter: 2 for view in result.views}):
        assert np.array_equal(result.scores(**live), single.scores(**live))
        assert np.array_equal(result.map(9, **live), single.map(9, **live))
    for position in (0, 9):
        for errors, other in zip(result.errors(position), single.errors(position), strict=True):
            assert np.array_equal(errors, other)
    more = result.with_photo(fused.photos[9], [view_features(9)[view] for view in which])
    assert more.scores()[10] == more.scores()[9] == result.scores()[9]


def test_limits_use_drawn_scores_and_area_moves_need_no_map(fused, monkeypatch):
    for live in ({"k": 3, "q": 2, "area": 1}, {"k": 3, "q": 2, "area": 12}):
        assert np.array_equal(fused.calibration_scores(**live), fused.scores(**live)[:8])
    first, setting = fused.scores(), fused.calibration_scores()
    monkeypatch.setattr(scored_photos, "to_pixels", lambda *_, **__: pytest.fail("a map was computed"))
    assert (fused.scores(area=area_stops(fused.size)[-1]) < first).all()
    assert (fused.calibration_scores(area=1) > setting).all()


def test_a_photo_leaves_its_scores_in_memory_not_its_map(fused):
    """Thousands of photos are on the bench after a batch was taught: what is remembered of each grows with them."""
    stops = area_stops(fused.size)
    scores = [fused.scores(area=area) for area in stops]
    assert all(np.array_equal(row.base, scores[0].base) for row in scores), "ranked once for all stops"
    assert all(
        np.array_equal(row, image_score(fused.maps(), area=area)) for area, row in zip(stops, scores, strict=True)
    )
    assert sum(ranked.nbytes for ranked in fused._latest.values()) <= len(fused.photos) * 4 * len(stops)
    off = next(area for area in range(1, stops[-1]) if area not in stops)
    assert np.array_equal(fused.scores(area=off), image_score(fused.maps(), area=off))


def test_what_windows_share_is_remembered_without_a_quarrel(scored):
    """Threads that ask for more values than are kept get what they ask for."""
    errors = []

    def ask(first: int) -> None:
        try:
            for turn in range(3000):
                key = (first + turn) % 12
                assert scored.cached(("asked", key), lambda key=key: np.full(2, key))[0] == key
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
