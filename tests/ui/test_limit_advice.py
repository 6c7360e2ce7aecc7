"""What the limit from known defects says of parts that have no score."""

from types import SimpleNamespace

import numpy as np
import pytest
import streamlit as st

from inspect_core.scoring.counts import UnscoredCounts
from inspect_core.scoring.evidence import Evidence
from inspect_core.study.scored_photo import UnscoredPhoto
from inspect_core.ui.inspect import limit_advice
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED


def scored_of(parts: dict[str, str]):
    """Eight photos, good and defective in turn, of these parts by kind, and eleven without a score."""
    kinds = np.array(["good", "dent"] * 4)
    photos = [
        SimpleNamespace(name=str(i), subset=parts[kind], label=kind, split_group=None, group=None)
        for i, kind in enumerate(kinds)
    ]
    unscored = [
        UnscoredPhoto(SimpleNamespace(label=kind), part, word, "why")
        for kind, part, word, count in (
            ("good", "calibration", NOT_LOCATED, 1), ("good", "test", NOT_LOCATED, 2), ("good", "train", NOT_JUDGED, 4),
            ("dent", "validation", NOT_JUDGED, 1), ("dent", "test", NOT_LOCATED, 3),
        )
        for _ in range(count)
    ]  # fmt: skip
    return SimpleNamespace(
        photos=photos, unscored=unscored, setters=lambda: kinds == "good",
        chosen_defects=lambda: (kinds != "good") & (parts["dent"] == "validation"),
        good_and_defect=lambda: (kinds == "good", kinds != "good"),
        of_subset=lambda word: np.array([photo.subset == word for photo in photos]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "good", "defects", "words"),
    [
        ({"good": "calibration", "dent": "validation"}, UnscoredCounts(1), UnscoredCounts(0, 1),
         "0 escapes, 1 not judged, 0 false rejects, 1 not located"),
        ({"good": "test", "dent": "test"}, UnscoredCounts(2), UnscoredCounts(3),
         "0 escapes, 3 not located, 0 false rejects, 2 not located"),
    ],
)  # fmt: skip
def test_parts_without_score_are_counted_in_the_advice(parts, good, defects, words, monkeypatch):
    product = SimpleNamespace(id="a", scored=scored_of(parts))
    known = {"good": np.zeros(8, bool), "defect": np.zeros(8, bool)}  # those of the sentence are others
    drawn = SimpleNamespace(evidence=Evidence(scores=np.arange(8.0) % 2 * 9 + np.arange(8) / 10, **known))
    suggestion, sets = limit_advice._suggest(product, drawn, 10.0)
    counts = suggestion.counts
    assert sets.split(" ")[0] == str(counts.defects_total)
    assert (counts.good_unscored, counts.defects_unscored) == (good, defects)
    assert (counts.good_total, counts.defects_total) == (4 + good.total, 4 + defects.total)
    labels = []
    monkeypatch.setattr(st, "button", lambda label, **_: labels.append(label))
    limit_advice.offer_limit(st, product, drawn)
    assert labels == [f"Limit from known defects: {words}"]
