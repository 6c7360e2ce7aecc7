import contextlib
import json
import time

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from inspect_core.datasets.folders import scan
from inspect_core.datasets.manifests.shapes import decode_run_lengths, rasterise
from inspect_core.datasets.photo_labels import UnclearLabels
from inspect_core.images.photo_reader import read_mask
from tests.examples import examples

CATEGORIES = [{"id": 1, "name": "scratch"}, {"id": 2, "name": "dent"}, {"id": 3, "name": "OK"}]
SIZE = (24, 30)


def written(folder, images, annotations):
    path = folder / "coco.json"
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": CATEGORIES}))
    return path


def image(number, name, **more):
    return {"id": number, "file_name": name, "width": 20, "height": 12} | more


def annotation(image_id, category=1, **shape):
    return {"image_id": image_id, "category_id": category} | shape


def signed_distances(corners: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(H, W) distance of every pixel's centre to the outline, negative outside by the even-odd rule."""
    centres = np.stack(np.meshgrid(np.arange(size[1]) + 0.5, np.arange(size[0]) + 0.5), axis=-1)
    is_inside, nearest = np.zeros(size, bool), np.full(size, np.inf)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        crosses = (y0 > centres[..., 1]) != (y1 > centres[..., 1])
        with np.errstate(all="ignore"):
            is_inside ^= crosses & (centres[..., 0] < (x1 - x0) * (centres[..., 1] - y0) / (y1 - y0) + x0)
        side = np.array([x1 - x0, y1 - y0])
        along = np.clip(((centres - (x0, y0)) @ side) / max(side @ side, 1e-9), 0, 1)
        nearest = np.minimum(nearest, np.linalg.norm(centres - (x0, y0) - along[..., None] * side, axis=-1))
    return np.where(is_inside, nearest, -nearest)


points = st.tuples(st.floats(0, SIZE[1]), st.floats(0, SIZE[0]))


@given(st.lists(points, min_size=3, max_size=8))
@example([(10, 1), (25, 22), (1, 8), (28, 8), (4, 22)])
@settings(max_examples=examples(50))
def test_a_polygon_covers_what_lies_inside(corners):
    corners = np.array(corners)
    mask = rasterise({"segmentation": [corners.ravel().tolist()]}, SIZE)
    distances = signed_distances(corners, SIZE)
    assert mask[distances > 1].all()
    assert not mask[distances < -1.5].any()


@given(st.floats(-3, 32), st.floats(-3, 26), st.floats(0, 20), st.floats(0, 20))
def test_a_box_covers_the_centres_inside(x, y, width, height):
    rows, columns = np.mgrid[: SIZE[0], : SIZE[1]] + 0.5
    edges = np.array([x, x + width, y, y + height]) % 1
    assume((np.abs(edges - 0.5) > 1e-6).all())
    is_inside = (x < columns) & (columns < x + width) & (y < rows) & (rows < y + height)
    assert (rasterise({"bbox": [x, y, width, height]}, SIZE) == is_inside).all()


def test_self_crossing_polygon_is_filled_quickly():
    corners = np.random.default_rng(5).random((4_000, 2)) * (1000, 800)
    began = time.process_time()
    rasterise({"segmentation": [corners.ravel().tolist()]}, (800, 1000))
    assert time.process_time() - began < 1


def test_an_annotation_of_several_polygons_is_their_union():
    left, right = [1, 1, 9, 1, 9, 9, 1, 9], [5, 5, 20, 5, 20, 20, 5, 20]
    both = rasterise({"segmentation": [left, right]}, SIZE)
    assert (both == rasterise({"segmentation": [left]}, SIZE) | rasterise({"segmentation": [right]}, SIZE)).all()


def test_photos_get_kinds_and_masks(photos):
    runs = {"size": [12, 20], "counts": [12 * 5, 24, 12 * 13]}
    images = [image(1, "lot 1/a.png"), image(2, "lot 1/b.png"), image("x", "c.png"), image(4, "d.png")]
    annotations = [
        annotation(1, 1, segmentation=[[2, 2, 6, 2, 6, 6, 2, 6]]),
        annotation(1, 2, bbox=[8, 2, 10, 8]),
        annotation("x", 2, segmentation=runs),
        annotation(4, 3, bbox=[0, 0, 20, 12]),
    ]
    with pytest.raises(UnclearLabels, match="good \\(shape\\)"):  # the good photo b has none
        scan(written(photos, images, annotations))
    annotations.append(annotation(2, 3, bbox=[0, 0, 20, 12]))
    dataset = scan(written(photos, images, annotations))
    assert {sample.name for sample in dataset.good} == {"d.png", "lot 1/b.png"}
    kinds = {sample.name: sample for sample in dataset.defects}
    assert {name: sample.label for name, sample in kinds.items()} == {"lot 1/a.png": "dent", "lot 2/c.png": "dent"}
    mask = read_mask(kinds["lot 2/c.png"].mask, (12, 20))
    assert mask[:, 5:7].all()
    assert mask.sum() == 24
    assert read_mask(kinds["lot 1/a.png"].mask, (12, 20))[3:9, [3, 9, 17]].any(axis=0).all()
    assert dataset.root == photos
    assert all(sample.root == photos for sample in (*dataset.good, *dataset.defects))


@pytest.mark.parametrize(
    "shape",
    [
        {"segmentation": {"size": [20, 12], "counts": [0, 240]}},
        {"segmentation": [[1, 1, 2]]},
        {"segmentation": [[1, 1, 2, 2]]},
        {"segmentation": [["a", 1, 2, 2, 3, 3]]},
        {"segmentation": [[1e300, 1, 2, 2, 3, 3]]},
        {"segmentation": [[float("nan"), 1, 2, 2, 3, 3]]},
        {"segmentation": 7},
        {"segmentation": "abc"},
        {"segmentation": {"size": [12, 20], "counts": {}}},
        {"segmentation": {"size": [12, 20], "counts": "🙂"}},
        {"segmentation": {"size": [1 << 40, 1 << 40], "counts": [1 << 80]}},
        {"bbox": [1, 2, 3]},
        {"bbox": {"x": 1}},
        {"bbox": [1, 2, float("inf"), 3]},
    ],
)
def test_undrawable_shape_costs_only_the_mask(photos, shape):
    images = [image(1, "lot 1/a.png"), image(2, "lot 1/b.png", width=40), image(3, "d.png")]
    dataset = scan(written(photos, images, [annotation(1, **shape), annotation(2, bbox=[1, 1, 5, 5])]))
    assert [(sample.label, sample.mask) for sample in dataset.defects] == [("scratch", None)] * 2
    assert [skipped.role for skipped in dataset.skipped] == ["mask", "mask"]
    assert "40 × 12 px, the photo is 20 × 12 px" in dataset.skipped[1].reason
    assert all(".json, image " in skipped.name for skipped in dataset.skipped), "which list, and where in it"


def test_annotations_and_corners_without_end_are_refused(photos, refused):
    angles = np.linspace(0, 6.2, 101)
    ring = (np.stack([np.cos(angles), np.sin(angles)], axis=1) * 5 + 6).ravel().tolist()
    for annotations_given, words in (
        ([annotation(1, bbox=[1, 1, 2, 2])] * 1001, "image 0: it has 1,001 annotations"),
        ([annotation(1, segmentation=[ring] * 100)] * 2, "20,200 corners; simplify them to at most 8,000"),
    ):
        refused(written(photos, [image(1, "d.png")], annotations_given), words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "line 1: it is not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('{"images": [\n{"id": 1,}]}', "line 2: it is not valid JSON"),
        ("[]", "no list of images"),
        ('{"images": [], "annotations": [], "categories": []}', "lists no photo"),
        ('{"images": [7], "annotations": [], "categories": []}', "no list of images"),
        ('{"images": [{"id": 1}], "annotations": [], "categories": []}', "image 0: it has no id or no file_name"),
        ('{"images": [], "annotations": [{"image_id": 3}], "categories": []}', "annotation 0: its image_id"),
        ('{"images": [], "annotations": [{"image_id": [3]}], "categories": []}', "annotation 0: its image_id"),
        ('{"images": [{"id": ' + "9" * 5000 + "}]}", "not valid JSON"),
    ],
)
def test_a_damaged_file_says_where_and_what_to_do(photos, refused, content, words):
    (photos / "coco.json").write_text(content)
    refused(photos / "coco.json", words)


def runs_of(mask: np.ndarray) -> list[int]:
    """Pixel by pixel, column by column, as COCO describes it."""
    runs, now = [0], False
    for marked in mask.T.ravel().tolist():
        if marked != now:
            runs.append(0)
            now = marked
        runs[-1] += 1
    return runs


def compressed(runs: list[int]) -> str:
    """Signed groups of five bits, least significant first, as cocoapi writes them."""
    text = ""
    for place, run in enumerate(runs):
        value = run - (runs[place - 2] if place > 2 else 0)
        more = True
        while more:
            group, value = value & 31, value >> 5
            more = value != (-1 if group & 16 else 0)
            text += chr(48 + group + (32 if more else 0))
    return text


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=40)))
def test_runs_are_read_plain_and_compressed(mask):
    runs = runs_of(mask)
    assert (decode_run_lengths(runs, mask.shape) == mask).all()
    assert (decode_run_lengths(compressed(runs), mask.shape) == mask).all()


def test_an_example_by_hand_and_long_runs_of_several_signs():
    """Two columns of three: the lower two of the first and the first of the second."""
    assert decode_run_lengths([1, 3, 2], (3, 2)).tolist() == [[False, True], [True, False], [True, False]]
    mask = np.zeros((300, 400), bool)
    mask[100:200, 50:350] = True
    assert (decode_run_lengths(compressed(runs_of(mask)), mask.shape) == mask).all()


@pytest.mark.parametrize(
    "counts", [[1, 3], [7], [-1, 7], [1.0, 5], [True, 5], [10**30], "", "z" * 9, "P" * 40, "é", "\x00", "o" * 100_000]
)
def test_runs_that_do_not_fit_are_refused(counts):
    with pytest.raises(ValueError, match="run"):
        decode_run_lengths(counts, (3, 2))


@given(st.text(max_size=30))
@settings(max_examples=examples(50))
def test_no_text_does_worse_than_be_refused(text):
    with contextlib.suppress(ValueError):
        assert decode_run_lengths(text, (4, 5)).shape == (4, 5)
