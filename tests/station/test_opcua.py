"""A station over OPC UA, with the library's own client as its controller."""

import asyncio
import os
import time
from contextlib import closing

import pytest
from asyncua import Client, ua

from inspect_core.station.opcua import NAMESPACE, OpcUaServer
from inspect_core.station.settings import OpcUaPort
from inspect_core.station.signals import Commands, Signals
from tests.station.conftest import free_port

pytestmark = pytest.mark.slow


async def nodes_of(client: Client, side) -> dict:
    index = await client.get_namespace_index(NAMESPACE)
    folder = await client.nodes.objects.get_child([f"{index}:Loupe", f"{index}:{side.__name__}"])
    return {(await child.read_browse_name()).Name: child for child in await folder.get_children()}


class Plc:
    """Writes commands and reads signals, node by node."""

    def __init__(self, commands, signals):
        self.commands, self.signals, self.beat = commands, signals, 0

    async def say(self, **values) -> None:
        self.beat += 1
        for name, value in {**values, "heartbeat": self.beat}.items():
            kind = ua.VariantType.Boolean if isinstance(value, bool) else ua.VariantType.UInt16
            kind = ua.VariantType.UInt32 if name == "part" else kind
            await self.commands[name].write_value(ua.Variant(value, kind))

    async def wait_for(self, name: str, value=True):
        ends = time.monotonic() + 10
        while (read := await self.signals[name].read_value()) != value:
            assert time.monotonic() < ends, f"{name} is {read}"
            await self.say()
            await asyncio.sleep(0.005)


@pytest.mark.usefixtures("unhurried")
def test_parts_pass_by_their_verdict_alone(settings, started, photo, tmp_path):
    port = OpcUaPort(port=free_port())
    station = started(settings(modbus=None, opcua=port))

    async def three_parts() -> list[tuple]:
        outcomes = []
        async with Client(f"opc.tcp://127.0.0.1:{port.port}/loupe") as client:
            plc = Plc(await nodes_of(client, Commands), await nodes_of(client, Signals))
            for part, level in enumerate((50, 150, 230), start=1):
                await plc.wait_for("ready")
                await plc.say(part=part, trigger=True)
                await plc.wait_for("trigger_acknowledged")
                made = photo(tmp_path / f"{part}.png", level)
                os.replace(made, tmp_path / "in/top" / made.name)
                await plc.say(trigger=False)
                await plc.wait_for("result_valid")
                names = ("part", "result_number", "accepted", "not_accepted", "code")
                outcomes.append(tuple([await plc.signals[name].read_value() for name in names]))
                await plc.say(acknowledge=True)
                await plc.wait_for("result_valid", False)
                await plc.say(acknowledge=False)
            with pytest.raises(ua.UaError):
                await plc.signals["accepted"].write_value(True)
        return outcomes

    with closing(OpcUaServer(station, port)):
        outcomes = asyncio.run(three_parts())
    assert outcomes == [(1, 1, True, False, 0), (2, 2, False, True, 1), (3, 3, False, True, 2)]


@pytest.mark.usefixtures("unhurried")
def test_a_stranger_without_the_password_is_refused(settings, started, monkeypatch):
    port = OpcUaPort(port=free_port(), user="plc")
    monkeypatch.delenv(port.password_in, raising=False)
    station = started(settings(modbus=None, opcua=port))
    with pytest.raises(ValueError, match=port.password_in):
        OpcUaServer(station, port)
    monkeypatch.setenv(port.password_in, "of the line")

    async def connect(user: str | None, password: str = "") -> None:
        client = Client(f"opc.tcp://127.0.0.1:{port.port}/loupe")
        if user:
            client.set_user(user)
            client.set_password(password)
        async with client:
            await nodes_of(client, Signals)

    with closing(OpcUaServer(station, port)):
        for user, password in ((None, ""), ("plc", "wrong"), ("admin", "")):
            with pytest.raises((ua.UaError, ConnectionError)):
                asyncio.run(connect(user, password))
        asyncio.run(connect("plc", "of the line"))


@pytest.mark.usefixtures("unhurried")
def test_a_server_started_again_shows_each_result_once(settings, started, photo, tmp_path):
    port = OpcUaPort(port=free_port())
    station = started(settings(modbus=None, opcua=port))

    async def trigger_alone() -> None:
        async with Client(f"opc.tcp://127.0.0.1:{port.port}/loupe") as client:
            plc = Plc(await nodes_of(client, Commands), await nodes_of(client, Signals))
            await plc.wait_for("ready")
            await plc.say(part=1, trigger=True)
            await plc.wait_for("trigger_acknowledged")

    async def read_and_go_on() -> list[tuple]:
        async with Client(f"opc.tcp://127.0.0.1:{port.port}/loupe") as client:
            plc = Plc(await nodes_of(client, Commands), await nodes_of(client, Signals))
            plc.beat = 100
            read = []
            for part, level in ((1, None), (2, 50)):
                if level is not None:
                    await plc.wait_for("ready")
                    await plc.say(part=part, trigger=True)
                    await plc.wait_for("trigger_acknowledged")
                    os.replace(photo(tmp_path / "2.png", level), tmp_path / "in/top/2.png")
                await plc.say(trigger=False)
                await plc.wait_for("result_valid")
                names = ("part", "result_number", "accepted", "not_accepted")
                read.append(tuple([await plc.signals[name].read_value() for name in names]))
                await plc.say(acknowledge=True)
                await plc.wait_for("result_valid", False)
                await plc.say(acknowledge=False)
            return read

    with closing(OpcUaServer(station, port)):
        asyncio.run(trigger_alone())
    with closing(OpcUaServer(station, port)):
        assert asyncio.run(read_and_go_on()) == [(1, 1, False, True), (2, 2, True, False)]
