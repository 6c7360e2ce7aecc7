"""Every figure that METHODS and MEASUREMENTS link to a result is what the result holds, as the generator writes it."""

import pytest

from benchmarks.linked_figures import DOCS, LINK, TARGET, refreshed, written_as

LINKED = {"METHODS.md": 196, "MEASUREMENTS.md": 506}
"""Linked figures of each: a link that is lost, as when a number is typed over it, would otherwise be no failure."""


@pytest.mark.parametrize("document", LINKED)
def test_linked_figures_are_what_the_generator_writes(document):
    text = (DOCS / document).read_text(encoding="utf-8")
    assert refreshed(text) == text
    used = [label for _, label in LINK.findall(text)]
    assert len(used) == LINKED[document]
    assert sorted(used) == sorted(label for label, *_ in TARGET.findall(text))


@pytest.mark.parametrize(
    ("form", "value", "written"),
    [
        (".98", 0.9702, ".97"), ("97.1 %", 0.9702, "97.0 %"), ("9.999", 0.9702, "0.970"), ("−.1", -0.26, "−.3"),
        ("1,234", 56789.4, "56,789"), ("12", 56789.4, "56789"), (".97", 1.25, "1.25"),
    ],
)  # fmt: skip
def test_a_figure_is_written_in_the_form_it_had(form, value, written):
    assert written_as(form, value) == written
