"""Pages that are loaded again while a part is taught, or open while the server is killed and started again."""

import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect

APP = Path(__file__).resolve().parents[2] / "app.py"
SECONDS = 30_000


def test_product_survives_a_reload_another_window_and_a_restart(serve, open_page, sample_workspace):
    address = serve(APP, sample_workspace, small=True)
    other, limit = open_page(address), "Reject limit"
    expect(other.get_by_role("slider", name=limit)).to_be_visible(timeout=240_000)
    page = open_page(f"{address}/teach")
    page.get_by_role("textbox", name="Product name").fill("aliens")
    page.get_by_role("textbox", name="Product name").press("Enter")
    page.get_by_text("Advanced: detector, network, detail").click()
    page.get_by_text("Fast texture", exact=True).click()
    page.get_by_role("slider", name="Photo size").focus()
    page.keyboard.press("Home")  # the smallest: it is taught in seconds
    page.get_by_role("button", name="Teach", exact=True).click()
    expect(page.get_by_text("Running, started in this window")).to_be_visible(timeout=SECONDS)
    page.reload()
    expect(page.get_by_text("Running, started in this window")).to_be_visible(timeout=SECONDS)
    page.get_by_role("link", name="Inspect").click()
    sidebar = other.get_by_test_id("stSidebar")
    expect(sidebar.get_by_role("button", name="aliens", exact=True)).to_be_visible(timeout=240_000)
    expect(page.get_by_test_id("stSidebar").locator("strong", has_text="aliens").first).to_be_visible(timeout=SECONDS)
    expect(sidebar.locator("strong", has_text="flange").first).to_be_visible()
    sidebar.get_by_role("button", name="aliens", exact=True).click()
    expect(sidebar.locator("strong", has_text="aliens").first).to_be_visible(timeout=SECONDS)

    serve(APP, sample_workspace, small=True, port=urlsplit(address).port)
    sidebar = page.get_by_test_id("stSidebar")
    expect(page.get_by_text("Opening aliens: finished in").first).to_be_visible(timeout=100_000)
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    expect(sidebar.locator("strong", has_text="aliens").first).to_be_visible(timeout=SECONDS)
    expect(page.get_by_role("slider", name=limit)).to_be_visible(timeout=SECONDS)
    moved = page.get_by_text(re.compile(r"^Rejects .* sends \d\d of \d+ to review")).first
    for _ in range(5):  # a key pressed while the page is drawn again is lost
        page.get_by_role("slider", name="Review limit").focus()
        page.keyboard.press("Home")
        with suppress(AssertionError):
            expect(moved).to_be_visible(timeout=3_000)
            break
    expect(moved).to_be_visible(timeout=SECONDS)
    expect(page.get_by_text("checked").filter(visible=True)).to_be_visible(timeout=SECONDS)
    page.get_by_role("button", name="Close", exact=True).first.click()
    page.get_by_role("button", name="Close without saving").click()
    expect(sidebar.get_by_role("button", name="aliens", exact=True)).to_have_count(0, timeout=SECONDS)
