"""What connects a station: the server of its controller, and an outbox for everybody who reads results."""

from importlib.util import find_spec

from inspect_core.audit.log import AuditLog
from inspect_core.station.line_station import Connection, Station
from inspect_core.station.settings import BY_CODE, FROM_CODE, StationSettings


def require_packages(settings: StationSettings) -> None:
    """Raise ValueError, with the remedy, for what the settings need and this PC has not."""
    needed = {
        "pymodbus": settings.modbus or settings.coupler,
        "asyncua": settings.opcua,
        "paho": settings.mqtt or settings.webhooks,
        "zxingcpp": settings.choose == BY_CODE or settings.part_number == FROM_CODE,
    }
    if missing := [name for name, is_used in needed.items() if is_used and find_spec(name) is None]:
        raise ValueError(f"{', '.join(missing)} is not installed; run: pip install 'loupe-inspect[station]'")


def serve(station: Station, settings: StationSettings, log: AuditLog) -> list[Connection]:
    """All that the settings name, which the station then shows.

    Raises OSError for a port that cannot be used, ValueError for a missing password.
    Each protocol is loaded only where it is named: they come with the extra `station`.
    """
    connections = station.connections
    try:
        if settings.modbus is not None:
            from inspect_core.station.modbus import ModbusServer

            connections["Modbus"] = ModbusServer(station, settings.modbus)
        if settings.opcua is not None:
            from inspect_core.station.opcua import OpcUaServer

            connections["OPC UA"] = OpcUaServer(station, settings.opcua)
        if settings.coupler is not None:
            from inspect_core.station.coupler import Coupler

            connections["Coupler"] = Coupler(station, settings.coupler)
        if settings.mqtt or settings.webhooks:
            from inspect_core.station.outbox import Outbox
            from inspect_core.station.receivers import MqttReceiver, WebhookReceiver

            receivers = [*map(MqttReceiver, settings.mqtt), *map(WebhookReceiver, settings.webhooks)]
            for receiver in receivers:
                connections[receiver.name] = Outbox(settings.name, receiver, log)
    except BaseException:
        for connection in connections.values():
            connection.close()
        raise
    return list(connections.values())
