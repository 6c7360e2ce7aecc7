"""Texts that a spreadsheet may open: none of them is a formula, none begins a line of its own."""

import unicodedata

from inspect_core.images.samples import shown

FORMULA_SIGNS = ("=", "+", "-", "@", "'")


def cell(value: str | float | None) -> str | float | None:
    """A value as it goes into a CSV: a number as it is; a text on one line, with escapes for what does not print.

    A text that begins with a sign of FORMULA_SIGNS gets `'` in front, so that a spreadsheet takes it for text.
    """
    if not isinstance(value, str):
        return value
    text = shown(value)
    first = unicodedata.normalize("NFKC", text.lstrip()[:1])  # some spreadsheets take a wide sign for its plain one
    return f"'{text}" if first in FORMULA_SIGNS else text
