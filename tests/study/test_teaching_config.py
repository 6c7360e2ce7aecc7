"""An order as a paper has it, and back to Loupe's own choices."""

from dataclasses import replace
from pathlib import Path

import pytest

from inspect_core.datasets.folders import PhotoFile, Split
from inspect_core.images.tolerances import Tolerances
from inspect_core.methods.registry import METHODS
from inspect_core.study.teaching_config import TeachingConfig

TALL = PhotoFile(Path("a.png"), "a.png", "good", (1255, 500))
ORDER = TeachingConfig("part", Split((TALL,), (), ()), parameters={"k": 50}, area=99, grid=(16, 16))


@pytest.mark.parametrize("name", METHODS)
def test_each_method_has_an_order_as_published_and_a_way_back(name):
    order = ORDER.published(name)
    row = METHODS[name]
    assert (order.as_published, order.method, order.area, order.tolerances) == (True, name, 1, None)
    assert order.taps is None, "the built-in network has none of the papers' layers"
    assert order.parameters["k"] == 50, "what no paper says stays as chosen"
    choices = {**order.parameters, **vars(order)}
    assert {key: choices[key] for key in row.published} == {**row.published, "taps": None}
    back = order.with_defaults()
    assert (back.as_published, back.size, back.grid) == (False, (416, 160), (52, 20)), "in the shape of the photos"
    assert (back.area, back.parameters) == (None, {"k": 50})
    assert (back.tolerances, back.fused_product_check) == (TeachingConfig.tolerances, False)


def test_many_photos_have_fewer_copies_each():
    def copies(count):
        return replace(ORDER, photos=Split((TALL,) * count, (), ()), seed=7).copied

    assert [copies(count).copies for count in (5, 60, 100, 240, 5000)] == [4, 4, 2, 1, 1]
    assert copies(5).seed == 7
    assert replace(ORDER, tolerances=None).copied is None
    assert replace(ORDER, tolerances=Tolerances(copies=0)).copied.copies == 0


@pytest.mark.parametrize(("name", "taps"), [("mahalanobis", 3), ("nearest", 2)])
def test_the_papers_layers_are_taken_where_the_network_has_them(name, taps):
    order = TeachingConfig("part", ORDER.photos, "wide_resnet50_2").published(name)
    assert order.taps == ("layer1", "layer2", "layer3")[-taps:]


@pytest.mark.parametrize("method", [None, "mahalanobis+nearest", "another"])
def test_only_one_method_has_a_paper(method):
    with pytest.raises(ValueError, match="a single method"):
        ORDER.published(method)
