"""Copies are turned where long parts lie at any angle, and nowhere else."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import split_to_teach
from inspect_core.features.store import FeatureStore
from inspect_core.images.tolerances import DEFAULT_TOLERANCES
from inspect_core.methods.registry import LOOSE
from inspect_core.runtime.progress import ignore_progress
from inspect_core.study.teaching_config import NO_ALIGNMENT, TeachingConfig
from inspect_core.tuning.alignment_training import decide_alignment
from inspect_core.tuning.teaching_plan import TeachingPlan
from inspect_core.tuning.turned_copies import ANY_ANGLE, with_turned_copies

SIDE = 128


def photographed(folder, angles, *, long=True):
    """Photos of a pin, or of a disc, one for each angle in degrees."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for number, angle in enumerate(angles):
        picture = np.full((SIDE, SIDE, 3), 60, np.uint8)
        size = (80, 14) if long else (60, 56)
        corners = cv2.boxPoints(((SIDE / 2, SIDE / 2), size, float(angle)))
        cv2.fillPoly(picture, [corners.astype(np.int32)], (200, 190, 180))
        noise = rng.normal(0, 3, picture.shape)
        cv2.imwrite(str(folder / f"{number:02}.png"), np.clip(picture + noise, 0, 255).astype(np.uint8))
    return folder.parent.parent


def ordered(root, **choices) -> TeachingConfig:
    return TeachingConfig.from_photos("pin", split_to_teach(scan(root)), size=(SIDE, SIDE), grid=(16, 16), **choices)


EVERY = np.arange(0, 360, 360 / 24)


@pytest.mark.parametrize(
    ("angles", "long", "turned"), [(EVERY, True, True), (EVERY % 12, True, False), (EVERY, False, False)]
)
def test_copies_turn_where_long_parts_lie_at_any_angle(tmp_path, angles, long, turned):
    order = with_turned_copies(ordered(photographed(tmp_path / "train" / "good", angles, long=long)), ignore_progress)
    assert order.tolerances == replace(DEFAULT_TOLERANCES, turn=ANY_ANGLE if turned else 0.0)
    assert bool(order.notes) == turned
    assert with_turned_copies(order, ignore_progress) == order, "what was decided stays"


def test_nothing_is_turned_without_copies_or_with_few_photos(tmp_path):
    order = ordered(photographed(tmp_path / "train" / "good", EVERY))
    few = replace(order.photos, train=order.photos.train[:5])
    for other in (replace(order, tolerances=None), replace(order, photos=few)):
        assert with_turned_copies(other, ignore_progress) == other


def test_turned_parts_have_the_detector_of_those_that_vary(tmp_path, backbone):
    order = ordered(photographed(tmp_path / "train" / "good", EVERY), product_check="off", align=NO_ALIGNMENT)
    turned = with_turned_copies(order, ignore_progress)
    plan = TeachingPlan.from_order(turned, FeatureStore(tmp_path / "store"))
    study, reason = plan.chosen_by_place(plan.study.extract())
    assert study.method == LOOSE
    assert "regardless of location" in reason


def test_what_is_chosen_by_the_user_is_not_turned(tmp_path):
    order = ordered(photographed(tmp_path / "train" / "good", EVERY), align=NO_ALIGNMENT)
    assert decide_alignment(order, ignore_progress) is order
