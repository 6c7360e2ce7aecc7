import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.scoring.metrics import identification_rate
from tests.examples import examples


def gallery(seed, n, strangers=4, *, levels=9):
    """Similarities of few whole-number levels, so that ties are frequent; neighbours share an identity."""
    rng = np.random.default_rng(seed)
    identity = np.repeat(np.arange(n), 2)[:n]
    half = np.triu(rng.integers(0, levels, size=(n, n)), 1) + 2 * np.triu(identity[:, None] == identity, 1)
    return (half + half.T).astype(float), identity, rng.integers(0, levels, size=(n, strangers)).astype(float)


def rate_pair_by_pair(similarity, identity, fpr, distractors=None):
    n = len(identity)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    negatives = [similarity[i, j] for i, j in pairs if identity[i] != identity[j]]
    positives = [(i, j) for i, j in pairs if identity[i] == identity[j]]
    values = [*sorted({similarity[i, j] for i, j in pairs}), np.inf]
    a = next(v for v in values if sum(s >= v for s in negatives) / len(negatives) <= fpr + 1e-12)
    hits = 0
    for i, j in positives:
        beats_strangers = distractors is None or similarity[i, j] > max(*distractors[i], *distractors[j])
        hits += similarity[i, j] >= a and beats_strangers
    return hits / len(positives)


@given(st.integers(0, 10_000), st.integers(4, 14), st.sampled_from([0.0, 0.01, 0.1, 0.25, 0.5, 1.0]))
@settings(deadline=None, max_examples=examples(50))
def test_rate_is_the_share_of_pairs_found(seed, n, fpr):
    similarity, identity, distractors = gallery(seed, n)
    plain = identification_rate(similarity, identity, fpr=fpr)
    full = identification_rate(similarity, identity, fpr=fpr, distractors=distractors)
    assert plain == pytest.approx(rate_pair_by_pair(similarity, identity, fpr))
    assert full == pytest.approx(rate_pair_by_pair(similarity, identity, fpr, distractors))
    assert full <= plain


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.4]))
@settings(deadline=None, max_examples=examples(40))
def test_only_order_and_label_equality_matter(seed, fpr):
    similarity, identity, distractors = gallery(seed, 10)
    rate = identification_rate(similarity, identity, fpr=fpr, distractors=distractors)
    names = np.array([f"part {i}" for i in identity])
    assert identification_rate(2.0**similarity, names, fpr=fpr, distractors=2.0**distractors) == rate
    order = np.random.default_rng(seed).permutation(10)
    shuffled = identification_rate(
        similarity[np.ix_(order, order)], identity[order], fpr=fpr, distractors=distractors[order]
    )
    assert shuffled == pytest.approx(rate)


def test_by_hand():
    similarity = np.array([[9, 5, 3, 1], [5, 9, 2, 4], [3, 2, 9, 3.5], [1, 4, 3.5, 9]])
    identity = [0, 0, 1, 1]
    assert identification_rate(similarity, identity, fpr=0) == 0.5  # the highest negative is 4
    assert identification_rate(similarity, identity, fpr=0.25) == 1  # two of eight ordered pairs are the 4
    strangers = np.array([[5.0], [0], [0], [0]])
    assert identification_rate(similarity, identity, fpr=0.25, distractors=strangers) == 0.5  # 5 > 5 does not hold
    assert identification_rate(similarity, identity, fpr=0.25, distractors=np.empty((4, 0))) == 1


def test_minus_infinity_stays_in_the_denominator():
    similarity = np.array([[0, 5, -np.inf, -np.inf], [5, 0, 6, 1], [-np.inf, 6, 0, -np.inf], [-np.inf, 1, -np.inf, 0]])
    identity = [0, 0, 1, 1]
    assert identification_rate(similarity, identity, fpr=0) == 0
    assert identification_rate(similarity, identity, fpr=0.25) == 0.5


@pytest.mark.parametrize(("identity", "counts"), [([0, 0, 0], "6 and 0"), ([0, 1, 2], "0 and 6")])
def test_without_both_sorts_of_pairs_it_is_nan_with_a_warning(identity, counts):
    with pytest.warns(UserWarning, match=f"identification needs pairs.* there are {counts}") as caught:
        assert math.isnan(identification_rate(np.zeros((3, 3)), identity, fpr=0.1))
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("similarity", "identity", "fpr", "distractors", "message"),
    [
        (np.zeros((2, 3)), [0, 1], 0.1, None, "similarity has shape"),
        (np.zeros((3, 3)), [0, 1], 0.1, None, "identity has shape"),
        (np.full((3, 3), np.nan), [0, 0, 1], 0.1, None, "similarity is NaN"),
        (np.zeros((3, 3)), [0, 0, 1], 1.1, None, "fpr is 1.1"),
        (np.zeros((3, 3)), [0, 0, 1], -0.1, None, "fpr is -0.1"),
        (np.zeros((3, 3)), [0, 0, 1], 0.1, np.zeros((2, 4)), "distractors has shape"),
    ],
)
def test_bad_input_is_named(similarity, identity, fpr, distractors, message):
    with pytest.raises(ValueError, match=message):
        identification_rate(similarity, identity, fpr=fpr, distractors=distractors)
