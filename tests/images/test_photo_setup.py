"""How photos were taken: what differs is named, what does not is not, by drawn parts and by hand."""

import io

import cv2
import numpy as np
import pytest
from PIL import Image

from inspect_core.images.photo_reader import squash
from inspect_core.images.photo_setup import EMPTY, FEWEST_SHADED, SHADED, SetupRange, measure_setup

HEIGHT, WIDTH = 144, 192


def part(seed: int) -> np.ndarray:
    """A bright plate with a hole at the upper left on a dark ground, and noise of its own."""
    rng = np.random.default_rng(seed)
    grey = np.full((HEIGHT, WIDTH), 30.0)
    grey[24:120, 30:166] = 150
    cv2.circle(grey, (60, 50), 16, 40, -1)
    grey[60:63, 90:150] = 90
    colours = cv2.GaussianBlur(grey, (0, 0), 1.0)[..., None] * np.array([1.0, 0.98, 0.95])
    return as_photo(colours + rng.normal(0, 2, (HEIGHT, WIDTH, 3)))


def as_photo(values: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def compressed(photo: np.ndarray, quality: int) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(photo).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def setup_of(photo: np.ndarray):
    return measure_setup(squash(photo, (96, 128)), photo)


GOOD_RANGE = SetupRange.from_setups([setup_of(part(seed)) for seed in range(20)])
ACROSS = np.linspace(1.25, 0.75, WIDTH)[:, None]
DOWN = np.linspace(1.25, 0.75, HEIGHT)[:, None, None]
SIZE = "96 × 72 px, another size than the 192 × 144 px taught"
FRAME = "144 × 144 px, another frame than the 192 × 144 px taught"
CHANGES = {
    "another size": (lambda p: cv2.resize(p, (96, 72), interpolation=cv2.INTER_AREA), [SIZE]),
    "another frame": (lambda p: np.ascontiguousarray(p[:, :144]), [FRAME]),
    "left": (lambda p: as_photo(p * ACROSS), ["light comes more from the left than taught"]),
    "above": (lambda p: as_photo(p * DOWN), ["light comes more from above than taught"]),
    "dark": (lambda p: p // 2, []),
    "fog": (lambda p: as_photo(0.5 * p + 100.0), []),
    "compressed": (lambda p: compressed(p, 30), ["compressed more strongly than taught"]),
    "redder": (lambda p: as_photo(p * np.array([1.15, 1.0, 1.0])), ["redder than taught"]),
    "dragged": (lambda p: cv2.blur(p, (15, 1)), ["blurred by motion"]),
    "out of focus": (lambda p: cv2.GaussianBlur(p, (0, 0), 3), []),
    "upside down": (lambda p: np.ascontiguousarray(p[::-1, ::-1]), ["upside down"]),
    "mirrored": (lambda p: np.ascontiguousarray(p[:, ::-1]), ["mirrored"]),
    "shifted": (lambda p: np.roll(p, 36, axis=1), ["shifted 19% to the right"]),
    "empty": (lambda p: np.full_like(p, 30), []),
}  # fmt: skip


@pytest.mark.parametrize(("change", "words"), CHANGES.values(), ids=CHANGES)
def test_what_changed_is_named_and_nothing_else(change, words):
    assert [*GOOD_RANGE.deviations(setup_of(change(part(50))))][: len(words) + 1] == words


def test_good_photos_are_said_nothing_of():
    assert not [way for seed in range(50, 90) for way in GOOD_RANGE.deviations(setup_of(part(seed)))]


def test_textures_have_no_way_round():
    rng = np.random.default_rng(3)
    textures = [as_photo(cv2.GaussianBlur(rng.normal(128, 60, (HEIGHT, WIDTH, 3)), (0, 0), 2)) for _ in range(20)]
    good_range = SetupRange.from_setups([setup_of(texture) for texture in textures[:12]])
    for texture in textures[12:]:
        for turned in (texture, np.ascontiguousarray(texture[::-1, ::-1])):
            assert not [*good_range.deviations(setup_of(turned))]


@pytest.mark.parametrize("value", [0, 255, 128])
def test_even_photos_are_measured(value):
    even = np.full((HEIGHT, WIDTH, 3), value, np.uint8)
    good_range = SetupRange.from_setups([setup_of(even)] * 3)
    assert np.isfinite([*good_range.red, *good_range.light_x, *good_range.blocks, good_range.least_alike]).all()
    assert not [*good_range.deviations(setup_of(even))]


def stained(photo: np.ndarray, depth: float, sigma: float) -> np.ndarray:
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    stain = np.exp(-((x - 110) ** 2 + (y - 95) ** 2) / (2 * sigma**2))
    return as_photo(photo - depth * stain[..., None])


def test_stains_without_an_edge_are_of_another_shade():
    assert GOOD_RANGE.is_shaded(setup_of(stained(part(50), 12, 15)))
    assert not any(GOOD_RANGE.is_shaded(setup_of(part(seed))) for seed in range(50, 70))
    assert not any(GOOD_RANGE.is_shaded(setup_of(as_photo(part(seed) * 0.8))) for seed in range(50, 60)), "a dim lamp"
    few = SetupRange.from_setups([setup_of(part(seed)) for seed in range(FEWEST_SHADED - 1)])
    assert few.shade_limit is None
    assert not few.is_shaded(setup_of(stained(part(50), 40, 15)))


@pytest.mark.parametrize(
    ("top", "left"), [(slice(None), slice(None)), (slice(84), slice(None)), (slice(20, 124), slice(26, 170))]
)
def test_where_a_part_is_missing_there_is_less_to_be_seen(top, left):
    """All of it, the upper half, or what lies in the middle."""
    photo = part(50)
    photo[top, left] = as_photo(30 + np.random.default_rng(1).normal(0, 2, photo[top, left].shape))
    assert GOOD_RANGE.reason_to_review(setup_of(photo)) == EMPTY


def test_a_covered_half_of_a_rough_surface_shows_less():
    """The edge of what covers it has more slope than the whole surface."""

    def rough(seed: int) -> np.ndarray:
        grain = cv2.GaussianBlur(np.random.default_rng(seed).normal(size=(HEIGHT, WIDTH)), (0, 0), 2)
        return as_photo(np.repeat(90 + 6 * grain[..., None] / grain.std(), 3, axis=2))

    good_range = SetupRange.from_setups([setup_of(rough(seed)) for seed in range(12)])
    covered = rough(20)
    covered[:, : WIDTH // 2] = as_photo(140 + np.random.default_rng(1).normal(0, 2, (HEIGHT, WIDTH // 2, 3)))
    assert good_range.reason_to_review(setup_of(covered)) == EMPTY
    assert good_range.reason_to_review(setup_of(rough(21))) is None


def test_good_parts_in_any_light_show_enough():
    for seed in range(50, 60):
        assert GOOD_RANGE.reason_to_review(setup_of(part(seed))) is None
        assert GOOD_RANGE.reason_to_review(setup_of(as_photo(part(seed) * 0.7))) is None
    assert GOOD_RANGE.reason_to_review(setup_of(stained(part(50), 12, 15))) == SHADED
    even = SetupRange.from_setups([setup_of(np.full((HEIGHT, WIDTH, 3), 90, np.uint8))] * 9)
    assert even.reason_to_review(setup_of(np.full((HEIGHT, WIDTH, 3), 90, np.uint8))) is None


def test_slopes_are_those_of_the_plain_derivation():
    ramp = np.tile((np.arange(256) // 2)[:, None, None], (1, 256, 3)).astype(np.uint8)  # half a grey level a pixel
    assert measure_setup(ramp, ramp).slopes == pytest.approx((0.5,) * 5, abs=0.02)
    ramp[:, 128:] = 90
    whole, least, _, median_of_half, _ = measure_setup(ramp, ramp).slopes
    assert median_of_half == 0 < least < whole


def test_a_shift_within_the_tolerances_is_no_other_shade():
    moved = [setup_of(np.roll(part(seed), (1, 1), axis=(0, 1))) for seed in range(50, 60)]
    assert any(map(GOOD_RANGE.is_shaded, moved))
    wider = GOOD_RANGE.widened_by(1.0, (96, 128))
    assert not any(map(wider.is_shaded, moved))
    assert wider.is_shaded(setup_of(stained(part(50), 20, 15)))


def test_the_limit_of_shades_is_that_of_the_plain_derivation():
    setups = [setup_of(part(seed)) for seed in range(12)]
    layouts = np.array([setup.layout for setup in setups])
    largest = 0.0
    of_all = layouts / layouts.mean(axis=0)
    of_all = of_all / np.median(of_all, axis=1, keepdims=True) - 1
    for number in range(12):
        others = np.delete(layouts, number, axis=0)
        mean = others.mean(axis=0)
        ratio = layouts[number] / mean
        shade = ratio / np.median(ratio) - 1
        squares = (np.delete(of_all, number, axis=0) ** 2).sum(axis=0) * 11 / 10
        pooled = squares.mean() / 11
        least = np.maximum(np.sqrt(pooled) / 2, np.maximum(0.004, 0.5 / mean))
        spread = np.maximum(np.sqrt((squares + 2.5 * pooled) / 13.5), least)
        largest = max(largest, (np.abs(shade) / spread).max())
    assert SetupRange.from_setups(setups).shade_limit == pytest.approx(max(1.1 * largest, 2.0))
