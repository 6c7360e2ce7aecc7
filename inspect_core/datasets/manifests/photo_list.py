"""From the files of other tools to what they say of the photos below a folder. A reference is never opened as a path:
it selects one of the files found there, by as many parts at its end as match, so that `s3://bucket/lot 7/a.png` and
`C:\\photos\\lot 7\\a.png` both mean `lot 7/a.png`, and none leads out of the folder.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from inspect_core.datasets.dataset import GOOD, ScanError, Side
from inspect_core.datasets.layout import side_of
from inspect_core.datasets.listing import is_image
from inspect_core.datasets.lists_above import folders_beside, is_above, is_of_another_folder, lies_in_several
from inspect_core.datasets.manifests import formats
from inspect_core.datasets.manifests.formats import ListFormat, sidecar, yolo
from inspect_core.datasets.manifests.label_table import LABELS
from inspect_core.datasets.manifests.list_file import HelperFiles, ListFile, content_of
from inspect_core.datasets.manifests.manifest_entry import (
    Annotation,
    Listing,
    ManifestEntry,
    ManifestError,
    display_name,
)
from inspect_core.datasets.text_encoding import encodings_of
from inspect_core.datasets.verdict_words import (
    LABEL_WORDS,
    PLAIN,
    UNNAMED,
    UnclearWord,
    Vocabulary,
    condition_sign,
    words_of,
)

MOST_ENTRIES = 100_000
MOST_READ = 1 << 20
"""Characters of a text in no known format that are looked through for names of photos and verdicts."""
MOST_TEXTS = 500
"""Such texts of a folder that are looked through."""
_ROOT = PurePosixPath()
_TABLES = words_of(LABEL_WORDS["silent_files"]["tables"])
_HELPERS = words_of(LABEL_WORDS["silent_files"]["helpers"])
_ABOVE = frozenset({".csv", ".tsv", ".json", ".jsonl", ".ndjson"})
_CELLS = re.compile(r"[,;|\t\r\n\"<>:={}\[\]]+")
ANNOTATION = "annotation"
"""The source of a label in a file about one photo."""


class FileIndex:
    """The files below a folder, by how a list may name them: without regard to case, and without or with another
    ending where one file alone has the name. is_loose: also by their letters and digits alone, or by their number;
    any_number: by each of several numbers in a name, to see whether a list may mean it.
    """

    def __init__(self, files: Iterable[PurePosixPath], *, is_loose: bool = False, any_number: bool = False):
        self._by_name = defaultdict(list)
        self._by_stem = defaultdict(list)
        self._by_key: dict[str, list[PurePosixPath]] = defaultdict(list)
        self._is_loose = is_loose
        for file in files:
            name = _parts(str(file))[-1]
            self._by_name[name].append(file)
            self._by_stem[PurePosixPath(name).stem].append(file)
            if is_loose:
                stem = PurePosixPath(name).stem
                numbers = {int(number) for number in re.findall(r"\d{1,18}", stem)}
                self._by_key[_letters(stem)].append(file)
                for number in numbers if any_number or len(numbers) == 1 else ():
                    self._by_key[f"#{number}"].append(file)

    def resolve(self, reference: str, near: PurePosixPath = _ROOT) -> PurePosixPath:
        """The file that a reference means; of several, the one whose folders are most like those of the list at `near`.
        Raises LookupError(reason, remedy) if there is none, or several.
        """
        parts = _parts(reference.replace("\\", "/"))
        candidates = self._by_name.get(parts[-1], []) if parts else []
        if not candidates and parts:
            stem = PurePosixPath(parts[-1]).stem if is_image(parts[-1]) else parts[-1]
            keys = (
                (_letters(stem), f"#{int(stem)}" if re.fullmatch(r"\d{1,18}", stem) else "#") if self._is_loose else ()
            )
            candidates = self._by_stem.get(stem) or next(filter(None, map(self._by_key.get, keys)), [])
        if not candidates:
            raise LookupError("it is outside the folder of the list", "copy it there")
        fits = {file: _fits(parts[:-1], file.parent) for file in candidates}
        most = max(fits.values())
        best = [file for file in candidates if fits[file] == most]
        best = [file for file in best if len(file.parent.parts) == most] or best
        if len(best) > 1 and near.parts[:-1]:
            shared = {file: len(set(file.parts[:-1]) & set(near.parts[:-1])) for file in best}
            best = [file for file in best if shared[file] == max(shared.values())]
        if len(best) > 1:
            exact = PurePosixPath(unicodedata.normalize("NFC", reference)).name
            best = [file for file in best if unicodedata.normalize("NFC", file.name) == exact] or best
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
    one alone does, a list of many; notes: sentences on what is not used; doubts: by file that may say what photos show
    and was not understood whole, why.
    """

    claims: dict[PurePosixPath, Claim] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    names: list[PurePosixPath] = field(default_factory=list)
    is_complete: bool = False
    is_whole: bool = False
    notes: list[str] = field(default_factory=list)
    doubts: dict[PurePosixPath, str] = field(default_factory=dict)


class _Understood(NamedTuple):
    """What a file says, in which format, and in which encoding it was read."""

    listing: Listing
    list_format: ListFormat
    encoding: str | None

    @property
    def is_complete(self) -> bool:
        """Whether a photo that it does not name has no label."""
        return self.list_format.NAMES_ALL and any(entry.says_label for entry in self.listing.entries)


def is_list(path: Path) -> bool:
    """Whether a file is taken for a list of photos, by its extension."""
    return path.suffix.lower() in formats.suffixes()


class _Reader:
    """Reads files beside photos: what they say, nothing, or why they were not understood."""

    def __init__(
        self,
        root: Path,
        photos: Collection[PurePosixPath],
        others: Mapping[str, str],
        masks: Collection[PurePosixPath],
        vocabulary: Vocabulary,
        *,
        is_loose: bool,
    ):
        self.root, self.photos, self.vocabulary = root, photos, vocabulary
        self.index = FileIndex([*photos, *map(PurePosixPath, others)], is_loose=is_loose)
        self.every = FileIndex([*photos, *masks], is_loose=is_loose)
        self.helpers = HelperFiles(root)
        self._text_count = 0
        self._names = {photo.name.casefold() for photo in photos}
        self._stems = {photo.stem.casefold() for photo in photos}
        beginnings = Counter(part for photo in photos for part in _beginnings(photo.stem.casefold()))
        self._beginnings = {part for part, count in beginnings.items() if count == 1}

    def read(self, document: PurePosixPath, *, chosen: bool) -> _Understood | None:
        """What a file says, None where it says nothing of photos. Raises ManifestError where it may, and is not
        understood; where it was chosen, also where it is no list.
        """
        content = content_of(self.root / document)
        encodings = () if document.suffix.lower() in _TABLES else encodings_of(content)
        read: list[_Understood] = []
        errors: list[ManifestError] = []
        for encoding in encodings or (None,):
            try:
                if (understood := self._in_encoding(document, content, encoding, chosen=chosen)) is not None:
                    read.append(understood)
            except ManifestError as error:
                errors.append(error)
        if errors and not read:
            raise errors[0]
        if len(read) > 1 or (read and len(encodings) > 1):
            return self._most_telling(read)
        if read:
            return read[0]
        if self._may_speak(document, content, encodings):
            kind = f"{document.suffix} is not read" if not encodings else "it is in no form that is read"
            raise ManifestError("the file", kind, "save a list as CSV with the columns file and label")
        return None

    def _in_encoding(
        self,
        document: PurePosixPath,
        content: bytes,
        encoding: str | None,
        *,
        chosen: bool,
        index: FileIndex | None = None,
    ) -> _Understood | None:
        find, find_mask = (_near(known, document) for known in (index or self.index, self.every))
        file = ListFile(self.root, document, content, encoding, find, find_mask, self.vocabulary, self.helpers)
        list_format = formats.format_of(file)
        if list_format is None and chosen:  # the first of its ending says what is wrong
            list_format = next(known for known in formats.all_formats() if file.suffix in known.SUFFIXES)
            if file.suffix in (".xml", ".txt"):
                reason = "it is not a list of photos that Loupe knows"
                raise ManifestError("the file", reason, "choose the folder with the photos")
        if list_format is None:
            return None
        listing = list_format.read(file)
        if not listing.entries:
            raise ManifestError("the file", "it lists no photos", "export it again with its photos")
        if chosen and not any(entry.says_label or entry.side for entry in listing.entries):
            raise ManifestError("the file", "it has no column of labels", "add one with the name label")
        if len(listing.entries) > MOST_ENTRIES:
            raise ManifestError("the file", f"it lists more than {MOST_ENTRIES:,} photos", "split it into several")
        return _Understood(listing, list_format, encoding)

    def _most_telling(self, read: Sequence[_Understood]) -> _Understood:
        """Of the readings in several encodings the one in which most photos are found and most words are known.

        Raises ManifestError where two that say different things are equal in that.
        """

        def telling(understood: _Understood) -> tuple[int, int]:
            entries = understood.listing.entries
            known = sum(entry.label is not None and self._is_known(entry.label) for entry in entries)
            return sum(map(self._is_found, (entry.photo for entry in entries))), known

        def says(understood: _Understood) -> list[tuple[str, bool | None]]:
            return [(_path_of(self.index, entry.photo), _goodness(entry.label)) for entry in understood.listing.entries]

        best = max(read, key=telling)
        rivals = [other for other in read if telling(other) == telling(best) and says(other) != says(best)]
        if rivals:
            encodings = " or ".join(filter(None, (best.encoding, rivals[0].encoding)))
            raise ManifestError("the file", f"it may be in {encodings}", "save it as UTF-8")
        return best

    def _is_known(self, label: str) -> bool:
        return label == GOOD or (not isinstance(label, UnclearWord) and condition_sign(label) is not None)

    def _is_found(self, reference: str) -> bool:
        return _path_of(self.index, reference) != reference

    def _may_speak(self, document: PurePosixPath, content: bytes, encodings: Sequence[str]) -> bool:
        """Whether a file in no known format may say what photos show: it is no text, lies under the name of a photo,
        or names photos, or a cell of it is a word for a defect.
        """
        if is_above(document):
            return self._may_speak_from_above(document, content, encodings)
        stem = document.stem.casefold()
        is_own = {stem, PurePosixPath(stem).stem} & (self._stems | self._beginnings)
        self._text_count += 1
        if not encodings or is_own or len(content) > MOST_READ or self._text_count > MOST_TEXTS:
            return True
        text = content.decode(encodings[0])
        cells = _CELLS.split(text)
        signs = (condition_sign(cell) for cell in (document.stem, *cells) if len(cell) < 40)
        if any(sign is not None and sign.is_whole and sign.condition != GOOD for sign in signs):
            return True
        named = _names_in(cells)
        is_named = not (named.isdisjoint(self._names) and named.isdisjoint(self._stems))
        return is_named or self._lists_numbers(text) or self._is_loose_list(document, content, encodings[0])

    def _lists_numbers(self, text: str) -> bool:
        """Whether each line of a text is a number that stands in the name of some photo."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return bool(lines) and all(re.fullmatch(r"\d{1,18}", line) and int(line) in self._numbers for line in lines)

    @cached_property
    def _numbers(self) -> set[int]:
        """The numbers that stand in names of photos."""
        return {int(number) for stem in self._stems for number in re.findall(r"\d{1,18}", stem)}

    @cached_property
    def _by_any_number(self) -> FileIndex:
        return FileIndex(self.photos, is_loose=True, any_number=True)

    @cached_property
    def _by_own_number(self) -> FileIndex:
        return FileIndex(self.photos, is_loose=True)

    def _may_speak_from_above(self, document: PurePosixPath, content: bytes, encodings: Sequence[str]) -> bool:
        """Whether a table above the photos may be about them: by its name, or as it names them. Logs and notes there
        are those of other things.
        """
        if not encodings:
            name = document.stem.casefold()
            return name in LABELS or name.rstrip("s") in LABELS or condition_sign(name) is not None
        if document.suffix.lower() not in _ABOVE:
            return False
        if _names_in(_CELLS.split(content[:MOST_READ].decode(encodings[0], "replace"))) & self._names:
            return True
        return self._is_loose_list(document, content, encodings[0])

    def _is_loose_list(self, document: PurePosixPath, content: bytes, encoding: str) -> bool:
        """Whether a text is a list of photos by their letters and digits, or numbers in them, alone; beside the photos
        also where it is damaged.
        """
        loose = self._by_own_number if is_above(document) else self._by_any_number
        try:
            understood = self._in_encoding(document, content, encoding, chosen=False, index=loose)
        except ManifestError:
            return not is_above(document)
        entries = [] if understood is None or not understood.is_complete else understood.listing.entries
        return any(_path_of(loose, entry.photo) != entry.photo for entry in entries)


def read_lists(
    root: Path,
    documents: Sequence[PurePosixPath],
    photos: Collection[PurePosixPath],
    others: Mapping[str, str],
    masks: Collection[PurePosixPath],
    *,
    chosen: bool,
    vocabulary: Vocabulary = PLAIN,
    is_loose: bool = False,
) -> PhotoLists:
    """What files of other tools say of `photos`, all below `root`.

    others: why further files there cannot be used, by name; masks: files that are no photos; chosen: the user named the
    one document, which then must be a list, and names all photos that count; vocabulary: what words mean; is_loose: as
    in `FileIndex`. Raises ScanError, naming the place, for a chosen list that is damaged, and OSError.
    """
    reader = _Reader(root, photos, others, masks, vocabulary, is_loose=is_loose)
    lists = PhotoLists()
    all_photos = {*photos}
    whole: set[PurePosixPath] = set()
    formats_by_document: dict[PurePosixPath, ListFormat] = {}
    entries: dict[PurePosixPath, list[tuple[PurePosixPath, ManifestEntry]]] = defaultdict(list)
    for document in documents:
        try:
            understood = reader.read(document, chosen=chosen)
        except ManifestError as error:
            if chosen:
                raise ScanError(f"{document.name}, {error}") from error
            lists.doubts[document] = str(error)
            continue
        if understood is None:
            continue
        listing = understood.listing
        is_whole = understood.is_complete and len(listing.entries) > 1
        if is_above(document):
            if not is_whole:
                continue
            listing = _of_this_folder(root, document, listing, reader.index, lists)
        missing: dict[str, str] = {}
        named: set[PurePosixPath] = set()
        strays: list[str] = []
        for entry in listing.entries:
            try:
                photo = reader.index.resolve(entry.photo, document)
            except LookupError as error:
                missing.setdefault(display_name(entry.photo), f"{entry.where} names it, but {'; '.join(error.args)}")
                if entry.label != GOOD and entry.says_label:
                    strays.append(f"{entry.where} names {display_name(entry.photo)}")
                continue
            entries[photo].append((document, entry))
            named.add(photo)
        if named or chosen:
            formats_by_document[document] = understood.list_format
            lists.problems |= {} if is_above(document) else missing
            lists.names.append(document)
            lists.is_complete |= understood.is_complete
            lists.is_whole |= is_whole
            whole |= {document} if is_whole else set()
            lists.notes += [f"{document.name}: {note}" for note in listing.notes]
        is_of_all = len(named & all_photos) == len(all_photos)
        if chosen or is_of_all or (is_above(document) and not named):
            continue
        if strays:
            more = f", and {len(strays) - 1} more," if strays[1:] else ""
            lists.doubts[document] = f"{strays[0]}{more} and no photo here has this name"
        elif not any(entry.says_label or entry.side for entry in listing.entries):
            lists.doubts[document] = "it names some of the photos alone, and does not say why"
    if not vocabulary.meanings:  # else a person may have said that a class is good
        _doubt_good_shapes(entries, vocabulary)
    _doubt_empty_texts(root, formats_by_document, entries, lists, has_classes=bool(reader.helpers.read))
    lists.doubts = {name: why for name, why in lists.doubts.items() if not _is_helper(name, reader, lists)}
    _join_claims(entries, whole, others, reader.every, lists)
    return lists


def _join_claims(
    entries: Mapping[PurePosixPath, Sequence[tuple[PurePosixPath, ManifestEntry]]],
    whole: Collection[PurePosixPath],
    others: Mapping[str, str],
    every: FileIndex,
    lists: PhotoLists,
) -> None:
    """Add what all entries say of each photo, or why it cannot be used."""
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


def _doubt_good_shapes(
    entries: Mapping[PurePosixPath, list[tuple[PurePosixPath, ManifestEntry]]], vocabulary: Vocabulary
) -> None:
    """Take shapes of a good class for unclear where other photos have none: they mark something in these alone."""
    several = [claims for claims in entries.values() if any(entry.marks_good is not None for _, entry in claims)]
    if all(entry.marks_good for claims in several for _, entry in claims if entry.marks_good is not None):
        return
    for claims in several:
        claims[:] = [
            (document, entry._replace(label=vocabulary.unclear("good (shape)")) if entry.marks_good else entry)
            for document, entry in claims
        ]


def _doubt_empty_texts(
    root: Path,
    formats_by_document: Mapping[PurePosixPath, ListFormat],
    entries: dict[PurePosixPath, list[tuple[PurePosixPath, ManifestEntry]]],
    lists: PhotoLists,
    *,
    has_classes: bool,
) -> None:
    """Take empty texts for unread, unless they are YOLO's labels: others have shapes, or a file names the classes, and
    none holds a verdict.
    """
    texts = [document for document in formats_by_document if document.suffix.lower() == ".txt"]
    empty = {document for document in texts if not (root / document).read_bytes().strip()}
    has_verdicts = any(formats_by_document[document] is sidecar for document in texts)
    if not has_verdicts and (has_classes or any(formats_by_document[text] is yolo for text in {*texts} - empty)):
        return
    for document in texts:
        if document in empty:
            lists.doubts[document] = "it is empty"
            for claims in entries.values():
                claims[:] = [claim for claim in claims if claim[0] != document]
    for photo in [photo for photo, claims in entries.items() if not claims]:
        del entries[photo]


def _is_helper(document: PurePosixPath, reader: _Reader, lists: PhotoLists) -> bool:
    """Whether annotations that were read have a file of this name beside them."""
    return document in reader.helpers.read or (bool(lists.names) and document.name.casefold() in _HELPERS)


def _names_in(cells: Sequence[str]) -> set[str]:
    """The words of cells that may be names of files, without their folders."""
    words = {word.strip(" .'") for cell in cells for word in (cell, *cell.split())}
    return {PurePosixPath(word.replace("\\", "/")).name.casefold() for word in words}


def _near(index: FileIndex, document: PurePosixPath):
    return lambda reference: index.resolve(reference, document)


def _path_of(index: FileIndex, reference: str) -> str:
    """The path of the photo that a reference means, or the reference."""
    try:
        return f"/{index.resolve(reference)}"
    except LookupError:
        return reference


def _goodness(label: str | None) -> bool | None:
    """Whether a label says good, None where it says nothing clear."""
    return None if label is None or isinstance(label, UnclearWord) else label == GOOD


def _beginnings(stem: str) -> Iterator[str]:
    """What of a photo's name an annotation of it may be named by: "0001" of "0001_test"."""
    return (stem[: match.start()] for match in re.finditer(r"[._-]", stem) if match.start())


def _letters(stem: str) -> str:
    """The letters and digits of a name."""
    return re.sub(r"[\W_]+", "", stem)


def _of_this_folder(
    root: Path, document: PurePosixPath, listing: Listing, index: FileIndex, lists: PhotoLists
) -> Listing:
    """What a list above `root` says of photos below it; nothing where it does not say whether they are meant."""
    others = folders_beside(root, document)
    entries = [entry for entry in listing.entries if not is_of_another_folder(root, others, entry.photo)]
    for entry in entries:
        if _path_of(index, entry.photo) != entry.photo and lies_in_several(others, entry.photo):
            lists.doubts[document] = f"{entry.where} names {display_name(entry.photo)}, which lies in several folders"
            return Listing([])
    return listing._replace(entries=entries)


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
        is_clear = not (isinstance(first.label, UnclearWord) or isinstance(entry.label, UnclearWord))
        if is_clear and first.label != entry.label and GOOD in (first.label, entry.label):
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
    """How much a label tells: a word more than a number, which is no more than "defective"; these more than one that is
    unclear, and that more than good.
    """
    if label is None or label == GOOD:
        return int(label is not None)
    if isinstance(label, UnclearWord):
        return 2
    return 4 if re.search(r"[^\W\d_]", label) and label != UNNAMED else 3


def _side_of_list(name: PurePosixPath) -> Side | Literal["unlabelled"] | None:
    """The side that a list's name means: "instances_val2017.json"."""
    return next(filter(None, map(side_of, re.split(r"[\W_]+", name.stem))), None)


def _fits(parts: tuple[str, ...], file: PurePosixPath) -> int:
    """How many parts at the end are the same."""
    pairs = zip(reversed(parts), reversed(_parts(str(file))), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(unicodedata.normalize("NFC", path).casefold()).parts
