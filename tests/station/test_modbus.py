"""The Modbus server: registers and bits of one moment, commands alone can be written, and silence after a close."""

from contextlib import closing

import pytest
from pymodbus.client import ModbusTcpClient

from inspect_core.station.modbus import ModbusServer
from inspect_core.station.settings import ModbusPort
from inspect_core.station.signals import COMMANDS_FROM, SIGNALS_FROM, Commands, Signals
from tests.station.conftest import free_port


class Noted:
    """A station that notes what it is told."""

    def __init__(self):
        self.signals, self.commands = Signals(ready=True, busy=True, part=0x00010002, milliseconds=61), []

    def command(self, commands):
        self.commands.append(commands)


@pytest.fixture
def served():
    station, port = Noted(), ModbusPort(port=free_port())
    with closing(ModbusServer(station, port)) as server:
        client = ModbusTcpClient(port.host, port=port.port, timeout=2, retries=0)
        assert client.connect()
        yield station, server, client
        client.close()


def place_of(side, name: str) -> int:
    return next(place.register for place in side.places() if place.name == name)


def test_signals_are_read_as_registers_and_as_bits(served):
    station, server, client = served
    read = client.read_holding_registers(SIGNALS_FROM, count=Signals.count()).registers
    assert Signals.from_registers(read) == station.signals
    part = SIGNALS_FROM + place_of(Signals, "part")
    assert client.read_input_registers(part, count=2).registers == [1, 2], "the high word first"
    assert client.read_coils(16 * SIGNALS_FROM, count=3).bits[:3] == [True, False, True]
    assert client.read_discrete_inputs(16 * SIGNALS_FROM + 2, count=1).bits[0] is True
    assert station.commands == [], "reading commands nothing"
    assert server.state == "connected"


def test_commands_are_written_as_registers_and_as_bits(served):
    station, _, client = served
    assert not client.write_registers(COMMANDS_FROM, Commands(trigger=True, part=7, heartbeat=3).registers()).isError()
    assert not client.write_coil(1, True).isError()
    assert not client.write_coils(0, [False, False, True]).isError()
    assert not client.write_register(place_of(Commands, "heartbeat"), 4).isError()
    assert station.commands == [
        Commands(trigger=True, part=7, heartbeat=3),
        Commands(trigger=True, acknowledge=True, part=7, heartbeat=3),
        Commands(request_recipe=True, part=7, heartbeat=3),
        Commands(request_recipe=True, part=7, heartbeat=4),
    ]


@pytest.mark.parametrize("register", [SIGNALS_FROM, SIGNALS_FROM + 5, Commands.count(), 60])
def test_nothing_but_commands_can_be_written(served, register):
    station, _, client = served
    assert client.write_register(register, 1).isError()
    assert client.write_coil(16 * register, True).isError()
    assert Signals.from_registers(client.read_holding_registers(SIGNALS_FROM, count=Signals.count()).registers) == (
        station.signals
    )
    assert station.commands == []


def test_a_port_in_use_is_said():
    station, port = Noted(), ModbusPort(port=free_port())
    with closing(ModbusServer(station, port)), pytest.raises(OSError, match=f"Modbus port 127.0.0.1:{port.port}"):
        ModbusServer(station, port)
