"""The Methods page in a real browser: points are dragged, moved by keys, added and removed, and Python follows."""

import re

from playwright.sync_api import expect

WORK = 120_000


def test_points_follow_mouse_and_keys_and_move_the_boundaries(sample_app, open_page):
    page = open_page(f"{sample_app}/methods")
    plane, marks = page.locator(".plane"), page.locator(".plane figure:first-child circle")
    expect(marks).to_have_count(120, timeout=WORK)
    last = page.get_by_role("button", name=re.compile("^Point 120 of 120, good, at "))
    expect(last).to_have_count(1)

    def answered(act) -> None:
        """Act, and wait until Python has answered the last move with other boundaries."""
        before, lines = plane.get_attribute("data-taken"), page.locator(".plane path").first.get_attribute("d")
        act()
        expect(plane).not_to_have_attribute("data-taken", before, timeout=WORK)
        expect(page.locator(".plane path").first).not_to_have_attribute("d", lines, timeout=WORK)

    second = page.locator(".plane figure:nth-child(2) circle").nth(119).bounding_box()
    x, y = second["x"] + second["width"] / 2, second["y"] + second["height"] / 2

    def drag() -> None:
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 30, y + 12, steps=4)
        page.mouse.up()

    labels = [mark.get_attribute("aria-label") for mark in marks.all()]
    answered(drag)
    moved = [mark.get_attribute("aria-label") for mark in marks.all()]
    assert sum(a != b for a, b in zip(labels, moved, strict=True)) == 1, "one point, in all panels"

    chosen = page.locator(".plane circle.chosen").first
    expect(chosen).to_be_focused()
    words = chosen.get_attribute("aria-label")
    answered(lambda: page.keyboard.press("Shift+ArrowUp"))
    expect(chosen).not_to_have_attribute("aria-label", words)
    answered(lambda: page.keyboard.press("Enter"))
    expect(marks).to_have_count(121)
    expect(page.locator(".plane figcaption").first).to_contain_text("of 121 points")
    page.keyboard.press("PageUp")
    expect(page.locator(".plane circle.chosen").first).to_have_attribute("aria-label", re.compile("^Point 120 of 121"))
    answered(lambda: page.keyboard.press("Delete"))
    expect(marks).to_have_count(120)
    assert page.get_by_test_id("stException").count() == 0
