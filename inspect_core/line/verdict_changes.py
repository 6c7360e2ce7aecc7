"""The same photos judged by two recipes: which verdicts change, for better or worse."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from inspect_core.images.samples import GOOD
from inspect_core.line.confusion import TAUGHT
from inspect_core.line.result_row import ResultRow
from inspect_core.verdict import OUTCOMES, SPOKEN

BETTER, WORSE, UNKNOWN = "better", "worse", ""
_SEVERE = {word: min(place, OUTCOMES.index("reject")) for place, word in enumerate(OUTCOMES)}


@dataclass(frozen=True)
class VerdictChange:
    """One photo with another verdict. way: BETTER or WORSE by its truth, UNKNOWN where that is not known."""

    before: ResultRow
    after: ResultRow

    @property
    def way(self) -> str:
        truth = self.after.truth or self.before.truth
        step = _SEVERE[self.after.verdict] - _SEVERE[self.before.verdict]
        if not truth or not step:
            return UNKNOWN
        return BETTER if (step < 0) == (truth in (GOOD, TAUGHT)) else WORSE

    @property
    def escapes(self) -> bool:
        """A known defect that was not accepted before, and is now."""
        return self.way == WORSE and self.after.verdict == "accept"


@dataclass(frozen=True)
class VerdictChanges:
    """common: how many photos both judged; changes: those with another verdict, the worse first."""

    common: int
    changes: tuple[VerdictChange, ...]

    @property
    def escapes(self) -> list[VerdictChange]:
        return [one for one in self.changes if one.escapes]

    def crossed(self) -> Counter[tuple[str, str]]:
        """How many photos went from which verdict to which."""
        return Counter((one.before.verdict, one.after.verdict) for one in self.changes)

    def sentence(self) -> str:
        """ "2 of 110 photos change: 1 accepted → rejected (1 better), 1 ..."."""
        if not self.changes:
            return f"No verdicts change ({self.common:,} photos)."
        steps = [
            f"{count:,} {SPOKEN[before]} → {SPOKEN[after]}" for (before, after), count in self.crossed().most_common()
        ]
        ways = Counter(one.way for one in self.changes)
        told = [f"{ways[way]:,} {way}" for way in (BETTER, WORSE) if ways[way]]
        judged = f"; {', '.join(told)}" if told else ""
        return f"{len(self.changes):,} of {self.common:,} verdicts change: {', '.join(steps)}{judged}."


def changed(before: Sequence[ResultRow], after: Sequence[ResultRow]) -> VerdictChanges:
    """What changes from one recipe to the other, for photos of the same content; unread ones go by their name."""
    known = {row.digest or row.name: row for row in before}
    pairs = [(known[key], row) for row in after if (key := row.digest or row.name) in known]
    changes = [VerdictChange(*pair) for pair in pairs if pair[0].verdict != pair[1].verdict]
    order = (WORSE, UNKNOWN, BETTER)
    return VerdictChanges(len(pairs), tuple(sorted(changes, key=lambda one: (order.index(one.way), one.after.name))))
