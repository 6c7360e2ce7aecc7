"""A station with an inspector by brightness, and settings for it."""

import socket
from contextlib import closing
from pathlib import Path

import pytest

from inspect_core.audit.log import AuditLog
from inspect_core.station.line_station import Station
from inspect_core.station.recipe_book import RecipeBook
from inspect_core.station.settings import ModbusPort, RecipeEntry, Retention, StationSettings, View
from tests.line.conftest import ByBrightness, photo  # noqa: F401


def free_port() -> int:
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@pytest.fixture
def settings(tmp_path):
    """settings(**changes) are those of a station with one view."""

    def make(**changes) -> StationSettings:
        plain = {
            "name": "press",
            "recipes": (RecipeEntry(1, "tile.zip"),),
            "views": (View("top", str(tmp_path / "in/top")),),
            "keep": Retention(str(tmp_path / "kept"), accepted_every=2, least_free_gigabytes=0.0),
            "view_seconds": 0.5,
            "trial": True,
            "modbus": ModbusPort(port=free_port()),
        }
        return StationSettings(**plain | changes)

    return make


@pytest.fixture
def started():
    """started(settings, inspectors) is a running station; inspectors: by the name of a recipe's file."""
    stations = []

    def start(settings: StationSettings, inspectors=None, **options) -> Station:
        def opened(path: Path):
            return (inspectors or {}).get(path.name) or ByBrightness()

        log = AuditLog.open()
        station = Station(settings, log, "line", book=RecipeBook(settings, log, "line", opened=opened), **options)
        stations.append((station, log))
        return station

    yield start
    for station, log in stations:
        station.close()
        log.close()
