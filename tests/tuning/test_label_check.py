"""Whether scores say that labels are the wrong way round, and which good photos look like known defects."""

import numpy as np
import pytest

from inspect_core.tuning.label_check import check_scores


def check(good, defect):
    scores = np.array([*good, *defect], np.float32)
    is_good = np.arange(len(scores)) < len(good)
    return check_scores([f"{number}.png" for number in range(len(scores))], scores, is_good, ~is_good)


@pytest.mark.parametrize(
    ("good", "defect", "words"),
    [
        (range(20, 40), range(12), "Known defects look more like what was learned than good parts do"),
        (range(0, 24, 2), range(2, 26, 2), "Known defects cannot be told from good parts"),
    ],
)
def test_labels_the_wrong_way_round_are_said(good, defect, words):
    assert check(good, defect).sentences == (f"{words}: are the labels the wrong way round?",)


def test_right_labels_are_left_alone():
    assert check(range(20), range(25, 37)).sentences == ()
    assert check([1, 2, 3, 4, 5, 50, 60], range(50, 62)).sentences == (), "two are what limits are for"
    assert check(range(20), [3, 30, 31]).sentences == (), "few defects say little"
    assert check(range(20), [1, 2]).sentences == ()


def test_good_photos_that_score_as_known_defects_are_named():
    result = check([*range(20), 41, 43, 42], range(40, 52))
    assert result.suspects == ("21.png", "22.png", "20.png")
    [sentence] = result.sentences
    assert sentence.startswith("3 good photos score nearer to the known defects")
