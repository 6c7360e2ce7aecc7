import json

import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets.folders import scan
from inspect_core.images.photo_reader import read_mask

COLOURS = {
    "0": {"class-name": "BACKGROUND", "hex-color": "#ffffff", "confidence": 0.0},
    "1": {"class-name": "scratch", "hex-color": "#2ca02c", "confidence": 0.0},
    "2": {"class-name": "dent", "hex-color": "#1f77b4", "confidence": 0.0},
}

MANY = {str(i): {"class-name": "dent", "hex-color": f"#{i:06x}"} for i in range(1000)}


def line(photo, kind, *, name="anomaly-label", mask=None, colours=COLOURS):
    row = {
        "source-ref": f"s3://bucket/project/{photo}",
        name: 1,
        f"{name}-metadata": {"class-name": kind, "type": "groundtruth/image-classification", "confidence": 1},
    }
    if mask is not None:
        row["anomaly-mask-ref"] = f"s3://bucket/{mask}"
        row["anomaly-mask-ref-metadata"] = {"internal-color-map": colours, "type": "groundtruth/semantic-segmentation"}
    return json.dumps(row)


def written(folder, *lines):
    path = folder / "train.manifest"
    path.write_text("\n".join(lines) + "\n")
    return path


def mask(folder, name, *, size=(12, 20), other=None):
    """White, with a large scratch and a small dent."""
    pixels = np.full((*size, 3), 255, np.uint8)
    pixels[2:8, 3:9], pixels[9:11, 12:14] = (0x2C, 0xA0, 0x2C), (0x1F, 0x77, 0xB4)
    if other is not None:
        pixels[0, 0] = other
    (folder / name).parent.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(folder / name)


def test_photos_get_labels_and_masks_and_no_file_is_written(photos, tree):
    mask(photos, "masks/b.png")
    path = written(
        photos,
        line("lot 1/a.png", "normal"),
        "",
        line("lot 1/b.png", "anomaly", name="line-7", mask="masks/b.png"),
        line("c.png", "anomaly"),
    )
    before = tree(photos)
    dataset = scan(path)
    assert tree(photos) == before
    assert [sample.name for sample in dataset.good] == ["lot 1/a.png"]
    kinds = {sample.name: sample.label for sample in dataset.defects}
    assert kinds == {"lot 1/b.png": "scratch", "lot 2/c.png": "anomaly"}
    (marked,) = [sample for sample in dataset.defects if sample.mask]
    pixels = read_mask(marked.mask, (12, 20))
    assert pixels.sum() == 6 * 6 + 2 * 2
    assert pixels[2:8, 3:9].all()


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"other": (1, 2, 3)}, "#010203, which internal-color-map does not name"),
        ({"size": (24, 20)}, "the mask is 20 × 24 px but its photo is 20 × 12 px"),
        (None, "it is outside the folder of the list"),
    ],
    ids=["another colour", "another size", "missing"],
)
def test_unfitting_mask_is_reported_and_the_photo_a_defect(photos, made, reason):
    if made is not None:
        mask(photos, "masks/m.png", **made)
    dataset = scan(written(photos, line("d.png", "normal"), line("lot 1/b.png", "anomaly", mask="masks/m.png")))
    assert [(sample.label, sample.mask) for sample in dataset.defects] == [("anomaly", None)]
    assert [reason in skipped.reason for skipped in dataset.skipped] == [True]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("{", "it is not a JSON object"),
        ("[" * 100_000, "it is not a JSON object"),
        ("[]", "it names no photo"),
        ('{"source-ref": 7}', "it names no photo"),
        ('{"source-ref": "s3://b/a.png"}', "it has no class-name"),
        (line("b.png", ""), "it has no class-name"),
        (line("b.png", "anomaly", mask="m.png", colours={}), "internal-color-map names 0 defect types in 0"),
        (
            line("b.png", "anomaly", mask="m.png", colours=MANY),
            "internal-color-map names 1 defect types in 1000 colours",
        ),
        (line("b.png", "anomaly", mask="m.png", colours={"0": 7}), "a class of internal-color-map"),
        (line("b.png", "anomaly", mask="m.png", colours=7), "internal-color-map names 0"),
    ],
)
def test_a_damaged_line_says_which_and_what_to_do(photos, refused, second, words):
    refused(written(photos, line("a.png", "normal"), second), f"{words}")
