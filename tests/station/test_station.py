"""A station over Modbus TCP, with the protocol library's own client as its controller."""

import os
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from inspect_core.audit.entry import INSPECTION, PART
from inspect_core.audit.log import AuditLog
from inspect_core.station import line_station, serving, view_photos
from inspect_core.station.controller import Controller, ModbusLink
from inspect_core.station.modbus import ModbusServer
from inspect_core.station.settings import BY_CODE, BY_PRODUCT, COUNTED, FROM_NAME, RecipeEntry, View, read_settings
from inspect_core.station.signals import Code
from tests.line.conftest import ByBrightness

LEVELS = {"good": 50, "doubtful": 150, "bad": 230}


@pytest.fixture
def camera(photo, tmp_path):
    """camera(folder, level_of) writes, for a part, a photo of that level into a view's folder, as another program."""

    def make(level_of, *folders: Path):
        def photograph(part: int) -> None:
            for folder in folders or (tmp_path / "in/top",):
                level = level_of(part)
                if level is not None:
                    made = photo(tmp_path / f"{part}-{folder.name}.png", level)
                    os.replace(made, folder / f"{part}.png")

        return photograph

    return make


@pytest.fixture
def line(started):
    """line(settings, in_place) is a running station and a controller that is connected to it."""
    opened = []

    def connect(settings, in_place, **options):
        station = started(settings, **options)
        server = ModbusServer(station, settings.modbus)
        link = ModbusLink(settings.modbus)
        opened.extend((link, server))
        return station, Controller(link, in_place=in_place, window=8.0)

    yield connect
    for connection in opened:
        connection.close()


def parts_in_log() -> list[dict]:
    with AuditLog.open() as log:
        return [dict(entry.facts) for entry in log.entries(kind=PART)]


def test_three_parts_pass_by_their_verdict_alone(settings, line, camera):
    levels = dict(enumerate(LEVELS.values(), start=11))
    station, controller = line(settings(lot="A7"), camera(levels.get))
    outcomes = [controller.run_part(part) for part in levels]
    assert [(outcome.part, outcome.accepted) for outcome in outcomes] == [(11, True), (12, False), (13, False)]
    assert [Code(outcome.result.code) for outcome in outcomes] == [
        Code.NONE,
        Code.SCORE_TO_REVIEW,
        Code.SCORE_TO_REJECT,
    ]
    assert [outcome.result.share_of_limit for outcome in outcomes] == [5_000, 15_000, 23_000]
    assert [(part["part"], part["lot"], part["verdict"], part["number"]) for part in parts_in_log()] == [
        ("11", "A7", "accept", 1),
        ("12", "A7", "review", 2),
        ("13", "A7", "reject", 3),
    ]
    with AuditLog.open() as log:
        rows = [entry.facts for entry in log.entries(kind=INSPECTION)]
    assert [(row["part"], row["view"], row["lot"], row["source"]) for row in rows] == [
        (str(part), "top", "A7", "station") for part in levels
    ]
    places = [Path(row.get("path", "")) for row in rows]
    assert places[0] == Path(), "every second accepted part stays"
    assert all(path.is_file() for path in places[1:])
    assert station.signals.parts == 3


def test_a_view_that_does_not_come_is_never_accepted(settings, line, camera, tmp_path):
    views = View("top", str(tmp_path / "in/top")), View("side", str(tmp_path / "in/side"))
    folders = [Path(view.folder) for view in views]
    both, top_alone = camera(lambda part: LEVELS["good"], *folders), camera(lambda part: LEVELS["good"], folders[0])
    _, controller = line(settings(views=views), lambda part: (top_alone if part == 2 else both)(part))
    outcomes = [controller.run_part(part) for part in (1, 2, 3)]
    assert [outcome.accepted for outcome in outcomes] == [True, False, True]
    assert outcomes[1].result.code == Code.VIEW_MISSING
    assert [(part["verdict"], part["view"]) for part in parts_in_log()][1] == ("not judged", "side")


def test_views_share_a_folder_and_the_name_has_the_number(settings, line, photo, tmp_path):
    folder = tmp_path / "in"
    views = View("top", str(folder), ending="_top"), View("side", str(folder), ending="_side")
    levels = {"top": LEVELS["good"], "side": LEVELS["bad"]}

    def photograph(part: int) -> None:
        for view, level in levels.items():
            os.replace(photo(tmp_path / f"{view}.png", level), folder / f"SN-{part}_{view}.png")

    chosen = settings(views=views, part_number=FROM_NAME, part_pattern=r"SN-(\d+)_")
    _, controller = line(chosen, photograph)
    outcome = controller.run_part(4711)
    assert (outcome.accepted, outcome.result.part) == (False, 4711)
    [part] = parts_in_log()
    assert (part["part"], part["view"], part["verdict"]) == ("4711", "side", "reject")
    with AuditLog.open() as log:
        rows = {entry.facts["view"]: entry.facts["verdict"] for entry in log.entries(kind=INSPECTION)}
    assert rows == {"top": "accept", "side": "reject"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"views": (View("a", "in"), View("b", "in"))}, "share"),
        ({"views": (View("a", "in", ending="_x"), View("b", "in", ending="1_x"))}, "share"),
        ({"views": (View("a", "in"), View("a", "other"))}, "rename one"),
        ({"part_number": FROM_NAME, "part_pattern": "SN"}, "has no group"),
        ({"part_number": FROM_NAME, "part_pattern": "("}, "no regular expression"),
        ({"recipe": 5}, "no such number"),
        ({"recipes": (RecipeEntry(1, "a.zip"), RecipeEntry(1, "b.zip"))}, "2 files"),
        ({"recipes": (RecipeEntry(1, "a.zip", view="back"),)}, "which there is none of"),
    ],
)
def test_parts_of_the_settings_fit_together(settings, changes, words):
    with pytest.raises(ValueError, match=words):
        settings(**changes)


def test_a_late_photo_is_no_photo_of_the_next_part(settings, line, photo, tmp_path):
    chosen = settings(view_seconds=0.3)
    folder = tmp_path / "in/top"

    def late_good_photo_then_a_bad_part(part: int) -> None:
        seconds, level = (0.4, LEVELS["good"]) if part == 1 else (0.0, LEVELS["bad"])
        made = photo(tmp_path / f"{part}.png", level)
        threading.Timer(seconds, lambda: os.utime(made) or os.replace(made, folder / made.name)).start()

    _, controller = line(chosen, late_good_photo_then_a_bad_part)
    outcomes = [controller.run_part(part) for part in (1, 2)]
    assert [(outcome.accepted, Code(outcome.result.code)) for outcome in outcomes] == [
        (False, Code.VIEW_MISSING),
        (False, Code.SCORE_TO_REJECT),
    ]
    assert len(list((folder / "late").iterdir())) == 1


def test_a_camera_may_write_one_name_again_and_again(settings, line, photo, tmp_path, monkeypatch):
    after = line_station.Station._after

    def slowly(*arguments):
        time.sleep(0.3)
        after(*arguments)

    monkeypatch.setattr(line_station.Station, "_after", slowly)
    levels = {1: LEVELS["bad"], 2: LEVELS["good"], 3: LEVELS["bad"]}

    def photograph(part: int) -> None:
        os.replace(photo(tmp_path / "image.png", levels[part]), tmp_path / "in/top/image.png")

    _, controller = line(settings(), photograph)
    assert [controller.run_part(part).accepted for part in levels] == [False, True, False]
    assert [part["verdict"] for part in parts_in_log()] == ["reject", "accept", "reject"]


def test_a_photo_of_a_part_that_was_cut_off_is_put_aside(settings, line, camera, photo, tmp_path):
    photo(tmp_path / "in/top/.taking/old.png", LEVELS["good"])
    _, controller = line(settings(), camera(lambda part: LEVELS["bad"]))
    assert not controller.run_part(1).accepted
    assert [path.name.split()[-1] for path in (tmp_path / "in/top/late").iterdir()] == ["old.png"]


def test_a_package_that_is_missing_is_named_with_its_remedy(settings, monkeypatch):
    monkeypatch.setattr(serving, "find_spec", lambda name: None if name == "zxingcpp" else object())
    serving.require_packages(settings())
    with pytest.raises(ValueError, match=r"zxingcpp is not installed; run: pip install 'loupe-inspect\[station\]'"):
        serving.require_packages(settings(choose=BY_CODE))


def test_a_recipe_is_switched_by_number_and_judges(settings, line, camera):
    strict = ByBrightness(digest="e" * 64, limits=type(ByBrightness().limits)(10.0, 20.0))
    chosen = settings(recipes=(RecipeEntry(1, "tile.zip"), RecipeEntry(2, "strict.zip")))
    _, controller = line(chosen, camera(lambda part: LEVELS["good"]), inspectors={"strict.zip": strict})
    assert controller.run_part(1).accepted
    began = time.monotonic()
    controller.say(request_recipe=True, recipe=2)
    answer = controller.wait_for(lambda signals: signals.recipe_acknowledged, began + 5)
    assert time.monotonic() - began < 5
    assert (answer.recipe, answer.recipe_error) == (2, False)
    controller.say(request_recipe=False)
    outcome = controller.run_part(2)
    assert (outcome.accepted, outcome.result.judged_by) == (False, 2)
    controller.say(request_recipe=True, recipe=7)
    assert controller.wait_for(lambda signals: signals.recipe_error, time.monotonic() + 5).recipe == 2
    controller.say(request_recipe=False)


class KnowsItsProduct(ByBrightness):
    """Knows parts from one level of brightness to another."""

    low, high = 0, 255

    def inspect(self, image):
        known = self.low <= image.mean() < self.high
        return replace(
            super().inspect(image), product_check="Right product." if known else "This does not look like it."
        )


def test_mixed_products_are_judged_by_the_recipe_that_knows_them(settings, line, camera):
    class Dark(KnowsItsProduct):
        high = 60

    class Grey(KnowsItsProduct):
        low, high = 40, 90

    chosen = settings(recipes=(RecipeEntry(1, "dark.zip"), RecipeEntry(2, "grey.zip")), choose=BY_PRODUCT)
    levels = {1: 20, 2: 80, 3: 50, 4: 95}
    inspectors = {"dark.zip": Dark(), "grey.zip": Grey(digest="e" * 64)}
    _, controller = line(chosen, camera(levels.get), inspectors=inspectors)
    outcomes = [controller.run_part(part) for part in levels]
    assert [(outcome.accepted, outcome.result.judged_by) for outcome in outcomes] == [
        (True, 1),
        (True, 2),
        (False, 0),
        (False, 0),
    ]
    assert {outcome.result.code for outcome in outcomes[2:]} == {Code.NO_RECIPE}
    assert [part["reason"] for part in parts_in_log()][2:] == ["no recipe knows this product"] * 2


def test_a_full_disk_stops_the_station_before_a_part_is_taken(settings, line, camera, monkeypatch):
    words = []
    station, controller = line(settings(), camera(lambda part: LEVELS["good"]), say=words.append)
    assert controller.run_part(1).accepted
    monkeypatch.setattr(type(station._kept), "is_full", True)
    full = controller.wait_for(lambda signals: signals.error, time.monotonic() + 5)
    assert (full.ready, full.error_code) == (False, Code.DISK_FULL)
    assert "free some space" in words[0]


def test_a_log_that_cannot_be_written_accepts_nothing(settings, line, camera, monkeypatch):
    station, controller = line(settings(), camera(lambda part: LEVELS["good"]))

    def refuse(entries):
        raise OSError("the audit log cannot be written")

    monkeypatch.setattr(station._log, "append_all", refuse)
    outcome = controller.run_part(1)
    assert (outcome.accepted, outcome.result.code) == (False, Code.LOG_UNUSABLE)
    assert station.signals.error


def test_numbers_go_on_after_a_restart(settings, started, tmp_path, photo):
    chosen = settings(part_number=COUNTED)
    first = started(chosen)
    first._handshake.result_number = 6
    assert first._handshake.next_number == 7
    with AuditLog.open() as log:
        assert line_station.last_number(log, "press") == 0
        log.append(PART, {"station": "press", "number": 9}, user="line")
        log.append(PART, {"station": "other", "number": 40}, user="line")
        assert line_station.last_number(log, "press") == 9


@pytest.mark.slow
@pytest.mark.usefixtures("unhurried")
def test_a_thousand_parts_and_a_server_that_is_killed_on_the_way(settings, started, camera, monkeypatch):
    monkeypatch.setattr(view_photos, "SETTLE_SECONDS", 0.005)  # the camera puts whole photos in place
    chosen = settings(view_seconds=2.0)
    levels = list(LEVELS.values())
    station = started(chosen)
    servers = [ModbusServer(station, chosen.modbus)]
    done = threading.Event()

    def cut_the_wire() -> None:
        while not done.wait(1.5):
            servers.pop().close()
            time.sleep(0.05)
            servers.append(ModbusServer(station, chosen.modbus))

    cutter = threading.Thread(target=cut_the_wire)
    cutter.start()
    outcomes = []
    try:
        with closing(ModbusLink(chosen.modbus)) as link:
            controller = Controller(link, in_place=camera(lambda part: levels[part % 3]), window=8.0)
            for part in range(1, 1001):
                outcomes.append(controller.run_part(part))
    finally:
        done.set()
        cutter.join()
        for server in servers:
            server.close()
    assert None not in outcomes
    recorded = parts_in_log()
    verdict_of = {int(part["part"]): part["verdict"] for part in recorded}
    assert [outcome.part for outcome in outcomes if outcome.accepted and verdict_of.get(outcome.part) != "accept"] == []
    assert Counter(int(part["part"]) for part in recorded).most_common(1)[0][1] == 1
    assert [part["number"] for part in recorded] == list(range(1, len(recorded) + 1))
    passed = sum(outcome.accepted for outcome in outcomes)
    assert passed > 250, "the wire was cut now and then, and most good parts passed"


def test_settings_name_what_is_wrong(tmp_path):
    path = tmp_path / "station.yaml"
    path.write_text(
        "name: press\nviews: [{name: top, folder: in}]\nkeep: {folder: kept}\nrecipes: [{number: 1, file: a.zip}]\n"
    )
    with pytest.raises(FileNotFoundError, match="there is no recipe"):
        read_settings(path)
    (tmp_path / "a.zip").write_bytes(b"")
    read = read_settings(path)
    assert (read.views[0].folder, read.keep.days) == (str(tmp_path / "in"), 90.0)
    path.write_text(path.read_text().replace("number: 1", "number: one"))
    with pytest.raises(ValueError, match=r"recipes\.0\.number"):
        read_settings(path)
    path.write_text("name: [")
    with pytest.raises(ValueError, match="no YAML"):
        read_settings(path)
