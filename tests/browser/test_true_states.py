"""What the page says of a product is so at every moment: saved, changed, approved, on trial, and after a restart."""

import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app.py"
TEACHING = 240_000
expect.set_options(timeout=60_000)


@pytest.fixture
def photos(tmp_path) -> Path:
    """A folder of four photos of the sample part, and beside it one that a camera writes to."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "in").mkdir()
    for photo in sorted((ROOT / "sample_data/flange/test/good").iterdir())[:4]:
        shutil.copy(photo, tmp_path / "photos")
    return tmp_path / "photos"


def idle(page: Page) -> None:
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()


def go_to(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
    idle(page)


def save(page: Page, reason: str, version: str) -> None:
    page.get_by_role("button", name="Save as recipe").click()
    page.get_by_role("textbox", name="Reason").fill(reason)
    page.get_by_role("button", name="Save", exact=True).click()
    state_is(page, f"saved as {version}")
    idle(page)


def state_is(page: Page, words: str) -> None:
    """In the sidebar and at the head of the page."""
    expect(page.get_by_test_id("stSidebar").get_by_text(words).first).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text(words)


def inspect_folder(page: Page, folder: Path, *, recipe: str = "") -> None:
    go_to(page, "Batch")
    field = page.get_by_role("textbox", name=re.compile("Folder"))
    if not field.is_visible():  # folded below the results of the batch before
        page.get_by_text("New batch").click()
        expect(field).to_be_visible()
    if recipe:
        page.get_by_role("combobox", name=re.compile("Recipe")).first.click()
        page.get_by_role("option", name=recipe).click()
        idle(page)
    field.fill(str(folder))
    field.press("Enter")
    idle(page)
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    expect(page.get_by_text(re.compile("Inspecting photos of flange: finished"))).to_be_visible()
    idle(page)


def test_a_day_with_a_product(serve, open_page, photos, start_watching, tmp_path, monkeypatch):
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    workspace = tmp_path / "ws"
    workspace.mkdir()
    address = serve(APP, workspace, small=True)
    page = open_page(address)
    expect(page.get_by_role("slider", name="Reject limit")).to_be_visible(timeout=TEACHING)
    state_is(page, "not saved")
    save(page, "first release", "draft 1")

    page.get_by_text("Fine-tune", exact=True).click()
    k = page.get_by_role("slider", name=re.compile(r"\(k\)"))
    expect(k).to_be_visible()
    idle(page)
    k.focus()
    page.keyboard.press("ArrowLeft")
    state_is(page, "changed since draft 1")
    idle(page)
    page.get_by_test_id("stSidebar").get_by_role("button", name="Close").click()
    expect(page.get_by_text("Closing discards these changes in all windows")).to_be_visible()
    page.get_by_role("button", name="Save first").click()
    idle(page)
    save(page, "lower k", "draft 2")

    go_to(page, "Recipes")
    page.get_by_role("button", name="Approve").first.click()
    nevertheless = page.get_by_text("Approve it nevertheless")
    if nevertheless.count():
        nevertheless.click()
        idle(page)
    page.get_by_role("textbox", name="Reason").last.fill("tested")
    page.get_by_role("button", name="Approve", exact=True).last.click()
    expect(page.get_by_role("heading", name="flange, approved")).to_be_visible()

    inspect_folder(page, photos)
    expect(page.get_by_text(re.compile("^flange, approved"), exact=False).first).to_be_visible()
    inspect_folder(page, photos, recipe=re.compile("for a trial"))
    go_to(page, "History")
    expect(page.get_by_text("4 parts inspected")).to_be_visible()

    go_to(page, "Batch")
    start_watching(page, tmp_path / "in")
    serve(APP, workspace, small=True, port=urlsplit(address).port)
    page.goto(f"{address}/batch")
    sidebar = page.get_by_test_id("stSidebar")
    expect(sidebar.get_by_text(re.compile(r"stopped at \d\d:\d\d by a restart"))).to_be_visible()
    page.get_by_role("radio", name="Watch a folder").click()
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_text("Waiting for the first photo")).to_be_visible()
    shutil.copy(sorted(photos.iterdir())[0], tmp_path / "in" / "late.jpg")
    expect(page.get_by_text("1 accepted").or_(page.get_by_text("late.jpg")).first).to_be_visible()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text(re.compile("^Stopped: 1 "))).to_be_visible()
