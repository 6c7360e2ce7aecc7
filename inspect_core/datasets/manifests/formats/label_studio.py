"""Label Studio's export as JSON: a task for each photo, with rectangles, polygons and choices. A photo whose annotation
marks nothing is good; one that nobody annotated has no label.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import Listing, ManifestEntry, ManifestError, display_name
from inspect_core.datasets.manifests.shapes import AGAIN, box, marked_entry, polygon
from inspect_core.datasets.verdict_words import Vocabulary

SUFFIXES = frozenset({".json"})
NAMES_ALL = True
_PERCENT = 100
_UPLOADED = re.compile(r"^[0-9a-f]{8}-")  # put before the name of an uploaded file


def holds(file: ListFile) -> bool:
    """Whether a file is a list of tasks."""
    tasks = file.json
    return isinstance(tasks, list) and bool(tasks) and all(isinstance(task, dict) and _photo(task) for task in tasks)


def read(file: ListFile) -> Listing:
    """The photos of the tasks. Raises ManifestError, naming the task, for a shape without numbers."""
    return Listing([_entry(file, f"task {number}", task) for number, task in enumerate(file.json)])


def _entry(file: ListFile, location: str, task: dict[str, Any]) -> ManifestEntry:
    photo = _photo(task)
    bare = PurePosixPath(photo).with_name(_UPLOADED.sub("", PurePosixPath(photo).name))
    photo = photo if file.is_photo(photo) else str(bare)
    annotations = [row for row in task.get("annotations", ()) if isinstance(row, dict) and not row.get("was_cancelled")]
    if not annotations:  # nobody annotated it: predictions are a model's
        return ManifestEntry(photo, None, location)
    try:
        shapes = [shape for row in annotations for shape in _shapes(file.vocabulary, row)]
        return marked_entry(photo, location, shapes)
    except (TypeError, ValueError, KeyError) as error:
        raise ManifestError(location, f"a shape of {display_name(photo)} has no numbers", AGAIN) from error


def _photo(task: dict[str, Any]) -> str:
    """The reference to the photo of a task, "" without one."""
    data = task.get("data")
    values = data.values() if isinstance(data, dict) else ()
    texts = [value.partition("?d=")[2] or value for value in values if isinstance(value, str)]
    return next((text for text in texts if PurePosixPath(text).suffix), "")


def _shapes(vocabulary: Vocabulary, annotation: dict[str, Any]) -> Iterator[tuple[str, dict]]:
    for row in annotation.get("result", ()):
        value = row["value"]
        several = (value[name] for name in value if name.endswith("labels") or name in ("choices", "taxonomy", "text"))
        texts = [text for texts in several for text in (texts if isinstance(texts, list) else [texts])] or [None]
        *further, label = map(vocabulary.mark, texts)
        yield from ((word, {}) for word in further)
        if isinstance(points := value.get("points"), list):
            yield label, polygon([float(number) for point in points for number in point], whole=_PERCENT)
        elif "width" in value:
            left, top, width, height = (float(value[name]) for name in ("x", "y", "width", "height"))
            yield label, box(left, top, left + width, top + height, whole=_PERCENT)
        else:
            yield label, {}
