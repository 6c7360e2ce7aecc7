"""Workbooks that list photos, as they are kept at a line, and those that cannot be read."""

import io
import zipfile

import openpyxl
import pytest

from inspect_core.datasets.folders import scan
from inspect_core.datasets.manifests.formats import excel

WANTED = {"lot 1/b.png": "good", "lot 2/c.png": "n.i.O.", "d.png": "good"}


def kinds(dataset):
    return {sample.name: sample.label for sample in (*dataset.good, *dataset.defects)}


def workbook(path, **sheets):
    """Write sheets of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


ROWS = [("Datei", "Ergebnis"), ("b.png", "i.O."), ("c.png", "n.i.O."), ("d.png", "i.O.")]


@pytest.mark.parametrize("name", ["liste.xlsx", "liste.xlsm"])
def test_a_workbook_is_read_chosen_or_beside_the_photos(photos, name):
    path = workbook(photos / name, Tabelle1=ROWS)
    assert kinds(scan(path)) == WANTED
    assert {name for name, label in kinds(scan(photos)).items() if label == "n.i.O."} == {"lot 2/c.png"}


def test_the_verdict_is_found_among_other_columns(photos):
    rows = [
        ("Nr.", "Datei", "Datum", "Sichtprüfung"),
        (1, "b.png", 45.5, "OK"),
        (2, "c.png", 46.0, "NG"),
        (3, "d.png", 47, "OK"),
    ]
    assert kinds(scan(workbook(photos / "list.xlsx", Sheet=rows))) == WANTED | {"lot 2/c.png": "NG"}


def test_ticks_numbers_and_several_sheets(photos):
    sheets = {
        "Notes": [("checked by", "Ana")],
        "lot 1": [("file", "is_defect"), ("b", False), ("d", 0.0)],
        "lot 2": [("file", "is_defect"), ("c", True)],
    }
    assert kinds(scan(workbook(photos / "list.xlsx", **sheets))) == WANTED | {"lot 2/c.png": "defect"}


def test_a_place_in_a_workbook_is_named(photos, refused):
    rows = [("file", "first", "second"), ("b.png", "3", "4"), ("c.png", "5", "6")]
    refused(workbook(photos / "list.xlsx", Teile=rows), "sheet Teile, row 1: cannot tell which of its 3 columns")


def test_what_is_no_workbook_is_refused_where_it_is_chosen(photos, refused, monkeypatch):
    path = photos / "list.xlsx"
    path.write_bytes(b"\xd0\xcf\x11\xe0 an older or encrypted workbook")
    refused(path, "it is no workbook that can be read; save it as CSV")
    path.write_bytes(workbook(io.BytesIO(), Sheet=ROWS).getvalue()[:-300])
    refused(path, "it is no workbook that can be read")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<a/>")
    refused(path, "it is no workbook that can be read")
    monkeypatch.setattr(excel, "MOST_BYTES", 1000)
    refused(workbook(path, Sheet=ROWS), "save it as CSV")


def test_a_cell_far_away_is_not_reached(photos, refused, monkeypatch):
    """A sheet may state, or hold, a cell in its last row and column: no row in between is built as wide as that."""
    path = workbook(photos / "list.xlsx", Sheet=ROWS)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].replace(b'ref="A1:B4"', b'ref="A1:XFD1048576"')
    parts["xl/worksheets/sheet1.xml"] = sheet.replace(
        b"</sheetData>", b'<row r="9"><c r="XFD9"><v>1</v></c></row></sheetData>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    assert kinds(scan(path)) == WANTED
    monkeypatch.setattr(excel, "MOST_ROWS", 3)
    refused(path, "sheet Sheet: it has more than 3 rows; divide it")
