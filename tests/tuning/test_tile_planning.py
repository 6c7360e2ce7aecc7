"""Whether photos are cut, as the page and the command line ask."""

from pathlib import Path

import pytest

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.tuning.tile_planning import plan_tiles


def photos(*sizes):
    return [PhotoFile(Path(f"{number}.png"), f"{number}.png", "good", size) for number, size in enumerate(sizes)]


LARGE = photos((3000, 4000), (3000, 4000), (600, 800))


def test_the_smallest_defect_decides():
    plan, message = plan_tiles("auto", LARGE, 20, (256, 256), tile=(256, 256))
    assert plan.size == (2400, 3200), "16 of 20 px are left"
    assert plan.tile == (256, 256)
    assert message[0].endswith("use tiles.")
    assert "3200 × 2400 px" in message[1]
    assert f"{len(plan.tiles)} tiles" in message[1]
    plan, message = plan_tiles("auto", LARGE, 500, (256, 256), tile=(256, 256))
    assert plan is None
    assert message[0].endswith("tiles are not needed.")


def test_off_only_recommends_and_a_cell_always_cuts():
    plan, message = plan_tiles("off", LARGE, 20, (256, 256), tile=(256, 256))
    assert plan is None
    assert message[0].endswith("use tiles.")
    assert plan_tiles("off", LARGE, None, (256, 256), tile=(256, 256)) == (None, ())
    assert plan_tiles("32", LARGE, None, (256, 256), tile=(256, 256))[0].size == (3008, 4000)
    assert plan_tiles("16", LARGE, 20, (256, 256), tile=(256, 256))[0].cell == 16


def test_what_cannot_be_is_refused_with_figure_and_remedy():
    with pytest.raises(ValueError, match="give its length in photo pixels"):
        plan_tiles("auto", LARGE, None, (256, 256), tile=(256, 256))
    with pytest.raises(ValueError, match=r"k = 20 at 376 × 500 locations takes 301 MB.* larger cells"):
        plan_tiles("8", LARGE, None, (256, 256), tile=(256, 256))
