"""The handshake with a controller: one state machine without time, threads or wires of its own.

After OPC 40100-1 and what the makers of paid stations share. A trigger is taken on its rising edge, when the station is
ready; the result of a part stands until it is acknowledged, then the next is shown; up to QUEUE results wait, and with
as many no trigger is taken. Nothing is dropped or shown twice. Whatever goes wrong shows as "not accepted" or as no
result at all, which the controller takes for bad: `accepted` stands for a part that was accepted, and for nothing else.
"""

from collections import deque
from dataclasses import dataclass, replace

from inspect_core.station.signals import Code, Commands, Signals, StationState

QUEUE = 8
"""Results that may wait."""
WATCHDOG_SECONDS = 3.0
"""Without a new heartbeat of the controller, after which nothing is ready and no part is accepted."""
BEATS_A_SECOND = 4
COUNTED_AS = {"accept": "accepted_parts", "review": "review_parts", "reject": "rejected_parts"}
"""Verdict -> its counter; all others are not judged."""


@dataclass(frozen=True)
class PartResult:
    """A judged part. number: of the result; verdict: one of `verdict.ALL_VERDICTS`; recipe: number of the one that
    judged; share_of_limit: of its score, in 1/10,000; is_late: whether it no longer accepts its part.
    """

    number: int
    part: int
    verdict: str
    code: Code
    recipe: int
    share_of_limit: int = 0
    milliseconds: int = 0
    is_late: bool = False

    @property
    def is_accepted(self) -> bool:
        return self.verdict == "accept" and self.code is Code.NONE and not self.is_late


@dataclass(frozen=True)
class TakePart:
    """To be done: photograph and judge the part of this number; since: when its trigger came."""

    part: int
    since: float


@dataclass(frozen=True)
class PrepareRecipe:
    """To be done: make the recipe of this number ready."""

    recipe: int


Work = TakePart | PrepareRecipe


@dataclass
class Counters:
    """Parts since a reset."""

    parts: int = 0
    accepted_parts: int = 0
    review_parts: int = 0
    rejected_parts: int = 0
    not_judged_parts: int = 0
    missed_triggers: int = 0
    total_milliseconds: int = 0
    largest_milliseconds: int = 0

    def add(self, result: PartResult) -> None:
        name = COUNTED_AS.get(result.verdict, "not_judged_parts")
        setattr(self, name, getattr(self, name) + 1)
        self.parts += 1
        self.total_milliseconds += result.milliseconds
        self.largest_milliseconds = max(self.largest_milliseconds, result.milliseconds)

    def as_signals(self) -> dict[str, int]:
        counted = dict(vars(self))
        total = counted.pop("total_milliseconds")
        return counted | {"mean_milliseconds": round(total / self.parts) if self.parts else 0}


class Handshake:
    """Call `read` with what the controller says, `tick` as time passes, the others as work is done; send `signals`.

    Times are seconds of one clock that only rises.
    """

    def __init__(self, *, result_number: int = 0) -> None:
        """result_number: of the last result before this start."""
        self._state = StationState.OFFLINE
        self._before = Commands(trigger=True, acknowledge=True, request_recipe=True)  # held since before: no edge
        self._heard_at: float | None = None
        self._alive = False
        self._beat = 0
        self._toggle = False
        self._results: deque[PartResult] = deque()
        self._shown = False
        self._trigger_acknowledged = False
        self._photo_taken = False
        self._missed = False
        self._error = Code.NONE
        self._recipe, self._release = 0, 0
        self._recipe_answer: bool | None = None
        self.result_number = result_number
        self.counters = Counters()
        self.challenge_due = False
        self.drift = False

    @property
    def is_ready(self) -> bool:
        """Whether a trigger is taken now."""
        free = len(self._results) < QUEUE
        return self._state is StationState.READY and self._alive and free and not self._trigger_acknowledged

    @property
    def signals(self) -> Signals:
        """What the controller is to see."""
        result = self._results[0] if self._shown else None
        accepted = result is not None and result.is_accepted and self._alive
        of_result = {} if result is None else {
            "part": result.part,
            "code": result.code,
            "share_of_limit": result.share_of_limit,
            "judged_by": result.recipe,
            "milliseconds": result.milliseconds,
            "result_number": result.number,
        }  # fmt: skip
        return Signals(
            ready=self.is_ready,
            trigger_acknowledged=self._trigger_acknowledged,
            busy=self._state in (StationState.TAKING, StationState.BUSY),
            photo_taken=self._photo_taken,
            result_valid=result is not None,
            result_toggle=self._toggle,
            accepted=accepted,
            not_accepted=not accepted and (result is not None or not self._alive),
            recipe_acknowledged=self._recipe_answer is True,
            recipe_error=self._recipe_answer is False,
            error=self._state is StationState.ERROR,
            missed_trigger=self._missed,
            challenge_due=self.challenge_due,
            drift=self.drift,
            state=self._state,
            heartbeat=self._beat,
            recipe=self._recipe,
            release=self._release,
            error_code=self._error,
            results_waiting=len(self._results),
            **of_result,
            **self.counters.as_signals(),
        )

    def read(self, commands: Commands, now: float) -> list[Work]:
        """What the controller says now; returns what is to be done."""
        before, self._before = self._before, commands
        if commands.heartbeat != before.heartbeat:
            self._heard_at = now
        self.tick(now)
        work: list[Work] = []
        if commands.clear_error and not before.clear_error:
            self._clear_error()
        if commands.reset_counters and not before.reset_counters:
            self.reset_counters()
        if not commands.trigger:
            self._trigger_acknowledged = False
        elif not before.trigger:
            work += self._triggered(commands.part, now)
        if not commands.request_recipe:
            self._recipe_answer = None
        elif not before.request_recipe:
            work += self._requested(commands.recipe)
        self._acknowledged(commands.acknowledge)
        return work

    def tick(self, now: float) -> None:
        """Time passes: the own heartbeat, and whether the controller's is still heard."""
        self._beat = int(now * BEATS_A_SECOND) & 0xFFFF
        was_alive = self._alive
        self._alive = self._heard_at is not None and now - self._heard_at < WATCHDOG_SECONDS
        if was_alive and not self._alive:
            # It has decided without them, and may be another one, or start anew, when it is heard again.
            silent = Code.CONTROLLER_SILENT
            self._results = deque(
                replace(result, is_late=True, code=silent) if result.is_accepted else result for result in self._results
            )

    def reset_counters(self) -> None:
        """Count anew; what was told of drift is told no longer."""
        self.counters = Counters()
        self.drift = False

    def _triggered(self, part: int, now: float) -> list[Work]:
        if not self.is_ready:
            self._missed = True
            self.counters.missed_triggers += 1
            return []
        self._trigger_acknowledged = True
        self._photo_taken = False
        self._state = StationState.TAKING
        return [TakePart(part, now)]

    def _requested(self, recipe: int) -> list[Work]:
        if self._state is not StationState.READY:
            self._recipe_answer = False
            return []
        self._state = StationState.PREPARING
        return [PrepareRecipe(recipe)]

    def _acknowledged(self, acknowledged: bool) -> None:
        if self._shown and acknowledged:
            self._results.popleft()
            self._shown = False
        elif not self._shown and not acknowledged and self._results:
            self._shown = True
            self._toggle = not self._toggle

    def _clear_error(self) -> None:
        self._missed = False
        if self._state is StationState.ERROR:
            self._state, self._error = StationState.READY, Code.NONE

    def prepared(self, recipe: int, release: str) -> None:
        """A recipe is in force. release: hex digest of it."""
        self._recipe, self._release = recipe, int(release[:8] or "0", 16)
        if self._state in (StationState.OFFLINE, StationState.PREPARING):
            self._recipe_answer = True if self._state is StationState.PREPARING else None
            self._state = StationState.READY

    def refused(self) -> None:
        """The recipe that was asked for cannot be used; the one before stays in force."""
        if self._state is StationState.PREPARING:
            self._recipe_answer = False
            self._state = StationState.READY

    def photographed(self) -> None:
        """All photos of the part are there."""
        self._photo_taken = True
        if self._state is StationState.TAKING:
            self._state = StationState.BUSY

    def add_result(self, result: PartResult) -> None:
        """The part that was taken has its result, and stands in the log."""
        self.result_number = result.number
        self._results.append(result)
        self.counters.add(result)
        if self._state in (StationState.TAKING, StationState.BUSY):
            self._state = StationState.READY
        self._acknowledged(self._before.acknowledge)

    def failed(self, code: Code) -> None:
        """The station cannot go on; results that wait stay."""
        self._state, self._error = StationState.ERROR, code

    @property
    def next_number(self) -> int:
        """Of the next result."""
        return self.result_number % (2**31 - 1) + 1
