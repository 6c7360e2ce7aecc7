"""What Streamlit makes of the configuration: no question first, nothing sent, one address. And what is installed."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROMISED = {
    "server.showEmailPrompt": False,
    "logger.hideWelcomeMessage": True,
    "server.address": "127.0.0.1",
    "server.allowedHosts": ["localhost", "127.0.0.1"],
    "browser.gatherUsageStats": False,
}


def test_streamlit_settings_exist_and_keep_their_promise():
    code = f"import json; from streamlit.config import get_option; print(json.dumps([*map(get_option, {[*PROMISED]})]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == list(PROMISED.values())
    assert done.stderr == "", "Streamlit passes over what it does not know, with a warning"


def requirements(rows: list[str]) -> dict[str, Requirement]:
    """Those of a file or a list by name, without the project's own."""
    known = [Requirement(row) for row in rows if row and not row.startswith(("#", "-"))]
    return {item.name: item for item in known if item.name != "loupe-inspect"}


@pytest.mark.parametrize(
    ("file", "extras"),
    [
        ("requirements-line.txt", ["line"]),
        ("requirements.txt", ["line", "app"]),
        ("requirements-cluster.txt", ["cluster"]),
        ("requirements-station.txt", ["station"]),
    ],
)
def test_the_versions_that_are_tested_are_within_the_ranges(file, extras):
    """What another program gets with an extra is what the app, the container and the tests have, or newer."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    rows = [] if extras[0] in ("cluster", "station") else list(project["dependencies"])
    ranges = requirements([*rows, *(row for extra in extras for row in project["optional-dependencies"][extra])])
    exact = requirements((ROOT / file).read_text().splitlines())
    assert ranges.keys() == exact.keys()
    for name, item in exact.items():
        (version,) = (part.version for part in item.specifier)
        assert ranges[name].specifier.contains(version), name
        assert not any(part.operator == "==" for part in ranges[name].specifier), f"{name} suits no other program"
