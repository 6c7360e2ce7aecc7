"""The same photos judged by two recipes: which verdicts change, for better or worse."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from inspect_core.datasets.dataset import GOOD
from inspect_core.inspection import Inspection
from inspect_core.line.confusion import TAUGHT
from inspect_core.verdict import ALL_VERDICTS, VERDICT_PHRASES

BETTER, WORSE, UNKNOWN = "better", "worse", ""
_SEVERE = {word: min(place, ALL_VERDICTS.index("reject")) for place, word in enumerate(ALL_VERDICTS)}


@dataclass(frozen=True)
class VerdictChange:
    """One photo with another verdict. direction: BETTER or WORSE by its truth, UNKNOWN where that is not known."""

    before: Inspection
    after: Inspection

    @property
    def direction(self) -> str:
        truth = self.after.truth or self.before.truth
        step = _SEVERE[self.after.verdict] - _SEVERE[self.before.verdict]
        if not truth or not step:
            return UNKNOWN
        return BETTER if (step < 0) == (truth in (GOOD, TAUGHT)) else WORSE

    @property
    def escapes(self) -> bool:
        """A known defect that was not accepted before, and is now."""
        return self.direction == WORSE and self.after.verdict == "accept"


@dataclass(frozen=True)
class VerdictChanges:
    """common: how many photos both judged; changes: those with another verdict, the worse first."""

    common: int
    changes: tuple[VerdictChange, ...]

    @property
    def escapes(self) -> list[VerdictChange]:
        return [change for change in self.changes if change.escapes]

    def transition_counts(self) -> Counter[tuple[str, str]]:
        """How many photos went from which verdict to which."""
        return Counter((change.before.verdict, change.after.verdict) for change in self.changes)

    def sentence(self) -> str:
        """ "2 of 110 photos change: 1 accepted → rejected (1 better), 1 ..."."""
        if not self.changes:
            return f"No verdicts change ({self.common:,} photos)."
        steps = [
            f"{count:,} {VERDICT_PHRASES[before]} → {VERDICT_PHRASES[after]}"
            for (before, after), count in self.transition_counts().most_common()
        ]
        ways = Counter(change.direction for change in self.changes)
        direction_counts = [f"{ways[direction]:,} {direction}" for direction in (BETTER, WORSE) if ways[direction]]
        unscored_note = f"; {', '.join(direction_counts)}" if direction_counts else ""
        return f"{len(self.changes):,} of {self.common:,} verdicts change: {', '.join(steps)}{unscored_note}."


def compare_verdicts(before: Sequence[Inspection], after: Sequence[Inspection]) -> VerdictChanges:
    """What changes between the recipes for photos of the same content; unread ones go by name."""
    known = {row.digest or row.name: row for row in before}
    pairs = [(known[key], row) for row in after if (key := row.digest or row.name) in known]
    changes = [VerdictChange(*pair) for pair in pairs if pair[0].verdict != pair[1].verdict]
    order = (WORSE, UNKNOWN, BETTER)
    return VerdictChanges(
        len(pairs), tuple(sorted(changes, key=lambda item: (order.index(item.direction), item.after.name)))
    )
