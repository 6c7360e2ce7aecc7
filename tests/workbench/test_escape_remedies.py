"""What would find an accepted defect: every way finds it, and costs what it says."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from inspect_core.scoring.anomaly_map import AREA
from inspect_core.scoring.evidence import Evidence
from inspect_core.study.photo_evidence import evidence_of
from inspect_core.verdict import Limits
from inspect_core.workbench.escape_remedies import Settings, remedies, standing
from inspect_core.workbench.taught_product import TaughtProduct
from tests.study.made_up import bench, patches, photo

ESCAPE = 12


def odd(number: int) -> torch.Tensor:
    """The last photo differs a little at one place, the others nowhere."""
    features = patches(number)
    if number == ESCAPE:
        features[0, 2, 1] *= 1.8
    return features


@pytest.fixture
def product(recipe) -> TaughtProduct:
    photos = [photo(f"p{i}", "dent" if i == ESCAPE else "good") for i in range(ESCAPE + 1)]
    return TaughtProduct("tile", bench(recipe.views, photos, odd), SimpleNamespace(alignment=None), SimpleNamespace())


@pytest.fixture
def evidence(product) -> Evidence:
    return evidence_of(product.scored)


@pytest.fixture
def limits(product) -> Limits:
    """Just above the defect."""
    score = float(product.scored.scores()[ESCAPE])
    return Limits(score * 1.001, score * 2)


def test_every_way_finds_it_and_costs_what_it_says(product, evidence, limits):
    product = TaughtProduct(product.product, product.scored, product.extractor, product.study, limits_by_hand=limits)
    ways = remedies(product, ESCAPE, evidence, limits)
    assert any(way.words.startswith("Lower the review limit") for way in ways)
    assert any("stricter area" in way.words for way in ways)
    assert [way.stopped for way in ways] == sorted(way.stopped for way in ways)
    before = evidence.counts(limits)
    for way in ways:
        changed = way.apply(product)
        after = evidence_of(changed.scored, **changed.live)
        counts = after.counts(changed.limits)
        assert after.verdict(ESCAPE, changed.limits) != "accept", way.words
        assert before.defects_missed - counts.defects_missed == way.detected
        stopped = [known.good_rejected + known.good_reviewed for known in (counts, before)]
        assert stopped[0] - stopped[1] == way.stopped, way.words


def test_undo_brings_back_what_was_in_force(product, evidence, limits):
    product = TaughtProduct(product.product, product.scored, product.extractor, product.study, limits_by_hand=limits)
    before = Settings.of_product(product)
    for way in remedies(product, ESCAPE, evidence, limits):
        restored = before.put_back(way.apply(product))
        assert (restored.live, restored.limits, restored.scored.areas) == (product.live, product.limits, None)
        assert np.array_equal(restored.scored.scores(), product.scored.scores())


def test_it_stands_where_its_score_lies_among_the_good(product, evidence):
    scores = evidence.scores
    where = standing(product, ESCAPE, scores)
    assert where.good == ESCAPE
    assert where.above == int((scores[:ESCAPE] < scores[ESCAPE]).sum())
    assert where.nearest is None, "there is one view"


def test_a_minimum_area_in_force_is_not_proposed(product, evidence, limits):
    area = product.live[AREA]
    assert not [way for way in remedies(product, ESCAPE, evidence, limits) if f"({area} px)" in way.words]
