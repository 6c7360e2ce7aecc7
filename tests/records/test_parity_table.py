"""parity.csv is opened by people: no name in it is a formula."""

import csv
import io

from inspect_core.records.onnx_export import Compared, _table


def test_a_spreadsheet_runs_nothing_from_the_table():
    names = ["=1+1.jpg", "+1.jpg", "-1.jpg", "@x.jpg", "\t=1.jpg", "\r=1.jpg", "a\n=1.jpg", "plain.jpg"]
    rows = [Compared(name, "judge", "d", 1.0, None, "accept", "reject") for name in names]
    table = _table(rows).decode()
    assert table.count("\n") == len(names) + 1
    cells = [line["name"] for line in csv.DictReader(io.StringIO(table))]
    assert not [cell for cell in cells if cell[0] in "=+-@\t\r"]
    assert cells[0] == "'=1+1.jpg"
    assert cells[-1] == "plain.jpg"
