"""The known cases of a recipe: known, new and foreign parts, what a label is worth, and the round trip."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.tuning.known_cases_training import learn
from inspect_core.whole_part.known_cases import KnownCase, KnownCases, peak_box, picture_of, robust_similarity

WIDTH = 24
_DIRECTIONS = np.random.default_rng(0).standard_normal((4, WIDTH))


def embeddings(direction: int, count: int, seed: int) -> np.ndarray:
    """(count, 24) rows about one of four directions: 0 good, 1 and 2 defects, 3 foreign."""
    rng = np.random.default_rng((direction, seed))
    return (_DIRECTIONS[direction] + 0.15 * rng.standard_normal((count, WIDTH))).astype(np.float32)


def case(embedding, name, defect_type="good", *, note="", group=None):
    picture = np.full((64, 64, 3), len(name), np.uint8)
    return KnownCase(np.asarray(embedding, np.float32), picture, f"digest of {name}", name, defect_type, note, group)


def good_cases(count=40, group=lambda i: None):
    return [case(row, f"good{i}", group=group(i)) for i, row in enumerate(embeddings(0, 40, 0)[:count])]


def names(cases):
    return [known.name for known, _ in cases]


@pytest.fixture(scope="module")
def known():
    return learn(
        [*good_cases(), *(case(row, f"dent{i}", "dent") for i, row in enumerate(embeddings(1, 6, 0)))], by_region=True
    )


class Surface:
    """A surface from which every part has the same distance."""

    shift, vouched = np.zeros(3), np.empty((0, 3))

    def __init__(self, distance):
        self.distance = distance

    def score(self, x):
        return np.full(len(x), self.distance)

    off_surface = score


def at(distance, limit, cases, scores):
    """Known cases on three features, with a new part at that distance."""
    return KnownCases(tuple(cases), np.array(scores), Surface(distance), limit, limit, by_region=False)


ROWS = [
    case([2.0, 0, 0], "a"),
    case([1.0, 1, 0], "b", "scratch", note="edge of the die"),
    case([0.0, 1, 0], "c", "dent"),
    case([1.0, 0.1, 0], "d", "foreign"),
]
SCORES = [0.01, 0.02, 0.02, 0.50]


def test_similarity_needs_both_scores_below_the_limit():
    similarity = np.array([0.9, 0.8, 0.7, -0.6])
    a, b = np.array([0.1, 0.3, 0.1, 0.1]), np.array([0.2, 0.1, 0.5, 0.2])
    np.testing.assert_array_equal(robust_similarity(similarity, a, b, limit=0.4), [0.9, 0.8, 0, -0.6])
    np.testing.assert_array_equal(robust_similarity(similarity, a, b, limit=0.3), [0.9, 0, 0, -0.6])


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), limit=st.floats(0, 1))
def test_all_pairs_broadcast_and_stay_symmetric(seed, limit):
    rng = np.random.default_rng(seed)
    scores, x = rng.uniform(size=6), rng.standard_normal((6, 4))
    result = robust_similarity(x @ x.T, scores[:, None], scores, limit=limit)
    np.testing.assert_array_equal(result, result.T)
    for i in range(6):
        for j in range(6):
            assert result[i, j] == ((x @ x.T)[i, j] if max(scores[i], scores[j]) < limit else 0)


@pytest.mark.parametrize("name", ["similarity", "outlier_a", "outlier_b", "limit"])
def test_nan_is_refused_by_name(name):
    arguments = {"similarity": 1.0, "outlier_a": 0.0, "outlier_b": 0.0, "limit": 1.0} | {name: np.nan}
    with pytest.raises(ValueError, match=name):
        robust_similarity(**arguments)


def test_nearest_are_the_known_parts_of_highest_cosine():
    cases = at(0.01, 0.9, ROWS[:3], SCORES[:3])
    (first, similarity), (second, _) = cases.nearest(np.array([1.0, 0.9, 0.0]), count=2)
    assert (first.name, second.name) == ("b", "a")
    assert (first.defect_type, first.note) == ("scratch", "edge of the die")
    assert similarity == pytest.approx(1.9 / np.sqrt(2 * 1.81))
    longer = cases.nearest(np.array([100.0, 90.0, 0.0]), count=2)
    assert longer[0][1] == pytest.approx(similarity)


@pytest.mark.parametrize("distance", [0.6, 0.1])
def test_an_outlier_is_like_nothing(distance):
    assert at(distance, 0.1, ROWS, SCORES).nearest(np.array([1.0, 0.1, 0.0]), count=4) == []


def test_no_one_is_like_an_outlier_among_the_known():
    like_d = np.array([1.0, 0.1, 0.0])
    assert "d" not in names(at(0.05, 0.1, ROWS, SCORES).nearest(like_d, count=4))
    assert names(at(0.05, 9.0, ROWS, SCORES).nearest(like_d, count=1)) == ["d"]


@pytest.mark.parametrize("row", [[0.0, 0, 1], [-1.0, -1, 0], [0.0, 0, 0]])
def test_nothing_in_common_is_no_match(row):
    assert at(0.0, 1.0, ROWS, SCORES).nearest(np.array(row), count=4) == []
    assert at(0.0, 1.0, [], []).nearest(np.ones(3), count=4) == []


def test_equal_parts_come_in_the_order_they_were_added():
    cases = at(0.0, 1.0, [case(np.ones(3), name) for name in "abc"], [0.0] * 3)
    assert names(cases.nearest(np.ones(3), count=3)) == ["a", "b", "c"]


def test_a_known_defect_finds_its_like_and_a_good_part_good_ones(known):
    for direction, defect_type in ((1, "dent"), (0, "good")):
        nearest = known.nearest(embeddings(direction, 1, 9)[0], count=3)
        assert {case.defect_type for case, _ in nearest} == {defect_type}


def test_a_foreign_part_is_like_nothing_until_it_is_added(known):
    (foreign,) = embeddings(3, 1, 9)
    like = foreign + np.float32(0.02)
    assert known.nearest(foreign, count=3) == []
    more = known.add(case(foreign, "glove", "foreign body", note="left in the fixture"))
    ((nearest_case, _),) = more.nearest(like, count=3)
    assert (nearest_case.name, nearest_case.defect_type, nearest_case.note) == (
        "glove",
        "foreign body",
        "left in the fixture",
    ), "and like nothing else, for it is far from all else"
    assert known.nearest(foreign, count=3) == [], "the cases before are as they were"
    assert len(more.cases) == len(known.cases) + 1
    less = more.without(len(more.cases) - 1)
    assert less.nearest(like, count=3) == []
    assert less.surface.score(like[None]) == known.surface.score(like[None]), "it is vouched for no longer"


def test_one_example_of_a_rare_type_is_found_again():
    (scratch,) = embeddings(2, 1, 0)
    known = learn([*good_cases(), case(scratch, "scratch", "scratch")], by_region=True)
    assert names(known.nearest(scratch + np.float32(0.02), count=1)) == ["scratch"]


def test_a_part_is_not_its_own_like(known):
    dent = known.embeddings[known.row_of("digest of dent2")]
    besides = names(known.nearest(dent, count=5, besides="digest of dent2"))
    assert len(besides) == 5
    assert "dent2" not in besides
    assert names(known.nearest(dent, count=1)) == ["dent2"]


def test_limit_is_the_99_quantile_of_grouped_good_parts():
    good = embeddings(0, 40, 0)
    known = learn(good_cases(group=lambda i: i // 4), by_region=False)
    aside = np.arange(40) // 4 % 2 == 1
    assert known.limit == known.suggested == np.quantile(known.surface.score(good[aside]), 0.99)
    few = learn(good_cases(6), by_region=False)
    assert few.limit == np.quantile(few.surface.score(good[:6]), 0.99), "with too few to fit nobody is set aside"
    ungrouped = learn(good_cases(group=lambda i: 0), by_region=False)
    assert ungrouped.limit == np.quantile(ungrouped.surface.score(good), 0.99), "one group only sets its own limit"


def test_the_limit_moves_and_nothing_else(known):
    (dent,) = embeddings(1, 1, 9)
    assert known.with_limit(0).nearest(dent, count=3) == []
    assert known.with_limit(9).nearest(embeddings(3, 1, 9)[0], count=3) != known.nearest(dent, count=3)
    for limit in (-0.1, float("nan")):
        with pytest.raises(ValueError, match="limit"):
            known.with_limit(limit)


def test_round_trip_gives_the_same_answers_to_the_bit(known):
    more = known.add(case(embeddings(3, 1, 1)[0], "glove", "foreign body", note="ä · 手"))
    restored = KnownCases.from_arrays(more.arrays(), more.params())
    for direction in range(4):
        (row,) = embeddings(direction, 1, 5)
        then, now = (
            [(case.name, case.defect_type, case.note, case.digest, similarity) for case, similarity in cases]
            for cases in (more.nearest(row, count=5), restored.nearest(row, count=5))
        )
        assert then == now
    assert restored.params() == more.params()
    np.testing.assert_array_equal(restored.arrays()["pictures"], more.arrays()["pictures"])
    none = replace(known, cases=(), outlier_scores=np.empty(0))
    assert KnownCases.from_arrays(none.arrays(), none.params()).embeddings.shape == (0, WIDTH)


@pytest.mark.parametrize("count", [0, 4])
def test_too_few_cases_are_refused(count):
    with pytest.raises(ValueError, match=f"{count} known parts"):
        learn(good_cases(count), by_region=True)


def test_what_is_wrong_with_the_columns_or_a_part_is_named(known):
    params = known.params() | {"digests": known.params()["digests"][1:]}
    with pytest.raises(ValueError, match=r"\[45, 46\] rows"):
        KnownCases.from_arrays(known.arrays(), params)
    with pytest.raises(ValueError, match="1 outlier_scores for 46 known parts"):
        replace(known, outlier_scores=np.zeros(1))
    with pytest.raises(ValueError, match="outlier_scores is inf"):
        replace(known, outlier_scores=np.full(46, np.inf))
    with pytest.raises(ValueError, match="shape"):
        known.nearest(np.ones(2), count=1)
    for method in (lambda row: known.nearest(row, count=1), lambda row: known.add(case(row, "e"))):
        with pytest.raises(ValueError, match="finite"):
            method(np.full(WIDTH, np.nan))


def test_two_photos_of_one_name_are_two_parts(known):
    a, b = embeddings(3, 1, 1)[0], embeddings(2, 1, 1)[0]
    both = known.add(replace(case(a, "IMG_1.jpg", "glove"), digest="a"))
    both = both.add(replace(case(b, "IMG_1.jpg", "scratch"), digest="b"))
    assert both.nearest(b, count=1, besides="a")[0][0].defect_type == "scratch"
    assert both.without(both.row_of("a")).row_of("b") == 46
    assert both.row_of("c") is None


def test_the_strangest_spot_is_boxed_in_pixels_of_the_photo():
    pixel_map = np.zeros((32, 64), np.float32)
    pixel_map[24, 16] = 1
    x0, y0, x1, y1 = peak_box(pixel_map, (320, 640))
    assert x0 < 165 <= x1
    assert y0 < 245 <= y1
    pixel_map[31, 63] = 2
    assert peak_box(pixel_map, (320, 640))[2:] == (640, 320)


def test_the_picture_shows_what_the_embedding_looked_at():
    image = np.zeros((200, 300, 3), np.uint8)
    image[50:110, 100:160] = 255
    assert picture_of(image, None).shape == (64, 64, 3)
    assert picture_of(image, (120, 70, 140, 90)).min() == 255
    assert picture_of(image, (0, 0, 20, 20)).max() == 0
