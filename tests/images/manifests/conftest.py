"""Photos below a folder, for lists that name them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with 12 × 20 px photos lot 1/{a,b}.png, lot 2/{a,c}.png and d.png."""
    folder = tmp_path / "photos"
    rng = np.random.default_rng(0)
    for name in ("lot 1/a.png", "lot 1/b.png", "lot 2/a.png", "lot 2/c.png", "d.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (12, 20, 3), np.uint8)).save(folder / name)
    return folder
