import numpy as np
import pytest

from inspect_core.images import synthetic_defects


@pytest.fixture
def photo() -> np.ndarray:
    """A 96 x 128 photo with texture away from both ends of the scale, so that no change is clipped."""
    return np.random.default_rng(1).integers(90, 160, (96, 128, 3)).astype(np.uint8)


@pytest.mark.parametrize("make", synthetic_defects.KINDS, ids=lambda make: make.__name__)
def test_the_mask_is_where_the_photo_changed(photo, make):
    others = set()
    for seed in range(20):
        before = photo.copy()
        made, mask = make(photo, np.random.default_rng(seed))
        assert np.array_equal(photo, before), "the photo itself is left as set"
        assert (made.dtype, made.shape, mask.dtype, mask.shape) == (np.uint8, photo.shape, bool, photo.shape[:2])
        repeated = make(photo, np.random.default_rng(seed))
        assert np.array_equal(made, repeated[0])
        assert np.array_equal(mask, repeated[1])
        others.add(mask.tobytes())
        change = np.abs(made.astype(int) - photo).max(axis=2)
        assert 0 < mask.mean() < 0.1
        assert (change[mask] > 0).mean() > 0.9
        outside = change[~mask]
        assert outside.max() <= max(change[mask].max(), 1), "only the soft edge changes beside the mask"
        assert (outside > 0).mean() < 0.05
    assert len(others) == 20, "another generator makes another defect"


def test_a_misplaced_patch_is_a_piece_of_the_photo_off_in_colour(photo):
    made, mask = synthetic_defects.misplaced_patch(photo, np.random.default_rng(4))
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    assert mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all(), "a full rectangle"
    assert np.array_equal(made[~mask], photo[~mask]), "with a sharp edge"
    piece = made[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(int)
    height, width = piece.shape[:2]
    spread = min(
        np.ptp(piece - photo[y : y + height, x : x + width], axis=(0, 1)).max()
        for y in range(96 - height + 1)
        for x in range(128 - width + 1)
    )
    assert spread <= 1, "somewhere on the photo lies the same piece, one colour shift away"


def test_a_scar_is_thin_and_long(photo):
    for seed in range(10):
        _, mask = synthetic_defects.scar(photo, np.random.default_rng(seed))
        rows, columns = np.nonzero(mask)
        length = np.hypot(np.ptp(rows), np.ptp(columns))
        assert length > 2 * mask.sum() / max(length, 1), "longer than it is wide"


@pytest.mark.parametrize("level", [0, 255])
def test_the_ends_of_the_scale_are_not_passed(level):
    flat = np.full((64, 64, 3), level, np.uint8)
    for make in synthetic_defects.KINDS:
        for seed in range(10):
            made, _ = make(flat, np.random.default_rng(seed))
            assert np.abs(made.astype(int) - level).max() < 130, "no value wrapped around"
