"""A batch of photos whose truth is known: which verdicts were wrong, and how often they may be."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from inspect_core.images.layout import labels
from inspect_core.images.listing import photos_in
from inspect_core.images.manifests.photo_list import is_list, listed
from inspect_core.images.samples import GOOD, counted
from inspect_core.judge.counts import Counts, Unscored, in_parts
from inspect_core.judge.limits import most_in_long_run
from inspect_core.line.result_row import ResultRow
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED, OUTCOMES, SPOKEN

TAUGHT = "good, taught"
"""The truth of a good photo that the recipe has learned from: its verdict proves nothing."""


def listed_photos(path: Path) -> tuple[list[tuple[str, Path]], dict[str, str]]:
    """(name, path) of the photos that a list of another tool names, and what it says of each by name.

    Raises ScanError for a damaged list, OSError.
    """
    places, _, _ = listed(path, [PurePosixPath(name) for name, _ in photos_in([path.parent])], {})
    return [(str(file), path.parent / file) for file in places], {str(file): one.kind for file, one in places.items()}


def truths_of(paths: Sequence[Path], names: Collection[str]) -> dict[str, str]:
    """What lists or folders say of photos by name: "good" or the defect type; of the others nothing.

    names: as `batch.photos_of` gives them for these paths. Raises as `listed_photos`.
    """
    if lists := [path for path in paths if path.is_file() and is_list(path)]:
        return {name: kind for path in lists for name, kind in listed_photos(path)[1].items()}
    return {str(file): kind for file, kind in labels([PurePosixPath(name) for name in names]).items()}


def with_truth(row: ResultRow, truth: str, taught: Collection[str]) -> ResultRow:
    """The row with what its photo shows. taught: digests of the photos that the recipe learned from."""
    return replace(row, truth=TAUGHT if truth == GOOD and row.digest in taught else truth)


def confusion(rows: Sequence[ResultRow]) -> dict[str, Counter[str]]:
    """How many photos have which verdict, by truth: good, then the defect types. Photos taught are left out."""
    found: dict[str, Counter[str]] = {}
    for truth in sorted({row.truth for row in rows} - {"", TAUGHT}, key=lambda truth: (truth != GOOD, truth)):
        found[truth] = Counter(row.verdict for row in rows if row.truth == truth)
    return found


def counts_of(rows: Sequence[ResultRow]) -> Counts:
    """Overkill and escapes by the verdicts, whatever they go by."""
    found = confusion(rows)
    good, defect = found.pop(GOOD, Counter()), sum(found.values(), Counter[str]())
    unscored = [_unscored(verdicts) for verdicts in (good, defect)]
    return Counts(
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


def sentence(rows: Sequence[ResultRow]) -> str:
    """Overkill and escapes in parts; "" where no truth is known."""
    taught = sum(row.truth == TAUGHT for row in rows)
    aside = f" {counted(taught, 'photo')} used for training not counted." if taught else ""
    return f"{in_parts(counts_of(rows))}{aside}" if confusion(rows) else ""


def table_of(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    """The confusion table, a column by its head: a line for good, for each defect type, and for all defects."""
    lines = confusion(rows)
    defects = [own for truth, own in lines.items() if truth != GOOD]
    if len(defects) > 1:
        lines["all defects"] = sum(defects, Counter[str]())
    shown = [
        word for word in OUTCOMES if word not in (NOT_LOCATED, NOT_JUDGED) or any(own[word] for own in lines.values())
    ]
    columns = {"Ground truth": list(lines), "Photos": [f"{own.total():,}" for own in lines.values()]}
    columns |= {SPOKEN[word].capitalize(): [f"{own[word]:,}" for own in lines.values()] for word in shown}
    wrong, upper = [], []
    for truth, verdicts in lines.items():
        count = verdicts["reject" if truth == GOOD else "accept"]
        inspected = verdicts.total() - _unscored(verdicts).total
        wrong.append(_share(count, inspected, verdicts.total()))
        upper.append(most_in_long_run(count, inspected) if inspected else "–")
    return columns | {"Errors": wrong, "Upper bound (95%)": upper}


def _unscored(verdicts: Counter[str]) -> Unscored:
    return Unscored(verdicts[NOT_LOCATED], verdicts[NOT_JUDGED])


def _share(count: int, inspected: int, total: int) -> str:
    """A share of the inspected parts, with those that were not inspected beside it."""
    share = f"{100 * count / inspected:.1f}%" if inspected else "–"
    return share if inspected == total else f"{share} of {inspected:,} inspected; {total - inspected:,} to sort by hand"
