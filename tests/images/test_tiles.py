"""How a large photo is cut into tiles: every cell of it once, and never from beside a cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspect_core.images.tiles import CELLS, LARGEST_FACTORS, STEP, TilePlan, proposed, recommendation


@st.composite
def plans(draw) -> TilePlan:
    tile = tuple(STEP * draw(st.integers(1, 10)) for _ in range(2))
    size = tuple(side + STEP * draw(st.integers(0, 40)) for side in tile)
    overlap = 2 * STEP * draw(st.integers(0, (min(tile) - 1) // (2 * STEP)))
    return TilePlan(size, tile, overlap, draw(st.sampled_from(CELLS)))


@given(plans())
def test_every_cell_comes_from_one_tile_away_from_its_cuts(plan):
    counts, picture = np.zeros(plan.grid, int), np.zeros((*plan.size, 3), np.uint8)
    for tile in plan.tiles:
        counts[tile.cells] += 1
        assert plan.cut(picture, tile).shape == (*plan.tile, 3)
        assert tile.top % STEP == tile.left % STEP == 0
        axes = zip(tile.cells, tile.local_cells, (tile.top, tile.left), plan.tile, plan.size, strict=True)
        for cells, tile_cells, first, side, whole in axes:
            assert cells.start * plan.cell == first + tile_cells.start * plan.cell
            assert cells.stop - cells.start == tile_cells.stop - tile_cells.start > 0
            assert 0 <= tile_cells.start < tile_cells.stop <= side // plan.cell
            assert first == 0 or tile_cells.start * plan.cell >= plan.overlap // 2
            assert first + side == whole or side - tile_cells.stop * plan.cell >= plan.overlap // 2
    assert (counts == 1).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"size": (300, 512)}, "multiples of 32"),
        ({"size": (224, 512)}, "not larger than the photo"),
        ({"size": (256, 32768)}, "at most 16384 px"),
        ({"tile": (0, 256)}, "multiples of 32"),
        ({"overlap": 32}, "overlap is 32 px; give a multiple of 64"),
        ({"overlap": 256}, "below 256"),
        ({"overlap": -64}, "overlap is -64"),
        ({"cell": 24}, "cell is 24 px; choose one of 8, 16, 32"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        TilePlan(**{"size": (512, 512)} | change)


@given(st.tuples(st.integers(100, 9000), st.integers(100, 9000)), st.floats(1, 500))
def test_what_is_proposed_stays_within_memory(photo, smallest):
    plan = proposed(photo, smallest)
    assert 4 * np.prod(plan.grid) * plan.largest_k**2 <= LARGEST_FACTORS
    assert plan.largest_k >= 20


def test_too_many_cells_are_refused_and_size_follows_defects():
    with pytest.raises(ValueError, match=r"k = 20 at 376 × 500 locations takes 301 MB .* at most 256 MB .* use k = 18"):
        proposed((3000, 4000), cell=8)
    assert proposed((3000, 4000)).cell == 16
    assert proposed((6000, 8000)).cell == 32
    assert proposed((3000, 4000), 10).size == (3008, 4000)
    assert proposed((3000, 4000), 40).size == (1216, 1600), "16 of 40 px are left"
    assert proposed((300, 200), 100).size == (256, 256)


def test_tiles_are_recommended_when_squashing_hides_a_defect():
    pays, sentence = recommendation((3000, 4000), 20, (256, 256))
    assert pays
    assert sentence.startswith("A defect of 20 px is 1.3 px after resizing to 256 × 256 px; at least 16 px")
    assert sentence.endswith("use tiles.")
    assert not recommendation((320, 320), 20, (256, 256))[0]
