"""Photos of a recipe are found by their content, and nothing is read out of the folders that may be read."""

import csv
import os
from types import SimpleNamespace

import numpy as np
from PIL import Image

from inspect_core.images.photo_reader import read
from inspect_core.recipe_io.parity_photos import by_content, masks_in


def photo(path, seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 255, (24, 32, 3), np.uint8)).save(path)
    return path


def test_no_link_leads_out_of_the_folder(tmp_path):
    secret, part = photo(tmp_path / "secret/a.png", 1), photo(tmp_path / "parts/b.png", 2)
    (tmp_path / "parts/sub").mkdir()
    os.symlink(secret, tmp_path / "parts/a.png")
    os.symlink(part, tmp_path / "parts/sub/b.png")
    rows = [SimpleNamespace(name=path.name, digest=read(path).digest) for path in (secret, part)]
    by_digest = by_content(rows, [tmp_path / "parts"], None)
    assert [path for path, _ in by_digest.values()] == [part]


def test_lists_above_the_roots_give_no_masks(tmp_path):
    parts = tmp_path / "line/parts"
    good, bad = photo(parts / "a.png", 1), photo(parts / "b.png", 2)
    mask = np.zeros((24, 32), np.uint8)
    mask[4:9, 4:9] = 255
    Image.fromarray(mask).save(parts / "m7.png")
    with (tmp_path / "line/labels.csv").open("w", newline="") as file:
        rows = [("file", "label", "mask"), (good.name, "OK", ""), (bad.name, "NG", "m7.png")]
        csv.writer(file).writerows(rows)
    assert masks_in(parts) == {bad: parts / "m7.png"}
    assert masks_in(parts, [parts]) == {}
