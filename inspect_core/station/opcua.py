"""An OPC UA server with the signals as nodes: Objects / Loupe / Commands and Signals, each by its name.

A client that reads node by node must never join two results: what belongs to a result is written before `result_valid`
rises, and `result_valid` falls before any of it changes.
"""

import asyncio
import hmac
import threading
from concurrent.futures import Future
from dataclasses import fields
from typing import Any

from asyncua import Server, ua
from asyncua.common.node import Node
from asyncua.crypto.permission_rules import User, UserRole

from inspect_core.station.modbus import START_SECONDS, Controlled
from inspect_core.station.settings import OpcUaPort, secret
from inspect_core.station.signals import DOUBLE, Commands, Signals

NAMESPACE = "urn:loupe:station"
LOOK_SECONDS = 0.02
"""Between two looks at a station of which nobody writes a command."""
RESULT_LAST = ("accepted", "not_accepted", "result_toggle", "result_valid", "ready")
"""Signals that say of the others that they may be read."""
_TYPES = {None: ua.VariantType.Boolean, 1: ua.VariantType.UInt16, DOUBLE: ua.VariantType.UInt32}


class _OneUser:
    """Admits whoever knows the password; anybody where there is none."""

    def __init__(self, name: str, password: str) -> None:
        self._name, self._password = name, password

    def get_user(
        self, iserver: Any, username: str | None = None, password: Any = None, certificate: Any = None
    ) -> User | None:
        if not self._name:
            return User(role=UserRole.User)
        given_password = password.decode() if isinstance(password, bytes) else password or ""
        is_known = hmac.compare_digest(
            f"{username}\0{given_password}".encode(), f"{self._name}\0{self._password}".encode()
        )
        return User(role=UserRole.User, name=self._name) if is_known else None


class OpcUaServer:
    """Serves a station until it is closed. Raises OSError when the port or a certificate cannot be used, ValueError
    without the password that the settings ask for.
    """

    def __init__(self, station: Controlled, settings: OpcUaPort) -> None:
        self._station, self._settings = station, settings
        self._users = _OneUser(settings.user, secret(settings.password_in) if settings.user else "")
        self._stop: asyncio.Event | None = None
        started: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), name="loupe-opcua")
        self._thread.daemon = True
        self._thread.start()
        self._loop = started.result(START_SECONDS)

    @property
    def state(self) -> str:
        """The server in words; who is connected shows in the heartbeat."""
        return f"listening at {self._settings.host}:{self._settings.port}"

    def close(self) -> None:
        """Serve no more; a controller that asks gets no answer, and takes its part for bad."""
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_SECONDS)

    async def _serve(self, started: Future) -> None:
        where = self._settings
        self._stop, self._written = asyncio.Event(), asyncio.Event()
        server = Server(user_manager=self._users)  # ty: ignore[invalid-argument-type]
        try:
            await server.init()
            server.set_endpoint(f"opc.tcp://{where.host}:{where.port}/loupe")
            server.set_server_name("Loupe")
            await self._secure(server)
            index = await server.register_namespace(NAMESPACE)
            loupe = await server.nodes.objects.add_object(index, "Loupe")
            commands = await self._nodes(loupe, index, Commands, writable=True)
            signals = await self._nodes(loupe, index, Signals, writable=False)
            await server.start()
        except Exception as error:  # whatever it is, the one who starts the station is told
            started.set_exception(OSError(f"OPC UA port {where.host}:{where.port} ({error})"))
            return
        for node in commands.values():
            server.iserver.aspace.add_datachange_callback(node.nodeid, ua.AttributeIds.Value, self._changed)
        started.set_result(asyncio.get_running_loop())
        shown: dict[str, Any] = {}
        try:
            while not self._stop.is_set():
                written = Commands(**{name: await node.read_value() for name, node in commands.items()})
                if written != Commands():  # nodes of a server that has just begun are no falling edge
                    self._station.command(written)
                await self._show(server, signals, shown)
                try:
                    await asyncio.wait_for(self._written.wait(), LOOK_SECONDS)
                except TimeoutError:
                    continue
                self._written.clear()
        finally:
            await server.stop()

    def _changed(self, *_: Any) -> None:
        self._written.set()

    async def _secure(self, server: Server) -> None:
        if not self._settings.certificate:
            server.set_security_policy([ua.SecurityPolicyType.NoSecurity])
            return
        await server.load_certificate(self._settings.certificate)
        await server.load_private_key(self._settings.private_key)
        server.set_security_policy([ua.SecurityPolicyType.Basic256Sha256_SignAndEncrypt])

    async def _nodes(self, loupe: Node, index: int, side: Any, *, writable: bool) -> dict[str, Node]:
        folder = await loupe.add_object(index, side.__name__)
        places = {place.name: place for place in side.places()}
        nodes = {}
        for field in fields(side):
            place = places[field.name]
            kind = _TYPES[None if place.bit is not None else place.length]
            value = False if place.bit is not None else 0
            nodes[field.name] = await folder.add_variable(index, field.name, value, kind)
            if writable:
                await nodes[field.name].set_writable()
        return nodes

    async def _show(self, server: Server, nodes: dict[str, Node], shown: dict[str, Any]) -> None:
        """Write what has changed, in an order in which no reader can join two results."""
        signals = self._station.signals
        values = {place.name: getattr(signals, place.name) for place in Signals.places()}
        is_other = values["result_number"] != shown.get("result_number") or not values["result_valid"]
        if is_other and shown.get("result_valid"):
            for name in reversed(RESULT_LAST):
                await self._write(server, nodes[name], name, False, shown)
        for name in (*(name for name in values if name not in RESULT_LAST), *RESULT_LAST):
            if shown.get(name) != values[name]:
                await self._write(server, nodes[name], name, values[name], shown)

    async def _write(self, server: Server, node: Node, name: str, value: Any, shown: dict[str, Any]) -> None:
        place = next(place for place in Signals.places() if place.name == name)
        kind = _TYPES[None if place.bit is not None else place.length]
        largest = 2 ** (16 * place.length) - 1
        plain = bool(value) if place.bit is not None else min(int(value), largest)
        await server.write_attribute_value(node.nodeid, ua.DataValue(Value=ua.Variant(plain, kind)))
        shown[name] = value
