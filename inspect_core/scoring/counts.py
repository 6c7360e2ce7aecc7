"""The effect of limits in numbers of parts and in words, and which parts are counted.

Counts come with a bound at 95 %, because 0 of 20 and 0 of 2,000 are different findings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from inspect_core.scoring.limits import format_upper_bound


def select_counted_parts(
    good: np.ndarray, defect: np.ndarray, subsets: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, bool]:
    """(good parts, defects, whether the limit was set on these good parts), the first two (n,) bool.

    good, defect: (n,) bool; a part whose truth is unknown is neither. subsets: (n,) "calibration", "validation",
    "test", "added" or "relabelled". Good parts are those of the test set; when there are none, of the calibration set.
    Defects are those of the test set: not those used to choose settings, nor those whose label was given by someone who
    had seen the score.
    """
    subset_names = np.array(subsets, dtype=str)
    judge, calibrate = good & (subset_names == "test"), good & (subset_names == "calibration")
    shown = judge if judge.any() else calibrate
    return shown, defect & (subset_names == "test"), not (judge.any() and calibrate.any())


@dataclass(frozen=True)
class UnscoredCounts:
    """Parts that have a verdict but no score: neither rejected nor missed, and never accepted."""

    not_located: int = 0
    not_judged: int = 0

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Self:
        """Count the words "not located" and "not judged"."""
        return cls(words.count("not located"), words.count("not judged"))

    @property
    def total(self) -> int:
        return self.not_located + self.not_judged

    def clauses(self) -> list[str]:
        """ "2 not located", "1 not judged", those there are."""
        words = {"not located": self.not_located, "not judged": self.not_judged}
        return [f"{count} {word}" for word, count in words.items() if count]

    def of_all(self, total: int, noun: str) -> list[str]:
        """ "2 of 30 defects not located", "1 of 30 defects not judged", those there are."""
        words = {"not located": self.not_located, "not judged": self.not_judged}
        return [f"{count} of {total} {noun} {word}" for word, count in words.items() if count]


NONE_UNSCORED = UnscoredCounts()


@dataclass(frozen=True)
class VerdictCounts:
    """What limits do to parts whose truth is known.

    good_rejected: overkill; defects_missed: escapes, that is defects accepted. The reviewed are neither; with one limit
    (`two_limits` False) there are none. The totals hold the unscored. with_mask: defects whose place is known;
    caught_at_defect, caught_elsewhere: those of them that are not accepted, by the rule of `scoring.defect_hits`.
    """

    good_rejected: int
    good_total: int
    defects_missed: int
    defects_total: int
    good_reviewed: int = 0
    defects_reviewed: int = 0
    two_limits: bool = False
    with_mask: int = 0
    caught_at_defect: int = 0
    caught_elsewhere: int = 0
    good_unscored: UnscoredCounts = NONE_UNSCORED
    defects_unscored: UnscoredCounts = NONE_UNSCORED

    @property
    def good_inspected(self) -> int:
        return self.good_total - self.good_unscored.total

    @property
    def defects_inspected(self) -> int:
        return self.defects_total - self.defects_unscored.total

    @property
    def defects_caught(self) -> int:
        return self.defects_inspected - self.defects_missed

    @property
    def to_sort(self) -> list[str]:
        """The parts without a score, in words: "3 of 30 defects not located"."""
        good = self.good_unscored.of_all(self.good_total, "good parts")
        return [*self.defects_unscored.of_all(self.defects_total, "defects"), *good]


@dataclass(frozen=True)
class RepeatabilityCounts:
    """Verdicts that change when a part is photographed again within the tolerances.

    stopped: good parts accepted before; accepted: defects not accepted before; total: parts photographed again.
    """

    changed: int
    stopped: int
    accepted: int
    total: int

    def sentence(self) -> str:
        """For the bench: the verdicts that change, and which way."""
        defects = "1 defect" if self.accepted == 1 else f"{self.accepted} defects"
        parts = "1 part" if self.total == 1 else f"{self.total} parts"
        breakdown = f": {self.stopped} good no longer accepted, {defects} accepted" if self.changed else ""
        return (
            f"For repeat photos within the tolerances, {self.changed} of {parts} would get "
            f"a different verdict{breakdown}."
        )


def counts_sentence(counts: VerdictCounts, *, limit_set_on_these: bool = False, relabelled: int = 0) -> str:
    """The sentence in parts, word for word as the bench says it while a limit is dragged.

    >>> counts_sentence(VerdictCounts(good_rejected=3, good_total=120, defects_missed=1, defects_total=18))
    'Rejects 3 of 120 good parts (long-run upper bound 7 of 100), misses 1 of 18 defects.'

    A set without parts is left out. With masks, ", catches 17 of 18 (15 at the defect, 2 elsewhere)" follows; with two
    limits, ", sends 4 of 138 to review: 3 defects, 1 good". Where parts have no score, the totals are of the inspected
    ones, and "; 3 of 30 defects not located, sort by hand" ends the sentence. `limit_set_on_these` marks a rate
    measured on the very parts that set the limit, which flatters it; `relabelled` parts are named as left out.
    """
    clauses = []
    if counts.good_total:
        most = format_upper_bound(counts.good_rejected, counts.good_inspected)
        total = counts.good_inspected
        inspected = "inspected " if counts.good_unscored.total else ""
        clauses.append(f"rejects {counts.good_rejected} of {total} {inspected}good parts (long-run upper bound {most})")
    if counts.defects_total:
        total = counts.defects_inspected
        noun = "defect" if counts.defects_inspected == 1 else "defects"
        inspected = "inspected " if counts.defects_unscored.total else ""
        clauses.append(f"misses {counts.defects_missed} of {total} {inspected}{noun}")
        if counts.with_mask:
            clauses.append(f"detects {counts.defects_caught} of {total}{_where_caught(counts)}")
    if not clauses:
        return "No parts to count."
    if counts.two_limits or counts.good_reviewed or counts.defects_reviewed:
        clauses.append(_sent_to_review(counts))
    sentence = ", ".join(clauses) + (f"; {', '.join(counts.to_sort)}, sort by hand" if counts.to_sort else "")
    note = " These parts also set the limit." if limit_set_on_these else ""
    counted = "it" if relabelled == 1 else "them"
    aside = f" {relabelled} relabelled; teach again to count {counted}." if relabelled else ""
    return f"{sentence[0].upper()}{sentence[1:]}.{note}{aside}"


def _sent_to_review(counts: VerdictCounts) -> str:
    good, defects = counts.good_reviewed, counts.defects_reviewed
    noun = "defect" if defects == 1 else "defects"
    kinds = ", ".join(words for count, words in ((defects, f"{defects} {noun}"), (good, f"{good} good")) if count)
    breakdown = f": {kinds}" if counts.good_total and counts.defects_total and kinds else ""
    return f"sends {good + defects} of {counts.good_inspected + counts.defects_inspected} to review{breakdown}"


def _where_caught(counts: VerdictCounts) -> str:
    if not counts.defects_caught:
        return ""
    unknown = counts.defects_caught - counts.caught_at_defect - counts.caught_elsewhere
    without = f", {unknown} without a mask" if unknown else ""
    return f" ({counts.caught_at_defect} at the defect, {counts.caught_elsewhere} elsewhere{without})"
