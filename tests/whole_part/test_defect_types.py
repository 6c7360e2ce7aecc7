from dataclasses import replace

import numpy as np
import pytest

from inspect_core.images.boxes import square_around
from inspect_core.scoring.anomaly_map import Region
from inspect_core.whole_part.defect_type_training import fit
from inspect_core.whole_part.defect_types import DefectTypes

CENTRES = {"dent": 0.0, "scratch": 3.0, "stain": -3.0}


def examples(count: int, seed: int) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    points = [centre + 0.3 * rng.normal(size=(count, 6)) for centre in CENTRES.values()]
    return np.concatenate(points).astype(np.float32), [name for name in CENTRES for _ in range(count)]


@pytest.fixture(scope="module")
def defect_types() -> DefectTypes:
    return fit(*examples(20, 0)).defect_types


@pytest.mark.slow
def test_known_types_are_named_with_their_probability(defect_types):
    points, labels = examples(10, 1)
    named = [defect_types.of_embedding(point) for point in points]
    right = [name is not None and name[0] == label for name, label in zip(named, labels, strict=True)]
    assert np.mean(right) > 0.8
    assert all(defect_types.minimum_confidence <= name[1] <= 1 for name in named if name)


def test_a_part_far_from_all_is_not_a_known_type(defect_types):
    assert defect_types.of_embedding(np.full(6, 400.0, np.float32)) is None


def test_the_limit_decides_what_is_named(defect_types):
    assert defect_types.with_limit(0.0).of_embedding(np.full(6, 3.0, np.float32))[0] == "scratch"
    with pytest.raises(ValueError, match=r"minimum_confidence is 1\.5"):
        defect_types.with_limit(1.5)


def test_a_type_can_be_renamed_but_not_joined(defect_types):
    assert defect_types.renamed("dent", "bump").names == ("bump", "scratch", "stain")
    with pytest.raises(ValueError, match="already a defect type"):
        defect_types.renamed("dent", "stain")
    with pytest.raises(ValueError, match="not one of the defect types"):
        defect_types.renamed("rust", "stain")


def test_it_comes_back_from_its_arrays_to_the_bit(defect_types):
    arrays = {name: np.ascontiguousarray(value) for name, value in defect_types.arrays().items()}
    assert all(np.isfinite(value).all() for value in arrays.values())
    restored = DefectTypes.from_arrays(arrays, defect_types.params())
    point = np.full((1, 6), 2.7, np.float32)
    assert np.array_equal(restored.classifier.predict_proba(point), defect_types.classifier.predict_proba(point))
    assert restored.names == defect_types.names


@pytest.mark.slow
def test_the_same_examples_give_the_same_types_to_the_bit(defect_types):
    point = examples(3, 2)[0]
    refit = fit(*examples(20, 0)).defect_types
    assert np.array_equal(refit.classifier.predict_proba(point), defect_types.classifier.predict_proba(point))


@pytest.mark.parametrize(
    ("labels", "parent", "words"),
    [
        (["a"] * 6, "forest", "one defect type 'a'"),
        (["a"] * 5 + ["b"], "forest", "b"),
        (["a", "b"] * 3, "oracle", "oracle"),
    ],
)
def test_what_cannot_be_learned_is_named(labels, parent, words):
    with pytest.raises(ValueError, match=words):
        fit(np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32), labels, parent=parent)


@pytest.mark.parametrize("box", [(0, 0, 10, 4), (90, 40, 100, 60), (0, 0, 100, 60), (50, 30, 51, 31)])
def test_the_crop_is_a_square_inside_the_photo(box):
    x0, y0, x1, y1 = square_around(box, (60, 100))
    assert x1 - x0 == y1 - y0
    assert 0 <= x0 < x1 <= 100
    assert 0 <= y0 < y1 <= 60


def test_the_embedding_is_that_of_the_largest_region(defect_types):
    image = np.random.default_rng(0).integers(0, 255, (200, 300, 3), np.uint8)
    regions = [Region(4, 9.0, (0, 0, 2, 2)), Region(400, 5.0, (100, 80, 140, 120))]
    by_region, boxes = replace(defect_types, by_region=True), []
    by_region.name(image, regions, lambda pixels: (boxes.append(pixels), np.zeros(6))[1], whole=np.zeros(6))
    x0, y0, x1, y1 = square_around((100, 80, 140, 120), (200, 300))
    assert np.array_equal(boxes[0], image[y0:y1, x0:x1])
    by_region.name(image, [], lambda pixels: pytest.fail("the whole part is at hand"), whole=np.zeros(6))
    assert by_region.box_of([]) is None
    assert replace(by_region, by_region=False).box_of(regions) is None
