import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from inspect_core.audit.log import AuditLog
from inspect_core.cli import watch
from inspect_core.cli.commands import main
from inspect_core.line.watch import UnprocessedPhotos
from inspect_core.line.watch_session import WatchSession

ROOT = Path(__file__).parents[2]


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_the_verbs_of_the_line_need_no_torch():
    code = "import sys; sys.modules['torch'] = None; import inspect_core.cli.inspect, inspect_core.cli.watch"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_once_goes_on_for_the_others_when_one_cannot_be_taken(monkeypatch):
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.0)
    looks = SimpleNamespace(settle_seconds=1.0, waiting=3)

    def poll(message):
        looks.waiting -= 1
        raise UnprocessedPhotos("a.png cannot be moved")

    looks.poll = poll
    with pytest.raises(UnprocessedPhotos, match=r"a\.png"):
        watch._once(WatchSession(looks, following=None))
    assert looks.waiting == 0


@pytest.mark.slow
def test_watch_once_sorts_what_is_there(recipe_folder, product, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(watch, "POLL_SECONDS", 0.2)
    shutil.copytree(product / "test", tmp_path / "in")
    before = sorted(path.name for path in (tmp_path / "in").rglob("*.*"))
    arguments = ["watch", str(recipe_folder), str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--once"]
    assert main(arguments) == 1
    output = capsys.readouterr().out.splitlines()
    assert output[-1].endswith("0 not judged")
    assert sorted(path.name for path in (tmp_path / "out").rglob("*.*")) == before
    assert not list((tmp_path / "in").rglob("*.*"))
    with AuditLog.open() as log:
        facts = [entry.facts for entry in log.entries(kind="inspection")]
    assert len(facts) == len(before)
    assert all(Path(fact["path"]).is_file() and fact["verdict"] in fact["path"] for fact in facts)
    assert main(arguments) == 0, "nothing came, so nothing was refused"
    assert main([*arguments[:2], str(tmp_path / "gone"), *arguments[3:]]) == 2


@pytest.mark.slow
def test_watch_runs_until_ctrl_c(recipe_folder, product, tmp_path, workspace):
    (tmp_path / "in").mkdir()
    command = ["-m", "inspect_core", "watch", str(recipe_folder), str(tmp_path / "in"), "--out", str(tmp_path / "out")]
    # A shell's job in the background ignores Ctrl-C, and so would all that it starts.
    heeding = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    running = subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=heeding
    )
    assert running.stdout.readline().startswith("Watching")
    shutil.copy(next((product / "train/good").iterdir()), tmp_path / "in" / "a.jpg")
    assert running.stdout.readline().split()[-1] == "a.jpg"
    # Python loses an interrupt that comes while it clears a weak reference: a person presses again.
    for _ in range(6):
        running.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            running.wait(10)
            break
    assert running.wait(60) == 130
    assert "not judged" in running.stdout.read()
    assert len(list((tmp_path / "out").rglob("a.jpg"))) == 1


@pytest.mark.slow
def test_inspect_killed_goes_on_with_the_same_command(recipe_folder, product, tmp_path):
    table = tmp_path / "v.csv"
    command = ["-m", "inspect_core", "inspect", str(recipe_folder), str(product), "--csv", str(table)]
    running = subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    first = [running.stdout.readline() for _ in range(3)]
    running.kill()
    running.wait()
    assert not table.exists()
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert not set(first) & set(done.stdout.splitlines(keepends=True)), "judged twice"
    names = [line.split(",")[0] for line in table.read_text().splitlines()[1:]]
    assert len(names) == len(set(names)) == 21
    with AuditLog.open() as log:
        assert sorted(entry.facts["name"] for entry in log.entries(kind="inspection")) == sorted(names)
