"""Products that are not saved, on disk: what cannot be used is listed with its reason and breaks nothing."""

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.splitting import Split
from inspect_core.images import heatmap
from inspect_core.runtime.serialisation import is_of, pack
from inspect_core.study import unsaved_products
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.study.unsaved_products import UnsavedProduct, UnsavedProductStore
from inspect_core.verdict import Limits

THUMBNAIL = heatmap.thumbnail(np.zeros((40, 60, 3), np.uint8))
SAMPLE = PhotoFile(Path("/photos/1.png"), "1.png", "good", (40, 60))
PHOTO = ScoredPhoto("1.png", "a" * 64, (40, 60), "good", "test", Path("/photos/1.png"))
WHOLE = {
    "product": "flange", "opened_at": 1.0, "thumbnail": THUMBNAIL,
    "order": TeachingConfig("flange", Split((SAMPLE,), (), ())),
    "photos": (PHOTO,), "notes": ("a note",),
    "live": {"k": 29, "area": 397},
    "limits_by_hand": Limits(6.0, 8.5),
    "set_on": (1.5,),
}  # fmt: skip


def written(folder: Path, **changed: object) -> None:
    """Write a product with fields that its class would refuse."""
    part = UnsavedProduct(**WHOLE)
    for name, value in changed.items():
        object.__setattr__(part, name, value)
    folder.mkdir(parents=True)
    content = pack(part)
    (folder / unsaved_products.PART).write_bytes(hashlib.sha256(content).digest() + content)


def test_what_is_written_is_read_again(tmp_path):
    written(tmp_path / ("0" * 12))
    assert unsaved_products._read(tmp_path / ("0" * 12)) == UnsavedProduct(**WHOLE)
    (line,) = UnsavedProductStore(tmp_path).lines.values()
    assert (line.product, line.opened_at, line.thumbnail, line.problem) == ("flange", 1.0, THUMBNAIL, "")
    assert line.interrupted, "there is no recipe beside it"


@pytest.mark.parametrize(
    "changed",
    [
        {"opened_at": "yesterday"},
        {"opened_at": math.nan},
        {"opened_at": 1e30},
        {"opened_at": True},
        {"thumbnail": "/etc/passwd"},
        {"thumbnail": b"no picture"},
        {"product": 7},
        {"product": None},
        {"notes": (1,)},
        {"notes": "a note"},
        {"photos": ("1.png",)},
        {"detector_reason": 3},
        {"live": None},
        {"live": {"k": 2.5}},
        {"order": "again"},
    ],
)
def test_a_wrong_field_is_a_reason_in_the_list(tmp_path, changed):
    written(tmp_path / ("0" * 12), **changed)
    (line,) = UnsavedProductStore(tmp_path).lines.values()
    assert "cannot be used" in line.problem
    assert "teach the part again" in line.problem
    assert isinstance(line.opened_at, float)
    assert line.thumbnail == b""


def test_a_former_file_is_named_as_one(tmp_path):
    folder = tmp_path / ("0" * 12)
    folder.mkdir()
    facts = json.dumps({"UnsavedProduct": ["flange", 1.0]}).encode()
    content = len(facts).to_bytes(8, "little") + facts + safetensors.numpy.save({})
    (folder / unsaved_products.PART).write_bytes(hashlib.sha256(content).digest() + content)
    [line] = UnsavedProductStore(tmp_path).lines.values()
    assert "another version of Loupe wrote it" in line.problem


def test_a_path_that_is_a_text_is_refused(tmp_path):
    photo = ScoredPhoto("1.png", "a" * 64, (40, 60), "good", "test", "http://elsewhere/1.png")
    written(tmp_path / ("0" * 12), photos=(photo,))
    assert "path of ScoredPhoto" in UnsavedProductStore(tmp_path).lines["0" * 12].problem


@pytest.mark.parametrize(
    ("value", "hint", "fits"),
    [
        (1, float, True), (True, float, False), (True, int, False), ("1", int, False), (None, str | None, True),
        ((1, 2), tuple[int, int], True), ((1, 2, 3), tuple[int, int], False), ((1, 2, 3), tuple[int, ...], True),
        ([1], tuple[int, ...], False), ({"k": 1}, dict[str, int], True), ({"k": "1"}, dict[str, int], False),
        (["a"], list[str], True), ([1], list[str], False), (b"", bytes, True), ("", bytes, False),
    ],
)  # fmt: skip
def test_a_value_is_of_its_declared_type(value, hint, fits):
    assert is_of(value, hint) == fits
