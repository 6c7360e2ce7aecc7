"""What a tree of photos says of each: its label, from folders, file names, lists, annotations and masks together.

One rule decides. A photo is good only if everything near it that could speak about it was understood whole, and none of
it has a second meaning; a sign of a defect from any source outweighs. Otherwise nothing is decided: `UnclearLabels`
holds the readings, of which a person chooses one, and the words that a person may give a meaning.
"""

import functools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from inspect_core.datasets import mask_files
from inspect_core.datasets.dataset import GOOD, ScanError, SkippedFile
from inspect_core.datasets.layout import FILE_NAME, FOLDER, Layout, PathLabels, classify_paths, looks_like_lot, side_in
from inspect_core.datasets.manifests.manifest_entry import Annotation
from inspect_core.datasets.manifests.photo_list import Claim, PhotoLists, read_lists
from inspect_core.datasets.meanings import meanings_in, reading_of, sentence_of
from inspect_core.datasets.verdict_words import (
    EXCLUDED,
    PLAIN,
    TEST_ONLY,
    UNNAMED,
    UnclearWord,
    Vocabulary,
    condition_sign,
)
from inspect_core.runtime.wording import join_first_names

NAMES, FOLDERS, LISTS, NONE = "names", "folders", "lists", "none"
TOGETHER, ONLY, LOOSE = "together", "only:", "loose"
UNLISTED_GOOD, BLANK_GOOD = "unlisted-good", "blank-good"
READINGS = {
    NAMES: "use the words in names, and the lists that were understood",
    FOLDERS: "use the whole names of folders, and the lists that were understood",
    LISTS: "use lists and files beside the photos alone",
    LOOSE: "match the names in lists by letters and digits alone, or by their number",
    UNLISTED_GOOD: "take the photos that no list or file names as good",
    BLANK_GOOD: "take the photos of an empty label as good",
    TOGETHER: "teach all products together",
    NONE: "take all photos as good",
}
"""Readings by their key: how labels are read."""
MASK = "mask"
MOST_WORDS = 40
"""Words that are named in a question."""
MOST_ALONE = 4
"""Words of which each is offered as the one that means good."""
_STRAY_MASK = "mask without a matching photo; give it the photo's name plus _mask"
_NO_LABEL = "has no label for it; enter good or the defect type"


@dataclass(frozen=True)
class Reading:
    """One way to read the labels: its key, the photos that are good, defective and not used by it; known_defects: those
    of the good ones that some word calls defective.
    """

    key: str
    good: tuple[PurePosixPath, ...]
    defective: tuple[PurePosixPath, ...]
    unused: tuple[PurePosixPath, ...] = ()
    known_defects: tuple[PurePosixPath, ...] = ()

    @property
    def title(self) -> str:
        """How labels are read, and the counts: "Use the … : 18 good, 6 defective, 2 left out"."""
        words = READINGS.get(self.key) or f"teach {_product_name(self.key.removeprefix(ONLY))} alone"
        if meanings := meanings_in(self.key):
            words = sentence_of(meanings)
        counts = f"{len(self.good)} good, {len(self.defective)} defective"
        unused = f", {len(self.unused)} left out" if self.unused else ""
        also = f", also {join_first_names([path.name for path in self.known_defects])}" if self.known_defects else ""
        return f"{words[:1].upper()}{words[1:]}{also}: {counts}{unused}"

    def sentence(self) -> str:
        """The title with a few of the defective photos, and the option that chooses it."""
        few = f" ({join_first_names([str(path) for path in self.defective])})" if self.defective else ""
        meanings = meanings_in(self.key)
        option = " ".join(f"--label {shlex.quote(f'{word}={meaning}')}" for word, meaning in meanings)
        option = option or f"--labels {shlex.quote(self.key)}"
        return f"{self.title}{few}: {option}"


@dataclass(frozen=True)
class OpenWord:
    """A folder, label, class or part of a name of which nothing says whether it means good, and its photos."""

    text: str
    photos: tuple[PurePosixPath, ...]


class UnclearLabels(ScanError):
    """Labels of the photos below `root` that can be read in more than one way. question: what is not clear; readings:
    what can be chosen; words: what can be given a meaning.
    """

    def __init__(
        self, name: str, root: Path, question: str, readings: Sequence[Reading], words: Sequence[OpenWord] = ()
    ):
        self.root, self.question, self.readings, self.words = root, question, tuple(readings), tuple(words)
        choices = "; ".join(reading.sentence() for reading in readings)
        named = ", ".join(f"“{word.text}” ({len(word.photos)})" for word in words[:MOST_WORDS])
        if named:
            choices += (
                f"; or --label WORD=MEANING for each of {named}: {GOOD}, a defect type, {EXCLUDED} or {TEST_ONLY}"
            )
        super().__init__(f"“{name}”: {question.rstrip('?')}. Nothing is taught until you choose: {choices}")


@dataclass
class PhotoLabels:
    """The photos of a tree that have a place, what marks their defects, and the others with the reason.

    lists: the files that were read; notes: sentences for the user.
    """

    images: dict[PurePosixPath, PathLabels] = field(default_factory=dict)
    marks: dict[PurePosixPath, PurePosixPath | Annotation] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    lists: list[PurePosixPath] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def good(self) -> tuple[PurePosixPath, ...]:
        """The photos that are good."""
        return tuple(path for path, place in self.images.items() if place.label == GOOD)

    @property
    def defective(self) -> tuple[PurePosixPath, ...]:
        """The photos that are defective."""
        return tuple(path for path, place in self.images.items() if place.label != GOOD)

    @property
    def can_teach(self) -> bool:
        """Whether a good photo is among them that is no test photo."""
        return any(place.label == GOOD and place.split_side != "test" for place in self.images.values())


def read_labels(
    root: Path,
    files: Sequence[PurePosixPath],
    documents: Sequence[PurePosixPath],
    others: Mapping[str, str],
    *,
    name: str,
    chosen: PurePosixPath | None = None,
    reading: str | None = None,
    to_teach: bool = True,
) -> PhotoLabels:
    """The labels of the image files below `root`, read by `reading`, or in the one way that there is.

    documents: all files that may say what photos show; others: why further files cannot be used, by name; name: of the
    folder, as the user knows it; chosen: the one list that counts, and names all photos; to_teach: whether good photos
    must be among them, and nothing left that is not understood. Raises UnclearLabels where there are several ways,
    ScanError for a damaged list that was chosen or a reading that is not there, OSError.
    """
    tree = _Tree(root, tuple(files), tuple(documents), others, name, chosen)
    if reading is not None:
        return _chosen_reading(tree, reading)
    signs = _Signs(tree)
    by_names = signs.read(NAMES)
    if products := signs.products:
        readings = [signs.of_product(by_names, product) for product in products]
        question = (
            f"it holds {len(products)} products or stations ({join_first_names([*map(_product_name, products)])})"
        )
        raise UnclearLabels(name, root, question, [*readings, signs.counted(TOGETHER, by_names)])
    words = signs.open_words(by_names)
    question = signs.question(by_names, words, to_teach=to_teach)
    if question is None:
        return by_names
    readings = _readings(tree, signs, by_names, words)
    if not readings and not words:
        return by_names
    raise UnclearLabels(name, root, question, readings, words)


def _chosen_reading(tree: "_Tree", reading: str) -> PhotoLabels:
    """The labels by the reading that a person chose. Raises ScanError for one that is not there."""
    if reading.startswith(ONLY):
        product = reading.removeprefix(ONLY)
        signs = _Signs(tree)
        if product not in signs.products:
            raise ScanError(f"no product is called {product!r}; choose one of {', '.join(signs.products) or 'none'}")
        read = signs.read(NAMES)
        read.images = {photo: place for photo, place in read.images.items() if signs.product_of(photo) == product}
        return read
    if reading.startswith("{"):
        return _Signs(tree, Vocabulary(meanings_in(reading))).read(NAMES)
    if reading not in READINGS:
        raise ScanError(f"no reading of labels is called {reading!r}; choose one of {', '.join(READINGS)}")
    return _Signs(tree, is_loose=reading == LOOSE).read(reading)


def _readings(tree: "_Tree", signs: "_Signs", by_names: PhotoLabels, words: Sequence[OpenWord]) -> list[Reading]:
    """The readings among which a person chooses, each with photos to teach, and each different from the others."""
    keys = [NAMES, *([FOLDERS] if _is_by_word(by_names) else [])]
    keys += [LISTS] if signs.contradicted else []
    open_keys = ((UNLISTED_GOOD, signs.is_unlisted), (BLANK_GOOD, signs.is_blank))
    keys += [key for key, is_open in open_keys if is_open]
    texts = [word.text for word in words if by_names.images.keys() >= {*word.photos}]
    meanings: list[dict[str, str]] = []
    if 1 < len(texts) <= MOST_ALONE:
        meanings += [{text: GOOD if text == good else UNNAMED for text in texts} for good in texts]
    if texts and len(texts) != 2:
        meanings += [dict.fromkeys(texts, meaning) for meaning in (UNNAMED, GOOD)]
    named = [(reading_of(of_words), Vocabulary(tuple(of_words.items()))) for of_words in meanings]
    offered = [(key, _Signs(tree, vocabulary).read(NAMES)) for key, vocabulary in named]
    offered += [(key, signs.read(key)) for key in keys]
    if signs.lists.doubts and not (loose := _Signs(tree, is_loose=True)).lists.doubts:
        offered.append((LOOSE, loose.read(LOOSE)))
    all_good = signs.read(NONE)
    offered = [(key, read) for key, read in offered if not _same(read, all_good)] + [(NONE, all_good)]
    distinct: list[PhotoLabels] = []
    readings: list[Reading] = []
    for key, read in offered:
        if read.can_teach and not any(_same(read, other) for other in distinct):
            distinct.append(read)
            readings.append(signs.counted(key, read, known=by_names))
    return readings


@dataclass(frozen=True)
class _Tree:
    """The files below a folder, as `read_labels` takes them."""

    root: Path
    files: tuple[PurePosixPath, ...]
    documents: tuple[PurePosixPath, ...]
    others: Mapping[str, str]
    name: str
    chosen: PurePosixPath | None


class _Signs:
    """All signs of a tree, from which a reading takes those that count."""

    def __init__(self, tree: _Tree, vocabulary: Vocabulary = PLAIN, *, is_loose: bool = False):
        self.root, self.name, self.chosen = tree.root, tree.name, tree.chosen
        is_mask = functools.cache(lambda path: mask_files.is_drawn(tree.root / path))
        whole = classify_paths(tree.files, is_mask=is_mask, vocabulary=vocabulary)
        masks = {mask for several in whole.masks.values() for mask in several} | {*whole.stray_masks}
        photos = [file for file in tree.files if file not in masks]
        listed = [tree.chosen] if tree.chosen is not None else tree.documents
        options = {"chosen": tree.chosen is not None, "vocabulary": vocabulary, "is_loose": is_loose}
        self.lists: PhotoLists = read_lists(tree.root, listed, photos, tree.others, masks, **options)
        of_lists = {mask for claim in self.lists.claims.values() for mask in claim.masks}
        candidates = [file for file in tree.files if file not in of_lists or file in self.lists.claims]
        self.layouts: dict[str, Layout] = {
            FOLDERS: classify_paths(candidates, is_mask=is_mask, vocabulary=vocabulary),
            NAMES: classify_paths(candidates, by_parts=True, is_mask=is_mask, vocabulary=vocabulary),
        }
        self.photos = sorted(file for file in photos if file not in of_lists)
        self.root_sign = vocabulary.sign(tree.name)
        self.is_marked = functools.cache(lambda masks: any(mask_files.is_marked(tree.root / mask) for mask in masks))
        claims = self.lists.claims.values()
        labels = {claim.label for claim in claims if claim.label is not None}
        self.is_blank = any(claim.label is None and claim.source for claim in claims) and GOOD not in labels
        self.names_good = GOOD in labels
        self.is_unlisted = (
            self.lists.is_complete
            and not (self.names_good and self.lists.is_whole)
            and not any(claim.label is None for claim in claims)
            and tree.chosen is None
            and any(self._lacks_label(photo) for photo in self.photos)
        )

    @property
    def products(self) -> tuple[str, ...]:
        """The products that lie side by side, by folder or by list; empty for one."""
        good = {claim.product for claim in self.lists.claims.values() if claim.product and claim.label == GOOD}
        return tuple(sorted(good)) if len(good) > 1 else self.layouts[FOLDERS].products

    @property
    def contradicted(self) -> bool:
        """Whether names call a photo defective that a list calls good."""
        places = self.layouts[NAMES].outside | self.layouts[NAMES].images
        return any(
            claim.label == GOOD and photo in places and places[photo].is_said and places[photo].label != GOOD
            for photo, claim in self.lists.claims.items()
        )

    def product_of(self, photo: PurePosixPath) -> str:
        """Whose photo it is, by list or by folder."""
        claim = self.lists.claims.get(photo)
        if claim is not None and claim.product:
            return claim.product
        return self.layouts[FOLDERS].product_by_path.get(photo, "") or next(
            (folder for folder in photo.parts[:-1] if folder in self.products), ""
        )

    def of_product(self, read: PhotoLabels, product: str) -> Reading:
        """The reading of one product alone."""
        good, defective = (
            tuple(photo for photo in photos if self.product_of(photo) == product)
            for photos in (read.good, read.defective)
        )
        return Reading(f"{ONLY}{product}", good, defective)

    def counted(self, key: str, read: PhotoLabels, known: PhotoLabels | None = None) -> Reading:
        """A reading with its photos; known: the labels by which some of its good photos are defective."""
        unused = tuple(photo for photo in self.photos if photo not in read.images)
        images = {} if known is None else known.images
        defects = tuple(path for path in read.good if path in images and _is_known_defect(images[path]))
        return Reading(key, read.good, read.defective, unused, defects)

    def question(self, by_names: PhotoLabels, words: Sequence[OpenWord], *, to_teach: bool) -> str | None:
        """What has to be asked; None where everything was understood and means one thing."""
        if self.is_unlisted:
            named = "not all" if self.names_good else "only defective"
            return f"{named} photos are named in {_names(self.lists)}, and others lie beside them"
        if self.is_blank:
            return f"{_names(self.lists)} leaves labels empty and calls no photo good"
        sign = self.root_sign
        is_silent = not _speaks(by_names)
        if is_silent and sign is not None and sign.condition != GOOD and by_names.can_teach and not words:
            return "the name of the folder itself says that its parts are defective"
        if to_teach and (doubts := self.doubts(by_names)):
            few = join_first_names([f"{name}: {why}" for name, why in doubts.items()], most=3)
            return f"files beside the photos may say which are defective, and were not understood ({few})"
        if self.contradicted:
            return f"{_names(self.lists)} calls photos good whose names say that they are defective"
        is_open = (
            isinstance(place.label, UnclearWord) for place in by_names.images.values() if to_teach or place.is_said
        )
        if any(is_open):
            return f"which of these are good parts: {join_first_names([word.text for word in words], most=6)}?"
        if set(by_names.good) != set(self.read(FOLDERS).good):
            return (
                f"{len(by_names.good)} photos look good by their names and {len(by_names.defective)} look defective, "
                "but only parts of the names say so; is that right?"
            )
        if not to_teach or by_names.can_teach or self._is_said or not words:
            return None
        texts = [word.text for word in words]
        return f"nothing is called good; which of these are good parts: {join_first_names(texts, most=6)}?"

    def doubts(self, by_names: PhotoLabels) -> dict[str, str]:
        """By file that may say what photos show and was not understood whole, why."""
        doubts = {str(name): why for name, why in self.lists.doubts.items()}
        stems = {photo.stem.casefold() for photo in self.photos}
        is_silent = not _speaks(by_names)
        for mask in self.layouts[NAMES].stray_masks if self.chosen is None else ():
            if (is_silent or mask.stem.casefold() in stems) and self.is_marked((mask,)):
                doubts[str(mask)] = _STRAY_MASK
        return doubts

    def open_words(self, by_names: PhotoLabels) -> list[OpenWord]:
        """The words of which nothing says whether they mean good, those of most photos first; where no photo is good,
        all words that are not known to mean a defect. Photos beside labelled ones that have no word of their own are
        called by their folder or the first word of their name.
        """
        photos: dict[str, list[PurePosixPath]] = {}
        for photo in self.photos if by_names.can_teach and self.chosen is None else ():
            if photo not in by_names.images and photo not in self.lists.claims:
                text = photo.parent.name or next(iter(re.findall(r"[^\W\d_]+", photo.stem)), "")
                if text and str(photo) not in self.lists.problems and side_in(photo) is None:
                    photos.setdefault(text, []).append(photo)
        for photo, place in by_names.images.items():
            is_open = not place.is_said or not by_names.can_teach
            is_open &= place.label != GOOD and not _is_known_defect(place)
            if isinstance(place.label, UnclearWord) or is_open:
                photos.setdefault(str(place.label), []).append(photo)
        ranked = sorted(photos.items(), key=lambda word: (-len(word[1]), word[0]))
        return [OpenWord(text, tuple(of_word)) for text, of_word in ranked]

    @property
    def _is_said(self) -> bool:
        """Whether known words say that all photos are defective, so that nothing is to be asked."""
        return all(map(_is_known_defect, self.layouts[FOLDERS].images.values()))

    def read(self, key: str) -> PhotoLabels:
        """The labels by one reading."""
        layout = self.layouts[FOLDERS if key in (FOLDERS, LISTS, NONE) else NAMES]
        masks = layout.masks
        result = PhotoLabels(lists=self.lists.names, notes=list(self.lists.notes))
        refused = {str(path): reason for path, reason in layout.refused.items()}
        refused |= self.lists.problems
        doubted = {} if key == NONE else self._doubted_photos()
        with_train = any(claim.side == "train" for claim in self.lists.claims.values())
        is_test_only = False
        for photo in self.photos:
            if str(photo) in self.lists.problems and key != NONE:
                continue
            claim = self.lists.claims.get(photo)
            place = layout.images.get(photo)
            if claim is None and self.chosen is not None:
                continue
            if place is None and claim is not None:
                place = layout.outside.get(photo)
            label, reason = self._label(key, photo, claim, place, masks.get(photo, ()))
            side = None if claim is None else claim.side or ("test" if with_train else None)
            side = side or (place.split_side if place is not None else side_in(photo))
            if side == "unlabelled":
                label, reason = None, "it belongs to a part of the split without labels; it is never taught"
            if label is not None and label.label == EXCLUDED:
                label, reason = None, "it is left out, as its label was given that meaning"
            if label is not None and label.label == GOOD and photo in doubted:
                label, reason = None, f"{doubted[photo]} may say what it shows, and was not understood"
            if label is None:
                refused[str(photo)] = reason or refused.get(str(photo), "nothing says what it shows")
                continue
            if label.label == TEST_ONLY:
                label, side, is_test_only = replace(label, label=GOOD), "test", True
            refused.pop(str(photo), None)
            group = label.group or (claim.product if claim is not None else "") or None
            result.images[photo] = replace(label, split_side=side, group=group)
            if label.label != GOOD and (marks := self._marks(photo, claim, masks.get(photo, ()))) is not None:
                result.marks[photo] = marks
        _divide(result, has_lists=bool(self.lists.claims), is_test_only=is_test_only)
        result.skipped = [SkippedFile(name, reason, "photo") for name, reason in refused.items()]
        if self.chosen is None:
            result.skipped += [SkippedFile(str(mask), _STRAY_MASK, "mask") for mask in layout.stray_masks]
        return result

    def _doubted_photos(self) -> dict[PurePosixPath, str]:
        """The photos whose own file, named like them, was not understood, and that file's name."""
        by_stem = {document.stem.casefold(): document.name for document in self.lists.doubts}
        by_stem |= {PurePosixPath(stem).stem: name for stem, name in by_stem.items()}
        stems = {photo: photo.stem.casefold() for photo in self.photos if photo not in self.lists.claims}
        return {photo: by_stem[stem] for photo, stem in stems.items() if stem in by_stem}

    def _lacks_label(self, photo: PurePosixPath) -> bool:
        place = self.layouts[NAMES].images.get(photo)
        return photo not in self.lists.claims and (place is None or not (place.is_said and place.source))

    def _label(
        self,
        key: str,
        photo: PurePosixPath,
        claim: Claim | None,
        place: PathLabels | None,
        masks: tuple[PurePosixPath, ...],
    ) -> tuple[PathLabels | None, str | None]:
        """What one photo is by a reading; None with the reason, or without one for that of its layout.

        A known defect outweighs what is unclear, and that a good part.
        """
        group = place.group if place is not None else _lots(photo)
        listed = claim is not None and bool(claim.source)
        if key == NONE:
            return PathLabels(GOOD, None, _lots(photo)), None
        if key == LISTS and listed:
            place = None
        claimed = claim.label if claim is not None and listed else None
        by_list = PathLabels(claimed or GOOD, None, group, claim.source if claim is not None else "")
        masks = (*masks, *(claim.masks if claim is not None else ()))
        is_named = place is not None and place.label != GOOD and (place.is_said or not listed)
        is_listed_defect = claimed not in (None, GOOD) and not isinstance(claimed, UnclearWord)
        if place is not None and is_named and not isinstance(place.label, UnclearWord):
            return replace(place, label=by_list.label, source=by_list.source) if is_listed_defect else place, None
        if is_listed_defect:
            return by_list, None
        if masks and self.is_marked(masks):
            return PathLabels(UNNAMED, None, group, MASK), None
        if isinstance(claimed, UnclearWord):
            return by_list, None
        if is_named and (place is None or place.is_said or not masks):
            return place, None
        if claimed == GOOD:
            return by_list, None
        if claim is not None and listed:
            return (by_list, None) if key == BLANK_GOOD else (None, f"{claim.where} {_NO_LABEL}")
        if self.lists.is_complete and self._lacks_label(photo):
            reason = f"it is not named in {_names(self.lists)}; add it there"
            return (PathLabels(GOOD, None, group, ""), None) if key == UNLISTED_GOOD else (None, reason)
        if masks and (place is None or not place.source or not place.is_said):
            return PathLabels(GOOD, None if place is None else place.split_side, group, MASK), None
        return place, None

    def _marks(
        self, photo: PurePosixPath, claim: Claim | None, masks: tuple[PurePosixPath, ...]
    ) -> PurePosixPath | Annotation | None:
        """What marks the defects of a photo: of an annotation, or of one mask file or several."""
        files = tuple(dict.fromkeys((*(claim.masks if claim is not None else ()), *masks)))
        if claim is not None and claim.marks is not None:
            return claim.marks
        if len(files) < 2:
            return files[0] if files else None
        return mask_files.joined(self.root, files)


def _divide(result: PhotoLabels, *, has_lists: bool, is_test_only: bool) -> None:
    """Keep the sides of photos where they are those of a split. is_test_only: whether a person named some for the test,
    so that the others are taught.
    """
    if is_test_only:
        result.images = {
            photo: replace(place, split_side=place.split_side or "train") for photo, place in result.images.items()
        }
        return
    sides = {place.split_side for place in result.images.values()}
    is_split = {"train", "test"} <= sides or (sides == {"test"} and has_lists)
    if not is_split:
        result.images = {photo: replace(place, split_side=None) for photo, place in result.images.items()}


def _product_name(product: str) -> str:
    return product or "photos in no product's folder"


def _is_known_defect(place: PathLabels) -> bool:
    """Whether known words, or a mask, say that a photo shows a defect."""
    sign = condition_sign(place.label)
    is_word = sign is not None and sign.condition in ("defective", "type")
    return place.label != GOOD and not isinstance(place.label, UnclearWord) and (is_word or place.source == MASK)


def _speaks(read: PhotoLabels) -> bool:
    """Whether something says what photos show, so that not all are good for want of another word."""
    return any(place.is_said and place.source for place in read.images.values())


def _is_by_word(read: PhotoLabels) -> bool:
    """Whether a folder or a file name says what some photo shows."""
    return any(place.is_said and place.source in (FOLDER, FILE_NAME) for place in read.images.values())


def _same(first: PhotoLabels, other: PhotoLabels) -> bool:
    """Whether two readings call the same photos good, and the same defective."""
    return set(first.good) == set(other.good) and set(first.defective) == set(other.defective)


def _names(lists: PhotoLists) -> str:
    return join_first_names([name.name for name in lists.names])


def _lots(photo: PurePosixPath) -> str | None:
    return "/".join(folder for folder in photo.parts[:-1] if looks_like_lot(folder)) or None
