"""What teaching says of its fits: each thing once, in plain words, with what to do about it."""

from types import SimpleNamespace

import pytest
import torch

from inspect_core.methods.fitted_method import FittedMethod, remarks
from inspect_core.methods.method import Patches
from inspect_core.methods.registry import METHODS

SHAPES = SimpleNamespace(shapes=((1, 4, 4, 100), (1, 4, 4, 100)), backbone=SimpleNamespace(remark=""))


def view(name: str, **detector) -> FittedMethod:
    return FittedMethod(name, SimpleNamespace(**detector), spec=None)  # ty: ignore[invalid-argument-type]


def test_the_same_remark_of_two_views_is_said_once():
    wide = torch.zeros(100, 100)
    views = [view("mahalanobis", projection=wide), view("sampled", projection=wide)]
    (remark,) = remarks(views, SHAPES, ({}, {}), {}, photos=25)  # ty: ignore[invalid-argument-type]
    assert remark.startswith("25 good photos are too few for k = 100")
    assert remark.endswith("or lower k.")
    for photos, k in ((101, 100), (25, 24), (1, 100)):  # one photo: said when the folder is read
        assert remarks(views, SHAPES, ({}, {}), {"k": k}, photos=photos) == ()  # ty: ignore[invalid-argument-type]


@pytest.mark.parametrize(
    ("name", "detector", "parameters", "words"),
    [
        ("corp", {"components": torch.zeros(8, 0)}, {}, "are identical"),
        ("kernel_pca", {"rank": 0}, {"q": None}, "are identical"),
        ("kernel_pca", {"rank": 40}, {"q": 50}, "support only 40"),
        ("quadrics", {"A": torch.zeros(5, 48, 48)}, {"patches": 600}, "Too few good photos"),
        ("quadrics", {"A": torch.zeros(5, 3, 3), "start": "random"}, {"patches": 600}, "random values"),
        ("quadrics", {"A": torch.zeros(5, 3, 3), "start": "", "penalty_value": 1.0, "c": torch.zeros(5)},
         {"patches": 600}, "smaller m"),
    ],
)  # fmt: skip
def test_what_a_method_says_of_a_fit(name, detector, parameters, words):
    patches, method = Patches(30, (8, 8), 12), METHODS[name]
    assert words in method.fit_warning(SimpleNamespace(**detector), patches, parameters, 5)
