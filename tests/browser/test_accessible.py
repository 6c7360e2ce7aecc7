"""axe-core finds nothing of ours on any page, in the light theme and in the dark: WCAG 2.1 A and AA."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

AXE = Path(__file__).resolve().parents[2] / "node_modules/axe-core/axe.min.js"
WORK = 240_000
PAGES = ("Teach", "Batch", "Explore", "Compare", "Defect types", "Recipes", "MSA study", "History")
AT_REST = """*, ::before, ::after { transition: none !important }
[data-stale="true"], [data-stale="true"] * { opacity: 1 !important }"""
"""Nothing fades, also not while a page that a job has changed is drawn again."""
FIND = """async (theme) => {
    const tags = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] };
    const rules = theme === "light" ? { "heading-order": { enabled: true } } : {};
    const runOnly = theme === "light" ? tags : ["color-contrast", "link-in-text-block"];  // what a theme changes
    const { violations } = await axe.run(document, { runOnly, rules, resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => [id, html, failureSummary]));
}"""


@pytest.fixture(scope="module", autouse=True)
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: `npm ci` does that where Node.js 20 or newer is")
    return AXE.read_text(encoding="utf-8")


def idle(page: Page) -> None:
    expect(page.get_by_test_id("stSidebar").get_by_role("button", name="Cancel")).to_have_count(0, timeout=WORK)
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    expect(page.locator('[data-stale="true"]')).to_have_count(0)


def violations(page: Page, name: str) -> list[tuple[str, ...]]:
    """What axe-core finds on the page as it is: theme, name of the page, rule, element, what is wrong."""
    idle(page)
    answers = []
    for theme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 24, 26)")):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", ground)
        answers += [(theme, name, *item) for item in page.evaluate(FIND, theme)]
    return answers


def test_nothing_of_ours_is_found_on_any_page_in_either_theme(sample_app, open_page, axe):
    page = open_page(sample_app)
    expect(page.get_by_role("slider", name=re.compile("limit", re.IGNORECASE)).first).to_be_visible(timeout=WORK)
    page.evaluate(f"{axe}; null")
    page.add_style_tag(content=AT_REST)
    answers = violations(page, "Inspect")
    page.get_by_role("button", name="Save as recipe").click()
    page.get_by_role("textbox", name="Reason").fill("to be looked at")
    answers += violations(page, "Save as recipe")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_test_id("stSidebar").get_by_text("saved as draft 1")).to_be_visible(timeout=WORK)
    for name in PAGES:
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()
        answers += violations(page, name)
    page.get_by_role("link", name="Explore").click()
    for name in ("Variance", "Sensitivity"):
        page.get_by_role("radio", name=name).click()
        expect(page.get_by_role("button", name="Compute map")).to_have_count(0)
        answers += violations(page, name)
    assert not answers, "\n".join(" | ".join(answer) for answer in answers)
