"""Pictures of photos: the heatmap over one, and one made small."""

import io

import numpy as np
import pytest
from PIL import Image

from inspect_core.images import decode_memory, heatmap

PIXELS = np.random.default_rng(0).integers(0, 256, (90, 70, 3), dtype=np.uint8)


@pytest.mark.parametrize("band", [70, 1000, 2**18])
def test_an_overlay_in_bands_is_that_of_the_whole_photo(monkeypatch, band):
    monkeypatch.setattr(decode_memory, "BAND", band)
    anomaly_map = np.random.default_rng(1).uniform(0, 2, (16, 24)).astype(np.float32)
    colours = Image.fromarray(heatmap.colourise(anomaly_map, typical_score=0.5, limit=1.0)).resize(
        (70, 90), Image.Resampling.BILINEAR
    )
    whole = Image.alpha_composite(Image.fromarray(PIXELS).convert("RGBA"), colours).convert("RGB")
    shown = np.asarray(heatmap.overlay(PIXELS, anomaly_map, 1.0, typical_score=0.5)).astype(int)
    assert np.abs(shown - np.asarray(whole)).max() <= 3  # where a band begins is rounded
    assert np.abs(shown - PIXELS).max() > 50


@pytest.mark.parametrize(("side", "size"), [(45, (35, 45)), (90, (70, 90)), (500, (70, 90)), (1, (1, 1))])
def test_a_thumbnail_keeps_the_aspect_and_never_grows(side, size):
    assert Image.open(io.BytesIO(heatmap.thumbnail(PIXELS, side=side))).size == size


def test_paper_colours_run_from_blue_to_red_between_scores():
    grey = np.full((1, 4, 3), 128, np.uint8)
    shown = np.asarray(heatmap.rainbow(grey, np.array([[-3.0, 0.0, 10.0, 99.0]]), 0.0, 10.0)).astype(int)[0]
    assert (shown[0] == shown[1]).all()
    assert (shown[2] == shown[3]).all()
    assert shown[0, 2] > shown[0, 0]
    assert shown[2, 0] > shown[2, 2]
