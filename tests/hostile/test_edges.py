"""Edges found by attacks: each ends in a sentence, and nothing takes force that was not recorded."""

import json
import math
import os
import struct
import time
import zipfile
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail
from PIL import Image

from inspect_core.audit.database import LogError
from inspect_core.audit.log import AuditLog
from inspect_core.cli import commands
from inspect_core.datasets import archives
from inspect_core.datasets.dataset import ScanError
from inspect_core.datasets.listing import photos_in
from inspect_core.line.photo_inspection import inspect_photo
from inspect_core.line.verdict_table import read_table, write_table
from inspect_core.methods.registry import parameters_of
from inspect_core.recipe_format.output_paths import OutputPathError
from inspect_core.recipe_format.spreadsheet import COMMA, POINT, XLSX, require_own_workbook, table_bytes
from inspect_core.recipe_io.recorded_saving import save_recorded
from inspect_core.runtime import zip_directory
from inspect_core.runtime.wording import LONGEST_REASON
from inspect_core.ui import batch_store, upload_cleaning
from inspect_core.ui.bench.bench import NEVER, stamp_of
from inspect_core.ui.methods import plane
from inspect_core.ui.server import policy_for
from inspect_core.verdict import NOT_JUDGED
from tests.line.conftest import ByBrightness


def photo(path: Path, level: int = 100) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((16, 20, 3), level, np.uint8)).save(path)
    return path


def test_a_photo_on_which_the_graph_fails_is_not_judged(tmp_path, monkeypatch):
    def fails(self, image):
        raise Fail("the graph failed")

    monkeypatch.setattr(ByBrightness, "inspect", fails)
    row = inspect_photo(ByBrightness(), "a.png", photo(tmp_path / "a.png")).row
    assert row.verdict == NOT_JUDGED
    assert row.reason.startswith("the graph failed (error "), "with the id of its traceback in the log"


def test_nothing_is_saved_that_the_log_refused(recipe, tmp_path, monkeypatch):
    append, refusals = AuditLog.append_all, [True]

    def refuse(self, entries):
        if refusals:
            raise LogError("the disk of the log is full; free some")
        return append(self, entries)

    monkeypatch.setattr(AuditLog, "append_all", refuse)
    with pytest.raises(LogError, match="the disk of the log is full"):
        save_recorded(recipe, tmp_path / "r.zip", None, reason="first", user="Ana")
    assert not (tmp_path / "r.zip").exists()
    refusals.clear()
    saved = save_recorded(recipe, tmp_path / "r.zip", None, reason="first", user="Ana")
    assert (tmp_path / "r.zip").is_file()
    with AuditLog.open() as log:
        assert [entry.recipe for entry in log.entries()] == [saved.digest]


BATCH = {
    "product": "p",
    "recipe": "r.zip",
    "digest": "0" * 64,
    "source": "/photos",
    "count": 3,
    "map_suffixes": (),
    "user": "A",
}


SPOILED = [
    {"count": "3"},
    {"count": -1},
    {"source": 7},
    {"map_suffixes": [1]},
    {"cluster": "yes"},
    {"started_at": None},
]


@pytest.mark.parametrize("change", SPOILED)
def test_a_batch_with_a_field_of_another_type_is_no_batch(change):
    batch = batch_store.new(**BATCH)
    assert batch_store.find(batch.id) == batch
    (batch.folder / batch_store.ASKED).write_text(json.dumps(asdict(batch) | change))
    assert batch_store.find(batch.id) is None
    assert batch_store.all_runs() == []


def test_table_without_rows_or_with_unknown_verdict_is_refused(tmp_path):
    row = inspect_photo(ByBrightness(), "a.png", photo(tmp_path / "a.png")).row
    table = tmp_path / "v.csv"
    write_table(table, [row])
    assert read_table(table)
    tables = [table.read_text(encoding="utf-8-sig")]
    tables = [tables[0].splitlines()[0], *(tables[0].replace(word, "fine") for word in (row.verdict, row.decided_by))]
    for text in tables:
        table.write_text(text, encoding="utf-8-sig")
        with pytest.raises(ValueError, match="not a table of verdicts"):
            read_table(tmp_path / "v.csv")


def test_no_link_in_a_folder_leads_out_of_the_allowed_ones(tmp_path):
    photo(tmp_path / "in/a.png")
    os.symlink(photo(tmp_path / "out/secret.png"), tmp_path / "in/b.png")
    assert len(photos_in([tmp_path / "in"])) == 2
    assert len(photos_in([tmp_path / "in"], [tmp_path])) == 2
    with pytest.raises(OSError, match=r"b\.png is a link to a file outside the allowed folders; copy the file itself"):
        photos_in([tmp_path / "in"], [tmp_path / "in"])


def test_a_zip_entry_without_a_name_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x", b"content")
    content = (tmp_path / "a.zip").read_bytes()
    named = content.index(b"PK\1\2")
    entry = bytearray(content)
    struct.pack_into("<H", entry, named + 28, 0)  # the length of its name
    struct.pack_into("<H", entry, named + 30, 1)  # and that of its extra field, which takes the name's byte
    (tmp_path / "a.zip").write_bytes(entry)
    with pytest.raises(ScanError, match=r"a\.zip "):
        archives.extract(tmp_path / "a.zip", tmp_path / "x")


def test_the_directory_of_a_zip_is_bounded_before_it_is_read(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(200):
            archive.writestr(f"{number}.png", b"")
    zip_directory.check_directory(tmp_path / "a.zip")
    monkeypatch.setattr(zip_directory, "MOST_BYTES", 1000)
    with pytest.raises(ScanError, match=r"its directory takes [\d,]+ bytes"):
        archives.extract(tmp_path / "a.zip", tmp_path / "x")
    for content in (b"", b"PK\5\6", (tmp_path / "a.zip").read_bytes()[:-5]):
        (tmp_path / "b.zip").write_bytes(content)
        with pytest.raises(zipfile.BadZipFile):
            zip_directory.check_directory(tmp_path / "b.zip")


def test_an_upload_unpacks_to_less_than_another_archive(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.png", bytes(5000))
    monkeypatch.setattr(archives, "MAX_STAYING", 4000)
    assert (archives.unpacked(tmp_path / "a.zip") / "a.png").stat().st_size == 5000
    with pytest.raises(ScanError, match="unpacks to 5,000 bytes, more than 4,000; split it, or unpack it yourself"):
        archives.unpacked(tmp_path / "a.zip", stays=True)


def test_only_old_uploads_that_nothing_names_are_removed(workspace):
    uploads = workspace / "uploads"
    for name in ("used", "unused", "young"):
        photo(uploads / name / "a.png")
        os.utime(uploads / name, (0, 0))
    os.utime(uploads / "young")
    photo(uploads / "added.png")
    batch_store.new(**BATCH | {"source": str(uploads / "used")})
    count, size = upload_cleaning.remove_unused(now=time.time())
    assert (count, size > 0) == (1, True)
    assert sorted(path.name for path in uploads.iterdir()) == ["added.png", "used", "young"]
    os.utime(uploads / "young", (0, 0))
    (workspace / "recipes").mkdir(exist_ok=True)
    (workspace / "recipes" / "damaged.zip").write_bytes(b"no recipe")
    assert upload_cleaning.remove_unused() == (0, 0), "a recipe that cannot be read may name it"


def test_a_message_is_short_whatever_it_quotes(tmp_path, capsys):
    (tmp_path / "s.csv").write_text("part,truth,appraiser,trial,verdict\n1," + "x" * 100_000 + ",A,1,accept\n")
    assert commands.main(["msa", str(tmp_path / "s.csv")]) == commands.COULD_NOT_RUN
    assert len(capsys.readouterr().err) < LONGEST_REASON + 100


def test_a_library_that_does_not_fit_into_memory_is_said(monkeypatch, capsys):
    def fails(name):
        raise ImportError("libtorch_cpu.so: failed to map segment from shared object")

    monkeypatch.setattr(commands, "import_module", fails)
    assert commands.main(["fit", "folder", "--out", "r"]) == commands.COULD_NOT_RUN
    error = capsys.readouterr().err
    assert "failed to map segment" in error
    assert "free memory" in error


def test_an_empty_parameter_is_the_methods_own():
    assert parameters_of(["mahalanobis"], {"k": None}) == parameters_of(["mahalanobis"], {})


@pytest.mark.parametrize("stamp", [math.nan, math.inf, "1", None])
def test_a_stamp_that_is_no_number_is_that_of_no_message(stamp):
    assert stamp_of({"stamp": stamp}) == NEVER


def test_points_far_away_are_not_taken(monkeypatch):
    begun = np.zeros((2, 3))
    for value, is_taken in ((0.5, True), (1e200, False), (math.nan, False)):
        message = {"points": {"stamp": 1.0, "version": "v", "points": [[value, 0, 0]]}}
        monkeypatch.setattr(plane.st, "session_state", {"key": message})
        assert (plane.points("key", "v", begun) is not begun) == is_taken


def test_connections_go_to_the_own_host_alone():
    assert "connect-src 'self' data: blob: ws://loupe:8501 wss://loupe:8501;" in policy_for("loupe:8501")
    assert "connect-src 'self' data: blob:;" in policy_for("evil; script-src *")


LINES = [("name", "score"), ("=1+1, ü;x", 1.5), ("b", None)]


@pytest.mark.parametrize(("key", "expected"), [(POINT, '"\'=1+1, ü;x",1.5'), (COMMA, '"\'=1+1, ü;x";1,5')])
def test_tables_open_in_the_spreadsheet_of_a_country(key, expected):
    content = table_bytes(LINES, key)
    assert content.startswith(b"\xef\xbb\xbf"), "by which Excel knows UTF-8"
    assert content.decode("utf-8-sig").splitlines()[1] == expected


def test_a_workbook_holds_texts_and_replaces_only_its_own(tmp_path):
    (tmp_path / "v.xlsx").write_bytes(table_bytes([*LINES, ("large", 10**400)], XLSX))
    require_own_workbook(tmp_path / "v.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "v.xlsx")["Table"]
    heads, formula, _, large = ([(cell.value, cell.data_type) for cell in row] for row in sheet.rows)
    assert heads == [("name", "s"), ("score", "s")]
    assert formula == [("=1+1, ü;x", "s"), (1.5, "n")], "a text is no formula, a number no text"
    assert large == [("large", "s"), (str(10**400), "s")]
    assert sheet.column_dimensions["A"].width > len("=1+1, ü;x"), "nothing is cut"
    times = [
        ("Time", "name"),
        ("2026-11-30T19:00:00+01:00", "2026-11-30T19:00"),
        ("yesterday", "b"),
        ("0001-01-01T00:00+14:00", "c"),
    ]
    (tmp_path / "t.xlsx").write_bytes(table_bytes(times, XLSX))
    rows = [[cell.value for cell in row] for row in openpyxl.load_workbook(tmp_path / "t.xlsx")["Table"].rows]
    assert rows == [
        ["Time", "name"],
        [datetime(2026, 11, 30, 18), "2026-11-30T19:00"],
        ["yesterday", "b"],
        ["0001-01-01T00:00+14:00", "c"],
    ]
    with zipfile.ZipFile(tmp_path / "other.xlsx", "w") as archive:
        archive.writestr("docProps/core.xml", "<dc:creator>Somebody</dc:creator>")
    with pytest.raises(OutputPathError, match="not a workbook written by Loupe"):
        require_own_workbook(tmp_path / "other.xlsx")


def test_a_table_with_a_decimal_comma_is_read_again(tmp_path):
    row = inspect_photo(ByBrightness(), "3,5 mm; ä.png", photo(tmp_path / "a.png")).row
    for key in (POINT, COMMA):
        write_table(tmp_path / "v.csv", [row], key)
        assert read_table(tmp_path / "v.csv") == [row]
