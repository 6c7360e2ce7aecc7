"""The History page on an audit log that was filled beforehand, and what can be downloaded from it."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from inspect_core.audit import log as log_module
from inspect_core.audit.changes import limits_changed
from inspect_core.audit.entry import CHALLENGE, INSPECTION, OVERRIDE, NewLogEntry
from inspect_core.audit.inspections import read
from inspect_core.audit.life_cycle import approve
from inspect_core.audit.log import AuditLog
from inspect_core.recipe_format.spreadsheet import XLSX, table_bytes
from inspect_core.ui.history import history_report
from inspect_core.ui.history.selection import Selection
from inspect_core.verdict import Limits
from tests.pages.waiting import press, words

pytestmark = pytest.mark.usefixtures("no_first_start")
FORMULA = '=HYPERLINK("http://192.0.2.1")'
TAG = "<img src=http://192.0.2.1/x>"


def inspection(number: int, score: float | None, *, product: str = "tile", **more) -> NewLogEntry:
    facts = {"name": f"part_{number:04d}.png", "digest": f"{number:064d}", "score": score, "reason": ""}
    facts["verdict"] = "not judged" if score is None else Limits(3.0, 4.0).decide(score)[0]
    facts |= {"review": 3.0, "reject": 4.0, "area": 12, "product_check": "", "source": "batch"}
    return NewLogEntry(INSPECTION, facts | {"path": "/nowhere/part.png"} | more, "line 3", product, "a" * 64)


def append(*entries: NewLogEntry) -> None:
    with AuditLog.open() as log:
        log.append_all(entries)


@pytest.fixture
def filled(workspace, monkeypatch):
    """Ten parts of a tile an hour ago, one of a ring a minute later; one part of a tile last week."""
    now = datetime.now(UTC)
    kinds = [
        inspection(7, 3.1, defect_type="dent"),
        inspection(8, 9.0, defect_type="dent"),
        inspection(9, 9.0, defect_type="scratch"),
    ]
    begun = (
        (timedelta(days=6), [inspection(0, 1.0)]),
        (timedelta(hours=1), [*(inspection(i, 2.0 + i / 10) for i in range(1, 7)), *kinds, inspection(10, None)]),
        (timedelta(minutes=59), [inspection(11, 1.0, product="ring")]),
    )
    for ago, entries in begun:
        with monkeypatch.context() as patch:
            patch.setattr(log_module, "_now", lambda ago=ago: now - ago)
            append(*entries)
    old, new = Limits(3.0, 4.5), Limits(3.0, 4.0)
    append(limits_changed(old, new, product="tile", recipe="a" * 64, reason="new lamp", user="Ana"))


def figures(app) -> dict[str, str]:
    return {metric.label[2:]: metric.value for metric in app.metric}


def chosen(**changed) -> Selection:
    with AuditLog.open() as log:
        inspections, others = read(log, most=100), [*log.entries(kind=OVERRIDE)]
        return replace(Selection(inspections, others, "tile", log.head(), short=False), **changed)


def test_an_empty_log_says_what_to_do_next(open_app):
    app = open_app("pages/history.py")
    assert "Nothing recorded yet." in words(app)
    assert app.button(key="to_batch")


def test_overview_filters_by_product_period_type_and_verdict(open_app, filled):
    app = open_app("pages/history.py")
    assert app.selectbox(key="history_product").value == "ring"
    app.multiselect(key="history_verdict").set_value(["reject"]).run()
    assert "No inspections match. The last inspection was on" in words(app)
    app.multiselect(key="history_verdict").set_value([]).run()
    app.selectbox(key="history_product").set_value("All products").run()
    assert not app.exception
    assert "11 parts inspected" in words(app)
    assert "multiple of its reject limit" in words(app)
    app.selectbox(key="history_product").set_value("tile").run()
    assert not app.exception
    counted = {"Accepted": "6", "To review": "1", "Rejected": "2", "Not judged": "1"}
    assert figures(app) == counted
    assert "One step higher would have accepted 1 more of these parts; one step lower, 0 fewer." in words(app)
    app.selectbox(key="history_period").set_value("Last 7 days").run()
    assert "11 parts inspected" in words(app)
    app.multiselect(key="history_type").set_value(["dent"]).run()
    assert "2 parts inspected" in words(app)
    app.multiselect(key="history_verdict").set_value(["accept"]).run()
    assert not app.exception


def test_trials_are_no_production_unless_asked_for(open_app, filled):
    append(*(inspection(number, 9.0, trial=True) for number in range(20, 24)))
    app = open_app("pages/history.py")
    app.selectbox(key="history_product").set_value("All products").run()
    before = figures(app)
    assert "11 parts inspected" in words(app), "as before the trials"
    app.toggle(key="history_trials").set_value(True).run()
    assert not app.exception
    assert "15 parts inspected" in words(app)
    assert int(figures(app)["Rejected"]) == int(before["Rejected"]) + 4


def test_the_table_an_override_and_who_changed_what_and_why(open_app, filled):
    app = open_app("pages/history.py")
    app.selectbox(key="history_product").set_value("tile").run()
    app.segmented_control(key="history_view").set_value("Parts").run()
    assert not app.exception
    table = app.dataframe[0].value
    assert list(table["Verdict"])[:3] == ["– not judged", "✕ rejected", "✕ rejected"]
    number = int(table["Entry"][1])
    assert f"override_reason-{table['Entry'][0]}" in [field.key for field in app.text_input], (
        "the latest that was stopped"
    )
    app.session_state["history_entry"] = number
    app.run()
    assert "Loupe: rejected, score 9, limit 4" in words(app)
    assert "Choose your verdict." in words(press(app, "Override verdict")), "none is preselected"
    app.segmented_control(key=f"override_verdict-{number}").set_value("accept")
    assert "A reason is required;" in words(press(app, "Override verdict"))
    app.segmented_control(key=f"override_verdict-{number}").set_value("accept")
    app.text_input(key=f"override_reason-{number}").set_value("dust")
    press(app, "Override verdict")
    with AuditLog.open() as log:
        (entry,) = log.entries(kind=OVERRIDE)
        assert [entry.facts[name] for name in ("original", "verdict", "reason")] == ["reject", "accept", "dust"]
        assert [*log.entries()][number - 1].facts["verdict"] == "reject"
    assert app.dataframe[0].value["Verdict"][1] == "✓ accepted"
    assert "Accepted by " in words(app), "the next part in the table is not taken for it"
    app.segmented_control(key="history_view").set_value("Changes").run()
    changes = app.dataframe[0].value[["User", "Event", "Reason"]].values.tolist()
    assert changes[1] == ["Ana", "limits changed", "new lamp"]


def test_a_part_is_found_on_all_pages_by_its_name_or_entry(open_app, filled):
    append(*(inspection(i, 1.0) for i in range(20, 60)))
    app = open_app("pages/history.py")
    app.segmented_control(key="history_view").set_value("Parts").run()
    page = list(app.dataframe[0].value["Part"])
    assert "part_0003.png" not in page
    app.text_input(key="history_part").set_value("T_0003").run()
    assert list(app.dataframe[0].value["Part"]) == ["part_0003.png"]
    entry = int(app.dataframe[0].value["Entry"].iloc[0])
    app.text_input(key="history_part").set_value(str(entry)).run()
    assert "part_0003.png" in list(app.dataframe[0].value["Part"])
    app.text_input(key="history_part").set_value("gasket").run()
    assert not app.exception
    assert "None of these parts is named “gasket”." in words(app)


def test_a_log_that_cannot_be_used_is_named_and_the_app_goes_on(open_app, workspace):
    (workspace / "loupe.sqlite").write_bytes(b"no database" * 100)
    app = open_app("pages/history.py")
    assert "loupe.sqlite" in app.error[0].value.replace("\\", "")
    assert "backup" in app.error[0].value
    assert app.switch_page("pages/recipes.py").run().title[0].value == "Recipes"


def test_spreadsheet_export_runs_nothing_and_names_the_release(workspace):
    append(*(inspection(i, 9.0, kind=text, name=f"{text}\n{i}") for i, text in enumerate((FORMULA, "＝1", TAG))))
    append(inspection(4, 2.0, release="e" * 64))
    content = table_bytes(history_report.lines_of(chosen()))
    rows = [*csv.reader(io.StringIO(content.decode("utf-8-sig")))]
    assert rows[0] == list(history_report.COLUMNS)
    assert [row[rows[0].index("release")] for row in rows[1:]] == ["e" * 64, "", "", ""]
    texts = [cell for row in rows[1:] for cell in row if not cell.replace(".", "").lstrip("-").isdigit()]
    assert not [cell for cell in texts if cell.startswith(("=", "+", "-", "@", "＝")) or "\n" in cell]


def test_limits_that_the_log_does_not_have_are_left_empty(workspace):
    append(NewLogEntry(INSPECTION, {"name": "a.png", "score": "high"}, "line 3", "tile", "a" * 64))
    heads, cells = history_report.lines_of(chosen())
    row = dict(zip(heads, cells, strict=True))
    assert (row["score"], row["review"], row["reject"], row["verdict"]) == (None, None, None, "not judged")
    assert row["reason"] == "its score is not a number"
    assert "<td>nan</td>" not in history_report.html_of(chosen())


def test_the_report_is_one_page_without_a_network(filled):
    append(inspection(20, 9.0, kind=TAG, name=TAG))
    selection = chosen()
    page = history_report.html_of(selection)
    assert TAG not in page
    assert all(text in page for text in ("&lt;img src", selection.head[1], "<svg"))
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "").replace("http://192.0.2.1", "")
    assert history_report.html_of(chosen(inspections=[])).endswith("</html>\n")


@pytest.mark.parametrize(
    "facts",
    [
        *({"score": 10**400}, {"score": 1e308}, {"score": [1]}, {"score": "high", "kind": {"a": 1}, "name": None}),
        *({"review": 1e308, "reject": 1e308}, {"reject": -1e308}, {"reject": 1e-320}, {"review": True}),
    ],
)
def test_oversized_facts_leave_a_history_that_says_so(open_app, filled, facts):
    strange = inspection(20, 1.0)
    append(replace(strange, facts=strange.facts | facts), NewLogEntry(OVERRIDE, {"entry": [1], "verdict": {}}, "Ana"))
    append(NewLogEntry(CHALLENGE, {"parts": [3]}, "Ana"), NewLogEntry(CHALLENGE, {"parts": 3}, "Ana"))
    page, table = history_report.html_of(chosen()), table_bytes(history_report.lines_of(chosen()))
    assert table_bytes(history_report.lines_of(chosen()), XLSX).startswith(b"PK")
    assert "Not plotted: 1 part" in page or "is not a number" in page or facts == {"reject": 1e-320}
    assert "</html>" in page
    assert len(table.splitlines()) == 14
    app = open_app("pages/history.py")
    assert not app.exception
    assert not app.error


def test_changes_to_drafts_are_folded_where_a_recipe_is_approved(open_app, workspace):
    append(inspection(1, 2.0))
    changed = {"product": "tile", "reason": "new lamp", "user": "Ana"}
    for recipe in "ab":
        append(limits_changed(Limits(3, 4.5), Limits(3, 4), recipe=recipe * 64, **changed))
    with AuditLog.open() as log:
        approve(log, digest="a" * 64, product="tile", reason="released", user="Ana")
    app = open_app("pages/history.py")
    app.segmented_control(key="history_view").set_value("Changes").run()
    assert len(app.dataframe[0].value) == 2, "the change and the approval"
    app.toggle(key="history_drafts").set_value(True).run()
    assert len(app.dataframe[0].value) == 3


def test_drift_names_the_signal_the_part_and_the_last_change(open_app, workspace):
    rng = np.random.default_rng(0)
    light = [float(120 + rng.normal() - 0.3 * max(i - 130, 0)) for i in range(200)]
    append(*(inspection(i, 2.0 + rng.normal() / 5, brightness=light[i]) for i in range(130)))
    append(limits_changed(Limits(3, 4.5), Limits(3, 4), product="tile", recipe="a" * 64, reason="new lamp", user="Ana"))
    append(*(inspection(i, 2.0 + rng.normal() / 5, brightness=light[i]) for i in range(130, 200)))
    app = open_app("pages/history.py")
    app.segmented_control(key="history_view").set_value("Drift").run()
    assert not app.exception
    message = " ".join(element.value for element in app.warning).replace("\\", "")
    assert "Brightness has" in message
    assert "First alarm at part_01" in message
    assert "limits changed, review above 3, reject above 4.5 → review above 3, reject above 4" in message
    assert "Score has" not in message
    assert len(app.get("plotly_chart")) == 3, "score, rejects and brightness"


def test_drift_without_enough_parts_says_how_many_are_needed(open_app, filled):
    app = open_app("pages/history.py")
    app.segmented_control(key="history_view").set_value("Drift").run()
    assert "Drift signals appear after 100" in app.info[0].value
