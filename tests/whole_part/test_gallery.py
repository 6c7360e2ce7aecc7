"""Robust similarity (eq. 17) and the gallery of known parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.whole_part.gallery import Gallery, robust_similarity


def empty(d):
    return Gallery(np.empty((0, d), np.float32), np.empty(0), (), (), ())


@pytest.fixture
def gallery():
    known = empty(3).add(np.array([2.0, 0, 0]), 0.01, name="a.png", kind="good")
    known = known.add(np.array([1.0, 1, 0]), 0.02, name="b.png", kind="scratch", note="edge of the die")
    known = known.add(np.array([0.0, 1, 0]), 0.02, name="c.png", kind="dent")
    return known.add(np.array([1.0, 0.1, 0]), 0.50, name="d.png", kind="foreign")


def test_similarity_counts_only_where_both_scores_are_below_the_limit():
    similarity = np.array([0.9, 0.8, 0.7, -0.6])
    a, b = np.array([0.1, 0.3, 0.1, 0.1]), np.array([0.2, 0.1, 0.5, 0.2])
    np.testing.assert_array_equal(robust_similarity(similarity, a, b, limit=0.4), [0.9, 0.8, 0, -0.6])
    np.testing.assert_array_equal(robust_similarity(similarity, a, b, limit=0.3), [0.9, 0, 0, -0.6])


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), limit=st.floats(0, 1))
def test_all_pairs_broadcast_and_stay_symmetric(seed, limit):
    rng = np.random.default_rng(seed)
    scores, x = rng.uniform(size=6), rng.standard_normal((6, 4))
    found = robust_similarity(x @ x.T, scores[:, None], scores, limit=limit)
    np.testing.assert_array_equal(found, found.T)
    for i in range(6):
        for j in range(6):
            assert found[i, j] == ((x @ x.T)[i, j] if max(scores[i], scores[j]) < limit else 0)


def test_nan_is_refused_by_name():
    for name in ("similarity", "outlier_a", "outlier_b"):
        arguments = {"similarity": 1.0, "outlier_a": 0.0, "outlier_b": 0.0} | {name: np.nan}
        with pytest.raises(ValueError, match=name):
            robust_similarity(**arguments, limit=1.0)
    with pytest.raises(ValueError, match="limit"):
        robust_similarity(1.0, 0.0, 0.0, limit=np.nan)


def test_nearest_are_the_known_parts_of_highest_cosine(gallery):
    matches = gallery.nearest(np.array([1.0, 0.9, 0.0]), 0.01, limit=0.1, count=2)
    assert [match.name for match in matches] == ["b.png", "a.png"]
    assert matches[0].index == 1
    assert (matches[0].kind, matches[0].note) == ("scratch", "edge of the die")
    assert matches[0].similarity == pytest.approx(1.9 / np.sqrt(2 * 1.81))
    longer = gallery.nearest(np.array([100.0, 90.0, 0.0]), 0.01, limit=0.1, count=2)
    assert [match.similarity for match in longer] == pytest.approx([match.similarity for match in matches])


def test_an_outlier_is_like_nothing_and_no_one_is_like_an_outlier_of_the_gallery(gallery):
    like_d = np.array([1.0, 0.1, 0.0])
    assert gallery.nearest(like_d, 0.6, limit=0.1, count=4) == []
    assert gallery.nearest(like_d, 0.1, limit=0.1, count=4) == []
    assert "d.png" not in [match.name for match in gallery.nearest(like_d, 0.05, limit=0.1, count=4)]
    assert gallery.nearest(like_d, 0.05, limit=np.inf, count=1)[0].name == "d.png"


def test_nothing_in_common_is_no_match(gallery):
    assert gallery.nearest(np.array([0.0, 0, 1]), 0.0, limit=1.0, count=4) == []
    assert gallery.nearest(np.array([-1.0, -1, 0]), 0.0, limit=1.0, count=4) == []
    assert gallery.nearest(np.zeros(3), 0.0, limit=1.0, count=4) == []
    assert empty(3).nearest(np.ones(3), 0.0, limit=1.0, count=4) == []


def test_equal_parts_come_in_the_order_they_were_added():
    known = empty(2)
    for name in "abc":
        known = known.add(np.ones(2), 0.0, name=name, kind="good")
    assert [match.name for match in known.nearest(np.ones(2), 0.0, limit=1.0, count=3)] == ["a", "b", "c"]


def test_add_leaves_the_old_gallery_as_it_was(gallery):
    more = gallery.add(np.ones(3), 0.0, name="e.png", kind="good")
    assert (len(gallery.names), len(more.names)) == (4, 5)
    assert gallery.embeddings.shape == (4, 3)


def test_round_trip(gallery):
    again = Gallery.from_arrays(gallery.arrays(), gallery.params())
    query = np.array([1.0, 0.4, 0.2])
    assert again.nearest(query, 0.0, limit=1.0, count=4) == gallery.nearest(query, 0.0, limit=1.0, count=4)
    none = Gallery.from_arrays(empty(3).arrays(), empty(3).params())
    assert none.embeddings.shape == (0, 3)


def test_wrong_input_is_named(gallery):
    with pytest.raises(ValueError, match=r"embedding has shape \(2,\)"):
        gallery.nearest(np.ones(2), 0.0, limit=1.0, count=1)
    with pytest.raises(ValueError, match="embedding is not finite"):
        gallery.nearest(np.array([1.0, np.nan, 0]), 0.0, limit=1.0, count=1)
    with pytest.raises(ValueError, match="outlier_score is nan"):
        gallery.nearest(np.ones(3), np.nan, limit=1.0, count=1)
    with pytest.raises(ValueError, match="count is 0"):
        gallery.nearest(np.ones(3), 0.0, limit=1.0, count=0)
    with pytest.raises(ValueError, match="outlier_scores is not finite in row 4"):
        gallery.add(np.ones(3), np.inf, name="e", kind="good")
    with pytest.raises(ValueError, match="columns have"):
        Gallery(np.ones((2, 3), np.float32), np.zeros(2), ("a",), ("good",), ("",))
    with pytest.raises(ValueError, match=r"embeddings have shape \(3,\)"):
        Gallery(np.ones(3, np.float32), np.zeros(3), ("a",) * 3, ("good",) * 3, ("",) * 3)
