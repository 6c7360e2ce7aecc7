"""A Modbus TCP server with the registers of `signals`: Loupe serves, so a controller that restarts finds it again."""

import asyncio
import threading
from concurrent.futures import Future
from typing import Any, Protocol

from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from inspect_core.station.settings import ModbusPort
from inspect_core.station.signals import COMMANDS_FROM, SIGNALS_FROM, Commands, Signals

START_SECONDS = 10.0


class Controlled(Protocol):
    """What a controller talks to: a station."""

    @property
    def signals(self) -> Signals: ...

    def command(self, commands: Commands) -> None: ...


class ModbusServer:
    """Serves a station until it is closed; whoever can reach the port can command it.

    connected: number of controllers. Raises OSError when the port cannot be used.
    """

    def __init__(self, station: Controlled, settings: ModbusPort) -> None:
        self._station, self._settings = station, settings
        self.connected = 0
        started: Future[tuple[asyncio.AbstractEventLoop, ModbusTcpServer]] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), name="loupe-modbus")
        self._thread.daemon = True
        self._thread.start()
        self._loop, self._server = started.result(START_SECONDS)

    @property
    def state(self) -> str:
        """The connection in words."""
        return "connected" if self.connected else "no controller is connected"

    def close(self) -> None:
        """Serve no more; a controller that asks gets no answer, and takes its part for bad."""
        asyncio.run_coroutine_threadsafe(self._server.shutdown(), self._loop).result(START_SECONDS)
        self._thread.join(START_SECONDS)

    async def _serve(self, started: Future) -> None:
        count = SIGNALS_FROM + Signals.count()
        block = SimData(0, count=count, values=0, datatype=DataType.REGISTERS)
        device = SimDevice(id=0, simdata=[block], use_bit_addressing=True, action=self._asked)
        try:
            where = self._settings.host, self._settings.port
            server = ModbusTcpServer(device, address=where, trace_connect=self._count)
            await server.serve_forever(background=True)
        except Exception as error:  # whatever it is, the one who starts the station is told
            started.set_exception(OSError(f"Modbus port {self._settings.host}:{self._settings.port} ({error})"))
            return
        started.set_result((asyncio.get_running_loop(), server))
        await server.serving

    def _count(self, connects: bool) -> None:
        self.connected += 1 if connects else -1

    async def _asked(
        self, function: int, start: int, address: int, count: int, registers: list[int], values: list[Any] | None
    ) -> ExcCodes | None:
        """Before a request is answered: what it writes is told to the station, what it reads is of this moment.

        Nothing is told but what was written: registers of a server that has just begun are no falling edge.
        """
        if values is not None:
            written = self._written(function, address, registers, values)
            if written is None:
                return ExcCodes.ILLEGAL_ADDRESS
            self._station.command(Commands.from_registers(written))
        registers[SIGNALS_FROM:] = self._station.signals.registers()
        return None

    def _written(self, function: int, address: int, registers: list[int], values: list[Any]) -> list[int] | None:
        """The commands with what is written; None where that is no command. Functions 5 and 15 write bits."""
        commands = registers[COMMANDS_FROM : COMMANDS_FROM + Commands.count()]
        of_bits = function in (5, 15)
        last = COMMANDS_FROM + len(commands) * (16 if of_bits else 1)
        if not COMMANDS_FROM <= address <= address + len(values) <= last:
            return None
        for offset, value in enumerate(values):
            if not of_bits:
                commands[address + offset] = value
                continue
            register, bit = divmod(address + offset, 16)
            commands[register] = commands[register] & ~(1 << bit) | bool(value) << bit
        return commands
