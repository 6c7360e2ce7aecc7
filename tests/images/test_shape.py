"""The shape of the network's input."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspect_core.images.shape import STEP, grid_of, input_size, mixed_shapes


@pytest.mark.parametrize(
    ("photo", "side", "size"),
    [
        ((1255, 500), 256, (416, 160)),
        ((576, 768), 256, (224, 288)),
        ((380, 550), 256, (224, 320)),
        ((640, 640), 256, (256, 256)),
        ((640, 640), 384, (384, 384)),
        ((30, 3000), 256, (32, 2560)),
    ],
)
def test_the_input_has_the_shape_of_the_photos(photo, side, size):
    assert input_size([photo], side) == size


@given(st.lists(st.tuples(st.integers(50, 4000), st.integers(50, 4000)), min_size=1, max_size=9))
def test_sides_are_whole_strides_and_turn_with_the_photos(photos):
    size = input_size(photos)
    assert all(side % STEP == 0 for side in size)
    assert all(cells * 8 == side for cells, side in zip(grid_of(size), size, strict=True))
    if max(h / w for h, w in photos) < 8 and max(w / h for h, w in photos) < 8:
        assert 0.7 < size[0] * size[1] / 256**2 < 1.4
    if len(photos) % 2:
        assert input_size([(w, h) for h, w in photos]) == size[::-1]


def test_one_odd_photo_changes_nothing_and_mixed_shapes_are_said():
    photos = [(400, 300)] * 4 + [(300, 900)]
    assert input_size(photos) == input_size(photos[:1])
    assert "from 0.75 to 3.00 times as wide as high" in mixed_shapes(photos)
    assert mixed_shapes([(400, 300), (420, 300), (4000, 3000)]) == ""
    with pytest.raises(ValueError, match="no photo"):
        input_size([])
