"""What many photos have in common is said once, with what to look at."""

import pytest

from inspect_core.images.photo_quality import DEVIATION_SEPARATOR
from inspect_core.inspection import Inspection
from inspect_core.line.common_cause import FEWEST, IN_A_ROW, common_causes

FRAME = "226 × 180 px, another frame than the 480 × 360 px taught"
DARK = "darker than taught"


def part(deviation="", x=None, y=None):
    region = {"region_x": x, "region_y": y}
    return Inspection(name="a", review=1.0, reject=2.0, area=1, recipe="r", photo_deviation=deviation, **region)


def parts(*ways, count=20):
    return [part(DEVIATION_SEPARATOR.join(ways))] * count


def test_a_cause_of_all_and_one_of_most_are_said_with_a_question():
    causes = common_causes([*parts(FRAME, count=8), *parts(FRAME, DARK, count=12)])
    assert causes == [
        f"All 20 photos: {FRAME}; was the camera or its crop changed?",
        f"12 of 20 photos: {DARK}; has the lamp aged, or was the exposure changed?",
    ]


@pytest.mark.parametrize("few", [parts(DARK, count=FEWEST - 1), [*parts(DARK, count=9), *parts(count=11)], []])
def test_what_a_few_photos_have_is_not_said(few):
    assert common_causes(few) == []


def test_parts_in_a_row_at_one_place_are_said():
    here = [part("", 0.1 + 0.002 * number, 0.9) for number in range(IN_A_ROW)]
    (cause,) = common_causes([*parts(count=5), *here, *parts(count=3)])
    place = "8 parts in a row stand out at the same place, near the lower left corner"
    assert cause == f"{place}: dust on the lens, or a mark in the fixture?"
    assert common_causes([*here[:5], part("", None, None), *here[5:]]) == []
    assert common_causes([*here[:5], part("", 0.5, 0.5), *here[5:]]) == []
