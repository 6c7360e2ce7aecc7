"""An order as a paper has it, and without its detector."""

from dataclasses import replace
from pathlib import Path

import pytest

from inspect_core.datasets.folders import PhotoFile, Split
from inspect_core.images.tolerances import Tolerances
from inspect_core.methods.registry import METHODS
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.whole_part.product_check import OFF

TALL = PhotoFile(Path("a.png"), "a.png", "good", (1255, 500))
ORDER = TeachingConfig("part", Split((TALL,), (), ()), parameters={"k": 50}, area=99, grid=(16, 16))


@pytest.mark.parametrize("name", METHODS)
def test_each_method_has_an_order_as_published(name):
    placed = replace(ORDER, method=name, as_published=True)
    order = placed.as_fitted()
    row = METHODS[name]
    assert (order.as_published, order.method, order.area, order.tolerances) == (True, name, 1, None)
    assert order.taps is None, "the built-in network has none of the papers' layers"
    assert order.parameters["k"] == 50, "what no paper says stays as chosen"
    choices = {**order.parameters, **vars(order)}
    assert {key: choices[key] for key in row.published} == {**row.published, "taps": None}
    assert order.as_fitted() == order
    assert placed.to_compare() == replace(ORDER, product_check=OFF), "Loupe's own choices are still there"


def test_an_order_to_compare_leaves_out_what_is_default():
    def chosen(method, **parameters):
        return replace(ORDER, method=method, parameters=parameters).to_compare()

    order = chosen("mahalanobis", k=100, ridge=0.1)
    assert (order.method, order.product_check, order.parameters) == (None, OFF, {"ridge": 0.1})
    assert chosen("kernel_pca", sigma=None).parameters == {}
    assert chosen("mahalanobis", gamma=3.0).parameters == {"gamma": 3.0}, "of a detector it was compared with"
    assert order.parameters_for(["corp"]) == {}
    with pytest.raises(ValueError, match="no detector has a parameter 'bogus'"):
        replace(ORDER, parameters={"bogus": 1}).parameters_for(["corp"])


def test_many_photos_have_fewer_copies_each():
    def copies(count):
        return replace(ORDER, photos=Split((TALL,) * count, (), ()), seed=7).copied

    assert [copies(count).copies for count in (5, 60, 100, 240, 5000)] == [4, 4, 2, 1, 1]
    assert copies(5).seed == 7
    assert replace(ORDER, tolerances=None).copied is None
    assert replace(ORDER, tolerances=Tolerances(copies=0)).copied.copies == 0


@pytest.mark.parametrize(("name", "taps"), [("mahalanobis", 3), ("nearest", 2)])
def test_the_papers_layers_are_taken_where_the_network_has_them(name, taps):
    order = TeachingConfig("part", ORDER.photos, "wide_resnet50_2", method=name, as_published=True)
    assert order.as_fitted().taps == ("layer1", "layer2", "layer3")[-taps:]


@pytest.mark.parametrize("method", [None, "mahalanobis+nearest", "another"])
def test_only_one_method_has_a_paper(method):
    with pytest.raises(ValueError, match="a single method"):
        replace(ORDER, method=method, as_published=True).as_fitted()
