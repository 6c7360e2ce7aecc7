"""The embedding of a picture, or of the square around a box on it, computed once and stored."""

import contextlib
import hashlib
from collections.abc import Callable

import numpy as np

from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import embed
from inspect_core.features.store import Store
from inspect_core.images.alignment import Alignment
from inspect_core.images.boxes import Box, cropped


def stored_embedding(
    digest: str,
    pixels: Callable[[], np.ndarray],
    backbone: Backbone,
    store: Store,
    box: Box | None = None,
    alignment: Alignment | None = None,
) -> np.ndarray:
    """(d,) float32 penultimate features of the photo with this digest, from the store if they are there.

    pixels: returns its (H, W, 3) uint8 as placed, called only if they are not; alignment: by which it is laid over a
    reference, None as it was taken. Raises what `pixels` raises.
    """
    parts = (backbone.name, backbone.weight_digest, backbone.size, backbone.engine, box, alignment and alignment.digest)
    key = f"{digest}-{hashlib.sha256(repr(parts).encode()).hexdigest()}-embedding"
    kept = store.get(key, (backbone.embedding_width,))
    if kept is None:
        kept = embed(cropped(pixels(), box), backbone)
        with contextlib.suppress(OSError):  # with a full disk it is computed again next time
            store.put(key, kept)
    return kept
