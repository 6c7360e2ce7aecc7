"""Memory, open files and threads of the server over hours of use, in a few minutes: the same photos are taught again
and again in one browser, then several browsers move parameters, add photos and switch pages.

Nothing may grow once the shelf of taught parts is full, which it is after the third: the figures after each teaching
and of every minute of the browsers are held against those after the third. The photos added are few and added again
and again, so that what a user keeps does not grow either.
"""

import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Error, Page

from benchmarks.main_job.setting import SAMPLE
from benchmarks.main_job.start import FINISHED, ON_THE_BENCH, open_browser, served
from benchmarks.measure import machine, parser, status_of, write
from inspect_core.methods.registry import METHODS

FULL_AFTER = 3
EVERY_S = 60
PATIENCE_S = 300
STUCK_AFTER_S = 60
ADDED = 8
MOVES = {"mahalanobis": ("k",), "corp": ("q", "γ", "M")}
PAGES = ("Teach", "Inspect", "Explore", "Defect types", "Recipes")


def figures(*, teachings: int, photos: int, browsers: int, minutes: float, method: str) -> dict:
    """Samples of the server after each teaching and each minute, and their growth since the third teaching."""
    with tempfile.TemporaryDirectory(prefix="loupe-soak-") as folder, open_browser() as browser:
        if browser is None:
            raise RuntimeError(
                "there is no Chromium on this machine; on Debian or Ubuntu: sudo apt-get install chromium"
            )
        training, added = _photos(Path(folder), photos)
        environment = {"LOUPE_ROOTS": folder}
        with served(Path(folder) / "workspace", environment) as (address, server):
            page = _open(browser, address)
            page.wait_for_selector(ON_THE_BENCH)
            after_teaching = [_resources(server.pid)]
            for number in range(1, teachings + 1):
                _teach(page, training, method)
                after_teaching.append(_resources(server.pid))
                _say(f"teaching {number}", after_teaching[-1])
            page.context.close()
            in_use, done = _use(browser, address, server.pid, browsers, 60 * minutes, MOVES[method], added)
    full, last = after_teaching[FULL_AFTER], (in_use or after_teaching)[-1]
    return {
        "teachings": teachings, "photos": photos, "browsers": browsers, "minutes": minutes, "method": method,
        "after_teaching": after_teaching, "in_use": in_use, "done": dict(done),
        "growth_of_teaching": {name: after_teaching[-1][name] / full[name] - 1 for name in full},
        "growth": {name: last[name] / full[name] - 1 for name in full},
    }  # fmt: skip


def _photos(folder: Path, count: int) -> tuple[Path, list[Path]]:
    """A folder of `count` photos to teach, a sixth of them defects, and photos to add on the bench."""
    good = sorted((SAMPLE / "train" / "good").iterdir())
    dents = sorted((SAMPLE / "test" / "dent").iterdir())
    for name, chosen in (("good", good[: count - count // 6]), ("dent", (dents * count)[: count // 6])):
        (folder / "part" / name).mkdir(parents=True)
        for number, photo in enumerate(chosen):
            shutil.copy(photo, folder / "part" / name / f"{number:03d}{photo.suffix}")
    return folder / "part", sorted((SAMPLE / "test" / "stain").iterdir())[:ADDED] + good[-ADDED:]


def _teach(page: Page, photos: Path, method: str) -> None:
    """Teach the folder, wait until it is done, and look at it on the bench."""
    _go(page, "Teach")
    page.get_by_text("Folder on this computer").click()
    path = page.get_by_role("textbox", name="Folder or zip")
    path.fill(os.fspath(photos))
    path.press("Enter")
    page.get_by_role("textbox", name="Product name").wait_for()
    page.get_by_text(METHODS[method].title, exact=True).click()
    page.wait_for_function(FINISHED)
    page.get_by_role("button", name="Teach", exact=True).click()
    page.get_by_role("button", name=re.compile("^Cancel")).wait_for()
    page.get_by_role("button", name=re.compile("^Cancel")).wait_for(state="detached")
    _go(page, "Inspect")
    page.wait_for_selector(ON_THE_BENCH)
    _move(page, MOVES[method][0])
    page.wait_for_function(FINISHED)


def _use(
    browser: Browser, address: str, server: int, count: int, seconds: float, moves: tuple[str, ...], added: list[Path]
) -> tuple[list[dict[str, float]], Counter]:
    """Samples of every minute while `count` browsers are used in turn, and how often each thing was done or failed."""
    chance = random.Random(0)
    samples = []
    done = Counter()
    pages = [_open(browser, address) for _ in range(count)]
    for page in pages:
        page.set_default_timeout(1000 * STUCK_AFTER_S)
    things: dict[str, Callable[[Page], None]] = {
        "move": lambda page: _move(page, chance.choice(moves), chance.randint(1, 4)),
        "limit": lambda page: _move(page, "limit", chance.randint(1, 4)),
        "choose": lambda page: chance.choice(page.locator(ON_THE_BENCH).all()).click(timeout=10_000),
        "add": lambda page: _add(page, chance.choice(added)),
        "page": lambda page: _go(page, chance.choice(PAGES)),
    }
    began = time.monotonic()
    while pages and (passed := time.monotonic() - began) < seconds:
        page, what = chance.choice(pages), chance.choice(list(things))
        try:
            if what != "page":
                _go(page, "Inspect")
            things[what](page)
            done[what] += 1
        except (Error, IndexError) as error:
            done[f"{what} failed"] += 1
            print(f"{what}: {error}".splitlines()[0], file=sys.stderr)
            page.goto(address)
        done["errors on the page"] += page.get_by_test_id("stException").count()
        if passed >= EVERY_S * len(samples):
            samples.append(_resources(server))
            _say(f"minute {len(samples) - 1}", samples[-1])
    if pages:
        samples.append(_resources(server))
    for page in pages:
        page.context.close()
    return samples, done


def _open(browser: Browser, address: str) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(1000 * PATIENCE_S)
    page.goto(address)
    page.wait_for_function(FINISHED)
    return page


def _go(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_function(FINISHED)


def _move(page: Page, sign: str, steps: int = 1) -> None:
    name = re.compile("limit", re.IGNORECASE) if sign == "limit" else re.compile(f"^{sign}:")
    slider = page.get_by_role("slider", name=name).first
    slider.focus(timeout=30_000)
    key = random.choice(("ArrowLeft", "ArrowRight"))
    for _ in range(steps):
        page.keyboard.press(key)
    page.wait_for_timeout(300)


def _add(page: Page, photo: Path) -> None:
    page.get_by_role("button", name="Add photos").click(timeout=30_000)
    page.locator("input[type=file]").first.set_input_files(photo)
    page.wait_for_timeout(500)
    page.wait_for_function(FINISHED)
    page.keyboard.press("Escape")


def _resources(pid: int) -> dict[str, float]:
    """Resident MB (2^20 bytes) of a process, of these its own pages, its open files and threads. Linux only."""
    return {
        "resident_mb": status_of("VmRSS", pid) / 1024,
        "own_mb": status_of("RssAnon", pid) / 1024,
        "open_files": len(list(Path(f"/proc/{pid}/fd").iterdir())),
        "threads": status_of("Threads", pid),
    }


def _say(what: str, figures: dict[str, float]) -> None:
    print(
        f"{what}: " + ", ".join(f"{name} {value:.0f}" for name, value in figures.items()), file=sys.stderr, flush=True
    )


def main() -> None:
    asked = parser("soak", __doc__)
    asked.add_argument("--teachings", type=int, default=30)
    asked.add_argument("--photos", type=int, default=24, help="taught each time")
    asked.add_argument("--browsers", type=int, default=8)
    asked.add_argument("--minutes", type=float, default=30)
    asked.add_argument("--method", choices=list(MOVES), default="mahalanobis")
    options = asked.parse_args()
    if options.teachings < FULL_AFTER:
        asked.error(f"--teachings is {options.teachings}; growth is held against the teaching number {FULL_AFTER}")
    measured_on = machine()
    chosen = {key: value for key, value in vars(options).items() if key != "name"}
    write(options.name, figures(**chosen), measured_on=measured_on)


if __name__ == "__main__":
    main()
