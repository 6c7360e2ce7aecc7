"""The Line page: what people at a station see, and the two things they can ask of it."""

import time

import cv2
import numpy as np
import pytest

from inspect_core.station.signals import Code, Signals, StationState
from inspect_core.station.status_board import RESET, STOP, StationStatus, StatusBoard
from inspect_core.ui.line import station_form
from tests.pages.waiting import press, words

pytestmark = pytest.mark.usefixtures("no_first_start")


def show_on_board(name: str = "press 3", *, age: float = 0.0, picture: bool = True, **changes) -> StatusBoard:
    signals = Signals(ready=True, state=StationState.READY, recipe=2, parts=12, accepted_parts=9, review_parts=1)
    facts = {place.name: int(getattr(signals, place.name)) for place in Signals.places()} | changes.pop("signals", {})
    last = {"part": "88", "number": 7, "verdict": "reject", "reason": "", "code": 2, "share": 13_120}
    status = {"product": "flange", "connections": {"Modbus": "connected"}, "last": last} | changes
    board = StatusBoard(name)
    board.write(StationStatus(name, time.time() - age, facts, **status))
    if picture:
        content = cv2.imencode(".jpg", np.zeros((60, 80, 3), np.uint8))[1].tobytes()
        (board.folder / f"part-{7:010d}.jpg").write_bytes(content)
    return board


def test_without_a_station_the_page_says_how_to_start_one(open_app):
    app = open_app("pages/line.py")
    assert "No station has run here yet" in words(app)
    assert "loupe station --example" in words(app) or any("loupe station" in block.value for block in app.code)


def test_the_last_part_and_everything_it_depends_on(open_app):
    show_on_board()
    app = open_app("pages/line.py")
    text = words(app)
    [banner] = [block.proto.body for block in app.get("html") if "role" in block.proto.body]
    assert "✕ Rejected" in banner
    assert "Part 88" in banner
    assert "Score at 131% of the limit" in text
    assert "12 parts since the counters were reset" in text
    [table] = app.table
    assert dict(zip(table.value.iloc[:, 0], table.value.iloc[:, 1], strict=True)) == {
        "Station": "ready",
        "Recipe": "2, flange",
        "Controller": "heard",
        "Modbus": "connected",
    }


def test_a_part_number_from_outside_is_text(open_app):
    show_on_board(last={"part": "<img src=x onerror=alert(1)>", "verdict": "<b>accept</b>", "reason": "[a](http://x)"})
    app = open_app("pages/line.py")
    [banner] = [block.proto.body for block in app.get("html") if "role" in block.proto.body]
    assert "<img" not in banner
    assert "<b>" not in banner
    assert "[a](http" not in words(app)


def test_what_is_in_the_way_is_said(open_app):
    error = {"error": 1, "error_code": int(Code.DISK_FULL), "state": int(StationState.ERROR), "ready": 0}
    show_on_board(signals=error | {"missed_triggers": 3, "challenge_due": 1}, message="14:02 the disk is nearly full")
    text = words(open_app("pages/line.py"))
    for sentence in ("Error 22", "3 triggers came", "challenge parts are due", "the disk is nearly full"):
        assert sentence in text


def test_the_menu_is_left_out_where_the_address_says_so(open_app):
    show_on_board()
    app = open_app("pages/line.py")
    app.query_params["alone"] = "1"
    app.run()
    assert any("stSidebar" in block.proto.body for block in app.get("html"))


def test_a_station_that_is_gone_takes_no_requests(open_app):
    show_on_board(age=60)
    app = open_app("pages/line.py")
    assert "is not running" in words(app)
    assert not any("role" in block.proto.body for block in app.get("html")), "no verdict over a line that stands"
    keys = f"line_{RESET}-press 3", f"line_{STOP}-press 3"
    assert [button.disabled for button in app.button if button.key in keys] == [True, True]


def test_the_lot_is_changed_at_the_line(open_app):
    board = show_on_board(lot="A7")
    app = open_app("pages/line.py")
    lot = app.text_input(key="line_lot-press 3")
    assert lot.value == "A7"
    assert board.asked_lot() is None
    lot.set_value("B 12\n").run()
    assert board.asked_lot() == "B 12"


@pytest.mark.parametrize("what_for", [RESET, STOP])
def test_a_request_reaches_the_station(open_app, what_for):
    board = show_on_board()
    app = open_app("pages/line.py")
    press(app, f"line_{what_for}-press 3")
    assert board.requests() == [what_for]


def test_without_an_export_the_form_says_what_is_missing(open_app):
    app = open_app("pages/line.py")
    assert "approve and export a recipe first" in words(app)


def test_the_form_starts_a_station_with_what_was_chosen(open_app, workspace, tmp_path, monkeypatch):
    launched = []
    monkeypatch.setattr(station_form, "launch", lambda settings, *, simulate: launched.append((settings, simulate)))
    (workspace / "exports").mkdir()
    export = workspace / "exports" / f"{'a' * 64}.zip"
    export.write_bytes(b"")
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    app = open_app("pages/line.py")
    app.text_input(key="station_name").set_value("press 9").run()
    app.text_input(key="station_folder-True").set_value(str(tmp_path)).run()
    press(app, "station_start")
    [(settings, simulate)] = launched
    assert (settings.name, settings.recipes[0].file, simulate, settings.trial) == (
        "press 9",
        str(export),
        tmp_path,
        True,
    )
    app.toggle(key="station_simulate").set_value(False).run()
    app.text_input(key="station_folder-False").set_value(str(tmp_path)).run()
    press(app, "station_start")
    settings, simulate = launched[1]
    assert (settings.views[0].folder, simulate, settings.modbus.port) == (str(tmp_path), None, station_form.PORT)


def test_why_a_station_cannot_start_is_said(open_app, workspace, tmp_path, monkeypatch):
    (workspace / "exports").mkdir()
    (workspace / "exports" / f"{'a' * 64}.zip").write_bytes(b"no export")
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    app = open_app("pages/line.py")
    app.text_input(key="station_folder-True").set_value(str(tmp_path)).run()
    press(app, "station_start")
    assert any("not a" in error.value or "cannot" in error.value or "zip" in error.value for error in app.error)
