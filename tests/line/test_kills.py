"""Killed at any moment, batch, watch and saving lose and double nothing. LOUPE_KILLS sets how many kills of each."""

import os
import random
import signal
import time
from collections.abc import Callable

import pytest

from inspect_core.line.batch import Outputs, photos_of, run
from inspect_core.line.maps import Maps
from inspect_core.line.watch import FOLDERS, Watch, watching
from inspect_core.runtime import unfinished

KILLS = int(os.environ.get("LOUPE_KILLS", "6"))
pytestmark = [pytest.mark.slow, pytest.mark.forks]


def killed(work: Callable[[], object], within: float) -> bool:
    """Do `work` in a process of its own, killed at a random moment up to `within` seconds; False if it had ended."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    ends = time.monotonic() + random.uniform(0, within)
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, "the work failed by itself"
            return False
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), "the work failed by itself"
    return code != 0


def until_killed(work: Callable[[], object], check: Callable[[], None], within: float) -> None:
    """Kill `work` until it has been killed KILLS times, and `check` what is there whenever it has ended."""
    kills = 0
    while kills < KILLS:
        kills += (was_killed := killed(work, within))
        unfinished.clear()
        if not was_killed:
            check()
    while killed(work, 60.0):
        pass
    check()


def test_a_batch(photo, inspector, logged, inspections, tmp_path):
    levels = [number * 7 % 256 for number in range(40)]
    for number, level in enumerate(levels):
        photo(tmp_path / "photos" / f"{number:02d}.png", level)
    photos, done = photos_of([tmp_path / "photos"]), []
    table = tmp_path / "v.csv"

    def work():
        judging = inspector(seconds=0.002)
        outputs = Outputs(table, Maps(tmp_path / "maps"), tmp_path / "r.html")
        run(judging, photos, outputs, record=logged(judging))

    def check():
        done.append(table.read_text().splitlines())
        assert [row.split(",")[0] for row in done[-1][1:]] == [name for name, _ in photos]
        assert [float(row.split(",")[2]) for row in done[-1][1:]] == levels
        assert len(list((tmp_path / "maps").glob("*.png"))) == len(list((tmp_path / "maps").glob("*.npy"))) == 40
        assert not (tmp_path / "v.csv.unfinished").exists()
        assert [facts["name"] for facts in inspections()] == [name for name, _ in photos] * len(done)

    until_killed(work, check, within=0.7)


def test_a_watch(photo, inspector, logged, inspections, tmp_path):
    (tmp_path / "in").mkdir()
    sent: dict[str, int] = {}

    def work():
        judging = inspector(seconds=0.002)
        with watching(tmp_path / "in", tmp_path / "out"):
            watch = Watch(judging, tmp_path / "in", tmp_path / "out", logged(judging), steady=0.0, patience=0.0)
            while watch.poll() or watch.waiting:
                pass

    def check():
        assert list((tmp_path / "in").iterdir()) == []
        lying = {str(path) for folder in FOLDERS.values() for path in (tmp_path / "out" / folder).iterdir()}
        recorded = inspections()
        assert len(lying) == len(recorded) == len(sent)
        assert {facts["path"] for facts in recorded} == lying
        assert {facts["name"]: facts["score"] for facts in recorded} == sent
        send()

    def send():
        for number in range(len(sent), len(sent) + 30):
            sent[f"{number}.png"] = number * 7 % 256
            photo(tmp_path / "in" / f"{number}.png", number * 7 % 256)

    send()
    until_killed(work, check, within=0.5)


def test_saving_a_recipe(recipe, tmp_path):
    from dataclasses import replace

    from inspect_core.records.recipe_file import load, save

    place, kills, saves = tmp_path / "r.zip", 0, 0
    save(recipe, place)
    while kills < KILLS:
        new = replace(recipe, product=f"{saves}")
        before, was_killed = load(place).product, killed(lambda new=new: save(new, place), 0.04)
        unfinished.clear()
        assert [path.name for path in tmp_path.iterdir()] == ["r.zip"]
        assert load(place).product in ((before, new.product) if was_killed else (new.product,))
        kills, saves = kills + was_killed, saves + 1
