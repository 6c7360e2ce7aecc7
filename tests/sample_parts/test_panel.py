"""The panel of boards: 12 megapixels, one small defect, and other boards to judge by than to learn from."""

import numpy as np
import pytest
from PIL import Image

from inspect_core.cli.commands import main
from inspect_core.datasets.folders import scan
from sample_data.make import panel, products

pytestmark = pytest.mark.usefixtures("unhurried")
BLANK = np.zeros((products.SIZE, products.SIZE, 3), np.uint8)


@pytest.fixture
def drawn(monkeypatch):
    """Boards that tell their number, as drawing them takes a quarter of a second each."""
    numbers: list[tuple[int, str | None]] = []

    def render(product, index, *, seed=0, defect=None, conveyor=None):
        numbers.append((index, defect))
        mask = np.zeros(BLANK.shape[:2], bool)
        side = 60 if index % 2 == 0 else 20  # every other one is too large
        mask[100 : 100 + side, 50:65] = defect is not None
        return BLANK + np.uint8(index % 200), mask

    monkeypatch.setattr(products, "render", render)
    panel._good.cache_clear()
    yield numbers
    panel._good.cache_clear()


@pytest.fixture
def few_boards(monkeypatch):
    """Panels of 20 boards, as 12 megapixels take seconds."""
    for name, value in {"HEIGHT": 1300, "WIDTH": 1700, "ROWS": 4, "COLUMNS": 5}.items():
        monkeypatch.setattr(panel, name, value)


def test_a_panel_has_one_defect_of_the_size_that_was_asked_for(drawn, few_boards):
    image, mask = panel.render(70, defect="scratch")
    assert (image.shape, image.dtype) == ((1300, 1700, 3), np.uint8)
    assert [np.ptp(places) + 1 for places in np.nonzero(mask)] == [20, 15]
    good, none = panel.render(70)
    assert not none.any()
    assert np.array_equal(good, panel.render(70)[0])
    assert not np.array_equal(good, panel.render(71)[0])
    changed = (good != image).any(axis=2)
    assert changed.sum() <= products.SIZE**2, "one board alone is another one"


def test_test_panels_show_other_boards_than_training_panels(drawn, few_boards):
    panel.render(0)
    indices = {index for index, _ in drawn}
    drawn.clear()
    panel.render(panel.TRAIN_GOOD)
    assert indices.isdisjoint(index for index, _ in drawn)
    assert len(indices) > 10


def test_the_command_writes_a_folder_that_can_be_taught(drawn, few_boards, tmp_path, monkeypatch):
    rows = [(0, "train/good/panel_000.jpg", None), (60, "test/scratch/panel_060.jpg", "scratch")]
    monkeypatch.setattr(panel, "plan", lambda: rows)
    assert main(["synthetic", "--out", str(tmp_path), "--large"]) == 0
    samples = scan(tmp_path / "board_panel")
    assert [len(samples.good), len(samples.defects)] == [1, 1]
    assert samples.good[0].size == (1300, 1700)
    with Image.open(samples.defects[0].mask) as mask:
        assert mask.size == (1700, 1300)


def test_boards_have_defects_of_10_to_40_px_on_12_megapixels():
    assert (panel.HEIGHT, panel.WIDTH) == (3000, 4000)
    for kind in panel.KINDS:
        _, mask = panel._defective(61, 0, kind)
        assert 10 <= panel._longer_side(mask) <= 40
