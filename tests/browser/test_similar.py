"""Similar cases in a real browser: a known defect, a foreign object, and the same again after one click."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[2]
WORK = 240_000
expect.set_options(timeout=60_000)


def drop(page: Page, photo: Path) -> None:
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()  # none of the run before
    page.get_by_role("button", name="Add photos").click()
    page.locator('input[type="file"]').set_input_files(str(photo))
    expect(page.locator(".bench .title")).to_have_text(photo.name)
    page.keyboard.press("Escape")


def test_a_known_defect_a_foreign_object_and_the_same_again(sample_app, open_page):
    first, second = sorted((ROOT / "sample_data/linen/test/good").iterdir())[:2]
    page = open_page(sample_app)
    page.get_by_role("button", name="Build the gallery").click(timeout=WORK)
    expect(page.get_by_text("This part", exact=True)).to_be_visible(timeout=WORK)
    expect(page.get_by_text(re.compile(r"% similar")).first).to_be_visible()

    drop(page, first)
    expect(page.get_by_text("Nothing similar in the gallery.")).to_be_visible()
    page.get_by_role("button", name="Add to the gallery").click()
    page.get_by_test_id("stSelectbox").get_by_role("combobox", name="Defect type").fill("wrong product")
    page.keyboard.press("Enter")
    page.get_by_label("Note").fill("a piece of linen")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("button", name="Remove from gallery")).to_be_visible()

    drop(page, second)
    expect(page.get_by_text("a piece of linen")).to_be_visible()
    expect(page.get_by_text("wrong product").first).to_be_visible()
    assert page.get_by_test_id("stException").count() == 0
