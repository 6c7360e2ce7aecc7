"""A batch of photos whose truth is known: which verdicts were wrong, and how often they may be."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from inspect_core.images.layout import labels
from inspect_core.images.listing import photos_in
from inspect_core.images.manifests.photo_list import is_list, read_photo_list
from inspect_core.images.samples import GOOD, pluralise
from inspect_core.line.result_row import ResultRow
from inspect_core.scoring.counts import UnscoredCounts, VerdictCounts, counts_sentence
from inspect_core.scoring.limits import format_upper_bound
from inspect_core.verdict import ALL_VERDICTS, NOT_JUDGED, NOT_LOCATED, VERDICT_PHRASES

TAUGHT = "good, taught"
"""The truth of a good photo that the recipe has learned from: its verdict proves nothing."""


def listed_photos(path: Path) -> tuple[list[tuple[str, Path]], dict[str, str]]:
    """Return (name, path) of the photos that a list of another tool names, and what it says of each by name.

    Raises ScanError for a damaged list, OSError.
    """
    places, _, _ = read_photo_list(path, [PurePosixPath(name) for name, _ in photos_in([path.parent])], {})
    return [(str(file), path.parent / file) for file in places], {
        str(file): entry.label for file, entry in places.items()
    }


def truths_of(paths: Sequence[Path], names: Collection[str]) -> dict[str, str]:
    """Return what lists or folders say of photos by name: "good" or the defect type; of the others nothing.

    names: as `batch.photos_of` gives them for these paths. Raises as `listed_photos`.
    """
    if lists := [path for path in paths if path.is_file() and is_list(path)]:
        return {name: kind for path in lists for name, kind in listed_photos(path)[1].items()}
    return {str(file): kind for file, kind in labels([PurePosixPath(name) for name in names]).items()}


def with_truth(row: ResultRow, truth: str, training_digests: Collection[str]) -> ResultRow:
    """Return the row with what its photo shows. training_digests: of the photos that the recipe learned from."""
    return replace(row, truth=TAUGHT if truth == GOOD and row.digest in training_digests else truth)


def confusion(rows: Sequence[ResultRow]) -> dict[str, Counter[str]]:
    """Return how many photos have which verdict, by truth: good, then the defect types. Photos taught are left out."""
    counts_by_truth: dict[str, Counter[str]] = {}
    for truth in sorted({row.truth for row in rows} - {"", TAUGHT}, key=lambda truth: (truth != GOOD, truth)):
        counts_by_truth[truth] = Counter(row.verdict for row in rows if row.truth == truth)
    return counts_by_truth


def counts_of(rows: Sequence[ResultRow]) -> VerdictCounts:
    """Overkill and escapes by the verdicts, whatever they go by."""
    table = confusion(rows)
    good = table.pop(GOOD, Counter())
    defect = sum(table.values(), Counter[str]())
    unscored = [_unscored(verdicts) for verdicts in (good, defect)]
    return VerdictCounts(
        good_rejected=good["reject"],
        good_total=good.total(),
        defects_missed=defect["accept"],
        defects_total=defect.total(),
        good_reviewed=good["review"],
        defects_reviewed=defect["review"],
        two_limits=any(row.review < row.reject for row in rows),
        good_unscored=unscored[0],
        defects_unscored=unscored[1],
    )


def escape_sentence(rows: Sequence[ResultRow]) -> str:
    """Overkill and escapes in parts; "" where no truth is known."""
    training_count = sum(row.truth == TAUGHT for row in rows)
    aside = f" {pluralise(training_count, 'photo')} used for training not counted." if training_count else ""
    return f"{counts_sentence(counts_of(rows))}{aside}" if confusion(rows) else ""


def table_of(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    """Return the confusion table, a column by its head: a line for good, for each defect type, and for all defects."""
    lines = confusion(rows)
    defects = [counts for truth, counts in lines.items() if truth != GOOD]
    if len(defects) > 1:
        lines["all defects"] = sum(defects, Counter[str]())
    shown = [
        word
        for word in ALL_VERDICTS
        if word not in (NOT_LOCATED, NOT_JUDGED) or any(line[word] for line in lines.values())
    ]
    columns = {"Ground truth": list(lines), "Photos": [f"{line.total():,}" for line in lines.values()]}
    columns |= {VERDICT_PHRASES[word].capitalize(): [f"{line[word]:,}" for line in lines.values()] for word in shown}
    wrong, upper = [], []
    for truth, verdicts in lines.items():
        count = verdicts["reject" if truth == GOOD else "accept"]
        inspected = verdicts.total() - _unscored(verdicts).total
        wrong.append(_share(count, inspected, verdicts.total()))
        upper.append(format_upper_bound(count, inspected) if inspected else "–")
    return columns | {"Errors": wrong, "Upper bound (95%)": upper}


def _unscored(verdicts: Counter[str]) -> UnscoredCounts:
    return UnscoredCounts(verdicts[NOT_LOCATED], verdicts[NOT_JUDGED])


def _share(count: int, inspected: int, total: int) -> str:
    """Return a share of the inspected parts, with those that were not inspected beside it."""
    share = f"{100 * count / inspected:.1f}%" if inspected else "–"
    return share if inspected == total else f"{share} of {inspected:,} inspected; {total - inspected:,} to sort by hand"
