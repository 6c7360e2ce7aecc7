"""How a tree of image files is read: which are good, which show what defect, and which are masks.

Three layouts are understood, alone or nested: images directly in a folder (good); folders named after what they hold,
good ones by any of `GOOD_WORDS`; train/ and test/ with such folders inside, as in MVTec AD (Bergmann et al., 2019).
Masks stand in ground_truth/ or beside their image, under the image's name with or without `_mask`. Where a folder could
mean either, it is taken for a defect: a defect is never taught.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from inspect_core.images.samples import GOOD, Side


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GOOD_WORDS = frozenset(
    _words("good ok okay pass passed normal fine reference golden gut io bon bonne bueno buono goed bra dobry")
)
DEFECT_WORDS = frozenset(
    _words("bad ng nok notok nogood notgood defect defects defective fail failed schlecht nio fault faults faulty")
    + _words("anomaly anomalies anomalous abnormal reject rejected rejects scrap")
)
TRAIN_WORDS = frozenset({"train", "training", "val", "validation"})
TEST_WORDS = frozenset({"test", "testing"})
MASK_WORDS = frozenset({"groundtruth", "gt", "mask", "masks"})
LOT_WORDS = _words("lot batch charge los tray panel wafer reel coil roll day shift week run")
VIEW_WORDS = _words("view cam camera angle side light led exp exposure shot take frame channel") + _words(
    "img image photo pose position pos rot rotation"
)
_MASK_SUFFIX = re.compile(r"[_-]mask$", re.IGNORECASE)


@dataclass(frozen=True)
class PathLabels:
    """What the folders say of one image; the fields are those of `PhotoFile`."""

    label: str
    split_side: Side | None
    group: str | None


@dataclass(frozen=True)
class Layout:
    """Every path of a tree: an image with its place, the mask of an image, a mask of none, or refused for a reason."""

    images: dict[PurePosixPath, PathLabels]
    masks: dict[PurePosixPath, PurePosixPath]  # by image
    stray_masks: list[PurePosixPath]
    refused: dict[PurePosixPath, str]


def classify_paths(paths: Sequence[PurePosixPath]) -> Layout:
    """Sort image paths, relative to the root of the tree, into images, masks and neither. Touches no file."""
    paths = sorted(paths)
    masks = _find_masks(paths)
    candidates = [path for path in paths if path not in masks]
    taught_apart = any(_side(path) == "train" for path in candidates)
    labelled = any(is_good_word(folder) for path in candidates for folder in _folders(path)[:1])

    images, refused = {}, {}
    for path in candidates:
        side = _side(path) if taught_apart else None
        place = _place(_folders(path), side, labelled=labelled)
        if taught_apart and side is None:
            refused[path] = "it is in neither train/ nor test/; move it into one of them"
        elif place is not None:
            images[path] = place
        elif side == "test":
            refused[path] = "it is in test/ itself; move it into test/good/ or into the folder of its defect type"
        else:
            remedy = "move it into that folder, or into a folder of defects"
            refused[path] = f"it is next to the folder of good parts; {remedy}"
    matched = _match(masks, images)
    return Layout(images, matched, sorted(masks - set(matched.values())), refused)


def labels(paths: Sequence[PurePosixPath]) -> dict[PurePosixPath, str]:
    """Return what the folders of a tree say of its photos: "good" or the defect type; nothing unless a folder says good
    or defect, or the tree has a test/ or train/. Touches no file.
    """
    if not any(
        is_side(part) or is_good_word(part) or is_defect_word(part) for path in paths for part in path.parts[:-1]
    ):
        return {}
    return {path: place.label for path, place in classify_paths(paths).images.items()}


def is_good_word(folder: str) -> bool:
    """Return whether a folder's name says that it holds good parts: "good", "OK", "01 good parts", "i.O."."""
    word = _letters(folder)
    return word in GOOD_WORDS or re.sub("(parts?|images?|pieces?|samples?)$", "", word) in GOOD_WORDS


def is_defect_word(folder: str) -> bool:
    """Return whether a folder's name says that it holds defects of whatever kind: "bad", "NG", "not ok"."""
    return _letters(folder) in DEFECT_WORDS


def is_mask_folder(folder: str) -> bool:
    """Return whether a folder's name says that it holds masks: "ground_truth", "masks"."""
    return _letters(folder) in MASK_WORDS


def is_side(folder: str) -> bool:
    """Return whether a folder's name is one side of an existing split: "train", "test"."""
    return _letters(folder) in TRAIN_WORDS | TEST_WORDS


def looks_like_lot(folder: str) -> bool:
    """Return whether a folder's name looks like a lot, a date, a serial number or a view rather than a defect type."""
    tokens = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", folder)
    if len(tokens) > 1 and tokens[0].casefold() in (*LOT_WORDS, *VIEW_WORDS, "part"):
        return True
    return any(token.isdigit() for token in tokens) and all(token.isdigit() or len(token) == 1 for token in tokens)


def _letters(folder: str) -> str:
    return re.sub(r"[\W\d_]+", "", folder.casefold())


def _side(path: PurePosixPath) -> Side | None:
    first = _letters(path.parts[0]) if len(path.parts) > 1 else ""
    if first in TRAIN_WORDS:
        return "train"
    return "test" if first in TEST_WORDS else None


def _folders(path: PurePosixPath) -> tuple[str, ...]:
    """Return the folders of a path below train/ or test/."""
    return path.parts[1:-1] if _side(path) else path.parts[:-1]


def _place(folders: tuple[str, ...], side: Side | None, *, labelled: bool) -> PathLabels | None:
    """Return what the folders of one image say; None when they do not. labelled: some folder is named good."""
    good_unless_said = side == "train" or (side is None and not labelled)
    if not folders:
        return PathLabels(GOOD, side, None) if good_unless_said else None
    kind, *rest = folders
    if is_good_word(kind):
        kind = GOOD
    elif is_defect_word(kind):
        if rest and not looks_like_lot(rest[0]):
            kind, *rest = rest
    elif looks_like_lot(kind) and good_unless_said:
        kind, rest = GOOD, folders
    return PathLabels(kind, side, "/".join(rest) or None)


def _find_masks(paths: list[PurePosixPath]) -> set[PurePosixPath]:
    plain = {path.with_suffix("") for path in paths}
    return {
        path
        for path in paths
        if any(is_mask_folder(folder) for folder in path.parts[:-1])
        or (_MASK_SUFFIX.search(path.stem) and path.with_name(_MASK_SUFFIX.sub("", path.stem)) in plain)
    }


def _match(masks: set[PurePosixPath], images: dict[PurePosixPath, PathLabels]) -> dict[PurePosixPath, PurePosixPath]:
    """Pair images with masks of the same folder and name; a mask in no folder of a kind goes by its name alone."""
    by_key: dict[tuple[tuple[str, ...], str], PurePosixPath] = {}
    for mask in sorted(masks, key=lambda path: (not _MASK_SUFFIX.search(path.stem), path)):
        folders = tuple(folder for folder in _folders(mask) if not is_mask_folder(folder))
        by_key.setdefault((folders, _MASK_SUFFIX.sub("", mask.stem)), mask)
    defects = Counter(image.stem for image, place in images.items() if place.label != GOOD)
    masks_by_image = {}
    for image, place in images.items():
        is_unique = place.label != GOOD and defects[image.stem] == 1
        mask = by_key.get((_folders(image), image.stem)) or (by_key.get(((), image.stem)) if is_unique else None)
        if mask is not None:
            masks_by_image[image] = mask
    return masks_by_image
