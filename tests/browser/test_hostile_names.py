"""Names, paths, recipe fields and errors that are Markdown or HTML show as they are, and nothing leaves the machine."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from inspect_core.audit.entry import INSPECTION, OVERRIDE, NewLogEntry
from inspect_core.audit.log import AuditLog
from inspect_core.recipe_io.recipe_file import save
from inspect_core.ui.shell import escape

ROOT = Path(__file__).resolve().parents[2]
WORK = 240_000
expect.set_options(timeout=60_000)
FRAGMENTS = (
    *("![x](http://192.0.2.1/x.png)", "<img src=http://192.0.2.1/y>", "[x](https:192.0.2.1)", "<http://192.0.2.1>"),
    *("http://192.0.2.1/a", "HTTPS://EXAMPLE.COM", "www.example.com/b", "a@example.com", "<script>alert(1)</script>"),
    *("[x]: http://192.0.2.1", "&#33;[x](http://192.0.2.1)", "&lt;b&gt;", "&copy;", "**b**", "_i_", "~~s~~", "`code`"),
    *(":heart:", ":+1:", ":material/face:", ":material_face:", ":streamlit:", ":red[x]", ":blue-badge[x]", ":small[x]"),
    *("$x^2$", "$$x$$", "# head", "- a", "+ a", "* a", "1. a", "1) a", "> q", "---", "===", "| a | b |", "```", "~~~"),
    *("::: note", "[^1]", "->", "<-", "<->", "--", ">=", "<=", "~=", "\\", "\\*", "a\\", "{x=1}", "^a^", "'q'", '"q"'),
    *("a\nb", "\n\n# c", "a\tb", "    d", "part_060.jpg", "good/part-1 (2).png", "Zürich", "一.jpg", "50%", "9:30:45"),
)
SHOW = """
import json, streamlit as st
for i, text in enumerate(json.load(open({path!r}))):
    st.container(key=f"body-{{i}}").markdown(text)
    st.button(text, key=f"label-{{i}}")
    st.container(key=f"amid-{{i}}").caption(f"of **{{text}}** and  \\n{{text}}")
"""
READ = """
() => [...document.querySelectorAll('[class*="st-key-"] [data-testid="stMarkdownContainer"], \
[class*="st-key-"] [data-testid="stCaptionContainer"]')].map((found) => [
    found.closest('[class*="st-key-"]').className.match(/st-key-(body|label|amid)-(\\d+)/).slice(1),
    found.textContent,
    [...new Set([...found.querySelectorAll("*")].map((part) => part.tagName))],
])
"""


def cases(count: int) -> list[str]:
    """Every fragment alone, then `count` of several drawn by chance."""
    draw = random.Random(0)
    joined = [
        draw.choice(("", " ", "_", "\n")).join(draw.choices(FRAGMENTS, k=draw.randint(2, 5))) for _ in range(count)
    ]
    return [*FRAGMENTS, *joined]


def as_shown(text: str) -> str:
    return " ".join(text.replace("\u2060", "").split())


def test_whatever_the_text_it_shows_as_it_is(serve, open_page, tmp_path):
    texts = cases(60)
    (tmp_path / "cases.json").write_text(json.dumps([escape(text) for text in texts]))
    (tmp_path / "show.py").write_text(SHOW.format(path=str(tmp_path / "cases.json")))
    page = open_page(serve(tmp_path / "show.py"))
    expect(page.locator('[class*="st-key-label"] button')).to_have_count(len(texts))
    visited = set()
    for (kind, number), shown, tags in page.evaluate(READ):
        expected = as_shown(texts[int(number)])
        assert as_shown(shown) == as_shown(f"of {expected} and {expected}" if kind == "amid" else expected)
        assert set(tags) <= {"P", "STRONG", "BR", "DIV"}, (kind, expected, tags)
        visited.add((kind, number))
    assert len(visited) == 3 * len([text for text in texts if text.strip()])


PHOTO = "![x](https:192.0.2.1) :red[z] <b>"  # as a file name, so without a slash
FIELD = "![x](http://192.0.2.1/x.png) <img src=http://192.0.2.1/y> www.example.com :material/face:"


@pytest.fixture
def hostile(recipe, product, tmp_path, monkeypatch):
    """A workspace with hostile recipes, and a folder of hostile photos; both named likewise."""
    workspace, photos = tmp_path / "workspace", tmp_path / PHOTO
    provenance = replace(recipe.provenance, author=FIELD, reason=FIELD, created=FIELD, calibration_note=FIELD)
    save(replace(recipe, product=FIELD, provenance=provenance), workspace / "recipes" / f"{PHOTO}.zip")
    (workspace / "recipes" / f"broken {PHOTO}.zip").write_bytes(b"no zip")
    for place, kind in (("train/good", "train/good"), ("test/good", "test/good"), ("test/scratch", f"test/{PHOTO}")):
        (photos / kind).mkdir(parents=True)
        for photo in sorted((product / place).iterdir()):
            shutil.copy(photo, photos / kind / f"{PHOTO} {photo.name}")
    (photos / "train/good" / f"{PHOTO}.png").write_bytes(b"no picture")
    monkeypatch.setenv("LOUPE_ROOTS", str(tmp_path))
    facts = dict.fromkeys(("name", "digest", "reason", "kind", "product_check", "source", "path"), FIELD)
    facts |= {"verdict": "reject", "score": 9.0, "review": 3.0, "reject": 4.0}
    with AuditLog.open(f"sqlite:///{workspace / 'loupe.sqlite'}") as log:
        log.append_all(
            [NewLogEntry(INSPECTION, facts, FIELD, FIELD, FIELD), NewLogEntry(OVERRIDE, facts, FIELD, FIELD)]
        )
    return workspace, photos


def untouched(page: Page) -> None:
    """Nothing on the page names the other machine but in words, and no script failed."""
    page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
    assert (
        page.locator('[src*="192.0.2.1"], [href*="192.0.2.1"], [href*="example.com"], [style*="192.0.2.1"]').count()
        == 0
    )
    assert page.get_by_test_id("stException").count() == 0


def test_no_page_is_led_astray(serve, open_page, hostile):
    workspace, photos = hostile
    page = open_page(serve(ROOT / "app.py", workspace, small=True) + "/recipes")
    expect(page.get_by_role("heading", name="![x](http")).to_be_visible()
    expect(page.get_by_text("not a complete recipe zip")).to_be_visible()
    page.get_by_text("Contents").click()
    expect(page.get_by_role("cell", name="efficientnet")).to_be_visible()
    page.get_by_role("button", name="Delete").last.click()
    untouched(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_test_id("stAlertContentError").get_by_text("the recipe was made with")).to_be_visible()

    page.get_by_role("link", name="History").click()
    for view in ("Overview", "Changes", "Parts"):
        page.get_by_text(view, exact=True).click()
        untouched(page)

    page.get_by_role("link", name="Teach").click()
    page.get_by_text("Folder on this computer").click()
    folder = page.get_by_role("textbox", name="Folder, zip or list")
    folder.fill(f"/outside/{FIELD}")
    folder.press("Enter")
    expect(page.get_by_text("is outside the allowed folders")).to_be_visible()
    untouched(page)
    folder.fill(str(photos))
    folder.press("Enter")
    expect(page.get_by_text("18 good, 2 defects of 1 type")).to_be_visible()
    page.get_by_text("1 file skipped, with reasons").click()
    untouched(page)
    page.get_by_text("Advanced: detector, network, detail").click()
    page.get_by_text("By location", exact=True).click()
    page.get_by_role("slider", name="Photo size").focus()
    page.keyboard.press("Home")  # the smallest: it is taught in seconds
    page.get_by_role("button", name="Teach").click()
    expect(page.get_by_text("Teaching ![x]").first).to_be_visible()
    untouched(page)

    page.get_by_role("link", name="Inspect").click()
    title = page.locator(".bench .title").filter(visible=True)
    expect(title).to_contain_text("![x](https:192.0.2.1)", timeout=WORK)
    page.get_by_text("about the photos").click()
    page.get_by_role("button", name="Build the gallery").click()
    untouched(page)
    expect(page.get_by_text("% similar").first).to_be_visible(timeout=WORK)
    untouched(page)
    page.get_by_role("link", name="Defect types").click()
    expect(page.get_by_role("heading", name="Examples")).to_be_visible()
    page.locator('[class*="st-key-kind-"] button').first.hover()
    untouched(page)
