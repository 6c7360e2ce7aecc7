"""The labels and places of a product's known defects as files that other tools read, and that are read back."""

import io
import json
from pathlib import PurePosixPath

import numpy as np
from PIL import Image

from inspect_core.datasets.dataset import GOOD
from inspect_core.images.areas import Outline, filled
from inspect_core.images.peak_outlines import outlines_of
from inspect_core.images.photo_reader import ImageError, read_mask
from inspect_core.images.png import png_of
from inspect_core.recipe_format.zipped import write_zip
from inspect_core.study.scored_photo import UNKNOWN, ScoredPhoto
from inspect_core.workbench.taught_product import TaughtProduct

ANNOTATIONS = "annotations.json"
MASKS = "ground_truth"


def exported(product: TaughtProduct) -> bytes:
    """A zip of ANNOTATIONS, all labelled photos in COCO's format, and of a mask for each defect whose place is known,
    in MVTec AD's layout: MASKS/type/name_mask.png, white on black, of the size of the photo.

    A photo whose label is unknown, and a mask that can no longer be read, are left out.
    """
    known = [photo for photo in product.scored.photos if photo.label != UNKNOWN]
    types = sorted({photo.label for photo in known if photo.label != GOOD})
    images, annotations = [], []
    files: dict[str, bytes] = {}
    for number, photo in enumerate(known):
        height, width = photo.placed.photo_size
        images.append({"id": number, "file_name": photo.name, "height": height, "width": width})
        if photo.label == GOOD:
            continue
        outlines = _outlines(photo)
        whole = {"image_id": number, "category_id": types.index(photo.label) + 1, "iscrowd": 0}
        for place in map(_place, outlines, [(height, width)] * len(outlines)):
            annotations.append({"id": len(annotations), **whole, **place})
        if not outlines:
            annotations.append({"id": len(annotations), **whole})
            continue
        mask = np.any([filled(outline, (height, width)) for outline in outlines], axis=0)
        files[_free(files, f"{MASKS}/{photo.label}/{PurePosixPath(photo.name).stem}")] = png_of(
            Image.fromarray(np.where(mask, 255, 0).astype(np.uint8))
        )
    categories = [{"id": number, "name": name} for number, name in enumerate(types, start=1)]
    document = {"images": images, "annotations": annotations, "categories": categories}
    buffer = io.BytesIO()
    content = json.dumps(document, ensure_ascii=False, indent=1).encode()
    write_zip(buffer, [(ANNOTATIONS, content), *files.items()])
    return buffer.getvalue()


def _outlines(photo: ScoredPhoto) -> list[Outline]:
    """Those drawn, else those of its mask."""
    if photo.drawn or photo.mask is None:
        return list(photo.drawn)
    try:
        return outlines_of(read_mask(photo.mask, photo.placed.photo_size))
    except ImageError:
        return []


def _place(outline: Outline, size: tuple[int, int]) -> dict:
    """`segmentation`, `bbox` and `area` of an outline on a photo of this (height, width), in pixels."""
    corners = np.array(outline) * size[::-1]
    (left, top), (right, bottom) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    following = np.roll(corners, -1, axis=0)
    area = abs(float((corners[:, 0] * following[:, 1] - corners[:, 1] * following[:, 0]).sum())) / 2
    return {
        "segmentation": [corners.round(2).ravel().tolist()],
        "bbox": [left, top, right - left, bottom - top],
        "area": area,
    }


def _free(files: dict[str, bytes], name: str) -> str:
    """The name of a mask that is not among the files yet: photos of two folders may share theirs."""
    number, free = 2, f"{name}_mask.png"
    while free in files:
        number, free = number + 1, f"{name}-{number}_mask.png"
    return free
