"""Takes the pictures of the README: python -m docs.pictures.make

The app starts in a temporary workspace and teaches itself its sample part; Chromium shows it in the light theme.
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from benchmarks.main_job.start import FINISHED, PATIENCE_S, open_browser, served

FOLDER = Path(__file__).parent
WINDOW = {"width": 1440, "height": 900}
WIDTH = 1200
"""Pixels of a picture: the window is drawn smaller, so that its text stays sharp."""
DENTS = 2
"""Place of this defect type among the colours of the map."""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="loupe-pictures-") as workspace, open_browser() as browser:
        if browser is None:
            sys.exit("Chromium is missing; on Debian or Ubuntu: sudo apt-get install chromium")
        with served(Path(workspace)) as (address, _):
            page = browser.new_page(viewport=WINDOW, color_scheme="light", device_scale_factor=WIDTH / WINDOW["width"])
            page.set_default_timeout(1000 * PATIENCE_S)
            page.goto(address)
            page.get_by_text("checked").wait_for()
            take(page, "bench")
            page.get_by_role("link", name="Explore").click()
            page.get_by_text("After the detector's mapping").click()
            dents = page.locator(".js-plotly-plot .scatterlayer .trace").nth(DENTS).locator("path.point")
            dents.first.wait_for()
            page.wait_for_function(FINISHED)
            box = dents.last.bounding_box()
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            page.get_by_role("button", name="Show on Inspect").wait_for()
            page.mouse.move(WINDOW["width"] - 1, 1)
            take(page, "explore")


def take(page: Page, name: str) -> None:
    """Writes <name>.webp into this folder once the page has come to rest."""
    page.wait_for_function(FINISHED)
    page.get_by_test_id("stToast").wait_for(state="detached")
    page.wait_for_load_state("networkidle")
    with Image.open(io.BytesIO(page.screenshot(animations="disabled"))) as shown:
        shown.convert("RGB").save(FOLDER / f"{name}.webp", quality=90, method=6)


if __name__ == "__main__":
    main()
