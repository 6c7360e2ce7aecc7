"""The report of a measurement study: one HTML page that opens without a network."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from inspect_core.line.html_page import page
from inspect_core.process.study_file import MeasurementStudy

BEGINS = "<!doctype html>\n<!-- A measurement study made with Loupe -->\n"


def html_of(study: MeasurementStudy, table: Mapping[str, Sequence[str]], said: Sequence[str]) -> str:
    """What the study says, its table of figures, and every call."""
    truth = dict(study.parts)
    calls = [
        [one.part, "defective" if truth[one.part] else "good", one.appraiser, str(one.trial),
         "defective" if one.stopped else "good", "" if one.score is None else f"{one.score:.4g}"]
        for one in sorted(study.said, key=lambda one: (one.appraiser, one.trial, one.part))
    ]  # fmt: skip
    return page(
        "ui/measurement/report.html",
        begins=BEGINS,
        title=study.name,
        study=study,
        defective=sum(truth.values()),
        now=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        said=said,
        heads=list(table),
        rows=list(zip(*table.values(), strict=True)),
        calls=calls,
    )
