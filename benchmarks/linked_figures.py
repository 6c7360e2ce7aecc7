"""Writes the figures that METHODS, MEASUREMENTS and README take from a result: python -m benchmarks.linked_figures

In a sentence a figure is a link, `[.97][f3]`, with `[f3]: ../benchmarks/results/x.json#figures/a/b` at the document's
end. A table names its result below it, `From [x.json](../benchmarks/results/x.json).`, and in a comment the field of
each number of its columns but the first, row by row; `-` is a number from elsewhere. Each is written from the result,
with as many decimals as it had.
"""

import argparse
import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

DOCS = Path(__file__).parents[1] / "docs"
DOCUMENTS = ("METHODS.md", "MEASUREMENTS.md", "../README.md")
LINK = re.compile(r"\[([^\]\s]+(?: %)?)\]\[(f\d+)\]")
TARGET = re.compile(r"^\[(f\d+)\]: ((?:\.\./)?benchmarks/results/[^#\s]+)#(\S+)$", re.MULTILINE)
TABLE = re.compile(
    r"^(?P<head>\|.*\n\|[ |:-]+\n)(?P<rows>(?:\|.*\n)+)"
    r"(?P<foot>\nFrom \[.*?\]\((?P<file>.*?)\)\.\n<!-- figures\n(?P<fields>[^>]*)\n-->)",
    re.MULTILINE,
)
FIRST_COLUMN = r"^\|[^|]*\|"
NUMBER = r"[−-]?(?:\d[\d,]*)?\.?\d+(?: %)?"
IN_ROW = re.compile(f"({FIRST_COLUMN})|{NUMBER}", re.MULTILINE)


@cache
def result(file: str) -> dict:
    folder = DOCS if file.startswith("../") else DOCS.parent
    return json.loads((folder / file).read_text(encoding="utf-8"))


def value_of(file: str, field: str) -> float:
    """The figure that a link names. Raises KeyError for one that is not there."""
    value = result(file)
    for key in unquote(field).split("/"):
        value = value[int(key) if isinstance(value, list) else key]
    return value


def written_as(text: str, value: float) -> str:
    """A value in the form of another: its decimals, a percent sign, no zero before the point."""
    number = text.removesuffix(" %")
    digits = f"{100 * value if text.endswith(' %') else value:,.{len(number.partition('.')[2])}f}"
    if "," not in number:
        digits = digits.replace(",", "")
    if "−" in number or "-" not in number:
        digits = digits.replace("-", "−")
    if re.match(r"[−-]?\.", number):
        digits = re.sub(r"^([−-]?)0\.", r"\1.", digits)
    return digits + (" %" if text.endswith(" %") else "")


def refreshed(text: str) -> str:
    """A document with every figure as its result has it. Raises KeyError for a field that is not there."""
    targets = {label: (file, field) for label, file, field in TARGET.findall(text)}

    def linked(match: re.Match[str]) -> str:
        figure, label = match.groups()
        return f"[{written_as(figure, value_of(*targets[label]))}][{label}]"

    return TABLE.sub(_filled, LINK.sub(linked, text))


def fields_of(table: re.Match[str]) -> list[str]:
    """The field of each number, `-` without one."""
    return table["fields"].split()


def _filled(table: re.Match[str]) -> str:
    fields = iter(fields_of(table))

    def written(match: re.Match[str]) -> str:
        if match[1] or (field := next(fields)) == "-":
            return match[0]
        return written_as(match[0], value_of(table["file"], f"figures/{field}"))

    return table["head"] + IN_ROW.sub(written, table["rows"]) + table["foot"]


def write() -> None:
    for name in DOCUMENTS:
        path = DOCS / name
        path.write_text(refreshed(path.read_text(encoding="utf-8")), encoding="utf-8")


def main() -> None:
    argparse.ArgumentParser("benchmarks.linked_figures", description=__doc__).parse_args()
    write()


if __name__ == "__main__":
    main()
