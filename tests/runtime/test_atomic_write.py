"""Files that several servers write are read and written by one at a time."""

import json
import subprocess
import sys
from pathlib import Path

CODE = """
import json, sys
from pathlib import Path
from inspect_core.runtime.atomic_write import atomic_replace, exclusive
path = Path(sys.argv[1])
for number in range(40):
    with exclusive(path):
        values = json.loads(path.read_text())
        with atomic_replace(path) as new:
            new.write_text(json.dumps([*values, f"{sys.argv[2]} {number}"]))
"""


def test_two_processes_lose_nothing_of_each_other(workspace):
    path = workspace / "shared.json"
    path.write_text("[]")
    root = Path(__file__).parents[2]
    servers = [subprocess.Popen([sys.executable, "-c", CODE, str(path), who], cwd=root) for who in ("a", "b")]
    assert [server.wait(60) for server in servers] == [0, 0]
    assert len(json.loads(path.read_text())) == 80
