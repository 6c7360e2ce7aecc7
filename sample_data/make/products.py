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

from sample_data.make import flange, linen
from sample_data.make.board import board
from sample_data.make.camera import SIZE, Camera, photograph
from sample_data.make.conveyor import ROOM, Conveyor
from sample_data.make.flange import CUT
from sample_data.make.scene import Pose, Scene, radiance

_MODULES: dict[str, ModuleType] = {"flange": flange, "linen": linen, "board": board}
PRODUCTS = tuple(_MODULES)
KINDS = {product: module.KINDS for product, module in _MODULES.items()}

TRAIN_GOOD, TEST_GOOD, TEST_EACH_KIND, TEST_CUT = 60, 20, 4, 60
JPEG: dict[str, Any] = {"quality": 92, "subsampling": "4:2:0"}
MOVED = "_moved"
"""At the end of the name of a product that comes on a conveyor."""
VISIBLE = 8
_SMALLEST = 5
_GOLDEN = (5**0.5 - 1) / 2


def render(
    product: str, index: int, *, seed: int = 0, defect: str | None = None, conveyor: Conveyor | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Photograph one part.

    product: one of `PRODUCTS`. index: which part, from 0; each is drawn from its own seed, whatever others were drawn.
    defect: None for a good part, or one of `KINDS[product]`, for a flange also `CUT`: the same part, pose, light and
    noise with that defect. How plain it is follows the golden-ratio sequence of the index, so that a few parts in a row
    span subtle to plain.
    conveyor: None for a part in its fixture; else the same part as the conveyor brings it, lying as `pose` says.

    Returns the image `(320, 320, 3)` uint8 RGB and the mask `(320, 320)` bool of the defect: where it changes the image
    by at least `VISIBLE` grey levels in some channel, closed and filled. All False for a good part.
    Raises ValueError for an unknown product or defect, or a negative index or seed.
    """
    if product not in _MODULES:
        raise ValueError(f"product is {product!r}; choose one of {', '.join(PRODUCTS)}")
    kinds = (*KINDS[product], *_cut(product))
    if defect is not None and defect not in kinds:
        raise ValueError(f"defect is {defect!r}; for {product} choose None or one of {', '.join(kinds)}")
    for name, value in (("index", index), ("seed", seed)):
        if value < 0:
            raise ValueError(f"{name} is {value}; it must be 0 or more")
    good, good_scene = _shoot(product, index, seed, None, conveyor)
    if defect is None:
        return good, np.zeros((SIZE, SIZE), dtype=bool)
    image, scene = _shoot(product, index, seed, defect, conveyor)
    return image, _mask(good, image, scene.differs(good_scene))


def pose(product: str, index: int, *, seed: int = 0, conveyor: Conveyor | None = None) -> Pose:
    """How the part of `render` lies."""
    part, _, _, _, moving = _draws(product, index, seed)
    fixed = _MODULES[product].draw_pose(part)
    return fixed if conveyor is None else conveyor.pose(moving, fixed.field)


def write(
    folder: str | Path, *, products: tuple[str, ...] = PRODUCTS, seed: int = 0, conveyor: Conveyor | None = None
) -> None:
    """Write `folder/<product>/` with train/good, test/good, test/<kind> and ground_truth/<kind>, as `plan` lists them.

    With a conveyor, `<product>_moved/`, in it TEST_CUT flanges with a piece missing, and poses.csv: where the part lies
    in each photo, in pixels right of and below the middle, how many degrees it is turned clockwise, and how large it
    is. Files that are already there under these names are replaced, others are left. With the pinned versions of NumPy,
    SciPy and Pillow on one platform the bytes are the same every time.
    """
    for product in products:
        rows = plan(product)
        if conveyor is not None:
            rows += [
                (index, f"test/{kind}/part_{index:03d}.jpg", kind)
                for kind in _cut(product)
                for index in range(len(rows), len(rows) + TEST_CUT)
            ]
        for index, place, defect in rows:
            save(folder, product, index, place, defect, seed=seed, conveyor=conveyor)
        if conveyor is not None:
            where = [(place, pose(product, index, seed=seed, conveyor=conveyor)) for index, place, _ in rows]
            (Path(folder) / f"{product}{MOVED}" / "poses.csv").write_text(_table(where, _MODULES[product].FIELD))


def save(
    folder: str | Path,
    product: str,
    index: int,
    place: str,
    defect: str | None,
    *,
    seed: int = 0,
    conveyor: Conveyor | None = None,
) -> None:
    """Write one row of `plan`: the image as JPEG and, if it has a defect, its mask as PNG, 0 and 255."""
    image, mask = render(product, index, seed=seed, defect=defect, conveyor=conveyor)
    root = Path(folder) / (product if conveyor is None else f"{product}{MOVED}")
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(path, **JPEG)
    if defect is not None:
        truth = root / "ground_truth" / defect / f"{path.stem}_mask.png"
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


def _cut(product: str) -> tuple[str, ...]:
    return (CUT,) if _MODULES[product] is flange else ()


def _table(where: list[tuple[str, Pose]], field: float) -> str:
    """poses.csv."""
    lines = ["name,x_px,y_px,angle_deg,size"]
    for place, pose in where:
        x, y = (SIZE * shift / pose.field for shift in pose.shift)
        lines.append(f"{place},{x:.4f},{y:.4f},{np.rad2deg(pose.angle):.5f},{ROOM * field / pose.field:.6f}")
    return "\n".join(lines) + "\n"


def _draws(product: str, index: int, seed: int) -> list[np.random.Generator]:
    """Generators for the part, the exposure, the noise, the harm and the conveyor."""
    seeds = np.random.SeedSequence([seed, index, *product.encode()]).spawn(5)
    return [np.random.default_rng(child) for child in seeds]


def _shoot(
    product: str, index: int, seed: int, defect: str | None, conveyor: Conveyor | None = None
) -> tuple[np.ndarray, Scene]:
    """Build, light and photograph one part; the pair with and without a defect shares everything else."""
    module = _MODULES[product]
    part, exposure, noise, harm, moving = _draws(product, index, seed)
    laid, lights = module.draw_pose(part), module.draw_lights(part)
    gain = 1 + np.clip(exposure.normal(0, 0.025), -0.06, 0.06)
    if conveyor is not None:
        laid = conveyor.pose(moving, laid.field)
        lights, light = conveyor.lit(lights, moving)
        gain *= light
    scene = module.build(laid, part, defect, index * _GOLDEN % 1, harm)
    if conveyor is not None:
        conveyor.lay_under(scene, moving)
    balance = 1 + np.clip(exposure.normal(0, 0.003, 3), -0.006, 0.006)
    camera = Camera(exposure=tuple(gain * balance), blur=0.5 + 0.06 * exposure.random())
    return photograph(radiance(scene, laid, lights, module.SKY), scene.depth, camera, noise), scene


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
