"""What another recipe would have said of parts that were judged before: whose verdict changes, and what escapes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from inspect_core.images.samples import GOOD, counted, examples


@dataclass(frozen=True)
class Rejudged:
    """A part under both recipes. kind: "good", a defect type or "defect", "" where nobody knows; before, after: the
    verdicts, one of `verdict.OUTCOMES`; source: where it was judged, in words.
    """

    name: str
    kind: str
    before: str
    after: str
    source: str

    @property
    def escapes(self) -> bool:
        """A known defect that was stopped or sent to review, and would now be accepted."""
        return self.kind not in ("", GOOD) and self.before in ("review", "reject") and self.after == "accept"

    @property
    def is_lost(self) -> bool:
        """A good part that was accepted, and would not be any more."""
        return self.kind == GOOD and self.before == "accept" != self.after


@dataclass(frozen=True)
class Regression:
    """The parts judged before; unseen: how many could not be judged again, by why."""

    parts: Sequence[Rejudged]
    unseen: Sequence[str] = ()

    @property
    def changed(self) -> list[Rejudged]:
        """The parts whose verdict changes, escapes first, then good parts that are no longer accepted."""
        changed = [part for part in self.parts if part.before != part.after]
        return sorted(changed, key=lambda part: (not part.escapes, not part.is_lost))

    @property
    def escapes(self) -> list[Rejudged]:
        return [part for part in self.parts if part.escapes]

    def sentences(self) -> list[str]:
        """In words: how many of how many change, from what to what, what escapes, what was not judged again."""
        ways = Counter(f"{part.before} → {part.after}" for part in self.changed)
        found = [f"{counted(len(self.parts), 'part')} judged before: {len(self.changed)} would get another verdict."]
        found += [f"{way}: {count}" for way, count in ways.most_common()]
        if self.escapes:
            names = examples([part.name for part in self.escapes])
            found.append(f"Known defects that would now be accepted: {len(self.escapes)} ({names}).")
        return [*found, *self.unseen]
