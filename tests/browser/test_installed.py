"""The app as it is installed: the wheel is built, and started as the Dockerfile starts it, outside the checkout."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import expect

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("inspect_core", "pages", "sample_data", ".streamlit", "app.py", "setup.py", "pyproject.toml", "MANIFEST.in")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """A folder with the built wheel in it; what it depends on is installed here already."""
    source, built, site = (tmp_path_factory.mktemp(name) for name in ("source", "built", "site"))
    for name in (*SOURCES, *(path.name for path in ROOT.glob("requirements*.txt"))):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", built, source], check=True)
    (wheel,) = built.iterdir()
    assert wheel.name.startswith("loupe_inspect-")
    subprocess.run([*pip, "install", "--no-deps", "--target", site, wheel], check=True)
    return site


def exec_form(instruction: str) -> list[str]:
    """The words of CMD or HEALTHCHECK in the Dockerfile."""
    return json.loads(re.search(rf"^{instruction}\b.*?(\[.*\])$", DOCKERFILE, re.MULTILINE)[1])


def test_installed_app_starts_and_uses_the_users_folder(site, tmp_path, open_page):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    settings = dict(re.findall(r"(STREAMLIT_\w+)=(\S+)", DOCKERFILE))
    assert settings == {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0", "STREAMLIT_SERVER_HEADLESS": "true"}
    settings |= {"PYTHONPATH": str(site), "XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LOUPE_")} | settings
    started, checked = ([word.replace("8501", port) for word in exec_form(name)] for name in ("CMD", "HEALTHCHECK"))
    assert (started[0], checked[0]) == ("loupe", "python")
    log = (tmp_path / "log").open("w+")
    server = subprocess.Popen(
        [sys.executable, "-m", "inspect_core", *started[1:]], cwd=tmp_path, env=environment, stdout=log, stderr=log
    )
    try:
        until = time.monotonic() + 60
        while subprocess.run([sys.executable, *checked[1:]], capture_output=True).returncode:
            if server.poll() is not None or time.monotonic() > until:
                pytest.fail((tmp_path / "log").read_text())
        page = open_page(f"http://127.0.0.1:{port}")
        expect(page.get_by_text("Loupe is learning how photos of good flanges vary.")).to_be_visible()
        expect(page.get_by_role("img", name="sample photos")).to_be_visible()
    finally:
        server.kill()
        server.wait()
        log.close()
    workspace = tmp_path / "data/loupe/workspace"
    assert (tmp_path / "log").read_text().splitlines()[0] == f"Workspace: {workspace}"
    assert workspace.is_dir()
