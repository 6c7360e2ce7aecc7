"""The History page, and the states of recipes, on an audit log that was filled beforehand."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from inspect_core.audit import log as log_module
from inspect_core.audit.changes import limits_changed
from inspect_core.audit.entry import CHALLENGE, INSPECTION, OVERRIDE, NewEntry
from inspect_core.audit.inspections import read
from inspect_core.audit.log import AuditLog
from inspect_core.ui.history import report
from inspect_core.ui.history.selection import Selection
from inspect_core.verdict import Limits

FORMULA = '=HYPERLINK("http://192.0.2.1")'
TAG = "<img src=http://192.0.2.1/x>"


def words(app) -> str:
    return " ".join(
        element.value for element in (*app.markdown, *app.caption, *app.subheader, *app.info, *app.warning, *app.error)
    )


def inspection(number: int, score: float | None, *, product: str = "tile", kind: str = "", name: str = "") -> NewEntry:
    facts = {
        "name": name or f"part_{number:04d}.png", "digest": f"{number:064d}", "score": score, "reason": "",
        "verdict": "not judged" if score is None else Limits(3.0, 4.0).verdict(score), "review": 3.0, "reject": 4.0,
        "area": 12, "kind": kind, "product_check": "", "source": "batch", "path": "/nowhere/part.png",
    }  # fmt: skip
    return NewEntry(INSPECTION, facts, "line 3", product, "a" * 64)


@pytest.fixture
def filled(workspace, monkeypatch):
    """Ten parts of a tile an hour ago, one of a ring a minute later; one part of a tile last week."""
    now = datetime.now(UTC)
    recent = [
        *(inspection(i, 2.0 + i / 10) for i in range(1, 7)), inspection(7, 3.1, kind="dent"),
        inspection(8, 9.0, kind="dent"), inspection(9, 9.0, kind="scratch"), inspection(10, None),
    ]  # fmt: skip
    begun = (
        (timedelta(days=6), [inspection(0, 1.0)]),
        (timedelta(hours=1), recent),
        (timedelta(minutes=59), [inspection(11, 1.0, product="ring")]),
    )
    with AuditLog.open() as log:
        for ago, entries in begun:
            with monkeypatch.context() as patch:
                patch.setattr(log_module, "_now", lambda ago=ago: now - ago)
                log.append_all(entries)
        changed = limits_changed(
            Limits(3.0, 4.5), Limits(3.0, 4.0), product="tile", recipe="a" * 64, reason="new lamp", user="Ana"
        )
        log.append_all([changed])


def figures(app) -> dict[str, str]:
    return {metric.label.split(":")[-1].strip(): metric.value for metric in app.metric}


def chosen(**changed) -> Selection:
    with AuditLog.open() as log:
        found, others = read(log, most=100), [*log.entries(kind=OVERRIDE)]
        selection = Selection(found, others, "tile", log.head(), short=False)
    return replace(selection, **changed)


def test_an_empty_log_says_what_to_do_next(open_app, no_first_start):
    app = open_app("pages/history.py")
    assert "Nothing has been recorded yet" in words(app)
    assert app.button(key="to_recipes")


def test_the_shift_at_a_glance(open_app, no_first_start, filled):
    app = open_app("pages/history.py")
    assert app.selectbox(key="history_product").value == "ring"
    app.selectbox(key="history_product").set_value("tile").run()
    assert not app.exception
    assert figures(app) == {
        "Parts inspected": "10", "Accepted": "6", "To review": "1", "Rejected": "2", "Not judged": "1",
    }  # fmt: skip
    assert "A limit one step higher would have accepted 1 more of these parts, one step lower 0 fewer." in words(app)
    app.selectbox(key="history_period").set_value("Last 7 days").run()
    assert figures(app)["Parts inspected"] == "11"
    app.multiselect(key="history_type").set_value(["dent"]).run()
    assert figures(app)["Parts inspected"] == "2"
    app.multiselect(key="history_verdict").set_value(["accept"]).run()
    assert not app.exception


def test_several_products_are_one_chart(open_app, no_first_start, filled):
    app = open_app("pages/history.py")
    app.selectbox(key="history_product").set_value("All products").run()
    assert not app.exception
    assert figures(app)["Parts inspected"] == "11"
    assert "multiple of its reject limit" in words(app)


def test_filters_that_leave_nothing_say_when_there_was_something(open_app, no_first_start, filled):
    app = open_app("pages/history.py")
    app.multiselect(key="history_verdict").set_value(["reject"]).run()
    assert "No inspection matches. The last one was on" in words(app)


def test_the_table_and_an_override(open_app, no_first_start, filled):
    app = open_app("pages/history.py")
    app.selectbox(key="history_product").set_value("tile").run()
    app.segmented_control(key="history_view").set_value("Parts").run()
    assert not app.exception
    table = app.dataframe[0].value
    assert list(table["Verdict"])[:3] == ["– not judged", "✕ rejected", "✕ rejected"]
    app.session_state["history_entry"] = int(table["Entry"][1])
    app.run()
    assert "Loupe: rejected, score 9, limit 4" in words(app)
    number = int(table["Entry"][1])
    send = next(button for button in app.button if button.label == "Override the verdict")
    send.click().run()
    assert "a reason is missing" in words(app)
    app.text_input(key=f"override_reason-{number}").set_value("dust")
    next(button for button in app.button if button.label == "Override the verdict").click().run()
    assert not app.exception
    with AuditLog.open() as log:
        said = [*log.entries(kind=OVERRIDE)]
        assert [(one.facts["original"], one.facts["verdict"], one.facts["reason"]) for one in said] == [
            ("reject", "accept", "dust")
        ]
        assert [*log.entries()][number - 1].facts["verdict"] == "reject"
    assert app.dataframe[0].value["Verdict"][1] == "✓ accepted"
    assert "Choose a row" in words(app), "the next part in the table is not taken for it"


def test_changes_are_listed_with_who_and_why(open_app, no_first_start, filled):
    app = open_app("pages/history.py")
    app.selectbox(key="history_product").set_value("tile").run()
    app.segmented_control(key="history_view").set_value("Changes").run()
    row = app.dataframe[0].value.iloc[0]
    assert (row["Who"], row["What"], row["Reason"]) == ("Ana", "limits changed", "new lamp")


def test_a_log_that_cannot_be_used_is_named_and_the_app_goes_on(open_app, no_first_start, workspace):
    (workspace / "loupe.sqlite").write_bytes(b"no database" * 100)
    app = open_app("pages/history.py")
    assert "loupe.sqlite" in app.error[0].value.replace("\\", "")
    assert "backup" in app.error[0].value
    assert open_app("pages/recipes.py").title[0].value == "Recipes"


def test_a_spreadsheet_runs_nothing_from_the_table(workspace):
    with AuditLog.open() as log:
        log.append_all(
            [inspection(i, 9.0, kind=text, name=f"{text}\n{i}") for i, text in enumerate((FORMULA, "＝1", TAG))]
        )
    rows = [*csv.reader(io.StringIO(report.csv_of(chosen())))]
    assert rows[0] == list(report.COLUMNS)
    assert len(rows) == 4
    texts = [cell for row in rows[1:] for cell in row if not cell.replace(".", "").lstrip("-").isdigit()]
    assert not [cell for cell in texts if cell.startswith(("=", "+", "-", "@", "＝"))]
    assert not [cell for cell in texts if "\n" in cell]


def test_the_table_names_the_release_that_judged_a_part_where_one_was_recorded(workspace):
    exported, plain = inspection(1, 2.0), inspection(2, 2.0)
    with AuditLog.open() as log:
        log.append_all([replace(exported, facts=exported.facts | {"release": "e" * 64}), plain])
    rows = csv.DictReader(io.StringIO(report.csv_of(chosen())))
    assert {row["name"]: row["release"] for row in rows} == {"part_0001.png": "e" * 64, "part_0002.png": ""}


def test_the_report_is_one_page_without_a_network(filled):
    with AuditLog.open() as log:
        log.append_all([inspection(20, 9.0, kind=TAG, name=TAG)])
        digest = log.head()[1]
    page = report.html_of(chosen())
    assert TAG not in page
    assert "&lt;img src" in page
    assert digest in page
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "").replace("http://192.0.2.1", "")
    assert report.html_of(chosen(inspections=[])).endswith("</html>\n")


@pytest.mark.parametrize(
    "facts",
    [{"score": 10**400}, {"score": 1e308}, {"review": 1e308, "reject": 1e308}, {"reject": -1e308}, {"reject": 1e-320},
     {"score": [1]}, {"score": "high", "kind": {"a": 1}, "name": None}, {"review": True}],
)  # fmt: skip
def test_facts_of_any_size_leave_a_history_that_says_what_is_missing(open_app, no_first_start, filled, facts):
    strange = inspection(20, 1.0)
    with AuditLog.open() as log:
        log.append_all([replace(strange, facts=strange.facts | facts)])
        log.append_all([NewEntry(OVERRIDE, {"entry": [1], "verdict": {}}, "Ana")])
        log.append_all([NewEntry(CHALLENGE, {"parts": [3]}, "Ana"), NewEntry(CHALLENGE, {"parts": 3}, "Ana")])
    page, table = report.html_of(chosen()), report.csv_of(chosen())
    said = ("Not drawn: 1 part", "is not a number")
    assert any(words in page for words in said) or facts == {"reject": 1e-320}
    assert "</html>" in page
    assert len(table.splitlines()) == 14
    app = open_app("pages/history.py")
    assert not app.exception
    assert not app.error
