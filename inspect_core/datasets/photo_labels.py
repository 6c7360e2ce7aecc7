"""What a tree of photos says of each: its label, from folders, file names, lists, annotations and masks together.

A sign of a defect outweighs any sign of a good part. Where the signs could be read in more than one way, nothing is
decided: `UnclearLabels` holds the readings, of which the user chooses one.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from inspect_core.datasets import mask_files
from inspect_core.datasets.dataset import GOOD, ScanError, SkippedFile
from inspect_core.datasets.layout import FILE_NAME, FOLDER, Layout, PathLabels, classify_paths, looks_like_lot, side_in
from inspect_core.datasets.manifests import formats
from inspect_core.datasets.manifests.manifest_entry import UNNAMED, Annotation
from inspect_core.datasets.manifests.photo_list import Claim, PhotoLists, read_lists
from inspect_core.datasets.unread_files import telling_files
from inspect_core.datasets.verdict_words import condition_sign
from inspect_core.runtime.wording import join_first_names

NAMES, FOLDERS, LISTS, NONE = "names", "folders", "lists", "none"
TOGETHER, ONLY = "together", "only:"
UNLISTED_GOOD, BLANK_GOOD, NUMBERED = "unlisted-good", "blank-good", "numbered"
READINGS = {
    NAMES: "by every word in the names of folders and files",
    FOLDERS: "by the whole names of folders",
    LISTS: "by lists and files beside the photos alone",
    UNLISTED_GOOD: "with the photos that no list or file names as good",
    BLANK_GOOD: "with the photos of an empty label as good",
    NUMBERED: "with folder 0 as good and folder 1 as defective",
    TOGETHER: "with all products together",
    NONE: "without any label",
}
"""Readings by their key: how labels are read."""
MASK = "mask"
_STRAY_MASK = "mask without a matching photo; give it the photo's name plus _mask"
_NO_LABEL = "has no label for it; enter good or the defect type"


@dataclass(frozen=True)
class Reading:
    """One way to read the labels: its key, and the photos that are good and defective by it."""

    key: str
    good: tuple[PurePosixPath, ...]
    defective: tuple[PurePosixPath, ...]

    @property
    def title(self) -> str:
        """The counts, and how they are read: "18 good, 6 defective, by …"."""
        words = READINGS.get(self.key) or f"{_product_name(self.key.removeprefix(ONLY))} alone"
        return f"{len(self.good)} good, {len(self.defective)} defective, {words}"

    def sentence(self) -> str:
        """The title with the option that chooses it, and a few of the defective photos."""
        few = f" ({join_first_names([str(path) for path in self.defective])})" if self.defective else ""
        return f"{self.title}{few}: --labels {self.key}"


class UnclearLabels(ScanError):
    """Labels of the photos below `root` that can be read in more than one way. question: what is not clear; readings:
    what can be chosen.
    """

    def __init__(self, name: str, root: Path, question: str, readings: Sequence[Reading]):
        self.root, self.question, self.readings = root, question, tuple(readings)
        choices = "; ".join(reading.sentence() for reading in readings)
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


def is_document(name: str) -> bool:
    """Whether a file may say what photos show, by its ending."""
    return PurePosixPath(name).suffix.lower() in formats.suffixes()


def read_labels(
    root: Path,
    files: Sequence[PurePosixPath],
    documents: Sequence[PurePosixPath],
    others: Mapping[str, str],
    *,
    name: str,
    unread: Sequence[PurePosixPath] = (),
    chosen: PurePosixPath | None = None,
    reading: str | None = None,
    to_teach: bool = True,
) -> PhotoLabels:
    """The labels of the image files below `root`, read by `reading`, or in the one way that there is.

    documents: files that may be lists or annotations; others: why further files cannot be used, by name; name: of the
    folder, as the user knows it; unread: files that are no photos; chosen: the one list that counts, and names all
    photos; to_teach: whether good photos must be among them. Raises UnclearLabels where there are several ways,
    ScanError for a damaged list or a reading that is not there, OSError.
    """
    if reading is not None and reading.startswith(ONLY):
        return _only(reading, root, files, documents, others, name=name, chosen=chosen)
    signs = _Signs(root, files, documents, others, name=name, chosen=chosen)
    if reading is not None:
        if reading not in READINGS:
            raise ScanError(f"no reading of labels is called {reading!r}; choose one of {', '.join(READINGS)}")
        return signs.read(reading)
    by_names, by_folders = signs.read(NAMES), signs.read(FOLDERS)
    automatic = [by_names, by_folders, *([signs.read(LISTS)] if signs.contradicted else [])]
    if products := signs.products:
        readings = [signs.of_product(by_names, product) for product in products]
        raise UnclearLabels(
            name,
            root,
            f"it holds {len(products)} products or stations ({join_first_names([*map(_product_name, products)])})",
            [*readings, Reading(TOGETHER, by_names.good, by_names.defective)],
        )
    agree = all(_same(by_names, other) for other in automatic)
    question = signs.question(by_names) or (signs.doubt_about(unread, by_names) if to_teach else None)
    if agree and question is None and (not to_teach or by_names.can_teach or chosen is not None or signs.is_said):
        return by_names
    keys = [NAMES, FOLDERS] if _is_by_word(by_names) else []
    keys += [LISTS] if signs.contradicted or not (keys or _is_silent(by_names)) else []
    open_keys = ((UNLISTED_GOOD, signs.unlisted), (BLANK_GOOD, signs.blank), (NUMBERED, signs.is_numbered))
    keys += [key for key, is_open in open_keys if is_open]
    readings: list[Reading] = []
    distinct: list[PhotoLabels] = []
    for key in (*keys, NONE):
        read = signs.read(key)
        if read.can_teach and not any(_same(read, other) for other in distinct):
            distinct.append(read)
            readings.append(Reading(key, read.good, read.defective))
    if not readings:
        return by_names
    raise UnclearLabels(name, root, question or signs.doubt(by_names), readings)


class _Signs:
    """All signs of a tree, from which a reading takes those that count."""

    def __init__(
        self,
        root: Path,
        files: Sequence[PurePosixPath],
        documents: Sequence[PurePosixPath],
        others: Mapping[str, str],
        *,
        name: str,
        chosen: PurePosixPath | None,
    ):
        self.root, self.name, self.chosen = root, name, chosen
        is_mask = functools.cache(lambda path: mask_files.is_drawn(root / path))
        whole = classify_paths(files, is_mask=is_mask)
        masks = {mask for several in whole.masks.values() for mask in several} | {*whole.stray_masks}
        photos = [file for file in files if file not in masks]
        listed = [chosen] if chosen is not None else documents
        self.lists: PhotoLists = read_lists(root, listed, photos, others, masks, chosen=chosen is not None)
        of_lists = {mask for claim in self.lists.claims.values() for mask in claim.masks}
        candidates = [file for file in files if file not in of_lists or file in self.lists.claims]
        self.layouts: dict[str, Layout] = {
            FOLDERS: classify_paths(candidates, is_mask=is_mask),
            NAMES: classify_paths(candidates, by_parts=True, is_mask=is_mask),
        }
        self.photos = sorted(file for file in photos if file not in of_lists)
        self.root_sign = condition_sign(name)
        self.is_marked = functools.cache(lambda masks: any(mask_files.is_marked(root / mask) for mask in masks))
        claims = self.lists.claims.values()
        labels = {claim.label for claim in claims if claim.label is not None}
        self.blank = any(claim.label is None and claim.source for claim in claims) and GOOD not in labels
        self.names_good = GOOD in labels
        self.unlisted = (
            self.lists.is_complete
            and not (self.names_good and self.lists.is_whole)
            and not any(claim.label is None for claim in claims)
            and chosen is None
            and any(self._is_unlisted(photo) for photo in self.photos)
        )

    @property
    def products(self) -> tuple[str, ...]:
        """The products that lie side by side, by folder or by list; empty for one."""
        good = {claim.product for claim in self.lists.claims.values() if claim.product and claim.label == GOOD}
        return tuple(sorted(good)) if len(good) > 1 else self.layouts[FOLDERS].products

    @property
    def is_said(self) -> bool:
        """Whether words say that all photos are defective, so that nothing is to be asked."""
        return all(place.is_said for place in self.layouts[FOLDERS].images.values())

    @property
    def contradicted(self) -> bool:
        """Whether names call a photo defective that a list calls good."""
        places = self.layouts[NAMES].images
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

    def question(self, by_names: PhotoLabels) -> str | None:
        """What has to be asked whatever the names say."""
        if self.unlisted:
            named = "not all" if self.names_good else "only defective"
            return f"{named} photos are named in {_names(self.lists)}, and others lie beside them"
        if self.blank:
            return f"{_names(self.lists)} leaves labels empty and calls no photo good"
        sign = self.root_sign
        is_silent = _is_silent(by_names)
        if is_silent and self.is_numbered:
            return "its folders 0 and 1 may be labels"
        if is_silent and sign is not None and sign.is_whole and sign.condition != GOOD and by_names.can_teach:
            return "the name of the folder itself says that its parts are defective"
        return None

    @property
    def is_numbered(self) -> bool:
        """Whether the folders next to the photos are 0 and 1, as exports of two classes have them."""
        return {photo.parent.name for photo in self.photos} == {"0", "1"}

    def doubt_about(self, others: Sequence[PurePosixPath], by_names: PhotoLabels) -> str | None:
        """What has to be asked of files beside the photos, where nothing that was read says what the photos show."""
        if not _is_silent(by_names):
            return None
        unread = [file for file in others if file not in self.lists.names]
        files = [*self.lists.doubtful, *telling_files(self.root, unread, self.photos)]
        telling = join_first_names([file.name for file in files])
        if not telling:
            return None
        remedy = "save a list as CSV with the columns file and label"
        return f"files beside the photos are not read and may say which are defective ({telling}); {remedy}"

    def doubt(self, by_names: PhotoLabels) -> str:
        """Why the readings differ."""
        if self.contradicted:
            return f"{_names(self.lists)} calls photos good whose names say that they are defective"
        if not by_names.can_teach:
            types = join_first_names(sorted({place.label for place in by_names.images.values() if place.label != GOOD}))
            return f"it has no good photos, only {types}; put good photos into a folder named good"
        return (
            f"{len(by_names.good)} photos look good by their names and {len(by_names.defective)} look defective, but "
            "only parts of the names say so; is that right?"
        )

    def read(self, key: str) -> PhotoLabels:
        """The labels by one reading."""
        layout = self.layouts[FOLDERS if key in (FOLDERS, LISTS, NONE) else NAMES]
        masks = layout.masks
        result = PhotoLabels(lists=self.lists.names, notes=list(self.lists.notes))
        refused = {str(path): reason for path, reason in layout.refused.items()}
        refused |= self.lists.problems
        with_train = any(claim.side == "train" for claim in self.lists.claims.values())
        for photo in self.photos:
            if str(photo) in self.lists.problems and key != NONE:
                continue
            claim = self.lists.claims.get(photo)
            place = layout.images.get(photo)
            if claim is None and self.chosen is not None:
                continue
            labels, reason = self._label(key, photo, claim, place, masks.get(photo, ()))
            side = None if claim is None else claim.side or ("test" if with_train else None)
            side = side or (place.split_side if place is not None else side_in(photo))
            if side == "unlabelled":
                labels, reason = None, "it belongs to a part of the split without labels; it is never taught"
            if labels is None:
                refused[str(photo)] = reason or refused.get(str(photo), "nothing says what it shows")
                continue
            refused.pop(str(photo), None)
            group = labels.group or (claim.product if claim is not None else "") or None
            result.images[photo] = replace(labels, split_side=side, group=group)
            if labels.label != GOOD and (marks := self._marks(photo, claim, masks.get(photo, ()))) is not None:
                result.marks[photo] = marks
        sides = {place.split_side for place in result.images.values()}
        is_split = {"train", "test"} <= sides or (sides == {"test"} and bool(self.lists.claims))
        if not is_split:
            result.images = {photo: replace(place, split_side=None) for photo, place in result.images.items()}
        result.skipped = [SkippedFile(name, reason, "photo") for name, reason in refused.items()]
        if self.chosen is None:
            result.skipped += [SkippedFile(str(mask), _STRAY_MASK, "mask") for mask in layout.stray_masks]
        return result

    def _is_unlisted(self, photo: PurePosixPath) -> bool:
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
        """What one photo is by a reading; None with the reason, or without one for that of its layout."""
        group = place.group if place is not None else _lots(photo)
        listed = claim is not None and bool(claim.source)
        if key == NONE:
            return PathLabels(GOOD, None, _lots(photo)), None
        if key == NUMBERED:
            return PathLabels(GOOD if photo.parent.name == "0" else UNNAMED, None, group, FOLDER), None
        if key == LISTS and listed:
            place = None
        if place is not None and place.label != GOOD and (place.is_said or not listed):
            if claim is not None and claim.label not in (None, GOOD):
                return replace(place, label=claim.label, source=claim.source), None
            return place, None
        if listed and claim.label is not None and claim.label != GOOD:
            return PathLabels(claim.label, None, group, claim.source), None
        masks = (*masks, *(claim.masks if claim is not None else ()))
        if masks and self.is_marked(masks):
            return PathLabels(UNNAMED, None, group, MASK), None
        if listed and claim.label == GOOD:
            return PathLabels(GOOD, None, group, claim.source), None
        if listed:
            good = PathLabels(GOOD, None, group, claim.source)
            return (good, None) if key == BLANK_GOOD else (None, f"{claim.where} {_NO_LABEL}")
        if self.lists.is_complete and self._is_unlisted(photo):
            good = PathLabels(GOOD, None, group, "")
            return (
                (good, None)
                if key == UNLISTED_GOOD
                else (None, f"it is not named in {_names(self.lists)}; add it there")
            )
        if masks and place is None:
            return PathLabels(GOOD, None, group, MASK), None
        if masks and place is not None and not place.source:
            return replace(place, source=MASK, is_said=True), None
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


def _only(reading: str, root: Path, files: Sequence[PurePosixPath], *rest: Any, **options: Any) -> PhotoLabels:
    """The labels of one product of several. Raises as `read_labels`."""
    product = reading.removeprefix(ONLY)
    signs = _Signs(root, files, *rest, **options)
    if product not in signs.products:
        raise ScanError(f"no product is called {product!r}; choose one of {', '.join(signs.products) or 'none'}")
    read = signs.read(NAMES)
    read.images = {photo: place for photo, place in read.images.items() if signs.product_of(photo) == product}
    return read


def _product_name(product: str) -> str:
    return product or "photos in no product's folder"


def _is_silent(read: PhotoLabels) -> bool:
    """Whether nothing says what photos show, so that all are good for want of another word."""
    return not any(place.is_said and place.source for place in read.images.values())


def _is_by_word(read: PhotoLabels) -> bool:
    """Whether a folder or a file name says what some photo shows."""
    return any(place.is_said and place.source in (FOLDER, FILE_NAME) for place in read.images.values())


def _same(first: PhotoLabels, other: PhotoLabels) -> bool:
    """Whether two readings call the same photos good."""
    return set(first.good) == set(other.good)


def _names(lists: PhotoLists) -> str:
    return join_first_names([name.name for name in lists.names])


def _lots(photo: PurePosixPath) -> str | None:
    return "/".join(folder for folder in photo.parts[:-1] if looks_like_lot(folder)) or None
