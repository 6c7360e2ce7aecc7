"""Digital inputs and outputs: a coupler of the protocol library's own server, its input pressed by the test."""

import asyncio
import os
import threading
import time
from contextlib import closing

import pytest
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from inspect_core.station.coupler import Coupler
from inspect_core.station.settings import CouplerPort
from tests.station.conftest import free_port

READY, ACCEPTED, NOT_ACCEPTED = 8, 9, 10


class Terminals:
    """A coupler: input 3 is the trigger; coils 8 to 10 are what the station says."""

    def __init__(self, port: int):
        self.trigger, self.outputs, self.port = False, [False] * 16, port
        self.seen: list[tuple[bool, bool]] = []
        started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True).start()
        assert started.wait(10)

    async def _serve(self, started: threading.Event) -> None:
        self.loop = asyncio.get_running_loop()
        registers = SimData(0, count=2, values=0, datatype=DataType.REGISTERS)
        device = SimDevice(id=0, simdata=[registers], use_bit_addressing=True, action=self._asked)
        self.server = ModbusTcpServer(device, address=("127.0.0.1", self.port))
        await self.server.serve_forever(background=True)
        started.set()
        await self.server.serving

    async def _asked(self, function, start, address, count, registers, values):
        if values is None:
            registers[0] = int(self.trigger) << 3
        else:
            self.outputs[address : address + len(values)] = values
            self.seen.append((self.outputs[ACCEPTED], self.outputs[NOT_ACCEPTED]))

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.server.shutdown(), self.loop).result(10)


def wait_until(holds, seconds: float = 10.0) -> None:
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.005)


@pytest.mark.parametrize(("level", "accepted"), [(50, True), (150, False), (230, False), (None, False)])
def test_a_part_by_inputs_and_outputs_alone(settings, started, photo, tmp_path, level, accepted):
    port = CouplerPort("127.0.0.1", free_port(), trigger_input=3, first_output=READY, hold_seconds=0.2)
    station = started(settings(modbus=None, coupler=port))
    with closing(Terminals(port.port)) as terminals, closing(Coupler(station, port)) as coupler:
        wait_until(lambda: terminals.outputs[READY])
        terminals.seen.clear()
        terminals.trigger = True
        wait_until(lambda: station.signals.trigger_acknowledged)
        if level is not None:
            os.replace(photo(tmp_path / "a.png", level), tmp_path / "in/top/a.png")
        wait_until(lambda: terminals.outputs[ACCEPTED] or terminals.outputs[NOT_ACCEPTED])
        assert (terminals.outputs[ACCEPTED], terminals.outputs[NOT_ACCEPTED]) == (accepted, not accepted)
        terminals.trigger = False
        wait_until(lambda: not (terminals.outputs[ACCEPTED] or terminals.outputs[NOT_ACCEPTED]))
        wait_until(lambda: terminals.outputs[READY])
        assert set(terminals.seen) == {(False, False), (accepted, not accepted)}
        assert coupler.state == "connected"


def test_a_coupler_that_is_gone_gets_no_acceptance_later(settings, started):
    port = CouplerPort("127.0.0.1", free_port(), trigger_input=3, first_output=READY)
    station = started(settings(modbus=None, coupler=port))
    with closing(Coupler(station, port)) as coupler:
        wait_until(lambda: "no connection" in coupler.state)
        assert not station.signals.ready
