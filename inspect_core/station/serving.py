"""What connects a station: the server of its controller, and an outbox for everybody who reads results."""

from inspect_core.audit.log import AuditLog
from inspect_core.station.line_station import Connection, Station
from inspect_core.station.settings import StationSettings


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
