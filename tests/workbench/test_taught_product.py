"""What a slider move may not compute again."""

from types import SimpleNamespace

import numpy as np

from inspect_core.images.photo_quality import QualityRange, measure_quality
from inspect_core.workbench import taught_product
from inspect_core.workbench.taught_product import TaughtProduct


class CountingStudy:
    """Ten even good photos and one with a dark area, and how often their range was asked for."""

    def __init__(self):
        rng = np.random.default_rng(0)
        photos = [np.clip(rng.normal(120, 3, (64, 64, 3)), 0, 255).astype(np.uint8) for _ in range(11)]
        photos[-1][20:44, 20:44] -= np.uint8(20)
        measured = {f"{number}.png": measure_quality(photo, photo) for number, photo in enumerate(photos)}
        self.photo_features = SimpleNamespace(notes=SimpleNamespace(quality=measured))
        self.asked = 0

    @property
    def quality(self):
        self.asked += 1
        measured = self.photo_features.notes.quality
        return QualityRange.from_qualities([measured[f"{number}.png"] for number in range(10)])


def test_the_range_of_the_good_photos_is_found_once(monkeypatch):
    study = CountingStudy()
    names = study.photo_features.notes.quality
    scored = SimpleNamespace(photos=[SimpleNamespace(name=name, digest=name) for name in names], live={"area": 1})
    product = TaughtProduct("plate", scored, None, study=study)
    monkeypatch.setattr(taught_product, "evidence_of", lambda scored, **known: known)
    for area in (1, 2, 3):
        known = product.evidence(live={"area": area})
        assert [position for position, words in enumerate(known["differ"]) if words] == [10]
    assert study.asked == 1
