"""Pixels for the bench: photos, maps and thumbnails as bytes in a fixed format for the browser."""

import hashlib
import itertools
import json
import struct
from collections.abc import Sequence

import numpy as np
import streamlit as st
from PIL import Image

from inspect_core.images.png import png_of

PHOTO_SIDE = 2048
_numbers = itertools.count()


def pack(token: str, blobs: Sequence[bytes] | None) -> bytes:
    """An asset's bytes: length of the header (little-endian uint32), header (token, lengths) as JSON, blobs.

    blobs: None names a asset that the browser should still have; no two such are equal, so each makes it look again.
    """
    content = {"number": next(_numbers)} if blobs is None else {"lengths": [len(blob) for blob in blobs]}
    head = json.dumps({"token": token} | content).encode()
    return b"".join([struct.pack("<I", len(head)), head, *(blobs or ())])


def photo_file(image: np.ndarray) -> tuple[bytes, list[int]]:
    """An (H, W, 3) uint8 photo as a PNG and its (height, width).

    Pixel for pixel up to PHOTO_SIDE on the longer side, averaged down to that beyond. The last few are kept.
    """
    digest = hashlib.sha256(repr(image.shape).encode())
    digest.update(np.ascontiguousarray(image).data)
    return _photo_file(digest.hexdigest(), image)


@st.cache_data(max_entries=12, show_spinner=False)
def _photo_file(digest: str, _image: np.ndarray) -> tuple[bytes, list[int]]:
    photo = Image.fromarray(_image)
    if max(photo.size) > PHOTO_SIDE:
        fraction = PHOTO_SIDE / max(photo.size)
        photo = photo.resize([max(1, round(side * fraction)) for side in photo.size], Image.Resampling.BOX)
    return png_of(photo), [photo.height, photo.width]


def planes(anomaly_map: np.ndarray, mask: np.ndarray | None) -> list[bytes]:
    """The (h, w) map as little-endian float32, row by row, then a byte per pixel of the mask if any."""
    sent = [np.ascontiguousarray(anomaly_map, "<f4").tobytes()]
    if mask is not None:
        sent.append(np.ascontiguousarray(mask, np.uint8).tobytes())
    return sent
