"""Ctrl-C at any moment: one line, no traceback, exit code 130."""

import signal
import subprocess
import sys
import time

import pytest

WAYS = (["--help"], ["doctor"], ["inspect", "missing", "missing"], ["verify"])
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("delay", [0.15, 0.5, 0.9, 1.6])
def test_ctrl_c_while_modules_load_is_one_line(delay, tmp_path, monkeypatch):
    monkeypatch.setenv("LOUPE_WORKSPACE", str(tmp_path / "workspace"))
    verb = WAYS[int(delay * 10) % len(WAYS)]
    command = [sys.executable, "-m", "inspect_core", *verb]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=60)
    if "Traceback" in output and "inspect_core" not in output:
        pytest.skip("Python itself was still starting")
    assert "Traceback" not in output
    assert "Exception ignored" not in output
    if process.returncode == 130:
        assert output.count("loupe: stopped") == 1
    else:
        assert process.returncode in (0, 2)
