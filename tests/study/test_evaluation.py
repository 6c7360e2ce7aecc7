"""What limits promise for parts to come, told by the photos that set them."""

from pathlib import Path

import numpy as np
import pytest
import torch

from inspect_core.judge.limits import least_promise
from inspect_core.study.evaluation import promise
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.verdict import Limits


@pytest.fixture
def setting(recipe):
    """setting(count, groups) is photos of good parts that set limits, in that many groups, None: each alone."""

    def make(count: int, groups: int | None = None) -> ScoredPhotos:
        scored = ScoredPhotos(recipe.views, recipe.grid, recipe.backbone.size)
        for i in range(count):
            patches = torch.from_numpy(np.random.default_rng(i).normal(size=(1, 4, 3, 5)).astype(np.float32))
            group = None if groups is None else f"lot {i % groups}"
            photo = ScoredPhoto(f"{i}", f"{i:064}", (64, 96), "good", "calibrate", Path(f"{i}"), split_group=group)
            scored = scored.with_photo(photo, [patches])
        return scored

    return make


def promised(scored: ScoredPhotos, limits: Limits | None = None) -> str:
    return promise(scored, limits or scored.default_limits(), scored.calibration_scores())


def test_few_photos_say_what_they_cannot_promise_and_how_many_could(setting):
    told = promised(setting(12))
    assert f"No limit set by 12 good parts can promise fewer than {least_promise(12)} of 100" in told
    assert f"set by 30, it could promise {least_promise(30)}." in told
    assert "No limit" not in promised(setting(60))


def test_photos_of_one_group_count_as_one_part(setting):
    assert "set by 4 groups of good parts (12 photos) can promise" in promised(setting(12, groups=4))


def test_one_limit_has_no_review_and_without_photos_nothing_is_promised(setting):
    scored = setting(12)
    highest = float(scored.calibration_scores().max())
    assert "review" in promised(scored)
    assert "review" not in promised(scored, Limits(highest, highest))
    assert promise(setting(0), Limits(1, 2), np.zeros(0)) == ""


def test_the_interval_holds_the_share_that_the_photos_show(setting):
    """Of 12 scores 6 lie above the median: far more than none and far fewer than all of the next 100."""
    scored = setting(12)
    middle = float(np.median(scored.calibration_scores()))
    told = promised(scored, Limits(middle, middle))
    low, high = (int(end) for end in told.split("rejected (")[1].split(")")[0].split(" to "))
    assert 5 < low < 50 < high < 95
