"""The signals of one recipe on the line, part after part: its score, its rejects, and what goes into the photo."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inspect_core.spc.drift import FEWEST, RAMP, REJECTS, SPREAD, STEP, Alarm, Monitor, RejectMonitor

SCORE = "score"
NAMES = {
    SCORE: "Score",
    REJECTS: "Rejects",
    "brightness": "Brightness",
    "sharpness": "Sharpness",
    "noise": "Noise",
    "product_distance": "Product check distance",
    "shift_x": "Position, horizontal",
    "shift_y": "Position, vertical",
    "angle": "Angle",
}
"""The signals, in the order in which they are shown."""
REFERENCE = 100
"""Parts not rejected that a signal is first seen on, where the release says nothing of it."""
LEAST_SHARE = 0.01
"""Of rejects that are expected at least, whatever the first parts show."""
MOST_SHARE = 0.3
"""The same at most."""
_WORDS = {STEP: "{1} shifted {0}", RAMP: "{1} drifted {0}"}


@dataclass(frozen=True)
class SignalAlarm:
    """A signal that left its limits. position: of the part, counted from 0 over all parts of the recipe."""

    signal: str
    alarm: Alarm
    position: int

    @property
    def words(self) -> str:
        name = NAMES[self.signal]
        if self.signal == SCORE and self.alarm.chart in _WORDS:
            return f"Scores {_WORDS[self.alarm.chart].format('up' if self.alarm.is_rising else 'down', 'have')}."
        if self.alarm.chart == REJECTS:
            return "The reject rate has increased."
        if self.alarm.chart == SPREAD:
            return f"{name} varies more than at release."
        return f"{name} {_WORDS[self.alarm.chart].format('up' if self.alarm.is_rising else 'down', 'has')}."


class DriftSignals:
    """Follows one recipe from its first part on. levels: by signal, (part, value of the chart that is nearest to its
    limit or beyond, as a share of the limit, below 0 for downwards).
    """

    def __init__(self, good: Sequence[float]):
        """good: scores of the good parts of the release; with too few, the first parts show what is usual."""
        self._monitors: dict[str, Monitor | RejectMonitor] = {SCORE: Monitor(good)} if len(good) >= FEWEST else {}
        self._first: dict[str, list[float]] = {}
        self.levels: dict[str, list[tuple[int, float]]] = {}
        self._position = -1

    def add(self, score: float | None, *, rejected: bool, inputs: Mapping[str, float]) -> list[SignalAlarm]:
        """The signals that leave their limits with this part. Rejects never count as usual."""
        self._position += 1
        alarms = []
        values = dict(inputs) | ({} if score is None else {SCORE: score}) | {REJECTS: float(rejected)}
        for name, value in values.items():
            monitor = self._monitors.get(name) or self._begin(name, value, rejected=rejected)
            if monitor is None:
                continue
            alarms += [SignalAlarm(name, alarm, self._position) for alarm in monitor.add(value)]
            shares = [level / monitor.limits[chart] for chart, level in monitor.values.items()]
            self.levels.setdefault(name, []).append((self._position, max(shares, key=abs)))
        return alarms

    def _begin(self, name: str, value: float, *, rejected: bool) -> None:
        """Collect what is usual for a signal until it is enough to watch it."""
        first = self._first.setdefault(name, [])
        if not rejected or name == REJECTS:
            first.append(value)
        if len(first) == REFERENCE:
            share = min(max(sum(first) / REFERENCE, LEAST_SHARE), MOST_SHARE) if name == REJECTS else 0.0
            self._monitors[name] = RejectMonitor(share) if name == REJECTS else Monitor(first)
