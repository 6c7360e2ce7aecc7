"""Alignment decides for itself: photos of a moved part differ less once aligned, photos of a still one do not."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.folders import scan
from inspect_core.datasets.splitting import Split
from inspect_core.images.alignment import learn_alignment
from inspect_core.images.photo_reader import squash
from inspect_core.runtime.pace import BEGUN
from inspect_core.study.teaching_config import NO_ALIGNMENT, RIGID, SIMILARITY, TeachingConfig
from inspect_core.tuning import alignment_training
from inspect_core.tuning.alignment_training import AlignmentTrial, aligned_first, decide_alignment, measured

pytestmark = pytest.mark.usefixtures("unhurried")


def photos(rng, reach):
    """24 photos of one patterned part, shifted by up to `reach` pixels."""
    part = cv2.GaussianBlur(rng.integers(0, 256, (160, 160), np.uint8), (0, 0), 3)
    part = cv2.normalize(part, None, 0, 255, cv2.NORM_MINMAX)
    made = []
    for x, y in np.round(reach * rng.uniform(-1, 1, (24, 2))).astype(int):
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


@pytest.fixture
def folder(tmp_path):
    """A function that writes photos into a folder and returns an order for them."""

    def write(shown, **choices):
        (tmp_path / "good").mkdir()
        for number, pixels in enumerate(shown):
            Image.fromarray(pixels).save(tmp_path / "good" / f"{number:02}.png")
        return TeachingConfig("part", Split(tuple(scan(tmp_path).good), (), ()), **choices)

    return write


@pytest.fixture
def extract(monkeypatch, extractor):
    monkeypatch.setattr(alignment_training, "default_extractor", lambda order: extractor)


def quiet(fraction, step):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("reach", [16, 0])
def test_alignment_helps_only_a_moved_part(extractor, reach):
    shown = photos(np.random.default_rng(0), reach)
    alignment = learn_alignment(shown[::2])
    trial = measured(shown[1::2], alignment, extractor)
    assert (trial.photos, trial.located) == (12, 12)
    assert trial.is_worthwhile == (reach > 0)
    assert reach == 0 or trial.after < 0.2 * trial.before
    nothing = measured([np.full_like(shown[0], 90)] * 2, alignment, extractor)
    assert (nothing.photos, nothing.located, nothing.is_worthwhile) == (2, 0, False)


@pytest.mark.slow
@pytest.mark.parametrize(("reach", "align", "says"), [(16, RIGID, "are aligned"), (0, NO_ALIGNMENT, "does not pay")])
def test_parts_are_aligned_by_themselves_only_where_it_gains(extract, folder, reach, align, says):
    fractions = []
    order = folder(photos(np.random.default_rng(2), reach), notes=("first",))
    decided, rest = aligned_first(order, lambda fraction, step: fractions.append(fraction))
    assert fractions == sorted(fractions), "the bar never runs back"
    assert fractions[0] == 0.0
    assert fractions[-1] <= BEGUN
    assert len(set(fractions)) > 20
    rest(0.0, "loading the network")
    rest(1.0, "")
    assert fractions[-2:] == [BEGUN, 1.0]
    assert decided.align == align
    assert (decided.alignment is not None) == (align == RIGID)
    assert decided.notes[0] == "first"
    assert says in decided.notes[1]


@pytest.mark.slow
def test_photos_without_a_part_are_not_aligned_unless_asked(extract, folder):
    noise = np.random.default_rng(3).integers(0, 256, (12, 64, 64, 3)).astype(np.uint8)
    order = folder(noise)
    decided = decide_alignment(order, quiet)
    assert (decided.align, decided.alignment) == (NO_ALIGNMENT, None)
    assert decided.notes[0].startswith("Photos are inspected as taken: the part was located in ")
    with pytest.raises(ValueError, match="; teach without alignment"):
        decide_alignment(replace(order, align=RIGID), quiet)


def test_the_whole_bar_belongs_to_work_with_nothing_to_align(folder):
    order = replace(folder(photos(np.random.default_rng(4), 16)[:9]), align=NO_ALIGNMENT)
    assert aligned_first(order, quiet) == (order, quiet)


def test_few_photos_and_published_methods_are_not_aligned(folder):
    order = folder(photos(np.random.default_rng(4), 16)[:9])
    assert "alignment is tried on 10 good photos or more, and there are 9" in decide_alignment(order, quiet).notes[0]
    assert decide_alignment(replace(order, as_published=True), quiet).align == NO_ALIGNMENT


def test_how_far_parts_may_be_moved_reaches_what_is_learned(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(alignment_training, "learn_alignment", lambda photos, **options: asked.append(options))
    photos = Split((PhotoFile(Path("a.png"), "a.png", "good", (8, 8)),), (), ())
    decide_alignment(TeachingConfig("part", photos, align=SIMILARITY, align_turn=25.0, align_shift=0.2), print)
    report = asked[0].pop("report")
    assert asked == [{"scale": True, "turn": 25.0, "shift": 0.2}]
    report(0.5, "")
    assert capsys.readouterr().out == "0.55 learning part positions from 1 photos: 50%\n"


@pytest.mark.parametrize(
    ("trial", "says"),
    [
        (AlignmentTrial(4.0, 1.0, 12, 12), "are aligned (shift, rotation): 12 good photos kept apart differ 75% less"),
        (AlignmentTrial(4.0, 4.1, 12, 12, turned=35.2), "are aligned (shift, rotation): the parts lie turned by up to"),
        (AlignmentTrial(4.0, 3.9, 12, 12, turned=180.0), "are aligned (shift, rotation): the parts lie at any angle"),
        (AlignmentTrial(4.0, 4.1, 12, 12, turned=10.0), "as taken: aligned, 12 good photos kept apart differ 2% more"),
        (AlignmentTrial(4.0, 1.0, 12, 11), "as taken: alignment located the part in 11 of 12 good photos kept apart."),
        (AlignmentTrial(4.0, 0.9, 20, 18, turned=180.0), "are aligned (shift, rotation): the parts lie at any angle."),
        (AlignmentTrial(4.0, 0.9, 20, 17, turned=180.0), "as taken: alignment located the part in 17 of 20"),
        (AlignmentTrial(0.0, 0.0, 12, 0), "as taken: alignment located the part in 0 of 12"),
    ],
)
def test_only_less_variance_or_turned_parts_pay_and_are_told(trial, says):
    assert trial.is_worthwhile == ("are aligned" in says)
    assert says in trial.sentence()
