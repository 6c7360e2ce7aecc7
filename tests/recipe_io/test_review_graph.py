from dataclasses import replace

import cv2
import numpy as np
import pytest

from inspect_core.images.photo_reader import read, squash
from inspect_core.images.photo_setup import EMPTY_SHARE, SetupRange, measure_setup
from inspect_core.recipe_io import review_graph
from inspect_core.runtime.graph import IMAGES, REASON, session_of
from tests.stains import stained

SIZES = [(128, 96), (101, 230)]


def pictures(product, size) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Good ones, and others: defects, stains of all strengths, a part that lacks in half of the photo, none at all."""
    photos = [read(path).pixels for path in sorted(product.rglob("*.jpg")) if "good" in path.parts]
    good = [squash(photo, size) for photo in photos]
    rng = np.random.default_rng(0)
    others = [stained(good[0], strength) for strength in (0.02, 0.05, 0.1, 0.2, 0.4)]
    others += [cv2.GaussianBlur(good[0], (0, 0), sigma) for sigma in (1, 2, 3, 4)]
    others.append(np.concatenate([good[0][: size[0] // 2], np.full_like(good[0][size[0] // 2 :], 90)]))
    others += [np.full((*size, 3), 90, np.uint8), rng.integers(0, 256, (*size, 3), np.uint8)]
    others += [squash(read(path).pixels, size) for path in sorted(product.rglob("test/[sd]*/*.jpg"))]
    return good, others


@pytest.mark.parametrize("size", SIZES)
def test_the_graph_decides_as_the_app_does(product, size):
    good, others = pictures(product, size)
    setup = SetupRange.from_setups([measure_setup(picture, picture) for picture in good])
    run = session_of(review_graph.write(setup, size)).run
    photos = [*good, *others]
    expected = [setup.reason_to_review(measure_setup(photo, photo)) or "" for photo in photos]
    (reasons,) = run([REASON], {IMAGES: np.stack(photos)})
    assert [review_graph.REASONS[reason] for reason in reasons] == expected
    assert set(expected) == set(review_graph.REASONS), "each of them occurs"


def test_few_good_photos_learn_no_limit_of_shades(product):
    size = SIZES[0]
    good, others = pictures(product, size)
    setup = SetupRange.from_setups([measure_setup(picture, picture) for picture in good[:3]])
    assert setup.shade_limit is None
    (reasons,) = session_of(review_graph.write(setup, size)).run([REASON], {IMAGES: np.stack(others)})
    assert set(reasons.tolist()) == {0, 1}


@pytest.mark.parametrize("size", SIZES)
def test_it_measures_what_the_app_measures_near_the_limits(product, size):
    good, others = pictures(product, size)
    for picture in (*good[:2], *others):
        setup = SetupRange.from_setups([measured := measure_setup(picture, picture)])
        if min(measured.slopes) < 0.1:  # of a picture that shows nothing all is rounding
            continue
        for factor, reason in ((1 + 1e-3, 1), (1 - 1e-3, 0)):
            least = tuple(factor * slope / EMPTY_SHARE for slope in measured.slopes)
            graph = review_graph.write(replace(setup, least_slopes=least, shade_limit=None), size)
            assert session_of(graph).run([REASON], {IMAGES: picture[None]})[0] == reason
