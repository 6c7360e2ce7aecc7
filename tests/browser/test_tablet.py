"""A window of 820 px: the menu folds away, Teach has one column, and nothing is wider than the page."""

import pytest
from playwright.sync_api import Page, expect

from tests.pages.waiting import wait_until


@pytest.fixture
def tablet(sample_app, open_page) -> Page:
    return open_page(sample_app, width=820, height=1180)


def is_folded(page: Page) -> None:
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_visible(timeout=60_000)


def test_the_menu_folds_once_a_page_was_chosen(tablet):
    is_folded(tablet)
    for name in ("Teach", "Batch"):
        tablet.get_by_test_id("stExpandSidebarButton").click()
        expect(tablet.get_by_role("link", name=name)).to_be_in_viewport(ratio=1)
        tablet.get_by_role("link", name=name).click()
        expect(tablet.get_by_role("heading", level=1, name=name)).to_be_visible()
        is_folded(tablet)
        cut_off = tablet.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert cut_off == 0


def test_a_wide_window_has_the_menu_again(tablet):
    is_folded(tablet)
    tablet.set_viewport_size({"width": 1280, "height": 800})
    tablet.reload()
    expect(tablet.get_by_role("link", name="Teach")).to_be_in_viewport(timeout=60_000)
    expect(tablet.get_by_test_id("stExpandSidebarButton")).to_be_hidden()


def test_teach_has_one_column(tablet):
    is_folded(tablet)
    tablet.goto(f"{tablet.url.rstrip('/')}/teach")
    plan, photos = (tablet.get_by_role("heading", name=name) for name in ("Teaching plan", "Photos found"))
    expect(plan).to_be_visible(timeout=60_000)

    def is_below() -> bool:
        above, below = photos.bounding_box(), plan.bounding_box()
        return above["x"] == below["x"] and above["y"] < below["y"]

    wait_until(is_below, 20)
