"""One HTML file that opens anywhere without a network: pictures and figures are in it, names only as text."""

import base64
import functools
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from inspect_core.runtime.fonts import SANS
from inspect_core.runtime.wording import escape_line


def page(template: str, facts: Mapping[str, str], **values: Any) -> str:
    """The whole file. template: a path below the package, a page that extends line/page.html; facts: what it is
    about, by name, on top: product, version, approval, dates; "" for what does not apply.

    Whatever the template prints is on one line and escaped, except what it marks as safe; None is nothing.
    """
    return _environment().get_template(template).render(values, facts=facts, font=SANS)


def webp(picture: Image.Image) -> bytes:
    """A picture for display, never for judging."""
    content = io.BytesIO()
    picture.save(content, "WEBP", quality=85)
    return content.getvalue()


def data_url(content: bytes, kind: str = "webp") -> str:
    """A file of a picture as the source of an image."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


@functools.cache
def _environment():
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # most processes write no report

    def printed(value: Any) -> Any:
        return value if hasattr(value, "__html__") else escape_line("" if value is None else str(value))

    environment = Environment(loader=FileSystemLoader(Path(__file__).parents[1]), autoescape=True, finalize=printed)
    environment.undefined = StrictUndefined
    environment.trim_blocks = environment.lstrip_blocks = environment.keep_trailing_newline = True
    environment.filters["data_url"] = data_url
    return environment
