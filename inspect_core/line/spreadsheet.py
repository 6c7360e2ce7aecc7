"""Texts made safe for spreadsheets: none of them is a formula or contains a line break."""

import unicodedata

from inspect_core.images.samples import shown

FORMULA_SIGNS = ("=", "+", "-", "@", "'")


def cell(value: str | float | None) -> str | float | None:
    """A value as written to a CSV: a number unchanged; a text on one line, with escapes for unprintable characters.

    A text that begins with a character of FORMULA_SIGNS gets `'` in front, so that a spreadsheet takes it for text.
    """
    if not isinstance(value, str):
        return value
    text = shown(value)
    first = unicodedata.normalize("NFKC", text.lstrip()[:1])  # some spreadsheets read full-width signs as plain
    return f"'{text}" if first in FORMULA_SIGNS else text
