"""Sample products drawn by computer, with exact masks of their defects, in the layout of MVTec AD.

`python -m inspect_core synthetic [--out sample_data]` writes them all. A part is built as a height
field with materials (`flange`, `linen`, `board`), lit (`scene`) and photographed (`camera`). A defect is
put into the scene before light, lens and noise.
"""

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage

from inspect_core.images.synthetic import flange, linen
from inspect_core.images.synthetic.board import board
from inspect_core.images.synthetic.camera import SIZE, Camera, photograph
from inspect_core.images.synthetic.scene import Scene, radiance

_MODULES: dict[str, ModuleType] = {"flange": flange, "linen": linen, "board": board}
PRODUCTS = tuple(_MODULES)
KINDS = {product: module.KINDS for product, module in _MODULES.items()}

TRAIN_GOOD, TEST_GOOD, TEST_EACH_KIND = 60, 20, 4
JPEG: dict[str, Any] = {"quality": 92, "subsampling": "4:2:0"}
VISIBLE = 8
_SMALLEST = 5
_GOLDEN = (5**0.5 - 1) / 2


def render(product: str, index: int, *, seed: int = 0, defect: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Photograph one part.

    product: one of `PRODUCTS`. index: which part, from 0; each is drawn from its own seed, whatever others were drawn.
    defect: None for a good part, or one of `KINDS[product]`: the same part, pose, light and noise with that defect. How
    plain it is follows the golden-ratio sequence of the index, so that a few parts in a row span subtle to plain.

    Returns the image `(320, 320, 3)` uint8 RGB and the mask `(320, 320)` bool of the defect: where it changes the image
    by at least `VISIBLE` grey levels in some channel, closed and filled. All False for a good part.
    Raises ValueError for an unknown product or defect, or a negative index or seed.
    """
    if product not in _MODULES:
        raise ValueError(f"product is {product!r}; choose one of {', '.join(PRODUCTS)}")
    if defect is not None and defect not in KINDS[product]:
        raise ValueError(f"defect is {defect!r}; for {product} choose None or one of {', '.join(KINDS[product])}")
    for name, value in (("index", index), ("seed", seed)):
        if value < 0:
            raise ValueError(f"{name} is {value}; it must be 0 or more")
    good, good_scene = _shoot(product, index, seed, None)
    if defect is None:
        return good, np.zeros((SIZE, SIZE), dtype=bool)
    image, scene = _shoot(product, index, seed, defect)
    return image, _mask(good, image, scene.differs(good_scene))


def write(folder: str | Path, *, products: tuple[str, ...] = PRODUCTS, seed: int = 0) -> None:
    """Write `folder/<product>/` with train/good, test/good, test/<kind> and ground_truth/<kind>, as `plan` lists them.

    Files that are already there under these names are replaced, others are left. With the pinned versions of NumPy,
    SciPy and Pillow on one platform the bytes are the same every time.
    """
    for product in products:
        for index, place, defect in plan(product):
            save(folder, product, index, place, defect, seed=seed)


def save(folder: str | Path, product: str, index: int, place: str, defect: str | None, *, seed: int = 0) -> None:
    """Write one row of `plan`: the image as JPEG and, if it has a defect, its mask as PNG, 0 and 255."""
    image, mask = render(product, index, seed=seed, defect=defect)
    path = Path(folder) / product / place
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path, **JPEG)
    if defect is not None:
        truth = Path(folder) / product / "ground_truth" / defect / f"{path.stem}_mask.png"
        truth.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.where(mask, 255, 0).astype(np.uint8)).save(truth, optimize=True)


def plan(product: str) -> list[tuple[int, str, str | None]]:
    """Return (index, path of the image within the product's folder, defect) of every image that `write` writes.

    Parts are numbered through: 0 to 59 are good to fit, 60 to 79 good to test, from 80 on four of each defect type.
    """
    defect_types = [kind for kind in KINDS[product] for _ in range(TEST_EACH_KIND)]
    rows = [("train/good", None)] * TRAIN_GOOD + [("test/good", None)] * TEST_GOOD
    rows += [(f"test/{kind}", kind) for kind in defect_types]
    return [(index, f"{place}/part_{index:03d}.jpg", defect) for index, (place, defect) in enumerate(rows)]


def _shoot(product: str, index: int, seed: int, defect: str | None) -> tuple[np.ndarray, Scene]:
    """Build, light and photograph one part; the pair with and without a defect shares everything else."""
    module = _MODULES[product]
    seeds = np.random.SeedSequence([seed, index, *product.encode()]).spawn(4)
    part, exposure, noise, harm = (np.random.default_rng(child) for child in seeds)
    pose, lights = module.draw_pose(part), module.draw_lights(part)
    scene = module.build(pose, part, defect, index * _GOLDEN % 1, harm)
    gain = 1 + np.clip(exposure.normal(0, 0.025), -0.06, 0.06)
    balance = 1 + np.clip(exposure.normal(0, 0.003, 3), -0.006, 0.006)
    camera = Camera(exposure=tuple(gain * balance), blur=0.5 + 0.06 * exposure.random())
    return photograph(radiance(scene, pose, lights, module.SKY), scene.depth, camera, noise), scene


def _mask(good: np.ndarray, image: np.ndarray, touched: np.ndarray) -> np.ndarray:
    """Return where the two photographs differ visibly, in regions that meet the `touched` part of the canvas."""
    change = np.abs(image.astype(np.int16) - good).max(axis=2)
    visible = ndimage.binary_closing(np.pad(change >= VISIBLE, 4), iterations=3)[4:-4, 4:-4]
    # Pieces far smaller than the defect are its glints and the edges of its shadow, not places to look for.
    regions, count = ndimage.label(ndimage.binary_fill_holes(visible), structure=np.ones((3, 3)))
    labels = np.arange(count + 1)
    area = np.bincount(regions.ravel(), minlength=count + 1)
    source = touched.reshape(SIZE, 2, SIZE, 2).any(axis=(1, 3))
    meets = np.bincount(regions[source], minlength=count + 1) > 0
    return ((labels > 0) & meets & (area >= max(_SMALLEST, 0.02 * area[1:].max(initial=0))))[regions]
