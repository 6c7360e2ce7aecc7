"""A real server and a real Chromium; any request that leaves the machine and any script error fails the test."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = [
    "--no-sandbox",
    "--process-per-site",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
STREAMLIT, SMALL = ("-m", "streamlit"), (str(Path(__file__).with_name("small_server.py")),)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> str:
    path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if path is None:
        message = "no Chromium on this machine; on Debian or Ubuntu: sudo apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture(scope="session")
def browsing(chromium: str):
    """One context and one process for all pages: Streamlit's scripts are fetched and compiled once."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=chromium, args=FLAGS)
        context = opened.new_context(accept_downloads=True)
        keeps_the_process = context.new_page()
        keeps_the_process.route("**", lambda route: route.fulfill(body=""))
        keeps_the_process.goto("http://127.0.0.1/")
        yield context
        opened.close()


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """serve(app, workspace=None, small=False, port=0) starts a fresh server for a script and gives its address.

    small: its sample part is taught in seconds. port: of a server that is killed first, whose place it takes.
    """
    with _serving(tmp_path_factory) as start:
        yield start


@pytest.fixture(scope="session")
def sample_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sample")


@pytest.fixture(scope="session")
def sample_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app with a small sample part taught at its first start: one for all tests that begin with it."""
    with _serving(tmp_path_factory) as start:
        yield start(ROOT / "app.py", small=True)


@contextmanager
def _serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    servers: dict[int, subprocess.Popen] = {}

    def start(app: Path, workspace: Path | None = None, *, small: bool = False, port: int = 0) -> str:
        if port:
            end(servers[port])
        else:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
        folder = workspace or tmp_path_factory.mktemp("served")
        log = folder / f"server-{port}.log"
        command = [sys.executable, *(SMALL if small else STREAMLIT), "run", str(app), "--server.port", str(port)]
        command += ["--server.headless", "true", "--server.address", "127.0.0.1", "--browser.gatherUsageStats", "false"]
        environment = os.environ | {"LOUPE_WORKSPACE": str(folder), "PYTHONPATH": str(ROOT)}
        servers[port] = subprocess.Popen(
            command, cwd=ROOT, stdout=log.open("ab"), stderr=subprocess.STDOUT, env=environment
        )
        address = f"http://127.0.0.1:{port}"
        _wait_until_up(address, servers[port], log)
        return address

    def end(server: subprocess.Popen) -> None:
        server.kill()  # asked to end, it would wait for its jobs and its open pages
        server.wait()

    try:
        yield start
    finally:
        for server in servers.values():
            end(server)


def _wait_until_up(address: str, server: subprocess.Popen, log: Path, seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit and server.poll() is None:
        try:
            with urllib.request.urlopen(address + "/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"the server did not come up:\n{log.read_text(errors='replace')[-2000:]}")


@pytest.fixture
def open_page(browsing) -> Iterator[Callable]:
    """open_page(address, width=1440, height=900) is a session of its own; leaving requests and script errors fail."""
    pages, problems = [], []

    def start(address: str, *, width: int = 1440, height: int = 900):
        page = browsing.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.set_default_timeout(60_000)
        page.on("request", lambda request: _check_request(request.url, problems))
        page.on("pageerror", lambda error: problems.append(f"script error: {error}"))
        page.goto(address)
        return page

    yield start
    for page in pages:
        page.close()
    assert not problems, problems


def _check_request(url: str, problems: list[str]) -> None:
    if not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")):
        problems.append(f"a request left the machine: {url}")


@pytest.fixture
def start_watching() -> Callable:
    """start_watching(page, folder) watches a folder from Batch, and waits until it is watched."""
    from playwright.sync_api import expect

    def start(page, folder: Path) -> None:
        page.get_by_role("radio", name="Watch a folder").click()
        expect(page.get_by_text("New watch")).to_be_visible()
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        field = page.get_by_role("textbox", name="Input folder")
        if not field.is_visible():  # folded below the watches before
            page.get_by_text("New watch").click()
        field.fill(str(folder))
        field.press("Enter")
        page.get_by_role("button", name="Start watching").click()
        expect(page.get_by_text("Waiting for the first photo")).to_be_visible()

    return start
