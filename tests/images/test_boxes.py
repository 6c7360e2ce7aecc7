import numpy as np
import pytest

from inspect_core.images import boxes


def test_the_peak_of_every_cell_against_a_loop():
    values = np.random.default_rng(0).normal(size=(11, 10))
    for grid in (values, values > 1.5):
        peaks = boxes.cell_peaks(grid, (4, 3))
        assert peaks.dtype == grid.dtype
        for row, column in np.ndindex(4, 3):
            assert peaks[row, column] == boxes.crop_box(grid, boxes.patch_box((row, column), (4, 3), (11, 10))).max()
    with pytest.raises(ValueError, match=r"grid is \(4, 3\), finer"):
        boxes.cell_peaks(np.zeros((3, 3)), (4, 3))


def test_boxes_tile_the_photo():
    covered = np.zeros((50, 70), int)
    for place in np.ndindex(4, 3):
        left, top, right, bottom = boxes.patch_box(place, (4, 3), (50, 70))
        covered[top:bottom, left:right] += 1
    assert (covered == 1).all()


def test_surroundings_stop_at_the_rim():
    assert boxes.context_box((0, 10, 10, 20), (100, 25)) == (0, 0, 25, 50)


def test_a_frame_goes_around_the_patch_and_leaves_it_as_it_is():
    pixels = np.random.default_rng(0).integers(0, 200, size=(40, 60, 3), dtype=np.uint8)
    before, box = pixels.copy(), (20, 10, 30, 16)
    framed = boxes.draw_frame(pixels, box, (194, 65, 12))
    assert (pixels == before).all()
    assert (boxes.crop_box(framed, box) == boxes.crop_box(pixels, box)).all()
    assert framed[10, 19].tolist() == [194, 65, 12]
    assert framed[10, 18].tolist() == [255, 255, 255]
    changed = (framed != pixels).any(axis=2)
    assert changed.sum() <= 14 * 10 - 10 * 6


def test_enlarging_invents_no_value_and_reducing_keeps_aspect():
    pixels = np.random.default_rng(0).integers(0, 255, size=(5, 7, 3), dtype=np.uint8)
    large = boxes.upscale(pixels)
    assert large.shape == (5 * 37, 7 * 37, 3)
    assert (large[1::37, 1::37] == pixels).all()
    assert boxes.downscale(np.zeros((400, 200, 3), np.uint8), 100).shape == (100, 50, 3)
    assert boxes.downscale(np.zeros((40, 20, 3), np.uint8), 100).shape == (40, 20, 3)
