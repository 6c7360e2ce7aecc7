import numpy as np
import pytest

from sample_data.make.camera import SIZE, Camera, photograph
from sample_data.make.scene import CANVAS

SHARP = np.zeros((CANVAS, CANVAS), dtype=np.float32)
CAMERA = Camera(exposure=(1.0, 1.0, 1.0))


def sheet(level: float) -> np.ndarray:
    return np.full((3, CANVAS, CANVAS), level, dtype=np.float32)


def shoot(light: np.ndarray, camera: Camera = CAMERA, depth: np.ndarray = SHARP, seed: int = 0) -> np.ndarray:
    return photograph(light, depth, camera, np.random.default_rng(seed))


def srgb(light: float) -> float:
    return 255 * (1.055 * light ** (1 / 2.4) - 0.055)


def test_even_sheet_keeps_its_level_and_darkens_in_corners():
    image = shoot(sheet(0.4))
    middle, corner = image[150:170, 150:170].mean(), image[:6, :6].mean()
    assert image.shape == (SIZE, SIZE, 3)
    assert middle == pytest.approx(srgb(0.4), abs=0.7)
    assert corner == pytest.approx(srgb(0.4 * (1 - CAMERA.vignette)), abs=1.5)


def test_noise_grows_as_the_root_of_the_light():
    def relative_noise(level: float) -> float:
        image = shoot(sheet(level), Camera(exposure=(1.0, 1.0, 1.0), vignette=0.0, electrons=2000.0))
        slope = (srgb(level + 0.01) - srgb(level - 0.01)) / 0.02
        return float(image.astype(float).std(axis=(0, 1)).mean() / slope)

    assert relative_noise(0.64) / relative_noise(0.16) == pytest.approx(2, rel=0.12)


def test_the_same_generator_state_gives_the_same_noise():
    light = sheet(0.4)
    marked = light.copy()
    marked[:, 300:340, 300:340] = 0.1
    plain, other = shoot(light, seed=3), shoot(marked, seed=3)
    np.testing.assert_array_equal(plain[:60], other[:60])
    assert (shoot(light, seed=4) != plain).any()


def test_what_is_out_of_focus_is_blurred():
    light = sheet(0.1)
    light[:, :, CANVAS // 2 :] = 0.6
    focused = shoot(light)[160, :, 1].astype(float)
    soft = shoot(light, depth=np.ones_like(SHARP))[160, :, 1].astype(float)
    assert np.abs(np.diff(focused)).max() > 2 * np.abs(np.diff(soft)).max()
