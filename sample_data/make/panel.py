"""A panel of circuit boards before one camera of 12 megapixels, of which one board may have a small defect.

`python -m inspect_core synthetic --large` writes it. The boards are those of `products` before they are parted: side by
side, all lying alike, each with irregularities of its own. Every panel shows others.
"""

from functools import lru_cache
from itertools import count
from pathlib import Path

import numpy as np
from PIL import Image

from sample_data.make import products
from sample_data.make.board import board as drawing
from sample_data.make.camera import SIZE
from sample_data.make.conveyor import Conveyor
from sample_data.make.scene import Light, Pose, Scene

PRODUCT, BOARD = "board_panel", "board"
HEIGHT, WIDTH = 3000, 4000
ROWS, COLUMNS = HEIGHT // SIZE, WIDTH // SIZE
KINDS = products.KINDS[BOARD]
SMALLEST, LARGEST = 10, 40
"""Pixels: the longer side of a defect."""
TRAIN_GOOD, TEST_GOOD, TEST_EACH_KIND = 40, 20, 4
TAUGHT, SHOWN = 60, 60
"""Boards that the panels to teach are put together from, and other ones for those to judge."""
GROUND, SHIFT = (21, 22, 24), 2
"""Colour beside the boards, and pixels by which panels lie differently."""


class _Panel(Conveyor):
    """Holds its boards: they cannot move against each other, and one lamp lights them all."""

    def pose(self, rng: np.random.Generator, field: float) -> Pose:
        return Pose((0.0, 0.0), 0.0, field)

    def lit(self, lights: tuple[Light, ...], rng: np.random.Generator) -> tuple[tuple[Light, ...], float]:
        return drawing.draw_lights(np.random.default_rng(0)), 1.0

    def lay_under(self, scene: Scene, rng: np.random.Generator) -> None:
        pass


_HELD = _Panel()


def render(index: int, *, seed: int = 0, defect: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Photograph one panel: (3000, 4000, 3) uint8 RGB, and the mask (3000, 4000) bool of its defect.

    index: which panel, from 0; those below TRAIN_GOOD show other boards than the rest. defect: None for a good one, or
    one of KINDS, on one board and of SMALLEST to LARGEST pixels. Raises ValueError as `products.render`.
    """
    rng = np.random.default_rng([seed, index, *PRODUCT.encode()])
    boards = range(TAUGHT) if index < TRAIN_GOOD else range(TAUGHT, TAUGHT + SHOWN)
    image = np.clip(rng.normal(GROUND, 1.5, (HEIGHT, WIDTH, 3)), 0, 255).astype(np.uint8)
    mask = np.zeros((HEIGHT, WIDTH), bool)
    down, across = (int(shift) for shift in rng.integers(-SHIFT, SHIFT + 1, 2))
    top, left = (HEIGHT - ROWS * SIZE) // 2 + down, (WIDTH - COLUMNS * SIZE) // 2 + across
    places = [(slice(top + row * SIZE, top + (row + 1) * SIZE), slice(left + column * SIZE, left + (column + 1) * SIZE))
              for row in range(ROWS) for column in range(COLUMNS)]  # fmt: skip
    for place in places:
        image[place] = _good(int(rng.choice(boards)), seed)
    if defect is not None:
        place = places[int(rng.integers(len(places)))]
        image[place], mask[place] = _defective(index, seed, defect)
    return image, mask


def write(folder: str | Path, *, seed: int = 0) -> None:
    """Write `folder/board_panel/` in the layout of MVTec AD, JPEG as `products.write`, 310 MB, in some minutes.

    Files that are already there under these names are replaced, others are left.
    """
    root = Path(folder) / PRODUCT
    for index, place, defect in plan():
        image, mask = render(index, seed=seed, defect=defect)
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path, **products.JPEG)
        if defect is not None:
            truth = root / "ground_truth" / defect / f"{path.stem}_mask.png"
            truth.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask).save(truth, optimize=True)


def plan() -> list[tuple[int, str, str | None]]:
    """(index, path of the image within the product's folder, defect) of every image that `write` writes."""
    rows = [("train/good", None)] * TRAIN_GOOD + [("test/good", None)] * TEST_GOOD
    rows += [(f"test/{kind}", kind) for kind in KINDS for _ in range(TEST_EACH_KIND)]
    return [(index, f"{place}/panel_{index:03d}.jpg", defect) for index, (place, defect) in enumerate(rows)]


@lru_cache(maxsize=TAUGHT + SHOWN)
def _good(board: int, seed: int) -> np.ndarray:
    return products.render(BOARD, board, seed=seed, conveyor=_HELD)[0]


def _defective(index: int, seed: int, defect: str) -> tuple[np.ndarray, np.ndarray]:
    """The next board of a row of its own whose defect has the size asked for."""
    boards = (products.render(BOARD, board, seed=seed, defect=defect, conveyor=_HELD)
              for board in count(1000 * (index + 1)))  # fmt: skip
    return next((image, mask) for image, mask in boards if SMALLEST <= _longer_side(mask) <= LARGEST)


def _longer_side(mask: np.ndarray) -> int:
    return max((int(np.ptp(where)) + 1 for where in np.nonzero(mask) if len(where)), default=0)
