"""One HTML file that opens anywhere without a network: pictures and figures are in it, names only as text."""

import base64
import html
import io
from collections.abc import Iterable

from PIL import Image

from inspect_core.images.samples import shown

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1b2524; max-width: 1240px; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; font-size: 14px } th, td { text-align: left; padding: 4px 10px 4px 0 }
th, td { border-bottom: 1px solid #d9e0df; vertical-align: top }
.row { display: flex; flex-wrap: wrap; gap: 16px } figure { margin: 0 } figcaption { font-size: 13px; max-width: 240px }
dt { font-weight: 600 } dd { margin: 0 0 4px }
"""
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What a browser may load for the page: nothing but the pictures and styles that are in it; it has no script."""


def page(begins: str, title: str, body: str) -> str:
    """The whole file. begins: doctype and a comment that identifies Loupe's file; title: text; body: HTML."""
    title = html.escape(title)
    return (
        f'{begins}<html lang="en"><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>{title}</title><style>{_STYLE}</style>'
        f"<h1>{title}</h1>{body}</html>\n"
    )


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of text in HTML, each cell on one line."""

    def line(tag: str, cells: Iterable[str]) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(shown(cell))}</{tag}>' for cell in cells)}</tr>"

    return f"<table>{line('th', heads)}{''.join(line('td', cells) for cells in rows)}</table>"


def webp(picture: Image.Image) -> bytes:
    """A picture for display, never for judging."""
    content = io.BytesIO()
    picture.save(content, "WEBP", quality=85)
    return content.getvalue()


def data_url(content: bytes, kind: str = "webp") -> str:
    """A file of a picture as the source of an image."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
