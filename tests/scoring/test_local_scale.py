import numpy as np
import pytest
from scipy import ndimage

from inspect_core.scoring.anomaly_map import to_pixels
from inspect_core.scoring.local_scale import PRIOR_PHOTOS, REACH, TOLERATED, GoodMaps, sum_error_maps

SIZE = (256, 256)


def errors(n, *, h=32, w=32, seed=0):
    """Good errors with a wide band whose spread is four times that of the rest."""
    spread = np.ones((h, w))
    spread[:, w // 4 : w // 2] = 4
    return (10 + spread * np.random.default_rng(seed).standard_normal((n, h, w))).astype(np.float32)


def spread_of_band(maps):
    """Spread of the wide band as a multiple of the spread elsewhere."""
    return maps[:, :, 10:14].std() / maps[:, :, 20:30].std()


def test_the_formula_is_that_of_the_methods():
    good, new = errors(50), errors(3, seed=1)
    plain_variance, mean = good.astype(np.float64).var(axis=0), good.mean(axis=0, dtype=np.float64)
    near = np.minimum(np.minimum(np.arange(32), np.arange(32)[::-1]), 2)
    classes = [(near[:, None] == row) & (near == column) for row in range(3) for column in range(3)]
    usual, centre = (sum(here * values[here].mean() for here in classes) for values in (plain_variance, mean))
    variance = (
        usual
        * (50 * ndimage.gaussian_filter(plain_variance / usual, 1.0, mode="reflect") + PRIOR_PHOTOS)
        / (50 + PRIOR_PHOTOS)
    )
    total = (plain_variance + (mean - centre) ** 2).mean()
    edges = 1.15 ** ((near == 0)[:, None] * 1 + (near == 0))
    expected = mean.mean() + np.sqrt(total) * (new - centre) / np.sqrt(edges * (variance + 0.25 * total))
    np.testing.assert_allclose(GoodMaps.from_errors(good).finish(SIZE).apply(new), expected, rtol=1e-5)


def test_one_odd_photo_hardly_widens_the_spread_of_a_place():
    plain, marked = errors(25), errors(25)
    marked[3, 20, 26] += 30
    scales = [GoodMaps.from_errors(good).winsorised(good, SIZE).finish(SIZE) for good in (plain, marked)]
    assert scales[1].gain[20, 26] == pytest.approx(scales[0].gain[20, 26], rel=0.1)
    assert GoodMaps.from_errors(marked).finish(SIZE).gain[20, 26] < 0.7 * scales[0].gain[20, 26]
    recurring = plain.copy()
    recurring[::3, 20, 26] += 30
    assert (
        GoodMaps.from_errors(recurring).winsorised(recurring, SIZE).finish(SIZE).gain[20, 26] < scales[1].gain[20, 26]
    )


def test_deviations_count_as_three_spreads_at_most():
    good = errors(30)
    deviations = good.astype(np.float64) - good.mean(axis=0, dtype=np.float64)
    once = np.clip(deviations, *(sign * 3 * np.sqrt(GoodMaps.from_errors(good).variance(SIZE)) for sign in (-1, 1)))
    maps = GoodMaps(30, good.mean(axis=0, dtype=np.float64), (once**2).sum(axis=0))
    most = 3 * np.sqrt(maps.variance(SIZE))
    expected = (np.clip(deviations, -most, most) ** 2).sum(axis=0)
    np.testing.assert_allclose(GoodMaps.from_errors(good).winsorised(good, SIZE).scatter, expected, rtol=1e-9)


@pytest.mark.parametrize("wide", [1.0, 2.0])
def test_few_photos_suffice_where_border_equals_inside(wide):
    """wide: spread of the outermost cells before the scale, as a multiple of that of the others."""
    spread = np.pad(np.ones((30, 30)), 1, constant_values=wide)
    drawn = np.random.default_rng(3).standard_normal((425, 32, 32))
    maps = spread * ndimage.gaussian_filter(drawn, (0, 0.8, 0.8), mode="wrap")
    scale = GoodMaps.from_errors(maps[:25]).finish(SIZE)
    drawn = to_pixels(scale.apply(maps[25:]), SIZE)
    rows, columns = np.divmod(drawn.reshape(400, -1).argmax(axis=1), 256)
    at_the_border = np.minimum(np.minimum(rows, 255 - rows), np.minimum(columns, 255 - columns)) < 16
    assert at_the_border.mean() == pytest.approx(1 - (224 / 256) ** 2, abs=0.1)


def test_places_that_vary_much_come_near_the_others():
    scale = GoodMaps.from_errors(errors(60)).finish(SIZE)
    new = errors(200, seed=1)
    assert spread_of_band(new) == pytest.approx(4, rel=0.05)
    assert spread_of_band(scale.apply(new)) < 1.8


def test_a_border_of_another_level_draws_no_maximum():
    def bordered(n, seed):
        maps = np.random.default_rng(seed).standard_normal((n, 32, 40)).astype(np.float32)
        maps[:, [0, -1]] += 5
        maps[:, :, [0, -1]] += 5
        return maps

    def on_the_ring(maps):
        rows, columns = np.divmod(maps.reshape(len(maps), -1).argmax(axis=1), 40)
        return np.mean((rows % 31 == 0) | (columns % 39 == 0))

    scale = GoodMaps.from_errors(bordered(30, seed=0)).finish((256, 320))
    new = bordered(400, seed=1)
    assert on_the_ring(new) == 1.0
    assert on_the_ring(scale.apply(new)) == pytest.approx(140 / 1280, abs=0.06)


@pytest.mark.parametrize(("fixed", "subtracted"), [(0.5, False), (2.0, True)])
def test_only_fixed_content_is_subtracted(fixed, subtracted):
    """fixed: the spread over places of what all photos share, as a multiple of that in which they differ."""
    rng = np.random.default_rng(0)
    content = fixed * rng.standard_normal((32, 32))
    good = GoodMaps.from_errors(content + rng.standard_normal((40, 32, 32)))
    scale = good.finish(SIZE)
    shared = np.corrcoef(scale.centre.ravel(), content.ravel())[0, 1]
    assert (shared > 0.9) == subtracted
    photos = content + rng.standard_normal((12, 32, 32))
    left = sum(np.sum((photo - np.delete(photos, i, 0).mean(0)) ** 2) for i, photo in enumerate(photos))
    expected = 1 - left / np.sum((photos - 0.3) ** 2)
    assert GoodMaps.from_errors(photos).explained(np.full((32, 32), 0.3)) == pytest.approx(expected, abs=1e-9)


def test_a_single_photo_shows_nothing_of_its_places():
    assert GoodMaps.from_errors(errors(1)).explained(np.zeros((32, 32))) == -np.inf


@pytest.mark.parametrize("n", [1, 2, 6])
def test_few_photos_leave_a_scale_that_is_nearly_even(n):
    good, whole = errors(n), GoodMaps.from_errors(errors(2000)).finish(SIZE)
    few = GoodMaps.from_errors(good).finish(SIZE)
    assert np.ptp(np.log(few.gain)) < np.ptp(np.log(whole.gain))
    assert np.isfinite(few.apply(good)).all()


def test_constant_maps_stay_as_they_are():
    good = np.full((4, 6, 6), 3.0, np.float32)
    scale = GoodMaps.from_errors(good).finish((48, 48))
    new = np.arange(36, dtype=np.float32).reshape(6, 6)
    np.testing.assert_array_equal(scale.apply(new), new)


def test_a_map_does_not_depend_on_its_batch():
    good = errors(20)
    scale, new = GoodMaps.from_errors(good).finish(SIZE).with_photo_levels(good), errors(5, seed=2)
    assert np.array_equal(scale.apply(new)[3], scale.apply(new[3]))


def of_levels(levels, seed=0):
    """Good errors of photos that differ in their level too."""
    return errors(len(levels), seed=seed) + np.array(levels, np.float32)[:, None, None]


def test_photo_level_is_removed_within_the_good_range():
    """Against the formula in float64: the median over places, at most REACH standard deviations from its mean."""
    good, new = of_levels(np.random.default_rng(5).normal(0, 0.5, 40)), of_levels([0, 0.4, -0.9, 9], seed=1)
    plain = GoodMaps.from_errors(good).finish(SIZE)
    scale = plain.with_photo_levels(good)
    before, learned = (plain.apply(maps).astype(np.float64) - plain.level for maps in (new, good))
    typical, levels = (np.sort(maps.reshape(len(maps), -1))[:, 512] for maps in (learned, before))
    off = np.clip(levels - typical.mean(), -REACH * typical.std(), REACH * typical.std())
    np.testing.assert_allclose(scale.apply(new), plain.level + before - off[:, None, None], rtol=1e-5)
    assert off[3] < 2.5 < levels[3]  # strange all over: most of it stays


def test_photos_of_another_level_score_alike():
    good, new = of_levels(np.linspace(-1, 1, 40)), errors(30, seed=2)
    plain = GoodMaps.from_errors(good).finish(SIZE)
    before, after = (
        np.mean(scale.apply(new + 0.5) - scale.apply(new)) for scale in (plain, plain.with_photo_levels(good))
    )
    assert abs(after) < 0.1 * before


def test_only_what_exceeds_good_errors_counts():
    good, new = errors(40), errors(5, seed=3)
    new[0, 4, 4] = 60
    plain = GoodMaps.from_errors(good).finish(SIZE, uniform=True)
    scale = plain.with_excess(good)
    tolerated = np.quantile(good.astype(np.float64), TOLERATED) - good.mean(dtype=np.float64)
    expected = np.maximum(new.astype(np.float64) - good.mean(dtype=np.float64) - tolerated, 0)
    np.testing.assert_allclose(scale.apply(new) - scale.level, expected, atol=1e-4)
    assert (scale.standardised(good) > 0).mean() < 0.002 < 1 < scale.standardised(new)[0, 4, 4]
    equal = np.full((4, 6, 6), 3.0, np.float32)
    alike = GoodMaps.from_errors(equal).finish((48, 48)).with_excess(equal)
    assert alike.tolerated > 0
    assert (alike.apply(equal) == 3).all()


def test_photos_of_one_level_keep_theirs():
    good = np.full((4, 6, 6), 3.0, np.float32)
    scale = GoodMaps.from_errors(good).finish((48, 48))
    assert scale.with_photo_levels(good) == scale


def test_views_of_different_units_weigh_the_same():
    good = errors(200)
    other = 1000 * errors(200, seed=3) + 7
    scales = [GoodMaps.from_errors(maps).finish(SIZE) for maps in (good, other)]
    first, two = scales[0].standardised(good), scales[1].standardised(other)
    assert first.std() == pytest.approx(1, abs=0.02)
    assert two.std() == pytest.approx(1, abs=0.02)
    np.testing.assert_array_equal(sum_error_maps([good, other], scales), first + two)


def test_a_map_of_two_votes_counts_twice_and_keeps_its_unit():
    good, other = errors(20), errors(20, seed=3)
    scales = [GoodMaps.from_errors(maps).finish(SIZE) for maps in (good, other)]
    counted = [scales[0], scales[1].with_votes(2)]
    added = scales[0].standardised(good) + 2 * scales[1].standardised(other)
    np.testing.assert_allclose(sum_error_maps([good, other], counted), added, rtol=1e-6)
    np.testing.assert_array_equal(counted[1].apply(other), scales[1].apply(other))


@pytest.mark.parametrize(
    ("given_errors", "message"),
    [
        (np.zeros((0, 4, 4)), "at least one photo"),
        (np.zeros((4, 4)), r"errors has shape \(4, 4\)"),
        (np.stack([np.zeros((2, 2)), np.full((2, 2), np.nan)]), "errors of photo 1 are not finite"),
    ],
)
def test_maps_that_cannot_be_learned_from_are_named(given_errors, message):
    with pytest.raises(ValueError, match=message):
        GoodMaps.from_errors(given_errors)


def test_another_grid_is_refused():
    with pytest.raises(ValueError, match="errors has shape"):
        GoodMaps.from_errors(errors(3)).finish(SIZE).apply(errors(1, h=16))


def test_a_level_that_the_highest_values_do_not_follow_stays():
    """Photos that show more or less of a calm kind of place differ in their median, and not in what stands out."""
    quiet = np.random.default_rng(7).uniform(size=(60, 32, 32)) < np.linspace(0.2, 0.8, 60)[:, None, None]
    good = np.where(quiet, errors(60) - 20, errors(60))
    scale = GoodMaps.from_errors(good).finish(SIZE)
    assert scale.with_photo_levels(good) == scale
