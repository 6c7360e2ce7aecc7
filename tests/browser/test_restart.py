"""A page that is open while the server is killed and started again."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect

APP = Path(__file__).resolve().parents[2] / "app.py"
SECONDS = 30_000


def test_the_bench_comes_back_after_the_server_was_killed(serve, open_page, sample_workspace):
    address = serve(APP, sample_workspace, small=True)
    page = open_page(address)
    limit = page.get_by_role("slider", name="Reject limit")
    expect(limit).to_be_visible(timeout=240_000)
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    serve(APP, sample_workspace, small=True, port=urlsplit(address).port)
    expect(page.get_by_text("Loupe is learning the sample part")).to_be_visible(timeout=SECONDS)
    expect(limit).to_be_visible(timeout=SECONDS)
    page.get_by_role("slider", name="Review limit").focus()
    page.keyboard.press("Home")
    expect(page.get_by_text(re.compile(r"^Rejects .* sends \d\d to review")).first).to_be_visible(timeout=SECONDS)
    expect(page.get_by_text("checked")).to_be_visible(timeout=SECONDS)
