"""A batch of photos whose truth is known: which verdicts were wrong, and how often they may be."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from inspect_core.datasets.dataset import GOOD
from inspect_core.datasets.folders import labels_at
from inspect_core.datasets.photo_labels import NONE, UnclearLabels
from inspect_core.datasets.photo_tree import resolved
from inspect_core.inspection import Inspection
from inspect_core.runtime.wording import pluralise
from inspect_core.scoring.counts import UnscoredCounts, VerdictCounts, counts_sentence
from inspect_core.scoring.limits import format_upper_bound
from inspect_core.verdict import ALL_VERDICTS, NOT_JUDGED, NOT_LOCATED, VERDICT_PHRASES

TAUGHT = "good, taught"
"""The truth of a good photo that the recipe has learned from: its verdict proves nothing."""


def truths_of(
    photos: Sequence[tuple[str, Path]], paths: Sequence[Path], reading: str | None = None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """What names, lists, annotations and masks say of photos by name, "good" or the defect type, and a sentence
    where that can be read in more than one way, so that no verdict is called wrong by it.

    photos: as `batch.photos_of` gives them for these paths; reading: one of `photo_labels.READINGS`. Raises ScanError
    for a damaged list.
    """
    if reading == NONE:
        return {}, ()
    try:
        labels = labels_at(paths, reading)
    except UnclearLabels as unclear:
        return {}, (f"Verdicts are not compared with labels. {unclear}",)
    labelled = ((name, labels.get(resolved(path))) for name, path in photos)
    return {name: label for name, label in labelled if label is not None}, ()


def with_truth(row: Inspection, truth: str, training_digests: Collection[str]) -> Inspection:
    """The row with what its photo shows. training_digests: of the photos that the recipe learned from."""
    return replace(row, truth=TAUGHT if truth == GOOD and row.digest in training_digests else truth)


def error_mark(row: Inspection) -> str:
    """What follows the truth of a part that was judged wrongly, "" for others: " · escape", " · false reject"."""
    if row.truth in ("", TAUGHT):
        return ""
    if row.truth != GOOD:
        return " · escape" if row.verdict == "accept" else ""
    return " · false reject" if row.verdict == "reject" else ""


def confusion(rows: Sequence[Inspection]) -> dict[str, Counter[str]]:
    """How many photos have which verdict, by truth: good, then the defect types. Photos taught are left out."""
    counts_by_truth: dict[str, Counter[str]] = {}
    for truth in sorted({row.truth for row in rows} - {"", TAUGHT}, key=lambda truth: (truth != GOOD, truth)):
        counts_by_truth[truth] = Counter(row.verdict for row in rows if row.truth == truth)
    return counts_by_truth


def counts_of(rows: Sequence[Inspection]) -> VerdictCounts:
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


def escape_sentence(rows: Sequence[Inspection]) -> str:
    """Overkill and escapes in parts; "" where no truth is known."""
    training_count = sum(row.truth == TAUGHT for row in rows)
    aside = f" {pluralise(training_count, 'photo')} used for training not counted." if training_count else ""
    return f"{counts_sentence(counts_of(rows))}{aside}" if confusion(rows) else ""


def table_of(rows: Sequence[Inspection]) -> dict[str, list[str]]:
    """The confusion table, a column by its head: a line for good, for each defect type, and for all defects."""
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
    """A share of the inspected parts, with those that were not inspected beside it."""
    share = f"{100 * count / inspected:.1f}%" if inspected else "–"
    return share if inspected == total else f"{share} of {inspected:,} inspected; {total - inspected:,} to sort by hand"
