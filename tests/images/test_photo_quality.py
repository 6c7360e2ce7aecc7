import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from inspect_core.images import photo_quality
from inspect_core.images.photo_quality import (
    BLUR,
    DEVIATION_SEPARATOR,
    EXPOSURE,
    PhotoQuality,
    QualityRange,
    find_outliers,
    measure_quality,
    robust_z_scores,
)
from inspect_core.images.photo_quality import FEWEST_COMPARED as FEWEST
from inspect_core.images.photo_reader import squash
from inspect_core.images.photo_setup import PhotoSetup
from inspect_core.runtime.serialisation import pack, unpack

SIZE = 160


def photo(seed: int, *, level: float = 110.0) -> np.ndarray:
    """The same part under a little noise."""
    part = np.random.default_rng(9).normal(0, 1, (SIZE, SIZE))
    part = cv2.GaussianBlur(part, (0, 0), 1.5)
    noise = np.random.default_rng(seed).normal(0, 2, (SIZE, SIZE))
    grey = np.clip(level + 30 * part / part.std() + noise, 0, 255).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


GOOD = [measure_quality(photo(seed)) for seed in range(20)]


@pytest.mark.parametrize("side", [160, 320, 640])
def test_noise_as_read_matches_what_is_measured(side):
    noisy = np.clip(np.rint(128 + 5 * np.random.default_rng(1).standard_normal((side, side, 1))), 0, 255)
    pixels = noisy.astype(np.uint8).repeat(3, axis=2)
    read = measure_quality(squash(pixels, (SIZE, SIZE))).noise
    assert photo_quality.noise_as_read(5, (side, side), (SIZE, SIZE)) == pytest.approx(read, rel=0.1)


@pytest.mark.parametrize("sigma", [1.0, 2.0, 5.0])
def test_a_blurred_photo_is_found_with_its_sharpness(sigma):
    blurred = measure_quality(cv2.GaussianBlur(photo(50), (0, 0), sigma))
    (finding,) = find_outliers([*GOOD, blurred])[-1]
    assert finding.topic == BLUR
    share = 100 * blurred.sharpness / np.median([quality.sharpness for quality in GOOD])
    assert f"sharpness is {share:.0f}%" in finding.sentence


def test_dimmed_and_clipped_photos_are_exposure_findings():
    clipped = photo(50)
    clipped[:40, :40] = 255
    clipped[60:100, 60:100] = 90
    *others, dim, bright = find_outliers(
        [*GOOD, measure_quality((photo(50) * 0.6).astype(np.uint8)), measure_quality(clipped)]
    )
    assert not any(others)
    assert [finding.topic for finding in dim] == [EXPOSURE]
    assert {finding.topic for finding in bright} >= {EXPOSURE}
    assert any("6.2% of its pixels are white" in finding.sentence for finding in bright)
    assert not any(find_outliers(GOOD))
    assert [find_outliers([]), find_outliers(GOOD[:1])] == [[], [[]]]


def test_constant_and_tiny_photos_have_figures():
    for pixels in (np.zeros((8, 8, 3), np.uint8), np.full((2000, 10, 3), 255, np.uint8)):
        assert np.isfinite([measure_quality(pixels).sharpness, measure_quality(pixels).brightness]).all()


TAUGHT = QualityRange.from_qualities(GOOD)
CHANGES = {
    "noisier": lambda part: part + np.random.default_rng(1).normal(0, 3, part.shape[:2])[:, :, None],
    "darker": lambda part: 0.85 * part,
    "brighter": lambda part: 1.15 * part,
    "less sharp": lambda part: cv2.GaussianBlur(part, (0, 0), 1.5),
    "sharper": lambda part: part + 2 * (part - cv2.GaussianBlur(part, (0, 0), 1.5)),
}


@pytest.mark.parametrize("word", CHANGES)
def test_a_photo_that_differs_from_those_taught_is_told_how(word):
    changed = np.clip(CHANGES[word](photo(50).astype(np.float32)), 0, 255).round().astype(np.uint8)
    deviations = TAUGHT.describe_deviation(measure_quality(changed)).split(DEVIATION_SEPARATOR)
    assert f"{word} than taught" in deviations
    assert all(words.endswith(" than taught") for words in deviations)


def test_similar_photos_are_silent_and_few_give_no_range():
    assert not any(TAUGHT.describe_deviation(measure_quality(photo(seed))) for seed in range(50, 80))
    assert QualityRange.from_qualities(GOOD[:4]) is None


def test_sharpness_measures_the_lens_and_not_the_scene():
    part = photo(3).astype(np.float32)
    rising = np.clip(part + np.linspace(-50, 50, SIZE, dtype=np.float32)[:, None, None], 0, 255)
    half = part.copy()
    half[: SIZE // 2] = part.mean()
    expected = measure_quality(photo(3)).sharpness
    for other in (rising, half, 0.5 * part + 60):
        assert measure_quality(other.astype(np.uint8)).sharpness == pytest.approx(expected, rel=0.06)
    assert measure_quality(cv2.GaussianBlur(photo(3), (0, 0), 1.5)).sharpness < 0.85 * expected


@given(arrays(float, st.integers(FEWEST, 40), elements=st.floats(-1e6, 1e6)))
def test_never_more_than_half_stand_out(numbers):
    assert (robust_z_scores(numbers, least=1e-3) > photo_quality.STANDS_OUT).sum() <= len(numbers) / 2


def test_harmless_differences_do_not_stand_out():
    """Median 5 and median absolute deviation 3 of the first eleven numbers."""
    assert robust_z_scores(np.arange(11.0), least=0.1)[[5, 10]] == pytest.approx((0, 5 / (1.4826 * 3)))
    assert not robust_z_scores(np.array([0.0] * (FEWEST - 2) + [100.0]), least=0.1).any()
    assert len(robust_z_scores(np.array([]), least=0.1)) == 0
    numbers = np.full(20, 3.0)
    numbers[7] = 3.3
    assert robust_z_scores(numbers, least=0.1)[7] < photo_quality.STANDS_OUT
    assert robust_z_scores(numbers, least=0.01)[7] > photo_quality.STANDS_OUT


def test_what_is_measured_comes_back_from_another_process():
    measured = measure_quality(photo(3), photo(3))
    assert unpack(pack(measured), (PhotoQuality, PhotoSetup)) == measured
