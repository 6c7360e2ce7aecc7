"""Inspect in a real browser: what follows a live parameter, its fit and Undo, what another product sets off."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

HERE = Path(__file__).parent
ANOTHER = HERE.parents[1] / "sample_data/linen/test/good/part_060.jpg"
expect.set_options(timeout=60_000)
LOOK = """() => {
    const roots = [...document.querySelectorAll("*")].map((element) => element.shadowRoot).filter(Boolean);
    const bench = [document, ...roots].map((root) => root.querySelector(".bench")).find(Boolean);
    if (!bench) return null;
    const words = (selector) => bench.querySelector(selector).textContent;
    return {
        overlay: bench.querySelector("canvas.marks").toDataURL(),
        histogram: bench.querySelector(".plot svg").innerHTML,
        score: words(".card .score"),
        limit: words(".card .limit"),
        note: words(".card .note"),
    };
}"""


@dataclass(frozen=True)
class Seen:
    """What the bench shows: the drawn overlay and histogram, score and limit in words, the note on the view."""

    overlay: str
    histogram: str
    score: str
    limit: str
    note: str

    def followed(self, before: "Seen") -> bool:
        """Whether overlay, histogram and numbers are all others than before."""
        return (
            self.overlay != before.overlay and self.histogram != before.histogram
            and (self.score, self.limit) != (before.score, before.limit)
        )  # fmt: skip


def wait_for(page: Page, fits: Callable[[Seen], bool], seconds: float = 60) -> Seen:
    state = None
    for _ in range(int(seconds * 10)):
        shown = page.evaluate(LOOK)
        if shown and shown["score"]:  # a bench that is mounted anew is empty at first
            state = Seen(**shown)
            if fits(state):
                return state
        page.wait_for_timeout(100)
    pytest.fail(f"the bench did not follow; it shows {state and (state.score, state.limit, state.note)}")


def wait_until_ready(page: Page) -> Seen:
    return wait_for(page, lambda state: True)


def slider(page: Page, sign: str):
    return page.get_by_role("slider", name=re.compile(rf"\({sign}\)"))


def open_drawer(page: Page) -> None:
    """The controls of the parameters, which are closed until this user moves one in any window."""
    wait_until_ready(page)
    if not slider(page, "q").is_visible():
        page.get_by_text("Fine-tune", exact=True).click()
    expect(slider(page, "q")).to_be_visible()


def move(page: Page, sign: str, *keys: str) -> None:
    slider(page, sign).focus()
    for key in keys:
        page.keyboard.press(key)


def fitted(page: Page, *values: str) -> Seen:
    """The bench once the values moved last are fitted."""
    expect(page.get_by_text(re.compile(f"^{re.escape(', '.join(values))} · fitted$"))).to_be_visible()
    return wait_for(page, lambda state: state.note == "")


@pytest.fixture(scope="module")
def address(serve) -> str:
    return serve(HERE / "live_app.py")


@pytest.fixture
def bench(address, open_page) -> Callable[..., Page]:
    def start(method: str, **size: int) -> Page:
        page = open_page(f"{address}/?method={method}", **size)
        expect(page.get_by_text("Fine-tune", exact=True)).to_be_visible(timeout=120_000)
        open_drawer(page)
        wait_until_ready(page)
        return page

    return start


def test_q_gamma_and_m_are_fitted_by_themselves_and_undone(bench):
    page = bench("corp")
    start, gamma = wait_until_ready(page), slider(page, "γ").get_attribute("aria-valuetext")
    q = slider(page, "q")
    chosen = int((q.get_attribute("aria-valuetext") or "").rpartition(" ")[2]) + 2
    of_q = start
    for value in (chosen - 1, chosen):
        move(page, "q", "ArrowRight")
        expect(q).to_have_attribute("aria-valuetext", re.compile(f" q = {value}$"))
        of_q = wait_for(page, lambda page_state, before=of_q: page_state.score != before.score)
    assert of_q.followed(start)
    assert of_q.note == ""

    move(page, "γ", "ArrowRight", "ArrowRight", "ArrowRight")
    move(page, "γ", "ArrowLeft")
    expected = slider(page, "γ").get_attribute("aria-valuetext")
    assert expected != gamma
    of_gamma = fitted(page, f"γ {expected}", "M 128")
    assert of_gamma.followed(of_q)
    marks = [page.locator(".part .badge").first, page.locator(".verdict-filter"), page.locator(".handle.reject"),
              page.locator(".boxes"), page.locator(".card .limit"), page.locator(".check")]  # fmt: skip
    for element in marks:
        expect(element.filter(visible=True)).to_have_count(1)
    expect(page.locator(".sentence .words")).to_contain_text("good")

    move(page, "M", "ArrowRight")
    of_m = fitted(page, f"γ {expected}", "M 256")
    assert of_m.followed(of_gamma)
    expect(q, "the q that was set stays").to_have_attribute("aria-valuetext", re.compile(f" q = {chosen}$"))
    expect(page.get_by_text(re.compile("^Current: 256"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Apply"))).to_have_count(0)

    page.get_by_role("button", name="Undo").click()
    undone = wait_for(page, lambda page_state: page_state.followed(of_m))
    assert undone == of_gamma
    expect(slider(page, "M")).to_have_attribute("aria-valuetext", "128")
    assert page.get_by_test_id("stException").count() == 0


def test_values_moved_to_and_fro_end_at_the_last_in_both_windows(bench, open_page):
    page = bench("corp")
    other = open_page(page.url)
    open_drawer(other)
    expect(slider(other, "γ")).to_be_visible()
    for _ in range(3):
        move(page, "γ", *["ArrowRight"] * 3)
        page.wait_for_timeout(700)  # a preview begins
        move(page, "γ", *["ArrowLeft"] * 4)
    last = slider(page, "γ").get_attribute("aria-valuetext")
    of_last = fitted(page, f"γ {last}", "M 128")
    expect(slider(other, "γ"), "it takes on the fit").to_have_attribute("aria-valuetext", last)
    assert wait_for(other, lambda state: state.score == of_last.score).limit == of_last.limit
    assert slider(page, "γ").get_attribute("aria-valuetext") == last
    for window in (page, other):
        assert window.get_by_test_id("stException").count() == 0


def test_sigma_of_the_exact_kernel_is_fitted_by_itself(bench):
    page = bench("kernel_pca")
    start = wait_until_ready(page)
    move(page, "σ", "ArrowRight", "ArrowRight")
    of_fit = fitted(page, f"σ {slider(page, 'σ').get_attribute('aria-valuetext')}")
    assert of_fit.followed(start)
    assert page.get_by_test_id("stException").count() == 0


def test_other_product_is_named_above_the_verdict_and_rejected(bench):
    page = bench("kernel_pca")
    page.get_by_role("button", name="Add photos").click()
    page.locator("input[type=file]").set_input_files(ANOTHER)
    alarm, verdict = page.get_by_role("alert").filter(has_text="does not look like"), page.locator(".card .word")
    expect(alarm).to_contain_text("so do not rely on the verdict")
    assert alarm.bounding_box()["y"] < verdict.bounding_box()["y"]
    page.keyboard.press("Escape")
    page.get_by_text("Stop", exact=True).click()
    expect(alarm).to_contain_text("so the recipe rejects it")

    for limit in ("Reject limit", "Review limit"):
        page.get_by_role("slider", name=limit).focus()
        page.keyboard.press("End")
    expect(page.get_by_text(re.compile(r"^Rejects 0 of 20 good")).first).to_be_visible()
    expect(verdict).to_have_text("✕ Reject")
    page.get_by_role("button", name="Next part", exact=True).click()
    expect(verdict).to_have_text("✓ Accept")
    expect(alarm).to_be_hidden()


def test_areas_are_drawn_by_mouse_and_keys_and_refused_by_name(bench):
    page = bench("kernel_pca", width=1280, height=2400)
    start = wait_until_ready(page)
    page.get_by_text("Areas", exact=True).click()
    picture = page.locator(".outlines svg")
    expect(picture).to_be_visible()

    def drag(*shares):
        box = None
        while box != (box := picture.bounding_box()):  # what opens above it still moves it
            page.wait_for_timeout(300)
        points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in shares]
        page.mouse.move(*points[0])
        page.mouse.down()
        for point in points[1:]:
            page.mouse.move(*point)
        page.mouse.up()

    page.get_by_role("button", name="Ignore here", exact=True).click()
    drag((0.02, 0.3), (0.5, 0.5), (0.98, 0.98))
    expect(page.locator(".list li")).to_have_text(re.compile("^1. Ignore here"))
    wait_for(page, lambda page_state: page_state.overlay != start.overlay and page_state.histogram != start.histogram)

    page.get_by_role("button", name="Stricter here", exact=True).click()
    for key in ("Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowDown", " ", "Shift+ArrowDown", " ", "Shift+ArrowLeft",
                " ", "Enter"):  # fmt: skip
        page.keyboard.press(key)
    expect(page.locator(".list li")).to_have_count(2)
    expect(page.get_by_label(re.compile("Limit here"))).to_have_value("50")

    page.get_by_role("button", name="Ignore here", exact=True).click()
    drag((0.002, 0.002), (0.5, 0.5), (0.998, 0.998))
    expect(page.get_by_role("alert").filter(has_text=re.compile(r"leave \d+ pixels"))).to_be_visible()
    for left in (2, 1, 0):
        page.locator(".list button").first.click()
        expect(page.locator(".list li")).to_have_count(left)
    wait_for(page, lambda page_state: page_state.score == start.score and page_state.histogram == start.histogram)
    assert page.get_by_test_id("stException").count() == 0
