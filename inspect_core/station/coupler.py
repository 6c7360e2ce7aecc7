"""Digital inputs and outputs without a controller: a Modbus TCP coupler, whose coils Loupe writes.

One input is the trigger; three outputs in a row are ready, accepted and not accepted. A result stands for a while and
is then acknowledged here, as no controller does it. The coupler's own watchdog has to switch its outputs off when
nobody writes: until then an output stands as it was.
"""

import threading
import time
from dataclasses import replace

from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ModbusException

from inspect_core.station.modbus import Controlled
from inspect_core.station.settings import CouplerPort
from inspect_core.station.signals import Commands, Signals

CYCLE_SECONDS = 0.01
RETRY_SECONDS = 0.5


class Coupler:
    """Runs a station by a coupler's inputs and outputs until it is closed. state: of the connection, in words."""

    def __init__(self, station: Controlled, settings: CouplerPort) -> None:
        self._station, self._settings = station, settings
        self._client = ModbusTcpClient(settings.host, port=settings.port, timeout=1, retries=0)
        self._commands = Commands(trigger=True)  # one that is held since before is no edge
        self._shown_since: float | None = None
        self._closing = threading.Event()
        self.state = "not connected yet"
        self._thread = threading.Thread(target=self._run, name="loupe-coupler", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Switch all outputs off, where the coupler still answers."""
        self._closing.set()
        self._thread.join()
        self._client.close()

    def _run(self) -> None:
        while not self._closing.wait(CYCLE_SECONDS):
            try:
                self._cycle()
                self.state = "connected"
            except (ModbusException, OSError) as error:
                self._client.close()
                self.state = f"no connection to {self._settings.host}:{self._settings.port} ({error})"
                self._closing.wait(RETRY_SECONDS)
        try:
            self._write(Signals())
        except (ModbusException, OSError):
            return

    def _cycle(self) -> None:
        if not self._client.connected and not self._client.connect():
            raise OSError("it does not answer")
        answer = self._client.read_discrete_inputs(self._settings.trigger_input, count=1)
        if answer.isError():
            raise OSError(f"it has no input {self._settings.trigger_input}")
        beat = self._commands.heartbeat % 0xFFFF + 1
        acknowledge = self._acknowledges(self._station.signals)
        # An error ends with the trigger's fall: nobody is there to command it.
        clear = self._commands.trigger and not answer.bits[0]
        self._commands = replace(
            self._commands, trigger=bool(answer.bits[0]), acknowledge=acknowledge, heartbeat=beat, clear_error=clear
        )
        self._station.command(self._commands)
        self._write(self._station.signals)

    def _acknowledges(self, signals: Signals) -> bool:
        """Whether the result has stood long enough."""
        if not signals.result_valid:
            self._shown_since = None
            return False
        if self._shown_since is None:
            self._shown_since = time.monotonic()
        return time.monotonic() - self._shown_since >= self._settings.hold_seconds

    def _write(self, signals: Signals) -> None:
        bits = [signals.ready, signals.accepted, signals.not_accepted]
        if self._client.write_coils(self._settings.first_output, bits).isError():
            raise OSError(f"it has no outputs from {self._settings.first_output} on")
