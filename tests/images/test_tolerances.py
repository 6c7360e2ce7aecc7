"""Copies of a photo: what each way of differing does to its pixels, how far they reach, the same for the same seed."""

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from inspect_core.images.photo_reader import squash
from inspect_core.images.tolerances import AS_TAKEN, DEFAULT_TOLERANCES, OVERSHOOT, RANGES, CaptureVariation, Tolerances
from tests.examples import examples

SIZE = (48, 64)
GREY = np.full((*SIZE, 3), 120, np.uint8)
RAMP = np.repeat(np.linspace(60, 180, 64).astype(np.uint8)[None, :, None], 48, axis=0).repeat(3, axis=2)


def varied(picture: np.ndarray, photo: tuple[int, int] = SIZE, **ways) -> np.ndarray:
    return CaptureVariation(**ways).apply(picture, photo, np.random.default_rng(0))


def test_light_is_a_gain_and_shift_moves_to_the_right_and_down():
    assert np.array_equal(AS_TAKEN.apply(RAMP, SIZE, np.random.default_rng(0)), RAMP)
    assert (varied(GREY, light=1.1) == 132).all()
    dot = np.zeros((*SIZE, 3), np.uint8)
    dot[20, 30] = 255
    assert np.unravel_index(varied(dot, right=3, down=-2)[..., 0].argmax(), SIZE) == (18, 33)


def test_a_turn_is_about_the_middle_and_keeps_what_lies_there():
    dot = np.zeros((65, 65, 3), np.uint8)
    dot[32, 50] = 255
    assert np.unravel_index(varied(dot, turn=90)[..., 0].argmax(), (65, 65)) == (14, 32)
    assert np.unravel_index(varied(dot, turn=180, right=3)[..., 0].argmax(), (65, 65)) == (32, 17)


def test_turned_copies_lie_at_any_angle():
    plain, turned = Tolerances(copies=64), Tolerances(copies=64, turn=180)
    angles = [variation.turn for variation in turned.sample_variations(np.random.default_rng(1))]
    assert min(angles) < -150
    assert max(angles) > 150
    first, same = (next(way.sample_variations(np.random.default_rng(1))) for way in (plain, turned))
    assert first == replace(same, turn=0.0)


def test_blur_and_compression_keep_the_mean_and_take_detail():
    checks = np.where(np.indices(SIZE).sum(axis=0) % 2, 200, 60).astype(np.uint8)[..., None].repeat(3, axis=2)
    soft, compressed = varied(checks, focus=1.0), CaptureVariation(jpeg=30).compress(varied(RAMP, noise=10))
    assert abs(float(soft.mean()) - float(checks.mean())) < 2
    assert soft.std() < checks.std() / 2
    grain, compressed_grain = (
        np.diff(picture[..., 0].astype(float)).std() for picture in (varied(RAMP, noise=10), compressed)
    )
    assert compressed_grain < grain / 2


@pytest.mark.parametrize("photo", [(48, 64), (192, 256), (150, 200), (24, 32)])
def test_noise_is_that_of_the_photo_as_the_squash_leaves_it(photo):
    """A large photo is averaged down, and its noise with it; the plain derivation squashes real noise."""
    rng, size = np.random.default_rng(1), (96, 128)
    photo = (photo[0] * 2, photo[1] * 2)
    noisy = np.clip(np.rint(120 + 8 * rng.standard_normal((*photo, 3))), 0, 255).astype(np.uint8)
    expected = float(squash(noisy, size).astype(float).std())
    made = CaptureVariation(noise=8).apply(np.full((*size, 3), 120, np.uint8), photo, rng)
    assert float(made.astype(float).std()) == pytest.approx(expected, rel=0.1)


def test_copies_are_compressed_as_taken_with_halved_colour():
    """The plain derivation: a photo is compressed at its own size, then reduced."""
    photo = np.random.default_rng(3).integers(0, 256, (192, 256, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(photo).save(file, "JPEG", quality=40, subsampling=2)
    expected = squash(np.asarray(Image.open(file)), SIZE)
    tolerances = Tolerances(noise=0, light=0, shift=0, focus=0, jpeg=30, copies=20)
    compressed_pictures = []

    def keep(variation):
        compressed_pictures.append(squash(replace(variation, jpeg=40).compress(photo), SIZE))
        return compressed_pictures[-1]

    copies = list(tolerances.copies_of(squash(photo, SIZE), photo.shape[:2], "a1" * 32, keep))
    assert 0 < len(compressed_pictures) < len(copies)
    assert all(np.array_equal(picture, expected) for picture in compressed_pictures)
    assert all(any(np.array_equal(copy, picture) for picture in (expected, squash(photo, SIZE))) for copy in copies)


def test_noise_of_a_mono_photo_is_mono_and_of_colour_is_not():
    assert np.ptp(varied(GREY, noise=5), axis=2).max() == 0
    coloured = GREY.copy()
    coloured[0, 0] = (0, 10, 20)
    assert np.ptp(varied(coloured, noise=5), axis=2).mean() > 3


@given(seed=st.integers(0, 10**6), noise=st.floats(0, 5), light=st.floats(0, 20), shift=st.floats(0, 5))
@settings(max_examples=examples(50), deadline=None)
def test_copies_stay_within_reach_of_the_tolerances(seed, noise, light, shift):
    tolerances = Tolerances(noise=noise, light=light, shift=shift, focus=0.5, jpeg=90)
    for side in (-1, 1):
        edge = CaptureVariation(noise, 1 + side * light / 100, side * shift, side * shift, 0.5, 90)
        assert tolerances.extreme_variation(side) == edge
    drawn = list(tolerances.sample_variations(np.random.default_rng(seed)))
    assert len(drawn) == tolerances.copies
    for copy in drawn:
        assert 0 <= copy.noise <= OVERSHOOT * noise
        assert abs(copy.light - 1) <= OVERSHOOT * light / 100 + 1e-12
        assert max(abs(copy.right), abs(copy.down)) <= OVERSHOOT * shift
        assert 0 <= copy.focus <= OVERSHOOT * 0.5
        assert 100 - OVERSHOOT * 10 - 1 <= copy.jpeg <= 100


def test_copies_depend_on_photo_and_seed_alone():
    digest, other = "a1" * 32, "b2" * 32
    first, repeated = (list(DEFAULT_TOLERANCES.copies_of(RAMP, SIZE, digest)) for _ in range(2))
    assert all(np.array_equal(left, two) for left, two in zip(first, repeated, strict=True))
    for seed, name in ((0, other), (1, digest)):
        elsewhere = Tolerances(seed=seed).copies_of(RAMP, SIZE, name)
        assert any(not np.array_equal(left, two) for left, two in zip(first, elsewhere, strict=True))


def test_tolerance_text_is_read_back_with_defaults_off():
    assert Tolerances.parse(str(DEFAULT_TOLERANCES)) == DEFAULT_TOLERANCES
    assert Tolerances.parse("none") is None
    assert Tolerances.parse("noise=2, jpeg=80") == Tolerances(2.0, 0.0, 0.0, 0.0, 80)
    for text, word in (("grain=2", "grain"), ("noise=much", "much"), ("noise=99", "99"), ("jpeg=8", "30")):
        with pytest.raises(ValueError, match=word):
            Tolerances.parse(text)
    assert set(RANGES) == {"noise", "light", "shift", "focus", "jpeg", "turn"}
