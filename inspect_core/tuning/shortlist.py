"""The detectors that come into question for a new folder, by what they are expected to take."""

from collections.abc import Collection
from dataclasses import dataclass

from inspect_core.methods.method import WIDEST, Workload
from inspect_core.methods.registry import (
    ANYWHERE,
    CANDIDATES,
    FIXED,
    LOOSE,
    METHODS,
    known_parameters,
    methods_of,
    title_of,
)
from inspect_core.study.teaching_config import TeachingConfig


@dataclass(frozen=True)
class Shortlist:
    """Candidates for a new folder, and those left out as slower than allowed, each with its forecast in ms a photo.

    A forecast, never a stopwatch, so that the same photos choose the same detector.
    """

    candidates: dict[str, float]
    left_out: dict[str, float]
    budget: float

    @classmethod
    def from_budget(
        cls, grid: tuple[int, int], fixed_names: Collection[str] = (), *, budget: float = TeachingConfig.budget
    ) -> "Shortlist":
        """Those that have all the given parameters; the cheapest one takes part whatever it costs."""
        fitting = {
            name: forecast_ms(name, grid) for name in CANDIDATES if known_parameters(name).issuperset(fixed_names)
        }
        least = min(fitting.values(), default=0.0)
        fast = {name: ms for name, ms in fitting.items() if ms <= max(budget, least)}
        return cls(fast, {name: ms for name, ms in fitting.items() if name not in fast}, budget)

    @property
    def to_begin_with(self) -> tuple[str, ...]:
        """Those of which the place of parts names one; the first candidate where none of them takes part."""
        return tuple(name for name in (FIXED, LOOSE, ANYWHERE) if name in self.candidates) or tuple(self.candidates)[:1]

    def sentence(self) -> str:
        """What was left out, "" where nothing was."""
        if not self.left_out:
            return ""
        slow = ", ".join(f"{title_of(name)} ({ms:.0f} ms)" for name, ms in self.left_out.items())
        return f"Excluded (more than {self.budget:.0f} ms per photo): {slow}."


def forecast_ms(detector: str, grid: tuple[int, int]) -> float:
    """Milliseconds on two cores that the detector's methods are expected to take to score one more photo."""
    single, two = (Workload(0, shown, grid[0] * grid[1], WIDEST) for shown in (1, 2))
    rows = [METHODS[name] for name in methods_of(detector)]
    return 1000 * sum(row.costs(two, row.defaults).seconds - row.costs(single, row.defaults).seconds for row in rows)
