"""Photos below a folder, for lists that name them, and lists that are refused."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets.dataset import ScanError
from inspect_core.datasets.folders import scan


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with 12 × 20 px photos lot 1/{a,b}.png, lot 2/{a,c}.png and d.png."""
    folder = tmp_path / "photos"
    rng = np.random.default_rng(0)
    for name in ("lot 1/a.png", "lot 1/b.png", "lot 2/a.png", "lot 2/c.png", "d.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 255, (12, 20, 3), np.uint8)).save(folder / name)
    return folder


@pytest.fixture
def refused():
    """refused(list, words) holds where a list is refused, naming it, the place, the reason and the remedy."""

    def scanned(path: Path, words: str) -> None:
        with pytest.raises(ScanError, match=rf"^{path.name}, .+: .+; .+") as error:
            scan(path)
        assert words in str(error.value)

    return scanned
