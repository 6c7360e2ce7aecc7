"""Pictures of formats that are not read are counted and named, never passed over."""

import io

import numpy as np
import pytest
from PIL import Image

from inspect_core.datasets.folders import scan
from inspect_core.datasets.listing import photos_in
from inspect_core.images.photo_reader import ImageError, read


def picture(name: str) -> bytes:
    content = io.BytesIO()
    pixels = np.random.default_rng([*name.encode()]).integers(0, 255, (24, 32, 3), np.uint8)
    Image.fromarray(pixels).save(content, "GIF" if name.endswith("gif") else "PNG")
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("phone.HEIC", "Most Compatible"),
        ("a.avif", "save it as PNG"),
        ("b.gif", "save it as PNG"),
        ("c.CR2", "develop it"),
    ],
)
def test_they_are_found_and_refused_with_the_remedy(tmp_path, name, remedy):
    content = picture(name) if name.endswith("gif") else b"\0\0\0\x18ftypheic" + bytes(200)
    (tmp_path / name).write_bytes(content)
    assert [photo for photo, _ in photos_in([tmp_path])] == [name]
    with pytest.raises(ImageError, match=remedy):
        read(tmp_path / name)


def test_a_photo_without_an_ending_is_one(tmp_path):
    (tmp_path / "00017").write_bytes(picture("00017"))
    (tmp_path / "notes").write_text("a text")
    assert [photo for photo, _ in photos_in([tmp_path])] == ["00017"]
    assert read(tmp_path / "00017").pixels.shape == (24, 32, 3)


def test_teaching_names_them(tmp_path):
    for name in ("1.png", "2.png", "3.heic", "4"):
        (tmp_path / name).write_bytes(picture(name))
    reasons = {file.name: (file.role, file.reason) for file in scan(tmp_path).skipped}
    assert {name: role for name, (role, _) in reasons.items()} == {"3.heic": "photo", "4": "photo"}
    assert "it has no ending" in reasons["4"][1]
