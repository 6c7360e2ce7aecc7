"""Explore in a real browser: a map is drawn, a click on a point leads to the part and on to the bench."""

import re

from playwright.sync_api import Page, expect

WORK = 240_000


def idle(page: Page) -> None:
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()


def test_from_a_point_to_the_bench(sample_app, open_page):
    page = open_page(sample_app)
    expect(page.get_by_role("slider", name=re.compile("limit", re.IGNORECASE)).first).to_be_visible(timeout=WORK)
    page.get_by_role("link", name="Explore").click()
    points = page.locator(".js-plotly-plot .scatterlayer path.point")
    expect(points.first).to_be_visible(timeout=WORK)
    idle(page)
    assert points.count() == 501, "and the ring about the photo shown on Inspect"

    framed = page.get_by_role("img", name=re.compile(r"with the patch in row \d+, column \d+ framed"))
    shown_on_inspect = framed.get_attribute("alt")
    dent = page.locator(".js-plotly-plot .scatterlayer .trace").nth(2).locator("path.point").last
    box = dent.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    to_bench = page.get_by_role("button", name="Show on Inspect")
    expect(to_bench).to_be_visible(timeout=60_000)
    idle(page)
    expect(framed).not_to_have_attribute("alt", shown_on_inspect)
    name = framed.get_attribute("alt").split(" with ")[0]

    page.get_by_text("Score", exact=True).click()
    idle(page)
    expect(framed).to_be_visible()
    expect(page.get_by_text("score on the heatmap")).to_be_visible()
    idle(page)

    to_bench.click()
    expect(page.locator(".photo[aria-label*='score']")).to_be_visible(timeout=60_000)
    expect(page.get_by_text(name, exact=True).first).to_be_visible()
    expect(page.get_by_text("Frame: the patch selected on Explore.")).to_be_visible()
    assert page.get_by_test_id("stException").count() == 0
