"""Which photo shows which defect type: the folder's unless the engineer chose another; the choices are kept on disk.

Choices are kept by the product's name and the content of the photo: they outlive a fit, and say nothing of another
product that shows the same photo.
"""

import json
import os
from pathlib import Path

from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace, exclusive
from inspect_core.runtime.json_record import TEXT, check, table_of
from inspect_core.runtime.json_text import from_json
from inspect_core.workbench.taught_product import TaughtProduct

LONGEST = 40
LONGEST_FILE = 2**26  # bytes: enough for half a million photos
FILE = "kinds.json"
LABELS = table_of(table_of(TEXT))
"""Of the file: the label by content digest, by product."""


def labels_of(product: TaughtProduct) -> dict[int, str]:
    """Defect type by position; photos without one are left out."""
    stored = _stored_labels().get(product.product, {})
    labels = {
        position: stored.get(photo.digest, photo.label if photo.is_defect else "")
        for position, photo in enumerate(product.scored.photos)
    }
    return {position: label for position, label in labels.items() if label}


def set_label(product: TaughtProduct, positions: list[int], label: str) -> None:
    """Label these photos as `label`; an empty word removes their label. Raises OSError when it cannot be stored, also
    where the labels on disk are damaged: nothing is written over them.
    """
    word = normalise_label(label)
    with exclusive(_path()):
        labels = _stored_labels(to_write=True)
        chosen = {product.scored.photos[position].digest: word for position in positions}
        _write(labels | {product.product: labels.get(product.product, {}) | chosen})


def rename(product: str, name: str) -> None:
    """Give the labels of a product to its new name too, which keeps its own. Raises OSError as `set_label`."""
    with exclusive(_path()):
        labels = _stored_labels(to_write=True)
        if name != product and product in labels:
            _write(labels | {name: labels[product] | labels.get(name, {})})


def normalise_label(label: str) -> str:
    """A label as stored: single spaces, at most `LONGEST` characters."""
    return " ".join(label.split())[:LONGEST]


def _write(labels: dict[str, dict[str, str]]) -> None:
    with atomic_replace(_path()) as new:
        new.write_text(json.dumps(labels, ensure_ascii=False, indent=1), encoding="utf-8")


def _stored_labels(*, to_write: bool = False) -> dict[str, dict[str, str]]:
    """Kind by content digest, by product; none of a damaged file, which is not to be written over: OSError then."""
    try:
        content = workspace.content(_path(), at_most=LONGEST_FILE)
        if content is None and os.path.lexists(_path()):
            raise ValueError("it cannot be read, or is too large")
        stored = from_json(content or b"{}")
        check(stored, LABELS, "", FILE)
    except ValueError as error:
        if to_write:
            remedy = "put a copy in its place, or move it away: it holds the labels of all products"
            raise OSError(f"{_path()} is damaged ({error}); {remedy}") from error
        return {}
    return {
        product: {digest: normalise_label(label) for digest, label in labels.items()}
        for product, labels in stored.items()
    }


def _path() -> Path:
    return workspace.root() / FILE
