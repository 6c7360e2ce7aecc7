"""Defect types in a real browser: given by clicks, learned; then a known defect is named on Inspect, an unknown not."""

import re

from playwright.sync_api import Page, expect

WORK = 240_000
NAMED = re.compile(r"^[a-z ]+, \d+%$")
expect.set_options(timeout=60_000)


def idle(page: Page) -> None:
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()


def show(page: Page, kind: str) -> None:
    page.locator('[class*="st-key-show-"]').get_by_text(kind, exact=True).click()


def kind_buttons(page: Page, kind: str):
    return page.locator('[class*="st-key-kind-"]').get_by_role("button", name=kind, exact=True)


def test_from_labels_to_a_named_defect_and_an_unknown_one(sample_app, open_page):
    page = open_page(sample_app)
    expect(page.get_by_role("slider", name=re.compile("limit", re.IGNORECASE)).first).to_be_visible(timeout=WORK)
    page.get_by_role("link", name="Defect types").click()
    expect(page.get_by_role("heading", name="Examples")).to_be_visible()
    show(page, "misdrilled")
    expect(kind_buttons(page, "misdrilled")).to_have_count(4)

    page.get_by_role("combobox", name="Defect type", exact=True).fill("wrong hole")
    page.keyboard.press("Enter")
    idle(page)
    for left in (3, 2, 1, 0):
        kind_buttons(page, "misdrilled").first.click()
        expect(kind_buttons(page, "misdrilled")).to_have_count(left)
    idle(page)
    show(page, "wrong hole")
    expect(kind_buttons(page, "wrong hole")).to_have_count(4)

    page.get_by_role("button", name="Train defect types").click()
    expect(page.get_by_text("The most likely defect type is correct for")).to_be_visible(timeout=WORK)
    idle(page)
    expect(page.get_by_text("of 20 examples")).to_be_visible()
    expect(page.get_by_role("slider", name="Minimum confidence")).to_be_visible()

    page.get_by_role("link", name="Inspect").click()
    kind = page.locator(".card .defect-type")
    limit = page.get_by_role("slider", name="Minimum confidence")
    expect(kind).to_be_visible()
    idle(page)
    limit.focus()
    page.keyboard.press("Home")
    expect(kind).to_have_text(NAMED)
    limit.focus()
    page.keyboard.press("End")
    expect(kind).to_have_text("unknown defect type")
    idle(page)
    assert page.get_by_test_id("stException").count() == 0
