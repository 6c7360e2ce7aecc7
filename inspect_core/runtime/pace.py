"""The pace of long work: the seconds that are left, from how far it is."""

import math

BEGUN = 0.05
"""Share of the work up to which it is prepared, such as while part positions are learned: its pace says nothing."""
KNOWN = 0.05
"""Share of the work beyond that from which on the pace is known."""
KNOWN_SECONDS = 10.0
"""Seconds beyond that after which the pace is known too, of work that takes long."""
STEADY = 0.15
"""Share from which on an estimate rises by no more than a fifth above the least told."""


class Pace:
    """How fast one piece of work goes. Times are seconds since it began."""

    def __init__(self) -> None:
        self._begun_at = 0.0, 0.0
        self._told: tuple[float, float] | None = None
        self._least = math.inf

    def report(self, fraction: float, seconds: float) -> None:
        """Take in how much of the work is done, 0 to 1, at a time."""
        if fraction <= BEGUN:
            self._begun_at = seconds, fraction
        at, begun = self._begun_at
        worked = seconds - at
        is_known = fraction - begun >= KNOWN or worked >= KNOWN_SECONDS
        if fraction <= BEGUN or worked < 1 or not is_known:
            self._told = None
            self._least = math.inf
            return
        estimate = worked * (1 - fraction) / (fraction - begun)
        if fraction >= STEADY:
            estimate = min(estimate, 1.2 * self._least)
            self._least = min(self._least, estimate)
        self._told = seconds, estimate

    def seconds_left(self, seconds: float) -> float | None:
        """The estimate at a time, which runs down between reports; None before the pace is known."""
        if self._told is None:
            return None
        at, estimate = self._told
        return max(estimate - (seconds - at), estimate / 5)
