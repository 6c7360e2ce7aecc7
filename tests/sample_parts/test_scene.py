import numpy as np
import pytest

from sample_data.make import scene as scenes
from sample_data.make.flange import drill
from sample_data.make.marks import stroke
from sample_data.make.scene import CANVAS, Light, Pose, Scene, radiance

POSE = Pose((1.5, -0.8), 0.2, 60.0)
DARK = (0.0, 0.0, 0.0)
WHITE = (1.0, 1.0, 1.0)


def pixel(pose: Pose, x: float, y: float) -> tuple[int, int]:
    u, v = pose.place(x, y)
    middle = (CANVAS - 1) / 2
    return round(v / pose.pitch + middle), round(u / pose.pitch + middle)


def test_grid_is_the_inverse_of_place():
    x, y = POSE.grid()
    row, column = pixel(POSE, 7.0, -11.0)
    assert (x[row, column], y[row, column]) == pytest.approx((7.0, -11.0), abs=POSE.pitch)
    where = POSE.window(7.0, -11.0, 2.0)
    np.testing.assert_array_equal(POSE.grid(where)[0], x[where])
    assert np.hypot(x[where] - 7, y[where] + 11).min() < POSE.pitch
    assert np.hypot(x - 7, y + 11)[where].shape[0] == pytest.approx(4 / POSE.pitch, abs=8)


def test_artwork_lands_where_the_grid_says():
    dots, extent = 600, 50.0
    axis = (np.arange(dots) + 0.5) * extent / dots - extent / 2
    sampled = POSE.sample(np.broadcast_to(axis[None, :], (dots, dots)), extent)
    x, y = POSE.grid()
    is_inside = np.maximum(np.abs(x), np.abs(y)) < 20
    np.testing.assert_allclose(sampled[is_inside], x[is_inside], atol=0.02)


def test_a_level_matt_sheet_obeys_lambert():
    sheet = Scene.flat((0.5, 0.4, 0.3), DARK, 0.3)
    light = radiance(sheet, POSE, (Light(0.3, np.pi / 6, WHITE, 0.1),), (0.2, 0.2, 0.2))
    np.testing.assert_allclose(light[:, 300, 300], np.array((0.5, 0.4, 0.3)) * (0.2 + 0.5), rtol=1e-5)


@pytest.mark.parametrize("azimuth", [0.0, np.pi / 2, np.pi, -np.pi / 2])
def test_a_block_throws_its_shadow_away_from_the_lamp(azimuth):
    pose = Pose((0.0, 0.0), 0.0, 64.0)
    sheet = Scene.flat((1.0, 1.0, 1.0), DARK, 0.3)
    sheet.height[300:341, 300:341] = 3.0
    light = radiance(sheet, pose, (Light(azimuth, np.pi / 4, WHITE, 0.1),), DARK)[0]
    step = np.round(34 * np.array((np.sin(azimuth), np.cos(azimuth)))).astype(int)
    behind, before = light[tuple(320 - step)], light[tuple(320 + step)]
    assert behind < 0.1 * before
    assert before == pytest.approx(np.sin(np.pi / 4), rel=0.02)
    assert light[tuple(320 - 3 * step)] == pytest.approx(np.sin(np.pi / 4), rel=0.02)


def test_gloss_along_the_grooves_is_narrow_and_across_them_wide():
    sheet = Scene.flat(DARK, WHITE, 0.1)
    sheet.rough[1] = 0.4
    along, across = (
        radiance(sheet, POSE, (Light(azimuth, 0.9, WHITE, 0.05),), DARK)[0, 9, 9] for azimuth in (0.0, np.pi / 2)
    )
    assert across > 20 * along
    sheet.grain += np.float32(np.pi / 2)
    assert radiance(sheet, POSE, (Light(0.0, 0.9, WHITE, 0.05),), DARK)[0, 9, 9] == pytest.approx(across, rel=1e-4)


def test_doubling_restores_half_resolution_positions():
    canvas = np.broadcast_to(np.arange(CANVAS, dtype=np.float32), (CANVAS, CANVAS))
    np.testing.assert_allclose(scenes._double(canvas[::2, ::2])[:, :-2], canvas[:, :-2], atol=1e-3)


def test_smooth_noise_has_unit_scale_and_the_width_asked_for():
    rng = np.random.default_rng(0)
    for scale in (4, 20):
        noise = scenes.smooth_noise(rng, scale)
        assert noise.shape == (CANVAS, CANVAS)
        assert noise.std() == pytest.approx(1, abs=0.25)
        assert np.corrcoef(noise[:, : -scale // 4].ravel(), noise[:, scale // 4 :].ravel())[0, 1] > 0.75
        assert abs(np.corrcoef(noise[:, : -3 * scale].ravel(), noise[:, 3 * scale :].ravel())[0, 1]) < 0.15


def test_stroke_measures_the_distance_to_its_path():
    path = np.stack([np.linspace(-5, 5, 80), np.full(80, 2.0)], axis=1)
    where, distance, place = stroke(POSE, path, 1.0)
    x, y = POSE.grid(where)
    expected = np.hypot(np.maximum(np.abs(x) - 5, 0), y - 2)
    near = expected < 0.95
    np.testing.assert_allclose(distance[near], expected[near], atol=0.02)
    assert np.isinf(distance[expected > 1.05]).all()
    along = near & (np.abs(x) < 5)
    np.testing.assert_allclose(place[along], (x[along] + 5) / 10, atol=0.01)


def test_a_hole_off_the_axis_shows_its_far_wall():
    pose = Pose((0.0, 0.0), 0.0, 88.0)
    sheet = Scene.flat((0.5, 0.5, 0.5), DARK, 0.3)
    drill(sheet, pose, (28.0, 0.0), radius=4.3, depth=9.0, chamfer=0.9, thread=None, turn=0.0)
    far, near = sheet.opening[pixel(pose, 31.6, 0.0)], sheet.opening[pixel(pose, 24.6, 0.0)]
    assert far > 0.5
    assert near == pytest.approx(0.35, abs=0.02)
    assert sheet.opening[pixel(pose, 34.0, 0.0)] == 1
    assert not sheet.differs(sheet).any()
