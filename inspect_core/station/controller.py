"""A model of a controller (PLC) by the rule that integrators follow: a part is bad until a result with its number says
otherwise. For the simulation, and for the proof that nothing else ever accepts a part.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ModbusException

from inspect_core.station.settings import ModbusPort
from inspect_core.station.signals import COMMANDS_FROM, SIGNALS_FROM, Commands, Signals

POLL_SECONDS = 0.002
WINDOW_SECONDS = 5.0
"""After the trigger, in which a result accepts its part."""
BEAT_SECONDS = 0.5


class Silence(Exception):
    """The station does not answer."""


class Link(Protocol):
    """A wire to a station."""

    def read(self) -> Signals:
        """What the station says. Raises Silence."""
        ...

    def write(self, commands: Commands) -> None:
        """Say something. Raises Silence."""
        ...


class ModbusLink:
    """A Modbus TCP client, which connects again after every silence."""

    def __init__(self, settings: ModbusPort, *, timeout: float = 1.0) -> None:
        self._client = ModbusTcpClient(settings.host, port=settings.port, timeout=timeout, retries=0)

    def close(self) -> None:
        self._client.close()

    def read(self) -> Signals:
        try:
            self._require_connection()
            response = self._client.read_holding_registers(SIGNALS_FROM, count=Signals.count())
        except (ModbusException, OSError) as error:
            raise self._silence(error) from error
        if response.isError():
            raise self._silence(response)
        return Signals.from_registers(response.registers)

    def write(self, commands: Commands) -> None:
        try:
            self._require_connection()
            response = self._client.write_registers(COMMANDS_FROM, commands.registers())
        except (ModbusException, OSError) as error:
            raise self._silence(error) from error
        if response.isError():
            raise self._silence(response)

    def _require_connection(self) -> None:
        if not self._client.connected and not self._client.connect():
            raise OSError("no connection")

    def _silence(self, reason: object) -> Silence:
        self._client.close()
        return Silence(str(reason))


@dataclass(frozen=True)
class Outcome:
    """What the controller made of a part. result: what it read, None where none came in time; seconds: from trigger to
    result; words: why it is bad.
    """

    part: int
    accepted: bool
    result: Signals | None
    seconds: float
    words: str


class Controller:
    """Runs parts over a link. in_place: called once a trigger is acknowledged, with the part's number: the camera."""

    def __init__(
        self, link: Link, *, in_place: Callable[[int], None] = lambda part: None, window: float = WINDOW_SECONDS
    ) -> None:
        self._link, self._in_place, self._window = link, in_place, window
        self._commands = Commands()
        self._beat_at = 0.0
        self._last_number: int | None = None
        self.stale: list[Signals] = []

    def say(self, **commands: object) -> None:
        """Change what is said, and beat. Raises Silence."""
        self._commands = replace(self._commands, **commands)
        self._beat()
        self._link.write(self._commands)

    def observe(self) -> Signals:
        """What the station says; a heartbeat where one is due. Raises Silence."""
        if time.monotonic() - self._beat_at > BEAT_SECONDS:
            self.say()
        return self._link.read()

    def _beat(self) -> None:
        self._beat_at = time.monotonic()
        self._commands = replace(self._commands, heartbeat=self._commands.heartbeat % 0xFFFF + 1)

    def wait_for(self, holds: Callable[[Signals], bool], until: float) -> Signals | None:
        """What the station says once it holds; None when it does not in time, or the station is silent until then."""
        while time.monotonic() < until:
            try:
                signals = self.observe()
            except Silence:
                time.sleep(10 * POLL_SECONDS)
                continue
            if holds(signals):
                return signals
            time.sleep(POLL_SECONDS)
        return None

    def run_part(self, part: int, *, patience: float = 30.0) -> Outcome | None:
        """One part from trigger to acknowledged result; None where the station was not ready within `patience` s."""
        until = time.monotonic() + patience
        if self.wait_for(self._drained, until) is None:
            return None
        began = time.monotonic()
        ends = began + self._window
        try:
            self.say(trigger=True, part=part, acknowledge=False)
        except Silence:
            self._drop(until)
            return Outcome(part, False, None, self._window, "the station is silent")
        acknowledged = self.wait_for(lambda signals: signals.trigger_acknowledged, ends)
        if acknowledged is not None:
            self._in_place(part)
        self._drop(until)
        if acknowledged is None:
            return Outcome(part, False, None, self._window, "the trigger was not taken")
        result = self.wait_for(lambda signals: signals.result_valid and self._is_new(signals, part), ends)
        if result is None:
            return Outcome(part, False, None, self._window, "no result came in time")
        seconds = time.monotonic() - began
        accepted = result.accepted and not result.not_accepted and result.part == part
        self._acknowledge(result, until)
        return Outcome(part, accepted, result, seconds, "" if accepted else f"code {result.code}")

    def _drained(self, signals: Signals) -> bool:
        """Whether a trigger is taken now; an earlier part's result is acknowledged, and accepts nothing."""
        if signals.result_valid:
            self.stale.append(signals)
            self._acknowledge(signals, time.monotonic() + self._window)
            return False
        if signals.error or signals.missed_trigger:
            self.say(clear_error=True)
            self.say(clear_error=False)
            return False
        return signals.ready

    def _is_new(self, signals: Signals, part: int) -> bool:
        if signals.part == part and signals.result_number != self._last_number:
            return True
        self.stale.append(signals)
        self._acknowledge(signals, time.monotonic() + self._window)
        return False

    def _acknowledge(self, signals: Signals, until: float) -> None:
        self._last_number = signals.result_number
        try:
            self.say(acknowledge=True)
            self.wait_for(lambda now: not now.result_valid or now.result_number != signals.result_number, until)
            self.say(acknowledge=False)
        except Silence:
            self._commands = replace(self._commands, acknowledge=False)

    def _drop(self, until: float) -> None:
        """Lower the trigger, as soon as the station hears it."""
        self._commands = replace(self._commands, trigger=False)
        while time.monotonic() < until:
            try:
                self.say()
                return
            except Silence:
                time.sleep(10 * POLL_SECONDS)
