"""Every figure that METHODS, MEASUREMENTS and README take from a result is the one that the result holds."""

import re

import pytest

from benchmarks.linked_figures import DOCS, IN_ROW, LINK, TABLE, TARGET, fields_of, refreshed, written_as

FIGURES = {"METHODS.md": 222, "MEASUREMENTS.md": 75, "../README.md": 1}
"""Figures of each that a result holds: without the count one that is lost would be no failure."""


@pytest.mark.parametrize("document", FIGURES)
def test_figures_are_what_the_generator_writes(document):
    text = (DOCS / document).read_text(encoding="utf-8")
    assert refreshed(text) == text
    links, tables = [label for _, label in LINK.findall(text)], list(TABLE.finditer(text))
    assert sorted(links) == sorted(label for label, *_ in TARGET.findall(text))
    assert len(tables) == text.count("<!-- figures")
    for table in tables:
        assert len(fields_of(table)) == sum(not match[1] for match in IN_ROW.finditer(table["rows"])), table["head"]
    assert len(links) + sum(field != "-" for table in tables for field in fields_of(table)) == FIGURES[document]


@pytest.mark.parametrize("document", FIGURES)
def test_a_figure_typed_over_is_written_anew(document):
    text = (DOCS / document).read_text(encoding="utf-8")
    number, label = LINK.search(text).groups()
    places = [(f"{number}][{label}]", 0, len(number))]
    if table := TABLE.search(text):
        row = table["rows"].partition("\n")[0]
        places.append((row, len(IN_ROW.match(row)[0]), len(row)))
    for place, start, end in places:
        other = place[:start] + re.sub(r"\d", "8", place[start:end]) + place[end:]
        assert text.replace(place, other) != text
        assert refreshed(text.replace(place, other)) == text


@pytest.mark.parametrize(
    ("form", "value", "written"),
    [
        (".98", 0.9702, ".97"), ("97.1 %", 0.9702, "97.0 %"), ("9.999", 0.9702, "0.970"), ("−.1", -0.26, "−.3"),
        ("1,234", 56789.4, "56,789"), ("12", 56789.4, "56789"), (".97", 1.25, "1.25"),
    ],
)  # fmt: skip
def test_a_figure_is_written_in_the_form_it_had(form, value, written):
    assert written_as(form, value) == written
