"""Areas: what they cover, what they leave, what they refuse; one weight a pixel, whatever overlaps."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspect_core.images.alignment import Alignment
from inspect_core.images.areas import InspectionArea, InspectionAreas, inspected_pixels
from inspect_core.runtime.json_record import from_table, to_table

SQUARE = ((0.25, 0.25), (0.75, 0.25), (0.75, 0.75), (0.25, 0.75))
shares = st.floats(0, 1, allow_nan=False)
outlines = st.lists(st.tuples(shares, shares), min_size=3, max_size=8).map(tuple)
areas = st.one_of(
    st.builds(InspectionArea, st.sampled_from(["inspect", "ignore"]), outlines),
    st.builds(InspectionArea, st.just("stricter"), outlines, st.floats(1, 100)),
)


@given(st.lists(areas, min_size=1, max_size=6).map(tuple), st.tuples(st.integers(4, 40), st.integers(4, 40)))
def test_every_pixel_gets_the_weight_that_its_areas_give(drawn, size):
    weights, masks = InspectionAreas(drawn).weights(size), [area.mask(size) for area in drawn]
    included = [mask for area, mask in zip(drawn, masks, strict=True) if area.mode == "inspect"]
    for y, x in np.ndindex(size):
        covering = [area for area, mask in zip(drawn, masks, strict=True) if mask[y, x]]
        left = (not included or any(mask[y, x] for mask in included)) and all(
            area.mode != "ignore" for area in covering
        )
        expected = max((area.strictness for area in covering if area.mode == "stricter"), default=1.0) if left else 0.0
        assert weights[y, x] == np.float32(expected)


def test_an_outline_covers_the_pixels_whose_centres_it_holds():
    mask = InspectionArea("ignore", SQUARE).mask((40, 80))
    assert mask[10:30, 20:60].all()
    assert mask.sum() <= 22 * 42


@given(st.lists(areas, min_size=1, max_size=4).map(tuple))
def test_what_json_keeps_is_the_same(drawn):
    areas = InspectionAreas(drawn, "reference")
    assert from_table(InspectionAreas, json.loads(json.dumps(to_table(areas)))) == areas


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("paint", SQUARE, 1.0), "must be one of"),
        (("ignore", SQUARE[:2], 1.0), "2 corners"),
        (("ignore", ((0, 0), (1, 0), (1.5, 1)), 1.0), "leaves the picture"),
        (("ignore", ((0, 0), (1, 0), (float("nan"), 1)), 1.0), "leaves the picture"),
        (("stricter", SQUARE, 0.5), "an area has strictness"),
        (("ignore", SQUARE, 2.0), "an area has strictness"),
    ],
)
def test_what_is_no_area_is_refused(row, reason):
    with pytest.raises(ValueError, match=reason):
        InspectionArea(*row)


@pytest.mark.parametrize(
    ("drawn", "reference", "reason"),
    [
        ((InspectionArea("ignore", ((0, 0), (1, 0), (1, 1), (0, 1))),), "", "leave 0 pixels"),
        ((InspectionArea("ignore", SQUARE),), "another", "another reference"),
        ((), "", "draw 1 to"),
        ((InspectionArea("ignore", SQUARE),) * 51, "", "draw 1 to"),
        ((InspectionArea("inspect", ((0, 0), (0.1, 0), (0.1, 0.1))),), "", "fewer than the smallest area"),
    ],
)
def test_areas_that_cannot_judge_a_part_are_refused(drawn, reference, reason):
    with pytest.raises(ValueError, match=reason):
        InspectionAreas(drawn, reference).check((64, 64), None, least=100)


def test_what_alignment_leaves_out_is_not_left_to_inspect():
    always = np.zeros((64, 64), bool)
    always[20:50, 20:50] = True
    picture = np.zeros((64, 64, 3), np.uint8)
    aligned = Alignment(picture, np.ones_like(always), always, always.shape, False, {})
    outside = InspectionAreas((InspectionArea("inspect", ((0, 0), (0.25, 0), (0.25, 1), (0, 1))),), aligned.digest)
    assert inspected_pixels((64, 64), None, aligned) == 900
    with pytest.raises(ValueError, match="leave 0 pixels"):
        outside.check((64, 64), aligned, least=1)
