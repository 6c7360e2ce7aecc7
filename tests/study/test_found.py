"""Where defects are caught, and photos without a score: both stand in every count of the study."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.images.alignment import NotLocated
from inspect_core.images.folders import scan
from inspect_core.images.read import read
from inspect_core.judge import found as rule
from inspect_core.judge.counts import Unscored
from inspect_core.study.evaluation import evaluate, figures, found_up_to, in_parts_of, judge_photos, outcomes
from inspect_core.study.judged import Judged, truth_masks
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import Study
from inspect_core.verdict import Limits


@pytest.fixture
def scored(recipe, tmp_path: Path) -> ScoredPhotos:
    """Two good parts, a defect on the left, one whose mask is empty, and one without a mask."""
    scored = ScoredPhotos(recipe.views, recipe.grid, recipe.backbone.size)
    for i, kind in enumerate(("good", "scratch", "dent", "dent", "good")):
        mask = tmp_path / f"{i}.png"
        drawn = np.zeros((64, 96), np.uint8)
        drawn[10:20, 5:15] = 255 * (i == 1)
        Image.fromarray(drawn).save(mask)
        photo = ScoredPhoto(f"p{i}", f"{i:064}", (64, 96), kind, "judge", Path(f"{i}"), None if i == 3 else mask)
        patches = np.random.default_rng(i).normal(size=(1, 4, 3, 5)).astype(np.float32)
        scored = scored.with_photo(photo, [torch.from_numpy(patches)])
    return scored


def test_the_bench_and_evaluate_find_the_same_defects_and_read_each_mask_once(scored, monkeypatch):
    mask = scored.photos[1].known_mask(scored.size)
    for live in ({}, {"k": 2, "area": 40}):
        own = found_up_to(scored, **live)
        area = live.get("area", 12)
        assert own[1] == rule.found_up_to(scored.map(1, **live), rule.grown(mask), area=area)
        assert np.isnan(own[[0, 2, 3, 4]]).all()
        judged = Judged.of(scored, live, range(5), truth_masks(scored))
        np.testing.assert_array_equal(judged.found, own)
        merged = Judged.merged([judged, judged])
        np.testing.assert_array_equal(merged.found, np.tile(own, 2))
    monkeypatch.setattr(ScoredPhoto, "known_mask", lambda *_: pytest.fail("read again"))
    found_up_to(scored, k=3)
    assert found_up_to(scored, k=3) is found_up_to(scored, k=3)


def test_the_sentence_tells_those_caught_elsewhere(scored):
    scores, found = scored.scores(), found_up_to(scored)
    below = float(scored.maps().min()) - 1
    said = in_parts_of(scored, scores, Limits(below, below), found)
    assert "misses 0 of 3 defects, catches 3 of 3 (1 at the defect, 0 elsewhere, 2 without a mask)" in said
    found = np.where(np.isnan(found), np.nan, below)
    assert "(0 at the defect, 1 elsewhere, 2" in in_parts_of(scored, scores, Limits(below, below), found)
    assert "catches" not in in_parts_of(scored, scores, Limits(below, below))


@pytest.mark.slow
def test_photos_without_a_score_stand_in_every_count(product, small_backbone, tmp_path, monkeypatch):
    root = shutil.copytree(product, tmp_path / "flange")
    lost = [sorted((root / name).iterdir())[0] for name in ("test/good", "test/scratch", "train/good")]
    gone, place = {read(path).pixels.tobytes() for path in lost}, Preparation.place

    def placed(self: Preparation, pixels: np.ndarray):
        if pixels.tobytes() in gone:
            raise NotLocated("nothing in the photo fits the reference")
        return place(self, pixels)

    monkeypatch.setattr(Preparation, "place", placed)
    photos, damaged = scan(root), next((root / "test/dent").iterdir())
    damaged.write_bytes(damaged.read_bytes()[:900])
    study = Study(photos, small_backbone, Store(tmp_path / "store"), grid=(8, 12), parameters={"k": 8})
    study.fit()
    assert {photo.sample.path: (photo.word, photo.kind) for photo in study.results.unscored} == {
        lost[0]: ("not located", "good"), lost[1]: ("not located", "scratch"), lost[2]: ("not located", "good"),
        damaged: ("not judged", "dent"),
    }  # fmt: skip
    limits = study.default_limits()
    said = in_parts_of(study.results, study.scores(), limits, found_up_to(study.results))
    assert " of 4 good (" in said
    assert ", 1 not located, misses " in said
    assert " of 3 defects, 1 not located, 1 not judged" in said
    evaluation = evaluate(study, limits, truth_masks(study.results))
    counts = evaluation.counts
    assert (counts.good_unscored, counts.defects_unscored) == (Unscored(1), Unscored(1, 1))
    assert (counts.good_total, counts.defects_total, counts.with_mask) == (4, 3, 1)
    shown = study.split.judge
    (judged,) = judge_photos(study, shown, [study.live])
    features = study.passes.features
    assert figures(judged, limits, features.unscored(("judge", sample) for sample in shown)).counts == counts
    assert outcomes(evaluation)["not_located"] == 2
