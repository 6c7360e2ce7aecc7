"""Seconds from `streamlit run app.py` to the first page, in a real browser when there is one.

Three marks, all from the moment the command is given: the server answers that it is healthy; the page's script has
finished its first run and its title can be read; the sample part, which Loupe teaches itself, is on the bench. The
first start, in a fresh workspace, also exports the network; later ones find it there.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.main_job.setting import QUICK, Setting
from benchmarks.measure import spread

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 300
POLL_MS = 250
FINISHED = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return app && app.dataset.testScriptState === 'notRunning' && app.querySelector('h1, [data-testid="stSlider"]');
}"""
ON_THE_BENCH = '[role="listbox"] [role="option"]'


def figures(setting: Setting) -> dict:
    """Seconds to each mark, of the first start in a fresh workspace and of later ones in the same."""
    with tempfile.TemporaryDirectory(prefix="loupe-start-") as folder, open_browser() as browser:
        until_taught = setting != QUICK
        first = marks(Path(folder), browser, until_taught=until_taught)
        later = [marks(Path(folder), browser, until_taught=until_taught) for _ in range(setting.runs)]
    return {
        "browser": None if browser is None else f"Chromium {browser.version}",
        "first_start_s": first,
        "later": {name: spread([run[name] for run in later], "s") for name in first},
    }


def marks(workspace: Path, browser: Browser | None, *, until_taught: bool) -> dict[str, float]:
    """One start and stop of the app. Without a browser only the server's health is seen."""
    began = time.perf_counter()
    with served(workspace) as (address, _):
        seconds = {"health": time.perf_counter() - began}
        if browser is not None:
            page = browser.new_page()
            page.set_default_timeout(1000 * PATIENCE_S)
            page.goto(address)
            page.wait_for_function(FINISHED)
            seconds["first_page"] = time.perf_counter() - began
            if until_taught:
                # Waiting for it in the page would draw frame after frame, at a third of the time of two cores.
                while not page.query_selector(ON_THE_BENCH):
                    page.wait_for_timeout(POLL_MS)
                seconds["sample_on_the_bench"] = time.perf_counter() - began
            page.close()
        return seconds


@contextlib.contextmanager
def served(workspace: Path, settings: Mapping[str, str] | None = None) -> Iterator[tuple[str, subprocess.Popen]]:
    """The app on a server of its own: its address and process. settings: further variables of its environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    server = subprocess.Popen(
        [*command, "--server.headless", "true"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=os.environ | {"LOUPE_WORKSPACE": str(workspace)} | dict(settings or {}),
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_healthy(address, server)
        yield address, server
    finally:
        server.kill()  # its workspace is thrown away; asked politely, it would finish what it is teaching
        server.wait()


@contextlib.contextmanager
def open_browser() -> Iterator[Browser | None]:
    """The system's Chromium, or None when there is none."""
    path = next((executable for name in BROWSERS if (executable := shutil.which(name))), None)
    if path is None:
        yield None
        return
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-background-networking"])
        yield browser
        browser.close()


def _wait_until_healthy(address: str, server: subprocess.Popen) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise RuntimeError(f"the app did not answer at {address}; run `python -m streamlit run app.py` to see why")
