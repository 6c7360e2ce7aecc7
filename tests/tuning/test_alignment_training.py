"""The gain of alignment: photos of a moved part differ less once aligned, photos of a still one do not."""

from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from inspect_core.images.alignment import learn_alignment
from inspect_core.images.folders import scan
from inspect_core.images.photo_reader import squash
from inspect_core.images.samples import PhotoFile
from inspect_core.images.splitting import Split
from inspect_core.study.teaching_config import SIMILARITY, TeachingConfig
from inspect_core.tuning import alignment_training
from inspect_core.tuning.alignment_training import AlignmentGain, gain_on, measured, with_learned_alignment


def photos(rng, reach):
    """Twelve photos of one patterned part, shifted by up to `reach` pixels."""
    part = cv2.GaussianBlur(rng.integers(0, 256, (160, 160), np.uint8), (0, 0), 3)
    part = cv2.normalize(part, None, 0, 255, cv2.NORM_MINMAX)
    made = []
    for x, y in np.round(reach * rng.uniform(-1, 1, (12, 2))).astype(int):
        grey = np.full((256, 256), 40.0)
        grey[48 + y : 208 + y, 48 + x : 208 + x] = part
        grey += rng.normal(0, 3, grey.shape)
        made.append(np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2))
    return made


@pytest.fixture
def extractor():
    """Brightness as the only feature, on a grid of 32 × 32."""

    def features(pixels):
        grey = squash(pixels, (64, 64))[:, :, 0].reshape(32, 2, 32, 2).mean(axis=(1, 3))
        return (torch.from_numpy(grey[None, :, :, None].astype(np.float32)),)

    return SimpleNamespace(backbone=SimpleNamespace(size=(64, 64)), grid=(32, 32), features=features)


@pytest.mark.slow
@pytest.mark.parametrize("reach", [16, 0])
def test_alignment_helps_only_a_moved_part(extractor, reach):
    shown = photos(np.random.default_rng(0), reach)
    alignment = learn_alignment(shown)
    gain = measured(shown, alignment, extractor)
    assert gain.photos == 12
    assert gain.is_worthwhile == (reach > 0)
    assert reach == 0 or gain.after < 0.2 * gain.before
    with pytest.raises(ValueError, match="located on 0 photos"):
        measured([np.full_like(shown[0], 90)], alignment, extractor)


@pytest.mark.slow
def test_alignment_is_tried_on_few_photos_or_none(extractor, tmp_path):
    rng = np.random.default_rng(2)
    for name, shown in (("moved", photos(rng, 16)), ("noise", rng.integers(0, 256, (4, 64, 64, 3)).astype(np.uint8))):
        (tmp_path / name).mkdir()
        for number, pixels in enumerate(shown):
            Image.fromarray(pixels).save(tmp_path / name / f"{number}.png")
    gain = gain_on(scan(tmp_path / "moved").good, extractor, lambda fraction, step: None)
    assert gain.photos == 4
    assert gain.is_worthwhile
    assert 0 < gain.seconds < 1
    assert gain_on(scan(tmp_path / "noise").good, extractor, lambda fraction, step: None) is None


def test_how_far_parts_may_be_moved_reaches_what_is_learned(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(alignment_training, "learn_alignment", lambda photos, **options: asked.append(options))
    photos = Split((PhotoFile(Path("a.png"), "a.png", "good", (8, 8)),), (), ())
    with_learned_alignment(TeachingConfig("part", photos, align=SIMILARITY, align_turn=25.0, align_shift=0.2), print)
    report = asked[0].pop("report")
    assert asked == [{"scale": True, "turn": 25.0, "shift": 0.2}]
    report(0.5, "")
    assert capsys.readouterr().out == "0.0 learning part positions from 1 photos: 50%\n"


def test_only_less_variance_pays_and_is_told():
    assert not AlignmentGain(0.0, 0.0, 2, 0.0).is_worthwhile
    sentence = AlignmentGain(4.0, 1.0, 12, 0.034).sentence()
    assert "12 good photos differ 75% less" in sentence
    assert "0.03 s per photo" in sentence
    assert "are not inspected" in sentence


def test_parts_turned_far_are_to_be_aligned_whatever_it_leaves():
    turned, any_angle = AlignmentGain(4.0, 4.1, 12, 0.03, turned=35.2), AlignmentGain(4.0, 3.9, 12, 0.03, turned=262.0)
    assert turned.is_worthwhile
    assert any_angle.is_worthwhile
    assert not AlignmentGain(4.0, 4.1, 12, 0.03, turned=10.0).is_worthwhile
    assert turned.sentence().startswith("The parts lie turned by up to 35°. Alignment adds 0.03 s per photo")
    assert any_angle.sentence().startswith("The parts lie at any angle. ")
