"""The crops of a photo on the bench: boxes of what stands out or of known defects, and their features.

Defect types are learned from these crops and known cases are compared by them, so both see what inspection sees.
"""

from collections.abc import Generator, Iterable
from pathlib import Path

import numpy as np
import streamlit as st

from inspect_core.features.extraction import Crop, embeddings_of
from inspect_core.features.store import feature_store
from inspect_core.images.boxes import Box
from inspect_core.images.photo_reader import ImageError
from inspect_core.scoring.anomaly_map import AREA, regions, scale_region
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.verdict import Limits
from inspect_core.whole_part.known_cases import picture_of
from inspect_core.whole_part.training_crops import boxes_of_mask
from inspect_core.workbench.taught_product import TaughtProduct

REGION, WHOLE = "Most unusual area", "Whole part"
"""The words for what to look at."""


def found_box(product: TaughtProduct, position: int, live: dict[str, int], limits: Limits) -> Box | None:
    """The largest region above the limit in pixels of the photo, as inspection finds it; None when accepted."""
    return next(iter(found_boxes(product, position, live, limits)), None)


def found_boxes(product: TaughtProduct, position: int, live: dict[str, int], limits: Limits) -> tuple[Box, ...]:
    """The regions above the limit in pixels of the photo, the largest first."""
    return _found_boxes(product, product.fit, repr(product.scored.areas), position, live, limits.review)


def true_box(product: TaughtProduct, position: int) -> Box | None:
    """The box of the largest piece of a photo's true mask; None without a readable mask."""
    return next(iter(true_boxes(product, position)), None)


def true_boxes(product: TaughtProduct, position: int) -> tuple[Box, ...]:
    """Boxes of the pieces of a photo's true mask, largest first; none without a readable mask."""
    photo = product.scored.photos[position]
    return _true_boxes(photo, product.id, photo.mask) if photo.mask else ()


def embedding(product: TaughtProduct, position: int, box: Box | None) -> np.ndarray:
    """(d,) embedding of one crop, as `embeddings`."""
    [values] = embeddings(product, [(position, box)])
    return values


def embeddings(product: TaughtProduct, pairs: Iterable[tuple[int, Box | None]]) -> Generator[np.ndarray]:
    """Yield (d,) embeddings of photos on the bench, by position, or of the square around a box on one.

    They are kept in the feature store. Raises ImageError for a photo that can no longer be read.
    """
    extractor = product.extractor

    def crop(position: int, box: Box | None) -> Crop:
        photo = product.scored.photos[position]

        def pixels() -> np.ndarray:  # the whole part as inspection sees it, warped once
            whole = extractor.whole_network_input
            return product.pixels(position) if box else whole(product.photo(position), photo.placed)

        return Crop(photo.digest, pixels, box)

    store = product.study.store if product.study is not None else feature_store()
    return embeddings_of((crop(*of_photo) for of_photo in pairs), extractor.backbone, store, extractor.alignment)


def picture(product: TaughtProduct, position: int, box: Box | None) -> np.ndarray:
    """(64, 64, 3) uint8 of what `embedding` looks at. Raises ImageError as it does."""
    return _picture(product, product.id, position, box)


@st.cache_data(max_entries=4096, show_spinner=False)
def _found_boxes(
    _taught: TaughtProduct, fit: str, areas: str, position: int, live: dict[str, int], review: float
) -> tuple[Box, ...]:
    photo = _taught.scored.photos[position]
    regions_above = regions(_taught.scored.map(position, **live), review, area=live[AREA])
    scaled = [scale_region(region, _taught.scored.size, photo.size) for region in regions_above]
    return tuple(region.box for region in sorted(scaled, key=lambda region: -region.area))


@st.cache_data(max_entries=4096, show_spinner=False)
def _true_boxes(_photo: ScoredPhoto, taught_id: str, mask: Path) -> tuple[Box, ...]:
    try:
        known = _photo.true_mask()
    except ImageError:
        return ()
    return () if known is None else boxes_of_mask(known)


@st.cache_data(max_entries=1024, show_spinner=False)
def _picture(_taught: TaughtProduct, taught_id: str, position: int, box: Box | None) -> np.ndarray:
    return picture_of(_taught.pixels(position), box)
