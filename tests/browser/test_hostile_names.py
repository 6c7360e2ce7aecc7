"""Names, paths, recipe fields and errors that are Markdown or HTML show as they are, and nothing leaves the machine."""

import json
import random
from pathlib import Path

from playwright.sync_api import expect

from inspect_core.ui.shell import plain

ROOT = Path(__file__).resolve().parents[2]
FRAGMENTS = (
    *("![x](http://192.0.2.1/x.png)", "<img src=http://192.0.2.1/y>", "[x](https:192.0.2.1)", "<http://192.0.2.1>"),
    *("http://192.0.2.1/a", "HTTPS://EXAMPLE.COM", "www.example.com/b", "a@example.com", "<script>alert(1)</script>"),
    *("[x]: http://192.0.2.1", "&#33;[x](http://192.0.2.1)", "&lt;b&gt;", "&copy;", "**b**", "_i_", "~~s~~", "`code`"),
    *(":heart:", ":+1:", ":material/face:", ":material_face:", ":streamlit:", ":red[x]", ":blue-badge[x]", ":small[x]"),
    *("$x^2$", "$$x$$", "# head", "- a", "+ a", "* a", "1. a", "1) a", "> q", "---", "===", "| a | b |", "```", "~~~"),
    *("::: note", "[^1]", "->", "<-", "<->", "--", ">=", "<=", "~=", "\\", "\\*", "a\\", "{x=1}", "^a^", "'q'", '"q"'),
    *(
        "a\nb",
        "\n\n# c",
        "a\tb",
        "    d",
        "part_060.jpg",
        "good/part-1 (2).png",
        "Zürich",
        "一.jpg",
        "50 %",
        "12:30:45",
    ),
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
    (tmp_path / "cases.json").write_text(json.dumps([plain(text) for text in texts]))
    (tmp_path / "show.py").write_text(SHOW.format(path=str(tmp_path / "cases.json")))
    page = open_page(serve(tmp_path / "show.py"))
    expect(page.locator('[class*="st-key-label"] button')).to_have_count(len(texts))
    seen = set()
    for (kind, number), shown, tags in page.evaluate(READ):
        wanted = as_shown(texts[int(number)])
        assert as_shown(shown) == as_shown(f"of {wanted} and {wanted}" if kind == "amid" else wanted)
        assert set(tags) <= {"P", "STRONG", "BR", "DIV"}, (kind, wanted, tags)
        seen.add((kind, number))
    assert len(seen) == 3 * len([text for text in texts if text.strip()])
