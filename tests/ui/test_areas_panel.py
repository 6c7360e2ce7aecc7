"""The offer to ignore the place at which good parts light up."""

from types import SimpleNamespace

import numpy as np
import pytest

from inspect_core.scoring.anomaly_map import image_score, to_pixels
from inspect_core.scoring.evidence import Evidence
from inspect_core.ui.inspect import areas_panel
from inspect_core.verdict import Limits


@pytest.fixture
def offered():
    """offered(limit) is the offer for 30 good parts, of which 8 light up in a corner, and 5 defects in the middle."""
    grids = np.random.default_rng(0).gamma(9, 0.3, (35, 32, 32)).astype(np.float32)
    grids[:8, 1:3, 28:30] += np.arange(20, 12, -1, dtype=np.float32)[:, None, None]
    grids[30:, 15:18, 15:18] += 40
    maps, good = to_pixels(grids, (128, 128)), np.arange(35) < 30
    scored = SimpleNamespace(good_and_defect=lambda: (good, ~good), maps=lambda which: maps[which])
    scores = image_score(maps, area=30)

    def offer(limit: float):
        evidence = Evidence(scores=scores, good=good, defect=~good)
        drawn = SimpleNamespace(scores=scores, evidence=evidence, limits=Limits(limit, limit), area=30)
        return areas_panel._bright_place(SimpleNamespace(scored=scored, live={}), drawn)

    offer.of_good = np.sort(scores[good])
    return offer


def test_good_parts_nearest_to_the_limit_propose_the_area(offered):
    (outline,), words = offered(100.0)["outlines"], offered(100.0)["words"]
    assert words.startswith("6 of the 6 highest-scoring good parts peak in one spot.")
    (left, top), (right, bottom) = outline[0], outline[2]
    assert left < 29 / 32 < right
    assert top < 2 / 32 < bottom < 0.3
    above = float(offered.of_good[-12])
    assert offered(above)["words"].startswith("8 of the 10 highest-scoring good parts"), (
        "those above the limit, ten at most"
    )
