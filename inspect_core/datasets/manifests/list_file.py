"""A file that may say what photos show, read once: as text, as JSON or as XML."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from inspect_core.datasets.manifests.manifest_entry import LONGEST_NAME, ManifestError
from inspect_core.datasets.text_encoding import encodings_of
from inspect_core.datasets.verdict_words import Vocabulary
from inspect_core.runtime.json_text import from_json

MOST_BYTES = 100 * 2**20
Made = TypeVar("Made")


class ListFile:
    """A file of another tool at `name`, a POSIX path below `root`, read in one of the encodings that it may have.

    content: its bytes; encoding: None for what is no text; find, find_mask: the photo, or the photo or mask, that a
    reference in it means, LookupError(reason, remedy) if there is none; vocabulary: what its words mean.
    """

    def __init__(
        self,
        root: Path,
        name: PurePosixPath,
        content: bytes,
        encoding: str | None,
        find: Callable[[str], PurePosixPath],
        find_mask: Callable[[str], PurePosixPath],
        vocabulary: Vocabulary,
        helpers: "HelperFiles",
    ):
        self.root, self.name, self.content, self.encoding = root, name, content, encoding
        self.find, self.find_mask, self.vocabulary, self._helpers = find, find_mask, vocabulary, helpers
        self.suffix = name.suffix.lower()
        self._made: dict[Callable, Any] = {}

    @cached_property
    def text(self) -> str:
        """Its text, without a byte order mark. Raises ManifestError for what is none."""
        return decoded(self.content, self.encoding).removeprefix("\ufeff")

    @cached_property
    def json(self) -> Any:
        """Its JSON value, None where it holds none. Raises ManifestError as `text`."""
        try:
            return from_json(self.text) if self.suffix == ".json" else None
        except ValueError as error:
            if isinstance(error, ManifestError):
                raise
            return None

    @cached_property
    def xml(self) -> ElementTree.Element | None:
        """Its XML root, None where it holds none, or one that defines entities. Raises ManifestError as `text`."""
        if self.suffix != ".xml" or "<!DOCTYPE" in self.text or "<!ENTITY" in self.text:
            return None
        try:
            return ElementTree.fromstring(self.text)
        except (ElementTree.ParseError, ValueError):
            return None

    def once(self, make: Callable[["ListFile"], Made]) -> Made:
        """What `make` returns for this file, worked out at the first call: a format asks before it reads."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]

    def is_photo(self, reference: str) -> bool:
        """Whether a reference means a photo, with or without its ending."""
        try:
            self.find(reference)
        except LookupError:
            return False
        return True

    def photo_beside(self, reference: object = None) -> str:
        """The reference to the one photo that this file is about: by its own name, else as it says.

        Raises ManifestError where both mean photos, and not the same.
        """
        by_name = str(self.name.with_suffix(""))
        if not isinstance(reference, str) or not self.is_photo(reference):
            return by_name
        if self.is_photo(by_name) and self.find(by_name) != self.find(reference):
            reason = f"it lies beside {by_name} and names {reference[:LONGEST_NAME]}"
            raise ManifestError("the file", reason, "name it like its photo")
        return reference

    def helper(self, names: Sequence[str], make: Callable[[str], Made]) -> Made | None:
        """What `make` returns for the text of the first file of these names in its folder or one above, up to the root;
        None without. Raises what `make` does, and ManifestError for a file that is no text.
        """
        return self._helpers.once(self.name, names, make)


class HelperFiles:
    """Files that annotations need beside them, such as a list of classes: each is read once. read: their names."""

    def __init__(self, root: Path):
        self._root = root
        self._made: dict[tuple[PurePosixPath, Callable], Any] = {}
        self._places: dict[tuple[PurePosixPath, Sequence[str]], PurePosixPath | None] = {}

    @property
    def read(self) -> set[PurePosixPath]:
        """The files that were read, below the root."""
        return {path for path, _ in self._made}

    def once(self, document: PurePosixPath, names: Sequence[str], make: Callable[[str], Made]) -> Made | None:
        """As `ListFile.helper` for the list at `document`; an error is remembered too."""
        key = document.parent, names
        if key not in self._places:
            places = (folder / name for folder in document.parents for name in names)
            self._places[key] = next((place for place in places if _is_file(self._root / place)), None)
        if (place := self._places[key]) is None:
            return None
        if (place, make) not in self._made:
            try:
                content = content_of(self._root / place)
                self._made[place, make] = make(decoded(content, next(iter(encodings_of(content)), None)))
            except ManifestError as error:
                self._made[place, make] = error
        if isinstance(made := self._made[place, make], ManifestError):
            raise made
        return made


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def content_of(path: Path) -> bytes:
    """The bytes of a file. Raises ManifestError for a large one, OSError."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ManifestError("the file", f"it is larger than {MOST_BYTES >> 20} MB", "split it into several")
    return content


def decoded(content: bytes, encoding: str | None) -> str:
    """The text of a file. encoding: None where it has none. Raises ManifestError for what is no text."""
    if encoding is None:
        raise ManifestError("the file", "it is not a text that can be read", "save it as UTF-8")
    return content.decode(encoding)
