"""The main job in a real browser: the sample taught, k and the limit moved, a recipe saved and opened again."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from inspect_core.recipe_io.recipe_file import load

ROOT = Path(__file__).resolve().parents[2]
TEACHING = 240_000
expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def address(serve, sample_workspace) -> str:
    """A fresh server on its first start, with nothing saved yet."""
    return serve(ROOT / "app.py", sample_workspace, small=True)


def idle(page: Page) -> None:
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()


def on_the_bench(page: Page) -> None:
    """The sample part lies on the bench; on the first start it is taught by itself."""
    expect(page.get_by_role("slider", name=re.compile("limit", re.IGNORECASE)).first).to_be_visible(timeout=TEACHING)
    idle(page)


def sentence(page: Page):
    return page.get_by_text(
        re.compile("^Rejects \\d+ of 20 good parts \\(long-run upper bound [\\d,]+ of 1[\\d,]+\\)")
    ).first


def test_the_whole_job(address, open_page, sample_workspace, walk):
    page = open_page(f"{address}/recipes")
    expect(page.get_by_text("No recipes yet.")).to_be_visible()
    assert page.get_by_test_id("stException").count() == 0
    page.get_by_role("link", name="Inspect").click()
    on_the_bench(page)
    expect(sentence(page)).to_be_visible()
    before = sentence(page).inner_text()

    page.get_by_text("Fine-tune", exact=True).click()
    k = page.get_by_role("slider", name=re.compile(r"\(k\)"))
    start = k.get_attribute("aria-valuetext") or k.input_value()
    k.focus()
    page.keyboard.press("ArrowLeft")
    idle(page)
    expect(k).not_to_have_attribute("aria-valuetext", start)
    expect(sentence(page)).to_be_visible()

    page.get_by_role("slider", name="Review limit").focus()
    page.keyboard.press("Home")
    expect(sentence(page)).to_contain_text(re.compile(r"sends \d\d of \d+ to review"))
    page.get_by_role("slider", name="Reject limit").focus()
    page.keyboard.press("Home")
    expect(sentence(page)).to_contain_text("Rejects 20 of 20 good")
    page.keyboard.press("End")
    expect(sentence(page)).to_contain_text("Rejects 0 of 20 good")
    expect(page.get_by_text("checked").filter(visible=True)).to_be_visible()
    idle(page)
    assert sentence(page).inner_text() != before

    page.get_by_role("button", name="Save as recipe").click()
    page.get_by_role("textbox", name="Name", exact=True).fill("Flange release")
    page.get_by_role("textbox", name="Reason").fill("first release")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_text("saved as draft 1")).to_be_visible()
    idle(page)
    saved = load(sample_workspace / "recipes" / "Flange-release.zip")
    assert saved.product == "Flange release"

    page.get_by_role("link", name="Recipes").click()
    expect(page.get_by_role("heading", name="Flange release")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download", exact=True).click()
    assert load(download.value.path().rename(sample_workspace / "downloaded.zip")).digest == saved.digest

    page.get_by_role("button", name="Open without photos").click()
    expect(page.get_by_text("No photos to show yet")).to_be_visible()
    page.get_by_role("button", name="Add photos").click()
    photo = next((ROOT / "sample_data/flange/test/dent").iterdir())
    page.locator("input[type=file]").set_input_files(photo)
    expect(page.get_by_text(photo.name).first).to_be_visible()
    idle(page)
    assert page.get_by_test_id("stException").count() == 0
