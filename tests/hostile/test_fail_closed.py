"""What is not a finite number accepts nothing: every comparison that decides something, with every such number.

These recipes were not read from a file, where they would be refused: the second line of defence.
"""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from inspect_core.classify.posterior import posterior
from inspect_core.recipe import inspect
from inspect_core.scoring.evidence import Evidence
from inspect_core.verdict import Limits
from inspect_core.whole_part import product_check
from inspect_core.whole_part.product_check import ProductCheck

ENDLESS = (np.nan, np.inf, -np.inf)
PHOTO = np.random.default_rng(1).integers(0, 255, (50, 40, 3), np.uint8)

every = pytest.mark.parametrize("value", ENDLESS)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::UserWarning")


class Fixed:
    """A detector of whole photos whose error is always the same."""

    def __init__(self, error: float):
        self.error = error

    def score(self, x):
        return np.full(x.shape[:-1], self.error)


def with_guard(recipe, error: float, mode: str, **fields):
    """The recipe with limits that accept anything, and a product check that gives this error."""
    fixed = ProductCheck(Fixed(error), fields.pop("fused", False), 0.0, 1.0, mode)
    return dataclasses.replace(recipe, limits=Limits(1e9, 1e9), product_check=dataclasses.replace(fixed, **fields))


@every
@pytest.mark.parametrize("mode", [product_check.WARN, product_check.STOP])
@pytest.mark.parametrize("fused", [False, True])
def test_a_product_check_without_a_score(recipes, network, value, mode, fused):
    recipe = with_guard(recipes["mahalanobis"], value, mode, fused=fused)
    with pytest.raises(ValueError, match="product check"):
        inspect(PHOTO, recipe, backbone=network)


def test_a_product_check_that_is_off_or_has_a_score(recipes, network):
    for error, mode, word in ((np.nan, "off", "accept"), (0.5, "stop", "accept"), (2.0, "stop", "reject")):
        assert inspect(PHOTO, with_guard(recipes["mahalanobis"], error, mode), backbone=network).verdict == word


@every
def test_numbers_that_decide_are_checked_where_they_are_set(recipes, value):
    known = recipes["mahalanobis"]
    for fields in ({"limit": value}, {"min_energy": value}):
        with pytest.raises(ValueError, match="product check"):
            dataclasses.replace(known.product_check, **fields)
    for fields in ({"limit": value}, {"suggested": value}):
        with pytest.raises(ValueError, match=next(iter(fields))):
            dataclasses.replace(known.known_cases, **fields)
    with pytest.raises(ValueError, match="minimum_confidence"):
        dataclasses.replace(recipes["quadrics"].defect_types, minimum_confidence=value)
    for limits in ((value, 1.0), (0.0, value)):
        with pytest.raises(ValueError, match=r"is (nan|-?inf)"):
            Limits(*limits)


@every
def test_a_part_without_a_score_is_not_counted(value):
    with pytest.raises(ValueError, match="score is"):
        Limits(1, 2).decide(value)[0]
    for scores in (([1, value], [2.0]), ([1.0], [value])):
        with pytest.raises(ValueError, match="scores is"):
            Evidence.from_scores(*scores)
    for limits in ({"review": value, "reject": 2.0}, {"review": 1.0, "reject": value}):
        with pytest.raises(ValueError, match=r"is (nan|-?inf)"):
            Evidence.from_scores([1.0], [2.0]).counts(SimpleNamespace(**limits))


@pytest.mark.parametrize("density", [[np.nan, 0.0], [np.inf, 0.0], [np.inf, np.inf]])
def test_a_kind_of_defect_is_not_named_without_a_probability(density):
    with pytest.raises(ValueError, match="probabilities of example 1 are not finite"):
        posterior(np.array([[0.0, 1.0], density]), -10.0, np.array([0.5, 0.5]))


@pytest.mark.parametrize("method", ["mahalanobis", "cop", "corp", "pca", "kernel_pca", "quadrics", "nearest"])
def test_a_detector_that_overflows_accepts_nothing(recipes, network, method):
    """Every floating array of the detector at the end of its type: the score is no number, above any limit, or the
    array has no part in it.
    """
    recipe = recipes[method]
    sound = inspect(PHOTO, dataclasses.replace(recipe, product_check=None, defect_types=None), backbone=network)
    (view,) = recipe.views
    arrays = view.detector.arrays()
    for name, array in arrays.items():
        for value in (torch.finfo(array.dtype).max, torch.inf, torch.nan):
            overflowing = _of(view.detector, arrays | {name: torch.full_like(array, value)})
            views = (dataclasses.replace(view, detector=overflowing),)
            broken = dataclasses.replace(
                recipe, limits=Limits(1e9, 1e9), product_check=None, defect_types=None, views=views
            )
            if (name, value) == ("cholesky", torch.finfo(array.dtype).max):
                continue  # an endless variance: every part is near. No file may hold it.
            try:
                verdict = inspect(PHOTO, broken, backbone=network)
            except ValueError:
                continue
            assert verdict.verdict == "reject" or verdict.score == sound.score, (name, value)


def _of(detector, arrays):
    """The detector with other arrays, past the checks of its file."""
    fields = {field.name for field in dataclasses.fields(detector)}
    return dataclasses.replace(detector, **{name: value for name, value in arrays.items() if name in fields})


@pytest.mark.parametrize("place", ["embeddings", "surface"])
@every
def test_nothing_is_like_a_case_that_is_no_number(recipes, place, value):
    cases = recipes["mahalanobis"].known_cases
    query = np.array(cases.embeddings[0])
    if place == "embeddings":
        query[0] = value
    else:
        surface = dataclasses.replace(cases.surface, shift=np.full_like(cases.surface.shift, value))
        cases = dataclasses.replace(cases, surface=surface)
    try:
        nearest = cases.nearest(query, count=3)
    except ValueError:
        return
    assert all(np.isfinite(similarity) for _, similarity in nearest)
