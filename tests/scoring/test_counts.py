import doctest

import numpy as np
import pytest

from inspect_core.scoring import counts
from inspect_core.scoring.counts import UnscoredCounts, VerdictCounts, counts_sentence


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        (
            VerdictCounts(3, 120, 1, 18),
            "Rejects 3 of 120 good parts (long-run upper bound 7 of 100), misses 1 of 18 defects.",
        ),
        (
            VerdictCounts(0, 20, 0, 1),
            "Rejects 0 of 20 good parts (long-run upper bound 14 of 100), misses 0 of 1 defect.",
        ),
        (VerdictCounts(0, 20, 0, 0), "Rejects 0 of 20 good parts (long-run upper bound 14 of 100)."),
        (VerdictCounts(0, 0, 1, 2), "Misses 1 of 2 defects."),
        (VerdictCounts(0, 0, 0, 0), "No parts to count."),
        (
            VerdictCounts(2, 2, 0, 1),
            "Rejects 2 of 2 good parts (long-run upper bound 100 of 100), misses 0 of 1 defect.",
        ),
        (VerdictCounts(0, 10_000, 0, 0), "Rejects 0 of 10000 good parts (long-run upper bound 1 of 1,000)."),
        (
            VerdictCounts(3, 120, 1, 18, 4, 3, two_limits=True),
            "Rejects 3 of 120 good parts (long-run upper bound 7 of 100), misses 1 of 18 defects, "
            "sends 7 of 138 to review: 3 defects, 4 good.",
        ),
        (
            VerdictCounts(0, 20, 0, 0, two_limits=True),
            "Rejects 0 of 20 good parts (long-run upper bound 14 of 100), sends 0 of 20 to review.",
        ),
        (
            VerdictCounts(
                0, 0, 5, 32, with_mask=32, caught_at_defect=18, caught_elsewhere=7, defects_unscored=UnscoredCounts(2)
            ),
            "Misses 5 of 30 inspected defects, detects 25 of 30 (18 at the defect, 7 elsewhere); 2 of 32 defects not "
            "located, sort by hand.",
        ),
        (
            VerdictCounts(0, 21, 4, 60, good_unscored=UnscoredCounts(0, 1), defects_unscored=UnscoredCounts(2, 3)),
            "Rejects 0 of 20 inspected good parts (long-run upper bound 14 of 100), misses 4 of 55 inspected "
            "defects; 2 of 60 defects not located, 3 of 60 defects not judged, 1 of 21 good parts not judged, sort "
            "by hand.",
        ),
        (
            VerdictCounts(0, 0, 1, 3, 0, 1, True, with_mask=2, caught_at_defect=1),
            "Misses 1 of 3 defects, detects 2 of 3 (1 at the defect, 0 elsewhere, 1 without a mask), sends 1 "
            "of 3 to review.",
        ),
        (VerdictCounts(0, 0, 3, 3, with_mask=2), "Misses 3 of 3 defects, detects 0 of 3."),
    ],
)
def test_sentence_in_parts(counts, sentence):
    assert counts_sentence(counts) == sentence
    if sentence != "No parts to count.":
        assert counts_sentence(counts, limit_set_on_these=True) == sentence + " These parts also set the limit."


def test_the_example_of_the_docstring_holds():
    assert doctest.testmod(counts) == (0, 1)


@pytest.mark.parametrize(("count", "words"), [(0, ""), (1, " 1 relabelled; teach again to count it."), (2, "them.")])
def test_relabelled_parts_are_said_to_be_left_out(count, words):
    sentence = counts_sentence(VerdictCounts(0, 20, 0, 0), relabelled=count)
    assert sentence.endswith(words)
    assert ("relabelled" in sentence) == (count > 0)


@pytest.mark.parametrize(
    ("subsets", "counted", "by_these"),
    [
        (("test", "calibration"), (True, False), False),
        (("calibration", "calibration"), (True, True), True),
        (("test", "test"), (True, True), True),
    ],
)
def test_good_parts_of_the_test_set_are_counted_if_any(subsets, counted, by_these):
    good, _, set_on_these = counts.select_counted_parts(np.array([True, True]), np.array([False, False]), subsets)
    assert (tuple(good), set_on_these) == (counted, by_these)
