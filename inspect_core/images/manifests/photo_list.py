"""From a file that lists photos to the photos below its folder. A reference is never opened as a path: it selects one
of the files found there, by as many parts at its end as match, so that `s3://bucket/lot 7/a.png` and
`C:\\photos\\lot 7\\a.png` both mean `lot 7/a.png`, and none leads out of the folder.
"""

import unicodedata
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from pathlib import Path, PurePosixPath

from inspect_core.images.layout import PathLabels, looks_like_lot
from inspect_core.images.manifests import coco, csv_table, lookout
from inspect_core.images.manifests.manifest_entry import Annotation, ManifestEntry, ManifestError, display_name
from inspect_core.images.samples import GOOD, ScanError, SkippedFile

LINES = frozenset({".jsonl", ".ndjson", ".manifest"})
TABLES = frozenset({".csv", ".tsv"})
MOST_BYTES = 100 * 2**20
MOST_ENTRIES = 100_000


class FileIndex:
    """The files below a folder, by how a list may name them."""

    def __init__(self, files: Iterable[PurePosixPath]):
        self._by_name = defaultdict(list)
        for file in files:
            self._by_name[_parts(str(file))[-1]].append(file)

    def resolve(self, reference: str) -> PurePosixPath:
        """Return the file that a reference means. Raises LookupError(reason, remedy) if there is none, or several."""
        parts = _parts(reference.replace("\\", "/"))
        candidates = self._by_name.get(parts[-1], []) if parts else []
        if not candidates:
            raise LookupError("it is outside the folder of the list", "copy it there")
        fits = {file: _fits(parts, file) for file in candidates}
        most = max(fits.values())
        best = [file for file in candidates if fits[file] == most]
        whole = [file for file in best if len(file.parts) == most]
        if len(whole or best) > 1:
            raise LookupError(f"{len(best)} files fit this name", "name it with its folder in the list")
        return (whole or best)[0]


def is_list(path: Path) -> bool:
    """Return whether a file is taken for a list of photos, by its extension."""
    return path.suffix.lower() in LINES | TABLES | {".json"}


def folder_of(path: Path) -> Path:
    """Return where the photos of a list lie; any other path as it is."""
    return path.parent if is_list(path) and path.is_file() else path


def read_photo_list(
    path: Path, files: Iterable[PurePosixPath], problems: Mapping[str, str]
) -> tuple[dict[PurePosixPath, PathLabels], dict[PurePosixPath, Annotation], list[SkippedFile]]:
    """Return the photos that a file lists among `files` below its folder, the defects' marks, and what was skipped.

    problems: why other files there cannot be used, by name. Raises ScanError, naming the place, for a damaged list, and
    OSError.
    """
    below = FileIndex([*files, *map(PurePosixPath, problems)])
    first: dict[PurePosixPath, ManifestEntry] = {}
    skipped: dict[str, str] = {}
    for entry in _entries(path, lambda reference: path.parent / below.resolve(reference)):
        try:
            photo = below.resolve(entry.photo)
        except LookupError as error:
            skipped.setdefault(display_name(entry.photo), f"{entry.where} names it, but {'; '.join(error.args)}")
            continue
        before = first.setdefault(photo, entry)
        if str(photo) in problems:
            skipped[str(photo)] = problems[str(photo)]
        elif entry.kind is None:
            skipped[str(photo)] = f"{entry.where} has no label for it; enter good or the defect type"
        elif before.kind != entry.kind and GOOD in (before.kind, entry.kind):
            conflict = f"{before.where} calls it {before.kind}, {entry.where} {entry.kind}"
            skipped[str(photo)] = f"{conflict}; correct one of them"
    images, marks = {}, {}
    for photo, entry in first.items():
        if str(photo) in skipped or entry.kind is None:
            continue
        lot = "/".join(folder for folder in photo.parts[:-1] if looks_like_lot(folder))
        images[photo] = PathLabels(entry.kind, None, lot or None)
        if entry.marks is not None:
            marks[photo] = entry.marks._replace(name=f"{display_name(entry.photo)} ({path.name}, {entry.where})")
    return images, marks, [SkippedFile(name, reason, "photo") for name, reason in skipped.items()]


def _entries(path: Path, find: Callable[[str], Path]) -> list[ManifestEntry]:
    suffix = path.suffix.lower()
    try:
        text = _text_of(path)
        if suffix in TABLES:
            entries = csv_table.entries(text)
        else:
            entries = lookout.entries(text, find) if suffix in LINES else coco.entries(text)
        if not entries:
            raise ManifestError("the file", "it lists no photos", "export it again with its photos")
        if len(entries) > MOST_ENTRIES:
            raise ManifestError("the file", f"it lists more than {MOST_ENTRIES:,} photos", "split it into several")
    except ManifestError as error:
        raise ScanError(f"{path.name}, {error}") from error
    return entries


def _text_of(path: Path) -> str:
    """Return its text: UTF-8, or UTF-16 with a byte order mark. Raises ManifestError for any other or a large file."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ManifestError("the file", f"it is larger than {MOST_BYTES >> 20} MB", "split it into several")
    try:
        return content.decode("utf-16" if content[:2] in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ManifestError(f"line {line}", "it is not UTF-8 text", "save it as UTF-8") from error


def _fits(parts: tuple[str, ...], file: PurePosixPath) -> int:
    """Return how many parts at the end are the same."""
    pairs = zip(reversed(parts), reversed(_parts(str(file))), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(unicodedata.normalize("NFC", path)).parts
