"""How a tree of image files is read by its names: which are good, which show what defect, and which are masks.

Folders named after what they hold may lie at any depth, below dates, lots and cameras: good ones by any word of
`verdict_words`, others by a word for defective or after their defect type; or train/ and test/ with such folders
inside, as in MVTec AD (Bergmann et al., 2019). Masks stand in ground_truth/ or beside their image, under the image's
name with or without an ending. Where a folder could mean either, it is taken for a defect: a defect is never taught.
Where the names of files fall into a few groups by words that say nothing known ("bolt_7", "bolt_7_F"), these are
unclear.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Literal

from inspect_core.datasets.dataset import GOOD, Side
from inspect_core.datasets.verdict_words import (
    LABEL_WORDS,
    PLAIN,
    ConditionSign,
    UnclearWord,
    Vocabulary,
    is_good_word,
    name_words,
    words_of,
)

FOLDER, FILE_NAME = "folder", "file name"
"""Where a label was read."""
_WORDS = {use: words_of(words) for use, words in LABEL_WORDS["folders"].items()}
LOT_WORDS, VIEW_WORDS, BESIDE_PHOTOS = _WORDS["lot"], _WORDS["view"], _WORDS["beside_photos"]
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_MONTH = re.compile(rf"({_MONTHS})[a-z]*", re.IGNORECASE)
_CODE = re.compile(r"(.*)([_. -][01])")
_MASK_SUFFIX = re.compile(
    r"[._-](mask|masks|gt|label|labels|seg|segmentation|annotation|ground_?truth|maske|masque)$", re.IGNORECASE
)
_PHOTO_OF_TWIN = frozenset({".jpg", ".jpeg", ".jfif"})
_MASK_OF_TWIN = frozenset({".png", ".bmp", ".tif", ".tiff"})


@dataclass(frozen=True)
class PathLabels:
    """What is said of one image; label, split_side and group are those of `PhotoFile`.

    source: where the label was read, "" where nothing says it and the part is good for want of another word. is_said:
    whether a word says it, alone or in a folder beside; else it may be what the place suggests.
    """

    label: str
    split_side: Side | None
    group: str | None
    source: str = ""
    is_said: bool = True


@dataclass(frozen=True)
class Layout:
    """Every path of a tree: an image with its place, the masks of an image, a mask of none, or refused for a reason.

    masks: also of refused images of which nothing but a mask may say what they show.
    products: the folders of several products that lie side by side, else empty; product_by_path: of which of them a
    photo is, "" for none. outside: what names say of refused images that lie in no side.
    """

    images: dict[PurePosixPath, PathLabels]
    masks: dict[PurePosixPath, tuple[PurePosixPath, ...]]
    stray_masks: list[PurePosixPath]
    refused: dict[PurePosixPath, str]
    products: tuple[str, ...] = ()
    product_by_path: dict[PurePosixPath, str] = field(default_factory=dict)
    outside: dict[PurePosixPath, PathLabels] = field(default_factory=dict)


@dataclass(frozen=True)
class _Path:
    """The names of a path that mean something: folders without its side and those that say nothing."""

    folders: tuple[str, ...]
    side: Side | Literal["unlabelled"] | None
    above: int  # folders above its side
    signs: tuple[ConditionSign | None, ...]  # by folder
    file_sign: ConditionSign | None

    @property
    def unmarked_depth(self) -> int:
        """How many folders lie above the first one that says what its photos are, or a side."""
        first = next((number for number, sign in enumerate(self.signs) if sign is not None), len(self.folders))
        return first if self.side is None else min(first, self.above)

    @property
    def product(self) -> str:
        """The folders above the first one that says what its photos are, without lots below a side."""
        above = self.folders[: self.unmarked_depth]
        return "/".join(folder for folder in above if self.side is not None or not looks_like_lot(folder))


def classify_paths(
    paths: Sequence[PurePosixPath],
    *,
    by_parts: bool = False,
    is_mask: Callable[[PurePosixPath], bool] = lambda path: True,
    vocabulary: Vocabulary = PLAIN,
) -> Layout:
    """Sort image paths, relative to the root of the tree, into images, masks and neither. Touches no file.

    by_parts: whether a word also counts as a part of a folder's name, and in a file's; else only where every photo lies
    in a folder, or has a name, that says so and nothing else. is_mask: whether a file beside a photo of its name is a
    mask by its content.
    """
    paths = sorted(paths)
    masks = find_masks(paths, is_mask)
    names = _read_names([path for path in paths if path not in masks], by_parts=by_parts, vocabulary=vocabulary)
    taught_apart = any(name.side == "train" for name in names.values())
    labelled = any(_says(name, "good") for name in names.values())
    containers = {name.folders[:depth] for name in names.values() for depth in range(1, name.unmarked_depth + 1)
                  if any(name.signs) or name.side}  # fmt: skip

    images, refused, outside = {}, {}, {}
    by_mask: dict[PurePosixPath, PathLabels] = {}  # in test/ itself: only a mask can say what they show
    products = set()
    for path, name in names.items():
        side = name.side if taught_apart and name.side != "unlabelled" else None
        place = _place(name, side, labelled=labelled, containers=containers)
        if name.side == "unlabelled":
            refused[path] = "its folder holds photos without labels; inspect them, they are never taught"
        elif taught_apart and side is None:
            refused[path] = "it is in neither train/ nor test/; move it into one of them"
            if place is not None:
                outside[path] = place
        elif place is not None:
            images[path] = place
            if place.label == GOOD and (place.source == FOLDER or side == "train"):
                products.add(name.product)
        elif side == "test":
            by_mask[path] = PathLabels("", side, None)
            refused[path] = "it is in test/ itself; move it into test/good/ or into the folder of its defect type"
        else:
            remedy = "move it into that folder, or into a folder of defects"
            refused[path] = f"it is next to the folder of good parts; {remedy}"
    images |= _unclear_words(images) if by_parts else {}
    matched = _match(masks, images | by_mask)
    stray = sorted(masks - {mask for several in matched.values() for mask in several})
    several = tuple(sorted(products)) if len(products) > 1 else ()
    return Layout(images, matched, stray, refused, several, _products_of(names, several), outside)


def is_mask_folder(folder: str) -> bool:
    """Whether a folder's name says that it holds masks: "ground_truth", "masks"."""
    return _letters(folder) in _WORDS["masks"]


def is_plain_folder(folder: str) -> bool:
    """Whether a folder's name says nothing of what it holds: "images", "JPEGImages"."""
    return _letters(folder) in _WORDS["plain"]


def is_side(folder: str) -> bool:
    """Whether a folder's name is one side of an existing split: "train", "test"."""
    return side_of(folder) is not None


def side_of(name: str) -> Side | Literal["unlabelled"] | None:
    """The side that a name means: "train", "val", "test_public", "test_private"; None for any other."""
    letters = _letters(name)
    if letters in _WORDS["train"]:
        return "train"
    if letters in _WORDS["unlabelled"]:
        return "unlabelled"
    return "test" if letters in _WORDS["test"] else None


def side_in(path: PurePosixPath) -> Side | Literal["unlabelled"] | None:
    """The side that a folder of a path means, the first from the root."""
    return next(filter(None, map(side_of, path.parts[:-1])), None)


def looks_like_lot(folder: str) -> bool:
    """Whether a folder's name looks like a lot, a date, a serial number or a view rather than a defect type."""
    tokens = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", folder)
    if len(tokens) > 1 and tokens[0].casefold() in LOT_WORDS | VIEW_WORDS | {"part"}:
        return True
    words = [token for token in tokens if not token.isdigit() and len(token) > 1]
    return len(words) < len(tokens) and any(token.isdigit() for token in tokens) and all(map(_MONTH.fullmatch, words))


def _letters(folder: str) -> str:
    return re.sub(r"[\W\d_]+", "", folder.casefold())


def _read_names(
    paths: Iterable[PurePosixPath], *, by_parts: bool, vocabulary: Vocabulary
) -> dict[PurePosixPath, _Path]:
    names = {path: _name_of(path, vocabulary) for path in paths}
    defective = any(_says(name, "defective", "type") for name in names.values())
    everywhere = defective and all(any(name.signs) for name in names.values())
    in_parts = by_parts and defective
    in_files = in_parts or all(name.file_sign is not None and name.file_sign.is_whole for name in names.values())

    def counts(sign: ConditionSign | None, is_counted: bool) -> bool:
        return sign is not None and (is_counted or sign.condition == "unclear" or sign.label != "")

    def counted(name: _Path) -> _Path:
        signs = (
            sign if counts(sign, (sign is not None and sign.is_whole) or everywhere or in_parts) else None
            for sign in name.signs
        )
        file_sign = name.file_sign if counts(name.file_sign, in_files) else None
        return replace(name, signs=tuple(signs), file_sign=file_sign)

    return {path: counted(name) for path, name in names.items()}


def _name_of(path: PurePosixPath, vocabulary: Vocabulary) -> _Path:
    folders = path.parts[:-1]
    at = next((number for number, folder in enumerate(folders) if side_of(folder)), None)

    def is_silent(folder: str) -> bool:
        return is_plain_folder(folder) and vocabulary.meaning(folder) is None

    meaningful = [folder for number, folder in enumerate(folders) if number != at and not is_silent(folder)]
    above = sum(not is_silent(folder) for folder in folders[:at]) if at is not None else 0
    side = None if at is None else side_of(folders[at])
    signs = tuple(map(vocabulary.sign, meaningful))
    return _Path(tuple(meaningful), side, above, signs, vocabulary.sign(path.stem, in_parts=True))


def _unclear_words(images: Mapping[PurePosixPath, PathLabels]) -> dict[PurePosixPath, PathLabels]:
    """The photos of which nothing but a folder 0 or 1, such a number at the end of their name, or a word in it may say
    what they show, as unclear: where such words divide a series of numbers, or of names with a common word, into a few
    groups.
    """
    silent = [path for path, place in images.items() if not (place.source or place.is_said)]
    if {path.parent.name for path in silent} == {"0", "1"}:
        return {path: PathLabels(UnclearWord(path.parent.name), None, images[path].group, FOLDER) for path in silent}
    ends = {path: _CODE.fullmatch(path.stem) for path in silent}
    parts = {(path.parent, match[1]) for path, match in ends.items() if match is not None}
    if len({match and match[2] for match in ends.values()}) == 2 and len(parts) == len(silent):
        return {
            path: replace(images[path], label=UnclearWord(match[2]), source=FILE_NAME)
            for path, match in ends.items()
            if match is not None
        }
    words = {path: name_words(path.stem) for path in silent}
    common = set.intersection(*map(set, words.values())) if words else set()
    odd = {path: tuple(word for word in of_name if word not in common) for path, of_name in words.items()}
    groups = set(odd.values())
    is_series = bool(common) or all(any(map(str.isdigit, path.stem)) for path, of_name in odd.items() if of_name)
    if not is_series or not 1 < len(groups) <= len(odd) / 2:
        return {}
    return {
        path: replace(images[path], label=UnclearWord(" ".join(of_name)), source=FILE_NAME, is_said=False)
        for path, of_name in odd.items()
        if of_name
    }


def _products_of(names: Mapping[PurePosixPath, _Path], products: Sequence[str]) -> dict[PurePosixPath, str]:
    """The innermost product whose folders stand at the head of a path; a defect type may lie below them."""

    def product_of(name: _Path) -> str:
        heads = (product for product in products if f"{name.product}/".startswith(f"{product}/"))
        return max(heads, key=len, default="")

    return {path: product_of(name) for path, name in names.items()}


def _says(name: _Path, *conditions: str) -> bool:
    """Whether any of its names says one of these."""
    return any(sign is not None and sign.condition in conditions for sign in (*name.signs, name.file_sign))


def _place(name: _Path, side: Side | None, *, labelled: bool, containers: set[tuple[str, ...]]) -> PathLabels | None:
    """What the names of one image say; None when they do not.

    labelled: some name says good; containers: folders, from the root, above those that say what they hold.
    """
    folders, by_file = name.folders, name.file_sign

    def placed(label: str, source: str, *used: int, is_said: bool = True) -> PathLabels:
        group = "/".join(folder for number, folder in enumerate(folders) if number not in used)
        return PathLabels(label, side, group or None, source, is_said)

    at = {sign.condition: number for number, sign in reversed([*enumerate(name.signs)]) if sign is not None}
    if (number := min((at[word] for word in ("defective", "type") if word in at), default=None)) is not None:
        below = folders[number + 1 : number + 2]
        is_type_below = below and not looks_like_lot(below[0]) and not is_good_word(below[0])
        if at.get("defective") == number and is_type_below:
            return placed(below[0], FOLDER, number, number + 1)
        sign = name.signs[number]
        return placed((sign.label if sign is not None else "") or folders[number], FOLDER, number)
    unknown = [
        number
        for number, folder in enumerate(folders)
        if name.signs[number] is None and not looks_like_lot(folder) and folders[: number + 1] not in containers
    ]
    if by_file is not None and by_file.condition in ("defective", "type"):
        label = by_file.label or (folders[unknown[0]] if unknown else by_file.word)
        return placed(label, FILE_NAME, *unknown[:1])
    if "unclear" in at:
        return placed(UnclearWord(folders[at["unclear"]]), FOLDER, at["unclear"])
    if by_file is not None and by_file.condition == "unclear":
        return placed(UnclearWord(by_file.word), FILE_NAME)
    if "good" in at:
        return placed(GOOD, FOLDER, at["good"])
    if by_file is not None:
        return placed(GOOD, FILE_NAME)
    if unknown:
        return placed(folders[unknown[0]], FOLDER, unknown[0], is_said=labelled or side is not None)
    return placed(GOOD, "", is_said=side == "train") if side == "train" or (side is None and not labelled) else None


def find_masks(paths: Iterable[PurePosixPath], is_mask: Callable[[PurePosixPath], bool]) -> set[PurePosixPath]:
    """Which image paths are masks: by their folder, by the ending of their name beside its photo, or PNGs beside
    a JPEG of the same name; is_mask: whether these are masks by their content. Case does not matter.
    """
    paths = list(paths)
    suffixes = defaultdict(set)
    for path in paths:
        suffixes[_plain(path)].add(path.suffix.lower())
    masks = {
        path
        for path in paths
        if any(is_mask_folder(folder) for folder in path.parts[:-1])
        or (_MASK_SUFFIX.search(path.stem) and _plain(path.with_name(f"{_mask_stem(path)}.png")) in suffixes)
        or (path.suffix.lower() in _MASK_OF_TWIN and suffixes[_plain(path)] & _PHOTO_OF_TWIN and is_mask(path))
    }
    words = _WORDS["masks_or_labels"]
    perhaps = [path for path in paths if any(_letters(folder) in words for folder in path.parts[:-1])]
    stems = {path.stem.casefold() for path in set(paths) - masks - set(perhaps)}
    if all(_mask_stem(path).casefold() in stems for path in perhaps):
        masks |= set(perhaps)
    return masks


def _plain(path: PurePosixPath) -> str:
    return str(path.with_suffix("")).casefold()


def _mask_stem(path: PurePosixPath) -> str:
    """The name of a mask without its ending, and without the word that says that it is one."""
    return _MASK_SUFFIX.sub("", path.stem)


def _match(
    masks: set[PurePosixPath], images: dict[PurePosixPath, PathLabels]
) -> dict[PurePosixPath, tuple[PurePosixPath, ...]]:
    """Pair images with masks of the same folder and name, or with all in a folder of the image's name, as in MVTec LOCO
    (Bergmann et al., 2022); a mask in no folder of a kind goes by its name alone.
    """
    by_key: dict[tuple[object, ...], PurePosixPath] = {}
    in_folder = defaultdict(list)
    for mask in sorted(masks, key=lambda path: (not _MASK_SUFFIX.search(path.stem), path)):
        folders, side = _mask_key(mask)
        stem = _mask_stem(mask).casefold()
        by_key.setdefault((side, folders, stem), mask)
        by_key.setdefault((folders, stem), mask)
        if folders:
            in_folder[folders[:-1], folders[-1]].append(mask)
    defects = Counter(image.stem.casefold() for image, place in images.items() if place.label != GOOD)
    stems = Counter(image.stem.casefold() for image in images)
    masks_by_image = {}
    for image, place in images.items():
        folders, side = _mask_key(image)
        stem = image.stem.casefold()
        is_unique = stems[stem] == 1 or (place.label != GOOD and defects[stem] == 1)
        mask = by_key.get((side, folders, stem)) or by_key.get((folders, stem))
        mask = mask or (by_key.get(((), stem)) if is_unique else None)
        if mask is not None:
            masks_by_image[image] = (mask,)
        elif several := in_folder.get((folders, image.stem)):
            masks_by_image[image] = tuple(sorted(several))
    return masks_by_image


def _mask_key(path: PurePosixPath) -> tuple[tuple[str, ...], str | None]:
    """The folders by which a photo and its mask are the same, and their side."""
    silent = _WORDS["masks"] | _WORDS["masks_or_labels"] | _WORDS["plain"]
    folders = (folder for folder in path.parts[:-1] if not side_of(folder) and _letters(folder) not in silent)
    return tuple(folders), side_in(path)
