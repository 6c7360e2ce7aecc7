from dataclasses import replace

import pytest
import torch

from inspect_core.recipe import CalibrationPhoto
from inspect_core.recipe_io.recipe_difference import difference
from inspect_core.verdict import Limits


def test_the_same_recipe_has_no_difference(recipe):
    assert difference(recipe, recipe) == []


@pytest.mark.parametrize(
    ("change", "what", "before", "after"),
    [
        ({"limits": Limits(5, 5)}, "Limit", "review above 3.25, reject above 4.5", "reject above 5"),
        ({"live_values": {"k": 5, "area": 12}}, "Live value k", "4", "5"),
        ({"live_values": {"k": 4, "area": 1}}, "Smallest area", "12 px of the map", "1 px of the map"),
        ({"product": "ring"}, "Product", "tile", "ring"),
    ],
)
def test_what_was_set_is_named_with_both_values(recipe, change, what, before, after):
    assert difference(recipe, replace(recipe, **change)) == [(what, before, after)]


def test_other_photos_and_another_fit_are_named(recipe):
    photos = (recipe.calibration_photos[0], CalibrationPhoto("new.png", "3" * 64, 1.0))
    detector = recipe.views[0].detector
    view = replace(recipe.views[0], detector=replace(detector, cholesky=detector.cholesky + torch.ones(1)))
    result = difference(recipe, replace(recipe, calibration_photos=photos, views=(view,)))
    assert [row.what for row in result] == ["Calibration photos", "Trained model"]
    assert result[0].after == "1 only in this version"
