"""Seconds from `streamlit run app.py` to the first page, in a real browser when there is one, and beside references.

Three marks, all from the moment the command is given: the server answers that it is healthy; the page's script has
finished its first run and its title can be read; the sample part, which Loupe teaches itself, is on the bench. The
first start, in a fresh workspace, also exports the network; later ones find it there.

Seconds depend on the machine, so there are two references of the same run: an empty page of Streamlit whose script
imports torch, started in turn with the app; and the network alone over as many inputs as teaching the sample takes.
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
from dataclasses import replace
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

from benchmarks.main_job.setting import QUICK, Setting, network, sample
from benchmarks.measure import spread, timed
from inspect_core.datasets.splitting import split_to_teach
from inspect_core.images.tolerances import photos_per_original
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.ui.teaching_job import FIRST_SAMPLE, SAMPLE_CHOICES, SAMPLE_PHOTOS

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_S = 300
POLL_MS = 250
FINISHED = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return app && app.dataset.testScriptState === 'notRunning' && app.querySelector('h1, [data-testid="stSlider"]');
}"""
ON_THE_BENCH = '[role="listbox"] [role="option"]'
EMPTY_PAGE = "import streamlit as st\nimport torch\n\nst.title(torch.__version__)\n"


def figures(setting: Setting) -> dict:
    """Seconds to each mark, of the first start in a fresh workspace and of later ones in the same."""
    with tempfile.TemporaryDirectory(prefix="loupe-start-") as folder, open_browser() as browser:
        until_taught = setting != QUICK
        empty_page = Path(folder) / "empty_page.py"
        empty_page.write_text(EMPTY_PAGE)
        first = marks(Path(folder), browser, until_taught=until_taught)
        later, empty = [], []
        for _ in range(setting.runs):
            later.append(marks(Path(folder), browser, until_taught=until_taught))
            empty.append(marks(Path(folder), browser, until_taught=False, script=empty_page))
    results = {
        "browser": None if browser is None else f"Chromium {browser.version}",
        "first_start_s": first,
        "later": {name: spread([run[name] for run in later], "s") for name in first},
        "empty": {name: spread([run[name] for run in empty], "s") for name in empty[0]},
    }
    if "first_page" in first:
        ratios = [run["first_page"] / other["first_page"] for run, other in zip(later, empty, strict=True)]
        results["first_page_to_empty"] = spread(ratios, "ratio")
    if until_taught and "sample_on_the_bench" in first:
        results["network"] = network_over_sample(setting)
        teaching_s = first["sample_on_the_bench"] - first["first_page"]
        results["sample_to_network"] = teaching_s / results["network"]["seconds"]
    return results


def network_over_sample(setting: Setting) -> dict[str, float]:
    """Seconds of the network alone over all inputs of teaching the sample: photos to learn from, photos to show, and
    the copies of both.
    """
    photos = split_to_teach(sample())
    order = TeachingConfig(FIRST_SAMPLE, replace(photos, train=photos.train[:SAMPLE_PHOTOS]), **SAMPLE_CHOICES)
    repeats = 0 if order.tolerances is None else 1
    inputs = len(order.photos.train) * photos_per_original(order.copied) + (1 + repeats) * len(order.scored)
    backbone = network(setting)
    image = np.full((1, *setting.size, 3), 128, np.uint8)
    milliseconds = timed(lambda: backbone.tap_maps(image), repeats=setting.repeats)["median_ms"]
    return {"inputs": inputs, "seconds": inputs * milliseconds / 1000}


def marks(
    workspace: Path, browser: Browser | None, *, until_taught: bool, script: str | Path = "app.py"
) -> dict[str, float]:
    """One start and stop of a script. Without a browser only the server's health is seen."""
    began = time.perf_counter()
    with served(workspace, script=script) as (address, _):
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
def served(
    workspace: Path, settings: Mapping[str, str] | None = None, *, script: str | Path = "app.py"
) -> Iterator[tuple[str, subprocess.Popen]]:
    """The app on a server of its own: its address and process. settings: further variables of its environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
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
