"""From the files of other tools to what they say of the photos below a folder. A reference is never opened as a path:
it selects one of the files found there, by as many parts at its end as match, so that `s3://bucket/lot 7/a.png` and
`C:\\photos\\lot 7\\a.png` both mean `lot 7/a.png`, and none leads out of the folder.
"""

import contextlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Literal

from inspect_core.datasets.dataset import GOOD, ScanError, Side
from inspect_core.datasets.layout import side_of
from inspect_core.datasets.listing import is_image
from inspect_core.datasets.lists_above import folders_beside, is_above, is_of_another_folder, lies_in_several
from inspect_core.datasets.manifests import formats
from inspect_core.datasets.manifests.formats import csv_table
from inspect_core.datasets.manifests.list_file import ListFile
from inspect_core.datasets.manifests.manifest_entry import (
    UNNAMED,
    Annotation,
    Listing,
    ManifestEntry,
    ManifestError,
    display_name,
)
from inspect_core.datasets.verdict_words import condition_sign

MOST_ENTRIES = 100_000
_ROOT = PurePosixPath()
ANNOTATION = "annotation"
"""The source of a label in a file about one photo."""


class FileIndex:
    """The files below a folder, by how a list may name them."""

    def __init__(self, files: Iterable[PurePosixPath]):
        self._by_name = defaultdict(list)
        self._by_stem = defaultdict(list)
        for file in files:
            name = _parts(str(file))[-1]
            self._by_name[name].append(file)
            self._by_stem[PurePosixPath(name).stem].append(file)

    def resolve(self, reference: str, near: PurePosixPath = _ROOT) -> PurePosixPath:
        """The file that a reference means, with its ending or without; of several, the one whose folders are
        most like those of the list at `near`. Raises LookupError(reason, remedy) if there is none, or several.
        """
        parts = _parts(reference.replace("\\", "/"))
        candidates = self._by_name.get(parts[-1], []) if parts else []
        if not candidates and parts and not is_image(parts[-1]):
            candidates = self._by_stem.get(parts[-1], [])
            parts = (*parts[:-1], *(candidates[0].parts[-1:] if candidates else ()))
        if not candidates:
            raise LookupError("it is outside the folder of the list", "copy it there")
        fits = {file: _fits(parts, file) for file in candidates}
        most = max(fits.values())
        best = [file for file in candidates if fits[file] == most]
        best = [file for file in best if len(file.parts) == most] or best
        if len(best) > 1 and near.parts[:-1]:
            shared = {file: len(set(file.parts[:-1]) & set(near.parts[:-1])) for file in best}
            best = [file for file in best if shared[file] == max(shared.values())]
        if len(best) > 1:
            raise LookupError(f"{len(best)} files fit this name", "name it with its folder in the list")
        return best[0]


@dataclass(frozen=True)
class Claim:
    """What lists say of one photo: its label, None if they give none; who says so; marks painted or in mask files."""

    label: str | None
    source: str
    where: str
    marks: Annotation | None = None
    masks: tuple[PurePosixPath, ...] = ()
    side: Side | Literal["unlabelled"] | None = None
    product: str = ""


@dataclass
class PhotoLists:
    """What all lists of a folder say. claims: by photo; problems: why photos that are named cannot be used, by name;
    names: of the files that were read; is_complete: whether they name all photos that have a label; is_whole: whether
    one alone does, a list of many; notes: sentences on what is not used; doubtful: files above the folder that may mean
    photos of others.
    """

    claims: dict[PurePosixPath, Claim] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    names: list[PurePosixPath] = field(default_factory=list)
    is_complete: bool = False
    is_whole: bool = False
    notes: list[str] = field(default_factory=list)
    doubtful: list[PurePosixPath] = field(default_factory=list)


def is_list(path: Path) -> bool:
    """Whether a file is taken for a list of photos, by its extension."""
    return path.suffix.lower() in formats.suffixes()


def read_lists(
    root: Path,
    documents: Sequence[PurePosixPath],
    photos: Collection[PurePosixPath],
    others: Mapping[str, str],
    masks: Collection[PurePosixPath],
    *,
    chosen: bool,
) -> PhotoLists:
    """What files of other tools say of `photos`, all below `root`.

    others: why further files there cannot be used, by name; masks: files that are no photos; chosen: the user named the
    one document, which then must be a list, and names all photos that count. Raises ScanError, naming the place, for a
    damaged list, and OSError.
    """
    index = FileIndex([*photos, *map(PurePosixPath, others)])
    every = FileIndex([*photos, *masks])
    lists = PhotoLists()
    whole: set[PurePosixPath] = set()
    entries: dict[PurePosixPath, list[tuple[PurePosixPath, ManifestEntry]]] = defaultdict(list)
    for document in documents:
        find, find_mask = (partial(known.resolve, near=document) for known in (index, every))
        file = ListFile(root, document, find, find_mask)
        try:
            listing, is_complete = _read(file, chosen=chosen)
        except ManifestError as error:
            if not chosen and not _hints_at_defects(file):
                lists.notes.append(f"{document.name} names photos, but is not read: {error}.")
                continue
            raise ScanError(f"{document.name}, {error}") from error
        missing = {}
        count = 0
        is_whole = is_complete and len(listing.entries) > 1
        if is_above(document):
            if not is_whole:
                continue
            listing = _of_this_folder(root, document, listing, index, lists)
        for entry in listing.entries:
            try:
                photo = index.resolve(entry.photo, document)
            except LookupError as error:
                missing.setdefault(display_name(entry.photo), f"{entry.where} names it, but {'; '.join(error.args)}")
                continue
            entries[photo].append((document, entry))
            count += 1
        if count or chosen:
            lists.problems |= {} if is_above(document) else missing
            lists.names.append(document)
            lists.is_complete |= is_complete
            lists.is_whole |= is_whole
            whole |= {document} if is_whole else set()
            lists.notes += [f"{document.name}: {note}" for note in listing.notes]
    several = len(whole) > 1
    for photo, entries_of_photo in entries.items():
        claim = _merged(entries_of_photo, several=several, whole=whole)
        if str(photo) in others:
            lists.problems[str(photo)] = others[str(photo)]
        elif isinstance(claim, str):
            lists.problems[str(photo)] = claim
        else:
            mask_files = []
            for document, entry in entries_of_photo:
                if entry.mask:
                    try:
                        mask_files.append(every.resolve(entry.mask, document))
                    except LookupError as error:
                        lists.problems[display_name(entry.mask)] = (
                            f"{entry.where} names it, but {'; '.join(error.args)}"
                        )
            lists.claims[photo] = replace(claim, masks=tuple(dict.fromkeys(mask_files)))
    return lists


def _read(file: ListFile, *, chosen: bool) -> tuple[Listing, bool]:
    """What a file says, nothing for one that is no list unless it was chosen, and whether it names all photos.

    Raises ManifestError.
    """
    try:
        list_format = formats.format_of(file)
    except ManifestError:
        if chosen:
            raise
        return Listing([]), False
    if list_format is None and chosen:  # the first of its ending says what is wrong
        list_format = next(list_format for list_format in formats.all_formats() if file.suffix in list_format.SUFFIXES)
        if file.suffix in (".xml", ".txt"):
            reason = "it is not a list of photos that Loupe knows"
            raise ManifestError("the file", reason, "choose the folder with the photos")
    if list_format is None:
        return Listing([]), False
    listing = list_format.read(file)
    if not listing.entries:
        raise ManifestError("the file", "it lists no photos", "export it again with its photos")
    if len(listing.entries) > MOST_ENTRIES:
        raise ManifestError("the file", f"it lists more than {MOST_ENTRIES:,} photos", "split it into several")
    return listing, list_format.NAMES_ALL and any(entry.says_label for entry in listing.entries)


def _of_this_folder(
    root: Path, document: PurePosixPath, listing: Listing, index: FileIndex, lists: PhotoLists
) -> Listing:
    """What a list above `root` says of photos below it; nothing where it does not say whether they are meant."""
    others = folders_beside(root, document)
    entries = [entry for entry in listing.entries if not is_of_another_folder(root, others, entry.photo)]
    for entry in entries:
        with contextlib.suppress(LookupError):
            index.resolve(entry.photo, document)
            if lies_in_several(others, entry.photo):
                lists.doubtful.append(document)
                return Listing([])
    return listing._replace(entries=entries)


def _hints_at_defects(file: ListFile) -> bool:
    """Whether a list that cannot be read may label a defect: it is no table, or a cell is such a word."""
    if file.suffix not in csv_table.SUFFIXES:
        return True
    try:
        cells = set(re.split(r"[,;|\t\n\r\"]+", file.text))
    except ManifestError:
        return True
    signs = map(condition_sign, cells)
    return any(sign is not None and sign.is_whole and sign.condition != GOOD for sign in signs)


def _merged(
    entries_of_photo: Sequence[tuple[PurePosixPath, ManifestEntry]], *, several: bool, whole: Collection[PurePosixPath]
) -> Claim | str:
    """What all say of one photo, without mask files, or the reason why it cannot be used.

    several: whether there are several lists of many photos, `whole`; the others are annotations of one each.
    """

    def place(document: PurePosixPath, entry: ManifestEntry) -> str:
        return f"{document.name}, {entry.where}" if several else entry.where

    labelled = [(document, entry) for document, entry in entries_of_photo if entry.label is not None]
    for (before, first), (document, entry) in ((labelled[0], other) for other in labelled[1:]):
        if first.label != entry.label and GOOD in (first.label, entry.label):
            conflict = f"{place(before, first)} calls it {first.label}, {place(document, entry)} {entry.label}"
            return f"{conflict}; correct one of them"
    document, entry = max(labelled or entries_of_photo, key=lambda item: _describes(item[1].label))
    marks = next((other.marks for _, other in entries_of_photo if other.marks is not None), None)
    if marks is not None:
        marks = marks._replace(name=f"{display_name(entry.photo)} ({document.name}, {entry.where})")
    sides = {other.side or (_side_of_list(name) if several else None) for name, other in entries_of_photo}
    side = next((word for word in ("unlabelled", "test", "train") if word in sides), None)
    product = next((other.product for _, other in entries_of_photo if other.product), "")
    by = document.name if document in whole else ANNOTATION
    source = by if any(other.says_label for _, other in entries_of_photo) else ""
    return Claim(entry.label, source, entry.where, marks, side=side, product=product)


def _describes(label: str | None) -> int:
    """How much a label tells: a word more than a number, which is no more than "defective"."""
    return 0 if label is None else 2 if re.search(r"[^\W\d_]", label) and label != UNNAMED else 1


def _side_of_list(name: PurePosixPath) -> Side | Literal["unlabelled"] | None:
    """The side that a list's name means: "instances_val2017.json"."""
    return next(filter(None, map(side_of, re.split(r"[\W_]+", name.stem))), None)


def _fits(parts: tuple[str, ...], file: PurePosixPath) -> int:
    """How many parts at the end are the same."""
    pairs = zip(reversed(parts), reversed(_parts(str(file))), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(unicodedata.normalize("NFC", path)).parts
