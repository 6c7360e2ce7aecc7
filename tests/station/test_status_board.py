"""What a station shows to people, and what they ask of it."""

import time
from dataclasses import replace

import numpy as np

from inspect_core.station import status_board
from inspect_core.station.controller import Controller, ModbusLink
from inspect_core.station.modbus import ModbusServer
from inspect_core.station.status_board import RESET, STOP, StationStatus, StatusBoard, picture_of_last, read_statuses
from inspect_core.verdict import Verdict


def status(name: str, written: float) -> StationStatus:
    return StationStatus(name, written, {"ready": 1}, {"Modbus": "connected"}, "tile")


def test_statuses_are_read_as_they_were_written_running_first():
    written = [status("a/b", time.time() - 60), status("press 3", time.time())]
    for entry in written:
        StatusBoard(entry.name).write(entry)
    assert read_statuses() == written[::-1]
    assert [entry.is_running for entry in read_statuses()] == [True, False]
    (StatusBoard("press 3").folder / "status.json").write_text("{")
    assert read_statuses() == written[:1]


def test_a_request_is_heard_once():
    board = StatusBoard("press")
    status_board.request("press", RESET)
    status_board.request("press", STOP)
    assert board.requests() == [RESET, STOP]
    assert board.requests() == []
    status_board.request("press", STOP)
    assert StatusBoard("press").requests() == [], "what was asked of the station before this start"


def test_the_picture_is_of_the_part_that_the_status_names():
    board = StatusBoard("press")
    pixels = np.zeros((1600, 2000, 3), np.uint8)
    verdict = Verdict(150.0, "review", np.linspace(0, 9, 24, dtype=np.float32).reshape(4, 6), ())
    named = [replace(status("press", time.time()), last={"number": number}) for number in range(1, 7)]
    assert picture_of_last(named[0]) is None
    for number in range(1, 6):
        board.show(number, pixels, verdict, 100.0)
        content = picture_of_last(named[number - 1])
        assert content is not None
        assert content.startswith(b"\xff\xd8")
        assert len(content) < 400_000
        assert picture_of_last(named[number]) is None, "never that of another part"
    assert len(list(board.folder.glob("*.jpg"))) == status_board.PICTURES_KEPT
    assert picture_of_last(status("press", 0.0)) is None


def test_a_station_shows_its_part_and_resets_when_asked(settings, started, photo, tmp_path):
    chosen = settings()
    station = started(chosen)
    server = ModbusServer(station, chosen.modbus)
    link = ModbusLink(chosen.modbus)
    station.connections["Modbus"] = server
    try:
        controller = Controller(
            link, in_place=lambda part: photo(tmp_path / "x.png", 230).replace(tmp_path / "in/top/x.png"), window=8.0
        )
        assert not controller.run_part(5).accepted
        shown = controller.wait_for(lambda _: any(status.last for status in read_statuses()), time.monotonic() + 10)
        assert shown is not None
        [shown_status] = read_statuses()
        assert (shown_status.last["part"], shown_status.last["verdict"], shown_status.product) == (
            "5",
            "reject",
            "tile",
        )
        assert shown_status.connections == {"Modbus": "connected"}
        assert picture_of_last(shown_status) is not None
        status_board.ask_lot("press", "B 12")
        wait_until = time.monotonic() + 10
        assert controller.wait_for(lambda _: read_statuses()[0].lot == "B 12", wait_until) is not None
        status_board.request("press", RESET)
        assert controller.wait_for(lambda signals: signals.parts == 0, time.monotonic() + 10) is not None
        status_board.request("press", STOP)
        assert station.stopped.wait(10)
    finally:
        link.close()
        server.close()
