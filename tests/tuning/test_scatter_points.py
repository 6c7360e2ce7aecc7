import numpy as np
import pytest
import torch

from inspect_core.detectors import baselines, cop_corp, kernel_pca
from inspect_core.features.patch_join import PatchFeatureSpec
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.tuning import scatter_points as explore
from inspect_core.tuning.scatter_points import UNMARKED, ScatterPoints
from tests.study.made_up import GRID, SIZE, bench, patches, photo, rows_of

KINDS = ("good", "scratch", "unknown", "good", "dent")


@pytest.fixture
def scored(recipe) -> ScoredPhotos:
    return bench(recipe.views, [photo(f"p{i}", kind) for i, kind in enumerate(KINDS)])


@pytest.fixture
def masks() -> list[np.ndarray | None]:
    """The scratch lies in the patches (1, 2) and (2, 2); the place of the dent is not known."""
    scratch = np.zeros(SIZE, bool)
    scratch[30:34, 90] = True
    good = np.zeros(SIZE, bool)
    return [good, scratch, None, good, None]


def sample(scored, masks, *, limit=np.inf, count=25, **options) -> ScatterPoints:
    return explore.sample_patches(scored, patches, masks, limit=limit, count=count, **options)


def view(method: str, detector) -> FittedMethod:
    return FittedMethod(method, detector, PatchFeatureSpec(("made up",)))


def test_every_point_is_the_patch_it_says_it_is(scored, masks):
    points = sample(scored, masks, k=3)
    scores = scored.grid_errors(k=3)
    for i in range(len(points)):
        photo, (row, column) = points.photo[i], points.place[i]
        assert np.array_equal(points.features[i], patches(photo)[0, row, column].numpy())
        assert points.score[i] == scores[photo, row, column]
        cell = scored.map(int(photo), k=3)[row * 16 : (row + 1) * 16, column * 32 : (column + 1) * 32]
        assert points.peak[i] == cell.max()


def test_photos_share_the_patch_count_without_repeats(scored, masks):
    points = sample(scored, masks, count=23)
    assert len(points) == 23
    assert np.array_equal(points.place, sample(scored, masks, count=23).place)
    assert not np.array_equal(points.place, sample(scored, masks, count=23, seed=4).place)
    for count in (4, 0):
        with pytest.raises(ValueError, match=f"count is {count} for 5 photos"):
            sample(scored, masks, count=count)
    assert np.bincount(points.photo).tolist() == [5, 5, 5, 4, 4]
    assert len({(photo, *place) for photo, place in zip(points.photo, map(tuple, points.place), strict=True)}) == 23


def test_patches_under_a_mask_always_come_and_fill_at_most_half(scored, masks):
    for seed in range(5):
        points = sample(scored, masks, count=20, seed=seed)
        drawn = points.place[(points.photo == 1) & points.defect]
        assert drawn.tolist() == [[1, 2], [2, 2]]
    everything = [np.ones(SIZE, bool) if kind == "scratch" else mask for kind, mask in zip(KINDS, masks, strict=True)]
    assert (sample(scored, everything, count=20).photo == 1).sum() == 4, "when all are marked they fill the whole share"
    low = sample(scored, masks, limit=float(scored.map(0).mean()), count=20)
    above = low.peak[low.photo == 0] > scored.map(0).mean()
    assert 1 <= above.sum() <= 4


def test_patch_content_differs_from_photo_content(scored, masks):
    points = sample(scored, masks, count=60)
    assert set(points.truth[points.photo == 0]) == {"good"}
    assert sorted(points.truth[points.photo == 1]) == ["good"] * 10 + ["scratch"] * 2
    assert set(points.truth[points.photo == 2]) == {"unknown"}
    assert set(points.truth[points.photo == 4]) == {UNMARKED}, "a dent somewhere: no patch is known to show it"
    assert points.defect.sum() == 2


def test_whole_photos_are_one_point_each_seen_by_its_direction(scored):
    points = explore.whole_photos(scored, lambda i: torch.full((1, 7), float(i)), k=2)
    assert points.whole
    assert points.features[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(points.score, scored.scores(k=2))
    assert points.truth.tolist() == list(KINDS)
    points = ScatterPoints(
        np.array([[3.0, 4.0], [0, 0]], np.float32), np.arange(2), np.full((2, 2), -1), *[np.zeros(2)] * 3
    )
    np.testing.assert_allclose(explore.transform_points(None, points, {}).features, [[0.6, 0.8], [0, 0]], atol=1e-6)
    assert "product check" in explore.view_in_words("mahalanobis", whole=True)


@pytest.mark.parametrize("k", [1, 4, 5])
def test_a_whitened_patch_is_as_long_as_its_score(recipe, k):
    points = rows_of(300)
    features = explore.transform_points(recipe.views[0], points, {"k": k}).features
    assert features.shape == (300, k)
    for i in range(0, 300, 29):
        whole = torch.zeros(1, *GRID, 5)
        row, column = points.place[i]
        whole[0, row, column] = torch.from_numpy(points.features[i])
        expected = recipe.views[0].detector.score_projected(whole, k=k)[0, row, column]
        np.testing.assert_allclose(np.linalg.norm(features[i]), expected, rtol=1e-5)


def test_corp_sees_its_random_fourier_features():
    points = rows_of(50)
    detector = cop_corp.fit_corp(points.features, gamma=0.7, M=64, seed=2)
    angles = points.features / np.linalg.norm(points.features, axis=1, keepdims=True)
    w0, u = detector.feature_map.w0.numpy(), detector.feature_map.u.numpy()
    expected = np.sqrt(2 / 64) * np.cos(np.sqrt(1.4) * angles @ w0.T + u)
    np.testing.assert_allclose(
        explore.transform_points(view("corp", detector), points, {"q": 3}).features, expected, atol=1e-5
    )


def test_kernel_pca_sees_coordinates_that_its_score_leaves_out():
    points = rows_of(40)
    detector = kernel_pca.fit(rows_of(60, seed=9).features, sigma=2.0)
    for q in (1, 7):
        features = explore.transform_points(view("kernel_pca", detector), points, {"q": q}).features
        assert features.shape == (40, q)
        removed = detector.score(points.features, q=0) - detector.score(points.features, q=q)
        np.testing.assert_allclose((features.astype(float) ** 2).sum(axis=1), removed, rtol=1e-4, atol=1e-6)


def test_a_detector_without_a_map_sees_the_features_as_they_are():
    points = rows_of(10)
    detector = baselines.fit_nearest_neighbour(points.features)
    assert explore.transform_points(view("nearest", detector), points, {}) is points
    assert "unchanged" in explore.view_in_words("nearest", whole=False)
