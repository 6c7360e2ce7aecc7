"""Which photo belongs to a part: by when it was written, as files are stamped."""

import os
import time

import numpy as np
import pytest
from PIL import Image

from inspect_core.station.settings import View
from inspect_core.station.view_photos import LATE, ViewPhotos


@pytest.mark.parametrize(("before_trigger", "is_taken"), [(-0.02, True), (0.005, True), (0.5, False)])
def test_a_stamp_that_ticks_loses_no_photo_of_the_part(tmp_path, before_trigger, is_taken):
    """The photo lies there when the station first looks: a busy machine looks late."""
    triggered = time.time()
    path = tmp_path / "part.png"
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(path)
    os.utime(path, (triggered - before_trigger, triggered - before_trigger))
    photos = ViewPhotos([View("top", str(tmp_path))], lambda words: None)
    by_view = photos.take(triggered, time.time() + 0.5)
    assert set(by_view) == ({"top"} if is_taken else set())
    assert any(tmp_path.glob(f"{LATE}/*part.png")) is not is_taken
